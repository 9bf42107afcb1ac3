//! The snapshot that all answers read, and the task that keeps it up to date.

use std::{sync::Arc, time::Duration};

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{Catalog, Store, StoreError};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest wait before an unreachable store is asked again: a commit has to show within 2 s of its return.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The newest catalog that was read. Reading it takes no lock.
#[derive(Default)]
pub struct CatalogHandle {
    current: ArcSwap<Catalog>,
    /// When the store last answered; none before the first catalog is there.
    last_contact: ArcSwapOption<Instant>,
    /// One refresh at a time, so that an older catalog never replaces a newer one.
    refreshing: Mutex<()>,
}

impl CatalogHandle {
    /// A handle on an empty catalog, until the first refresh.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The catalog as it is now. What belongs to one answer must be read from one of these.
    pub fn load(&self) -> Arc<Catalog> {
        self.current.load_full()
    }

    /// True once a catalog was read.
    pub fn is_loaded(&self) -> bool {
        self.last_contact.load().is_some()
    }

    /// When the store last answered; `None` before the first catalog was read.
    pub fn last_contact(&self) -> Option<Instant> {
        self.last_contact.load().as_deref().copied()
    }

    /// Reads what changed in the store. True when that is anything.
    pub async fn refresh(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let _turn = self.refreshing.lock().await;
        let current = self.load();
        let first = !self.is_loaded();
        let changed = first || store.catalog_version().await? != current.version;
        if changed {
            let previous = if first { None } else { Some(&*current) };
            let catalog = store.load_catalog(previous).await?;
            tracing::debug!(version = catalog.version, "catalog read");
            self.current.store(Arc::new(catalog));
        }
        self.last_contact.store(Some(Arc::new(Instant::now())));
        Ok(changed)
    }

    /// Follows the store until `stop` is cancelled, through whatever time it cannot be reached.
    pub async fn follow(&self, store: Arc<dyn Store>, stop: CancellationToken) {
        _ = stop.run_until_cancelled(self.keep_up(&*store)).await;
    }

    async fn keep_up(&self, store: &dyn Store) {
        let mut pause = FIRST_PAUSE;
        let mut in_trouble = false;
        loop {
            match self.refresh(store).await {
                Ok(_) => {
                    if std::mem::take(&mut in_trouble) {
                        tracing::info!("the store answers again");
                    }
                    pause = FIRST_PAUSE;
                    store.changed().await;
                }
                Err(error) => {
                    if !std::mem::replace(&mut in_trouble, true) {
                        tracing::warn!(%error, "the catalog cannot be read; answers come from the last one");
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }
}
