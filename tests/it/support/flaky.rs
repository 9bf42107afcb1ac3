//! A store that can be cut off.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use pairsight::{
    domain::{DeviceId, ImportBatch, ImportReceipt, PairSample, SharingMode, Signature, TraceEntry},
    interference::Predictor,
    store::{Added, AddedBefore, Catalog, PlacedSignature, SampleAddition, SignatureCursor, Store, StoreError},
};

/// Another store, as long as it is not cut off.
pub(crate) struct Flaky {
    inner: Arc<dyn Store>,
    down: AtomicBool,
}

impl Flaky {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, down: AtomicBool::new(false) }
    }

    pub(crate) fn cut_off(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }

    fn reach(&self) -> Result<&dyn Store, StoreError> {
        if self.down.load(Ordering::SeqCst) {
            Err(StoreError::Unavailable("cut off".to_owned()))
        } else {
            Ok(self.inner.as_ref())
        }
    }
}

#[async_trait]
impl Store for Flaky {
    async fn migrate(&self) -> Result<(), StoreError> {
        self.reach()?.migrate().await
    }

    async fn catalog_version(&self) -> Result<i64, StoreError> {
        self.reach()?.catalog_version().await
    }

    async fn load_catalog(&self, previous: Option<&Catalog>) -> Result<Catalog, StoreError> {
        self.reach()?.load_catalog(previous).await
    }

    async fn changed(&self) {
        self.inner.changed().await;
    }

    async fn import(&self, request_id: &str, batch: &ImportBatch) -> Result<ImportReceipt, StoreError> {
        self.reach()?.import(request_id, batch).await
    }

    async fn add_samples(&self, addition: SampleAddition) -> Result<Added, StoreError> {
        self.reach()?.add_samples(addition).await
    }

    async fn added_before(&self, request_id: &str, content_sha256: &str) -> Result<Option<AddedBefore>, StoreError> {
        self.reach()?.added_before(request_id, content_sha256).await
    }

    async fn delete_workload(&self, device: &DeviceId, workload: &str) -> Result<i64, StoreError> {
        self.reach()?.delete_workload(device, workload).await
    }

    async fn signature(
        &self,
        device: &DeviceId,
        workload: &str,
        cursor: SignatureCursor,
    ) -> Result<Option<Signature>, StoreError> {
        self.reach()?.signature(device, workload, cursor).await
    }

    async fn signatures(
        &self,
        device: &DeviceId,
        workload: &str,
        filter: &str,
        after: Option<SignatureCursor>,
        limit: u32,
    ) -> Result<Vec<PlacedSignature>, StoreError> {
        self.reach()?.signatures(device, workload, filter, after, limit).await
    }

    async fn pair_samples(&self, device: &DeviceId, mode: SharingMode) -> Result<Vec<PairSample>, StoreError> {
        self.reach()?.pair_samples(device, mode).await
    }

    async fn trace(&self, device: &DeviceId, workload: &str) -> Result<Vec<TraceEntry>, StoreError> {
        self.reach()?.trace(device, workload).await
    }

    async fn publish_predictor(&self, predictor: &Predictor, activate: bool) -> Result<i64, StoreError> {
        self.reach()?.publish_predictor(predictor, activate).await
    }

    async fn activate_predictor(&self, version: &str) -> Result<i64, StoreError> {
        self.reach()?.activate_predictor(version).await
    }

    async fn roll_back_predictor(&self, device: &DeviceId, mode: SharingMode) -> Result<i64, StoreError> {
        self.reach()?.roll_back_predictor(device, mode).await
    }

    async fn predictor_artefact(&self, version: &str) -> Result<String, StoreError> {
        self.reach()?.predictor_artefact(version).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
