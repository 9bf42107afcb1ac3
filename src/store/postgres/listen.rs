//! Hears of commits by others. A lost connection is made again; what was missed meanwhile is found by asking the version.

use std::{sync::Arc, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

const CHANNEL: &str = "pairsight_catalog";
/// Longest wait before the connection is tried again.
const MAX_PAUSE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Starts to listen, on a connection of its own, until the guard is dropped. Tells `committed` of every notification.
pub(super) fn start(options: PgConnectOptions, committed: Arc<Notify>) -> DropGuard {
    let stop = CancellationToken::new();
    let guard = stop.clone().drop_guard();
    tokio::spawn(async move { stop.run_until_cancelled(listen(options, &committed)).await });
    guard
}

async fn listen(options: PgConnectOptions, committed: &Notify) {
    let mut pause = FIRST_PAUSE;
    loop {
        match listen_once(&options, committed, &mut pause).await {
            Ok(()) => tracing::debug!("the connection that hears of commits was closed"),
            Err(error) => tracing::debug!(%error, "the connection that hears of commits was lost"),
        }
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Listens until the connection is lost.
async fn listen_once(options: &PgConnectOptions, committed: &Notify, pause: &mut Duration) -> Result<(), sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(MAX_PAUSE)
        .connect_lazy_with(options.clone());
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    *pause = FIRST_PAUSE;
    // Something may have been committed before the connection stood.
    tell(committed);
    while listener.try_recv().await?.is_some() {
        tell(committed);
    }
    Ok(())
}

/// Wakes all that wait, and the next that will: nobody misses a commit while he looks at the one before.
fn tell(committed: &Notify) {
    committed.notify_waiters();
    committed.notify_one();
}
