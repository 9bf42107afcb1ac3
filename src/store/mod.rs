//! Where the catalog is kept: one trait, Postgres (the reference) and SQLite (embedded), and the snapshot that answers read.

mod assembly;
mod batch;
mod catalog;
mod error;
mod failure;
mod feed;
mod handle;
mod kept;
mod limits;
mod postgres;
mod rows;
mod samples;
mod sqlite;
mod url;

use std::{path::Path, sync::Arc};

use async_trait::async_trait;

pub use catalog::{Catalog, PredictorInfo};
pub use error::StoreError;
pub use handle::CatalogHandle;
pub use postgres::PostgresStore;
pub use samples::{Added, AddedBefore, SampleAddition};
pub use sqlite::SqliteStore;

use crate::{
    config::DatabaseConfig,
    domain::{DeviceId, ImportBatch, ImportReceipt, PairSample, SharingMode, Signature, TraceEntry},
    interference::Predictor,
};

/// Opens the store that `config` names; without a URL the file `pairsight.db` in `data_dir`, made with its directories.
///
/// An SQLite file is brought up to date. A Postgres is not even asked before the first use, so that a daemon can start before
/// its database; it is brought up to date by [`Store::migrate`] alone, and every other use of another schema is
/// [`StoreError::Schema`].
pub async fn open(config: &DatabaseConfig, data_dir: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match url::target(config, data_dir)? {
        url::Target::Postgres(options) => Arc::new(PostgresStore::open(*options, config)),
        url::Target::Sqlite(file) => Arc::new(SqliteStore::open(&file, config).await?),
    })
}

/// What a transaction did.
enum Written<T> {
    /// Something that others have to learn of.
    Changed(T),
    /// Nothing.
    Unchanged(T),
}

/// A place among the signatures of a workload: after it a page goes on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignatureCursor {
    /// Share of the last signature seen.
    pub sm_share: f64,
    /// Its place in the workload at that share.
    pub position: i32,
}

/// A signature with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedSignature {
    /// Place in the workload at its share, from 0.
    pub position: i32,
    /// The signature.
    pub signature: Signature,
}

/// Keeps the catalog. Every write is one transaction, adds one to the catalog version and is told to the other replicas.
/// Cloning a handle is cheap; a dropped future never leaves a transaction open.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Brings the schema up to date; nothing when it is.
    async fn migrate(&self) -> Result<(), StoreError>;

    /// The version of the newest commit; 0 in an empty store.
    async fn catalog_version(&self) -> Result<i64, StoreError>;

    /// Reads the catalog at one version, taking over from `previous` whatever has not changed since.
    async fn load_catalog(&self, previous: Option<&Catalog>) -> Result<Catalog, StoreError>;

    /// Waits until the store may have changed: a notification, or the poll interval. A hint, never missed for longer than
    /// the poll interval; the caller compares versions.
    async fn changed(&self);

    /// Stores a valid batch, all or nothing. The same content again under `request_id` changes nothing; other content is
    /// [`StoreError::RequestIdReused`].
    async fn import(&self, request_id: &str, batch: &ImportBatch) -> Result<ImportReceipt, StoreError>;

    /// Stores co-runs and the predictor adapted to them, which answers from then on: all or nothing, and only while the predictor
    /// that was learnt from is the one that answers, so that of two additions at once the later learns from the earlier. The same
    /// content again under the same request changes nothing; other content, or one that was imported, is
    /// [`StoreError::RequestIdReused`].
    async fn add_samples(&self, addition: SampleAddition) -> Result<Added, StoreError>;

    /// The addition that was made under `request_id`, `None` when there was none; other content is
    /// [`StoreError::RequestIdReused`].
    async fn added_before(&self, request_id: &str, content_sha256: &str) -> Result<Option<AddedBefore>, StoreError>;

    /// Deletes a workload on a device with all that hangs on it; returns the catalog version.
    async fn delete_workload(&self, device: &DeviceId, workload: &str) -> Result<i64, StoreError>;

    /// One signature; `None` when there is none at that place.
    async fn signature(
        &self,
        device: &DeviceId,
        workload: &str,
        cursor: SignatureCursor,
    ) -> Result<Option<Signature>, StoreError>;

    /// Up to `limit` signatures of a workload by share and place, after `after`, whose kernel's name contains `filter`.
    async fn signatures(
        &self,
        device: &DeviceId,
        workload: &str,
        filter: &str,
        after: Option<SignatureCursor>,
        limit: u32,
    ) -> Result<Vec<PlacedSignature>, StoreError>;

    /// All co-runs measured on a device in a mode, by `pair_id`.
    async fn pair_samples(&self, device: &DeviceId, mode: SharingMode) -> Result<Vec<PairSample>, StoreError>;

    /// The trace of a workload in order; empty when there is none.
    async fn trace(&self, device: &DeviceId, workload: &str) -> Result<Vec<TraceEntry>, StoreError>;

    /// Stores a predictor, and with `activate` makes it the one that answers; returns the catalog version. The same artefact
    /// again is not stored twice.
    async fn publish_predictor(&self, predictor: &Predictor, activate: bool) -> Result<i64, StoreError>;

    /// Makes a stored predictor the one that answers for its device and mode; returns the catalog version.
    async fn activate_predictor(&self, version: &str) -> Result<i64, StoreError>;

    /// Makes the predictor that was active before the present one answer again; returns the catalog version.
    async fn roll_back_predictor(&self, device: &DeviceId, mode: SharingMode) -> Result<i64, StoreError>;

    /// The artefact of a stored predictor as JSON.
    async fn predictor_artefact(&self, version: &str) -> Result<String, StoreError>;

    /// Closes all connections.
    async fn close(&self);
}
