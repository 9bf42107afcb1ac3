//! The snapshot that answers read: whether it is there yet, and how far it may be behind the store.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::store::{Catalog, CatalogHandle, Store};

use super::ServiceError;

/// How often it is looked whether the first catalog is there.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// The newest catalog that was read, and the store that it follows.
pub(super) struct Snapshots {
    handle: CatalogHandle,
    store: Arc<dyn Store>,
    stale_after: Duration,
}

impl Snapshots {
    pub(super) fn new(store: Arc<dyn Store>, stale_after: Duration) -> Self {
        Self { handle: CatalogHandle::new(), store, stale_after }
    }

    /// The newest catalog; an error before the first was read.
    pub(super) fn current(&self) -> Result<Arc<Catalog>, ServiceError> {
        if self.handle.is_loaded() {
            Ok(self.handle.load())
        } else {
            Err(ServiceError::StoreUnavailable("the catalog has not been read yet".to_owned()))
        }
    }

    /// Ends when the first catalog has been read.
    pub(super) async fn loaded(&self) {
        while !self.handle.is_loaded() {
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Time since the store was last in contact; `None` when it never was.
    pub(super) fn age(&self) -> Option<Duration> {
        self.handle.last_contact().map(|last| last.elapsed())
    }

    /// The store has been out of contact for longer than it may.
    pub(super) fn is_stale(&self) -> bool {
        self.age().is_none_or(|age| age > self.stale_after)
    }

    /// Reads what a write has just changed, so that its caller finds it in the next answer. Failing that, the follower will.
    pub(super) async fn refresh(&self) {
        if let Err(error) = self.handle.refresh(self.store.as_ref()).await {
            tracing::warn!(%error, "the catalog cannot be read after a write");
        }
    }

    /// Follows the store until `stop`.
    pub(super) async fn follow(&self, stop: CancellationToken) {
        self.handle.follow(self.store.clone(), stop).await;
    }
}
