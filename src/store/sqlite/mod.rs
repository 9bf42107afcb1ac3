//! The store in an SQLite file, which several processes may use at once.

mod import;
mod load;
mod open;
mod predictor;
mod read;
mod samples;
mod sql;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::BoxFuture;
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tokio::{
    sync::{Mutex, Notify},
    time::timeout,
};

use super::{
    Added, AddedBefore, Catalog, PlacedSignature, SampleAddition, SignatureCursor, Store, StoreError, Written, failure, limits,
};
use crate::{
    config::DatabaseConfig,
    domain::{DeviceId, ImportBatch, ImportReceipt, PairSample, SharingMode, Signature, TraceEntry},
    interference::Predictor,
};

/// The store in an SQLite file.
pub struct SqliteStore {
    pool: SqlitePool,
    poll_interval: Duration,
    /// Writers of this process wait here, in order and without a connection; those of others wait in SQLite, for at most its
    /// busy timeout.
    writer: Arc<Mutex<()>>,
    /// Told when a commit was made here.
    committed: Arc<Notify>,
}

impl SqliteStore {
    /// All statements, for the test that prepares each.
    pub const STATEMENTS: &[&str] = sql::ALL;

    /// Opens `file`, made with its directories where it is missing, and brings its schema up to date.
    pub async fn open(file: &Path, config: &DatabaseConfig) -> Result<Self, StoreError> {
        Ok(Self {
            pool: open::pool(file, config).await?,
            poll_interval: config.poll_interval,
            writer: Arc::default(),
            committed: Arc::default(),
        })
    }

    /// The pool, for tests that look behind the store.
    #[doc(hidden)]
    pub fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Runs `work` on a connection in a task of its own, so that a caller who goes away leaves nothing half done, for at most
    /// `limit`.
    async fn run<T, W>(&self, limit: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    {
        let pool = self.pool.clone();
        let task = tokio::spawn(async move {
            let mut connection = pool.acquire().await?;
            if let Ok(done) = timeout(limit, work(&mut connection)).await {
                return done;
            }
            // Whatever it waits for may still come: it cannot serve another.
            connection.close_on_drop();
            Err(failure::no_answer(limit))
        });
        task.await.unwrap_or_else(|ended| Err(failure::task_ended(&ended)))
    }

    /// Runs `work` with the next catalog version in a transaction, which is committed when `work` changed something.
    async fn write<T, W>(&self, limit: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection, i64) -> BoxFuture<'c, Result<Written<T>, StoreError>> + Send + 'static,
    {
        let turn = Arc::clone(&self.writer).lock_owned();
        let turn = timeout(limit, turn).await.map_err(|_| failure::no_answer(limit))?;
        let committed = Arc::clone(&self.committed);
        self.run(limit, move |connection| {
            Box::pin(async move {
                // Held until the transaction ends, also when the caller has gone.
                let _turn = turn;
                // Immediate: a transaction that began by reading could not wait for another writer, only fail.
                let mut transaction = connection.begin_with("begin immediate").await?;
                let version: i64 = sqlx::query_scalar(sql::NEXT_VERSION).fetch_one(&mut *transaction).await?;
                match work(&mut transaction, version).await? {
                    Written::Changed(value) => {
                        transaction.commit().await?;
                        committed.notify_waiters();
                        committed.notify_one();
                        Ok(value)
                    }
                    Written::Unchanged(value) => {
                        transaction.rollback().await?;
                        Ok(value)
                    }
                }
            })
        })
        .await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn migrate(&self) -> Result<(), StoreError> {
        open::migrate(&self.pool).await
    }

    async fn catalog_version(&self) -> Result<i64, StoreError> {
        self.run(limits::READ, |c| Box::pin(async { Ok(sqlx::query_scalar(sql::CATALOG_VERSION).fetch_one(c).await?) })).await
    }

    async fn load_catalog(&self, previous: Option<&Catalog>) -> Result<Catalog, StoreError> {
        load::catalog(self, previous.cloned()).await
    }

    async fn changed(&self) {
        // An expired poll interval is as good as a commit: it may be one of another process.
        _ = timeout(self.poll_interval, self.committed.notified()).await;
    }

    async fn import(&self, request_id: &str, batch: &ImportBatch) -> Result<ImportReceipt, StoreError> {
        import::import(self, request_id, batch).await
    }

    async fn add_samples(&self, addition: SampleAddition) -> Result<Added, StoreError> {
        samples::add(self, addition.try_into()?).await
    }

    async fn added_before(&self, request_id: &str, content_sha256: &str) -> Result<Option<AddedBefore>, StoreError> {
        samples::before(self, request_id, content_sha256).await
    }

    async fn delete_workload(&self, device: &DeviceId, workload: &str) -> Result<i64, StoreError> {
        import::delete_workload(self, device, workload).await
    }

    async fn signature(
        &self,
        device: &DeviceId,
        workload: &str,
        cursor: SignatureCursor,
    ) -> Result<Option<Signature>, StoreError> {
        read::signature(self, device, workload, cursor).await
    }

    async fn signatures(
        &self,
        device: &DeviceId,
        workload: &str,
        filter: &str,
        after: Option<SignatureCursor>,
        limit: u32,
    ) -> Result<Vec<PlacedSignature>, StoreError> {
        read::signatures(self, device, workload, filter, after, limit).await
    }

    async fn pair_samples(&self, device: &DeviceId, mode: SharingMode) -> Result<Vec<PairSample>, StoreError> {
        read::pair_samples(self, device, mode).await
    }

    async fn trace(&self, device: &DeviceId, workload: &str) -> Result<Vec<TraceEntry>, StoreError> {
        read::trace(self, device, workload).await
    }

    async fn publish_predictor(&self, predictor: &Predictor, activate: bool) -> Result<i64, StoreError> {
        predictor::publish(self, predictor.try_into()?, activate).await
    }

    async fn activate_predictor(&self, version: &str) -> Result<i64, StoreError> {
        predictor::activate(self, version.to_owned()).await
    }

    async fn roll_back_predictor(&self, device: &DeviceId, mode: SharingMode) -> Result<i64, StoreError> {
        predictor::roll_back(self, device.to_string(), mode.to_string()).await
    }

    async fn predictor_artefact(&self, version: &str) -> Result<String, StoreError> {
        predictor::artefact(self, version.to_owned()).await
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}
