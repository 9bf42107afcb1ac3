//! The wiring: ports, long-lived tasks, start and end.

use std::{io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    net::TcpListener,
    task::{JoinError, JoinSet},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tonic_health::server::HealthReporter;

use crate::{config::Config, store::Store};

use super::{
    admin::{self, Admin},
    grpc, metrics,
    snapshot::Snapshots,
    state::Shared,
};

/// Time that watchers of health get to learn that the server no longer serves, before it stops taking calls.
const NOTICE: Duration = Duration::from_millis(100);
/// Time that the store gets to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest wait for the first catalog before the addresses are told.
const ANNOUNCE_WAIT: Duration = Duration::from_secs(2);

/// Where the server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct BoundAddresses {
    /// The gRPC port.
    pub grpc: SocketAddr,
    /// The admin port.
    pub admin: SocketAddr,
}

/// Why the server ended, or did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error("{setting}: cannot listen on {address}: {source}")]
    Bind {
        /// The setting that names the address.
        setting: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A file for TLS cannot be read.
    #[error("cannot read {path}: {source}")]
    Tls {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The gRPC server failed.
    #[error("the gRPC server failed: {}", chain(.0))]
    Grpc(#[from] tonic::transport::Error),
    /// The admin port failed.
    #[error("the admin port failed: {0}")]
    Admin(io::Error),
    /// The reflection service cannot be built.
    #[error("reflection: {0}")]
    Reflection(String),
    /// The recorder of metrics cannot be built.
    #[error("metrics: {0}")]
    Metrics(String),
    /// A task that runs as long as the server ended before it.
    #[error("the task {0} ended by itself")]
    TaskEnded(&'static str),
    /// A task that runs as long as the server panicked.
    #[error("a task of the server panicked: {0}")]
    TaskPanicked(JoinError),
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

type Task = (&'static str, Result<(), ServeError>);

/// Serves until `shutdown`, then lets running calls end for at most `server.drain_timeout`. `on_bound` is told the addresses
/// once both ports listen and, for at most `ANNOUNCE_WAIT`, the first catalog is there. A task that ends by itself ends the server with an error.
pub async fn serve(
    config: Config,
    store: Arc<dyn Store>,
    shutdown: CancellationToken,
    on_bound: impl FnOnce(BoundAddresses),
) -> Result<(), ServeError> {
    let handle = metrics::install()?;
    let snapshots = Arc::new(Snapshots::new(store.clone(), config.catalog.stale_after));
    let shared = Arc::new(Shared::new(&config, store.clone(), snapshots.clone()));
    let (routes, health) = grpc::services(shared).await?;
    let grpc_listener = bind("server.grpc_listen", config.server.grpc_listen).await?;
    let admin_listener = bind("admin.listen", config.admin.listen).await?;
    let address = |listener: &TcpListener, asked| listener.local_addr().unwrap_or(asked);
    let addresses = BoundAddresses {
        grpc: address(&grpc_listener, config.server.grpc_listen),
        admin: address(&admin_listener, config.admin.listen),
    };

    // `soft` ends the taking of calls, `hard` the rest.
    let (soft, hard) = (CancellationToken::new(), CancellationToken::new());
    let mut tasks = JoinSet::<Task>::new();
    let drain_timeout = config.server.drain_timeout;
    tasks.spawn(named("grpc", grpc::serve(config, grpc_listener, routes, soft.clone())));
    let admin = Admin { snapshots: snapshots.clone(), metrics: handle.clone(), stop: soft.clone() };
    tasks.spawn(named("admin", serve_admin(admin_listener, admin, hard.clone())));
    tasks.spawn(named("catalog", follow(snapshots.clone(), hard.clone())));
    tasks.spawn(named("health", report_health(snapshots.clone(), health.clone(), hard.clone())));
    tasks.spawn(named("metrics", keep_metrics(handle, hard.clone())));
    // Whoever waits for the addresses can then ask at once, unless the catalog is large or the store away.
    _ = timeout(ANNOUNCE_WAIT, shutdown.run_until_cancelled(snapshots.loaded())).await;
    on_bound(addresses);

    let outcome = tokio::select! {
        () = shutdown.cancelled() => Ok(()),
        ended = tasks.join_next() => Err(why_ended(ended)),
    };
    let outcome = match outcome {
        Ok(()) => drain(&mut tasks, &health, drain_timeout, &soft, &hard).await,
        error @ Err(_) => error,
    };
    tasks.shutdown().await;
    if timeout(CLOSE_TIMEOUT, store.close()).await.is_err() {
        tracing::warn!("the store did not close in time");
    }
    outcome
}

async fn bind(setting: &'static str, address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address).await.map_err(|source| ServeError::Bind { setting, address, source })
}

async fn named(name: &'static str, task: impl Future<Output = Result<(), ServeError>>) -> Task {
    (name, task.await)
}

fn why_ended(ended: Option<Result<Task, JoinError>>) -> ServeError {
    match ended {
        None => ServeError::TaskEnded("server"),
        Some(Ok((name, Ok(())))) => ServeError::TaskEnded(name),
        Some(Ok((_, Err(error)))) => error,
        Some(Err(panic)) => ServeError::TaskPanicked(panic),
    }
}

/// Takes no more calls, waits for the running ones, then ends everything.
async fn drain(
    tasks: &mut JoinSet<Task>,
    health: &HealthReporter,
    limit: Duration,
    soft: &CancellationToken,
    hard: &CancellationToken,
) -> Result<(), ServeError> {
    tracing::info!(limit_s = limit.as_secs_f64(), "draining");
    let deadline = Instant::now() + limit;
    grpc::set_health(health, false).await;
    tokio::time::sleep(NOTICE.min(limit / 2)).await;
    soft.cancel();
    match timeout_at(deadline, tasks.join_next()).await {
        Ok(Some(Ok(("grpc", Ok(()))))) => {}
        Ok(ended) => return Err(why_ended(ended)),
        Err(_) => tracing::warn!("calls were still running at the end of server.drain_timeout"),
    }
    hard.cancel();
    Ok(())
}

async fn serve_admin(listener: TcpListener, admin: Admin, stop: CancellationToken) -> Result<(), ServeError> {
    let serving = axum::serve(listener, admin::router(admin)).with_graceful_shutdown(stop.cancelled_owned());
    serving.await.map_err(ServeError::Admin)
}

async fn follow(snapshots: Arc<Snapshots>, stop: CancellationToken) -> Result<(), ServeError> {
    snapshots.follow(stop).await;
    Ok(())
}

/// Says that the server serves once the first catalog is there.
async fn report_health(snapshots: Arc<Snapshots>, health: HealthReporter, stop: CancellationToken) -> Result<(), ServeError> {
    tokio::select! {
        () = snapshots.loaded() => {
            grpc::set_health(&health, true).await;
            stop.cancelled().await;
        }
        () = stop.cancelled() => {}
    }
    Ok(())
}

/// Folds what was recorded into the histograms, which would otherwise grow until the next scrape.
async fn keep_metrics(handle: metrics_exporter_prometheus::PrometheusHandle, stop: CancellationToken) -> Result<(), ServeError> {
    while stop.run_until_cancelled(tokio::time::sleep(Duration::from_secs(5))).await.is_some() {
        handle.run_upkeep();
    }
    Ok(())
}
