//! What all services share.

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    interference::Predictor,
    proto,
    store::{Catalog, Store},
};

use super::{ServiceError, metrics, predict_pair, snapshot::Snapshots};

/// What all services share.
pub(super) struct Shared {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) store: Arc<dyn Store>,
    pub(super) max_import_bytes: u64,
    /// Longest wait for the next message of an import.
    pub(super) message_timeout: Duration,
    /// One permit a core: long computations leave the others to short calls.
    computations: Arc<Semaphore>,
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
            message_timeout: config.server.request_timeout,
            computations: Arc::new(Semaphore::new(cores)),
        }
    }

    /// The newest snapshot.
    pub(super) fn view(&self) -> Result<View, ServiceError> {
        Ok(View { catalog: self.snapshots.current()?, stale: self.snapshots.is_stale() })
    }

    /// Runs a long computation off the tasks that serve calls. It is told through the token when nobody waits for it any more.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let closed = |_| ServiceError::ShuttingDown;
        let permit = self.computations.clone().acquire_owned().await.map_err(closed)?;
        let gone = CancellationToken::new();
        let _tell = gone.clone().drop_guard();
        let running = tokio::task::spawn_blocking(move || {
            let result = work(&gone);
            drop(permit);
            result
        });
        running.await.map_err(|error| ServiceError::Internal(error.to_string()))
    }
}

impl View {
    /// Answers for one pair and counts the answer.
    pub(super) fn predict(
        &self,
        request: &proto::PredictPairRequest,
        default_view: proto::PredictPairView,
    ) -> Result<proto::PredictPairResponse, ServiceError> {
        let response = predict_pair(&self.catalog, Predictor::generic(), request, default_view, self.stale)?;
        metrics::predicted(metrics::class_label(response.confidence_class));
        Ok(response)
    }
}
