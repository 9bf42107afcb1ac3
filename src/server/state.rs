//! What all services share.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    interference::Predictor,
    proto,
    store::{Catalog, Store},
};

use super::{ServiceError, batch::Placements, predict::predict_placed, samples::Turns, snapshot::Snapshots};

/// Imports at once: each may hold up to `server.max_import_bytes` in memory.
const MAX_IMPORTS: usize = 4;
/// Pairs for which a batch gets as much time again as another call gets in all.
const PAIRS_PER_TIMEOUT: u32 = 1000;

/// What all services share.
pub(super) struct Shared {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) store: Arc<dyn Store>,
    pub(super) max_import_bytes: u64,
    /// Longest time of a call with little to do, and longest wait for the next message of an import.
    pub(super) request_timeout: Duration,
    /// How many long computations run at once.
    pub(super) cores: usize,
    /// One permit a core: long computations leave the others to short calls.
    computations: Arc<Semaphore>,
    imports: Arc<Semaphore>,
    /// Turns of those who add samples.
    pub(super) learning: Turns,
}

/// One snapshot with all that an answer depends on.
#[derive(Clone)]
pub(super) struct View {
    pub(super) catalog: Arc<Catalog>,
    stale: bool,
}

impl Shared {
    pub(super) fn new(config: &Config, store: Arc<dyn Store>, snapshots: Arc<Snapshots>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            snapshots,
            store,
            max_import_bytes: config.server.max_import_bytes,
            request_timeout: config.server.request_timeout,
            cores,
            computations: Arc::new(Semaphore::new(cores)),
            imports: Arc::new(Semaphore::new(MAX_IMPORTS)),
            learning: Turns::default(),
        }
    }

    /// The newest snapshot.
    pub(super) fn view(&self) -> Result<View, ServiceError> {
        Ok(View { catalog: self.snapshots.current()?, stale: self.snapshots.is_stale() })
    }

    /// The place of an import among those at once, or that there is none left.
    pub(super) fn admit_import(&self) -> Result<OwnedSemaphorePermit, ServiceError> {
        self.imports.clone().try_acquire_owned().map_err(|_| ServiceError::Overloaded)
    }

    /// Runs a long computation off the tasks that serve calls. It is told through the token when nobody waits for it any more.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let gone = CancellationToken::new();
        let _tell = gone.clone().drop_guard();
        let computations = self.computations.clone();
        // A task of its own waits for the permit: the caller's is not polled while a client does not read, and would keep a
        // permit that it was given meanwhile.
        let running = tokio::spawn(async move {
            let permit = gone.run_until_cancelled(computations.acquire_owned()).await;
            let Some(Ok(permit)) = permit else { return Err(ServiceError::ShuttingDown) };
            let working = tokio::task::spawn_blocking(move || {
                let result = work(&gone);
                drop(permit);
                result
            });
            working.await.map_err(|error| ServiceError::Internal(error.to_string()))
        });
        running.await.map_err(|error| ServiceError::Internal(error.to_string()))?
    }
}

impl View {
    /// Answers for one pair.
    pub(super) fn predict(
        &self,
        request: &proto::PredictPairRequest,
        default_view: proto::PredictPairView,
        placements: &Placements,
    ) -> Result<proto::PredictPairResponse, ServiceError> {
        predict_placed(&self.catalog, Predictor::generic(), request, default_view, self.stale, placements)
    }
}

/// Longest time of a batch of `pairs` where other calls get `request_timeout`.
pub(super) fn batch_timeout(request_timeout: Duration, pairs: usize) -> Duration {
    let pairs = u32::try_from(pairs).unwrap_or(u32::MAX);
    request_timeout.saturating_add((request_timeout / PAIRS_PER_TIMEOUT).saturating_mul(pairs))
}
