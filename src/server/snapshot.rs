//! The snapshot that answers read, and the task that keeps it up with the store.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

use crate::store::{Catalog, Store, StoreError};

use super::ServiceError;

/// Wait between attempts while the store cannot be read.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The newest catalog that was read, and when the store was last in contact.
pub(super) struct Snapshots {
    current: ArcSwapOption<Catalog>,
    loaded: CancellationToken,
    contact: Mutex<Contact>,
    wake: Notify,
    stale_after: Duration,
}

#[derive(Default)]
struct Contact {
    last: Option<Instant>,
    error: Option<String>,
}

impl Snapshots {
    pub(super) fn new(stale_after: Duration) -> Self {
        Self {
            current: ArcSwapOption::empty(),
            loaded: CancellationToken::new(),
            contact: Mutex::default(),
            wake: Notify::new(),
            stale_after,
        }
    }

    /// The newest catalog; an error before the first was read.
    pub(super) fn current(&self) -> Result<Arc<Catalog>, ServiceError> {
        let error = || ServiceError::StoreUnavailable("the catalog has not been read yet".to_owned());
        self.current.load_full().ok_or_else(error)
    }

    /// Ends when the first catalog has been read.
    pub(super) async fn loaded(&self) {
        self.loaded.cancelled().await;
    }

    /// Time since the store was last in contact; `None` when it never was.
    pub(super) fn age(&self) -> Option<Duration> {
        self.contact().last.map(|last| last.elapsed())
    }

    /// The store has been out of contact for longer than it may.
    pub(super) fn is_stale(&self) -> bool {
        self.age().is_none_or(|age| age > self.stale_after)
    }

    /// Why the last attempt to reach the store failed, if it did.
    pub(super) fn last_error(&self) -> Option<String> {
        self.contact().error.clone()
    }

    /// Has the store looked at now rather than when it next says that it changed.
    pub(super) fn refresh_soon(&self) {
        self.wake.notify_one();
    }

    /// Follows the store until `stop`.
    pub(super) async fn follow(&self, store: &dyn Store, stop: &CancellationToken) {
        loop {
            let step = async {
                let pause = match self.refresh(store).await {
                    Ok(()) => Duration::ZERO,
                    Err(error) => {
                        tracing::warn!(%error, "the catalog cannot be read");
                        self.contact().error = Some(error.to_string());
                        RETRY_INTERVAL
                    }
                };
                tokio::time::sleep(pause).await;
                tokio::select! {
                    () = store.changed() => {}
                    () = self.wake.notified() => {}
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = step => {}
            }
        }
    }

    async fn refresh(&self, store: &dyn Store) -> Result<(), StoreError> {
        let previous = self.current.load_full();
        let version = store.catalog_version().await?;
        if previous.as_ref().is_none_or(|previous| previous.version != version) {
            let catalog = store.load_catalog(previous.as_deref()).await?;
            tracing::info!(version = catalog.version, "catalog read");
            self.current.store(Some(Arc::new(catalog)));
            self.loaded.cancel();
        }
        *self.contact() = Contact { last: Some(Instant::now()), error: None };
        Ok(())
    }

    fn contact(&self) -> std::sync::MutexGuard<'_, Contact> {
        self.contact.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
