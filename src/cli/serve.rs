//! `serve`: runs the daemon until it is told to stop.

use std::{net::SocketAddr, process, sync::Arc, time::Duration};

use clap::{Args, ValueEnum};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    context::{Context, Listen},
    example,
    failure::BadSetting,
    output::{note, print},
};
use crate::{
    server::{BoundAddresses, serve},
    store::Store,
};

/// Signals closer than this are one request.
const SAME_REQUEST: Duration = Duration::from_millis(500);
/// Wait between attempts to put the bundled catalog into a database that is not there yet.
const INSTALL_RETRY: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Once both ports are bound, one line of JSON on stdout says where: {\"grpc\":\"127.0.0.1:50051\",\"admin\":\"127.0.0.1:9464\"}. Logs go to
stderr. SIGINT or SIGTERM drains running calls and ends with 0; a second one ends at once.

Roles: `all` and `api` answer calls; `worker` profiles on a GPU, which this version does not do.

Examples:
  pairsight serve
  pairsight serve --example
  pairsight --data-dir /var/lib/pairsight serve --grpc-listen 0.0.0.0:50051 --admin-listen 0.0.0.0:9464 --log-format json
  pairsight --database-url postgres://pairsight@db/pairsight serve --grpc-listen 127.0.0.1:0 --admin-listen 127.0.0.1:0";

/// Run the daemon.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Address of the gRPC port; port 0 takes a free one [default: 127.0.0.1:50051].
    #[arg(long, value_name = "ADDRESS")]
    grpc_listen: Option<SocketAddr>,
    /// Address of the HTTP port for probes and metrics; port 0 takes a free one [default: 127.0.0.1:9464].
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// What this process does.
    #[arg(long, value_enum, default_value_t = Role::All)]
    role: Role,
    /// Once ready, ask for one prediction of the bundled catalog and say how to ask the next.
    #[arg(long)]
    example: bool,
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Role {
    /// Everything that this version does.
    All,
    /// Answers calls.
    Api,
    /// Profiles on a GPU.
    Worker,
}

impl ServeArgs {
    /// Where the flags say to listen.
    pub(super) fn listen(&self) -> Listen {
        Listen { grpc: self.grpc_listen, admin: self.admin_listen }
    }
}

/// Runs the verb.
pub(super) async fn run(args: ServeArgs, context: &Context) -> anyhow::Result<()> {
    if args.role == Role::Worker {
        return Err(BadSetting("--role worker: profiling workers are not built yet; `all` and `api` serve".to_owned()).into());
    }
    // Before anything is bound, so that no signal finds the default handler once the addresses are known.
    let shutdown = CancellationToken::new();
    let mut helpers = JoinSet::new();
    helpers.spawn(watch(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, shutdown.clone()));
    let store = context.raw_store().await?;
    if context.is_embedded() {
        context.install_bundled(store.as_ref()).await?;
    } else {
        helpers.spawn(install_when_reachable(context.clone(), store.clone()));
    }
    let asker = context.clone();
    let on_bound = |bound: BoundAddresses| {
        announce(&bound);
        if args.example {
            let url = asker.url_of(bound.grpc);
            helpers.spawn(async move { example::show(&asker, &url).await });
        }
    };
    Ok(serve(context.config.clone(), store, shutdown, on_bound).await?)
}

/// The one line on stdout. That nobody reads it is no reason not to serve.
fn announce(bound: &BoundAddresses) {
    if let Err(error) = serde_json::to_string(bound).map_err(Into::into).and_then(|line| print(&line)) {
        note(format_args!("the addresses could not be printed: {error:#}"));
    }
}

/// The first signal asks for a shutdown in good order, a later one ends at once. What comes right after the first is the same
/// request again: `timeout`, for one, signals the process and then its group.
async fn watch(mut interrupt: Signal, mut terminate: Signal, shutdown: CancellationToken) {
    let mut asked = None;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        match asked {
            None => {
                asked = Some(Instant::now());
                shutdown.cancel();
            }
            Some(first) if first.elapsed() < SAME_REQUEST => {}
            Some(_) => {
                note("ended by a second signal");
                process::exit(1);
            }
        }
    }
}

/// A database may come after its daemon, and its schema after it.
async fn install_when_reachable(context: Context, store: Arc<dyn Store>) {
    while let Err(error) = context.install_bundled(store.as_ref()).await {
        tracing::warn!(%error, "the bundled catalog is not in the store yet");
        tokio::time::sleep(INSTALL_RETRY).await;
    }
}
