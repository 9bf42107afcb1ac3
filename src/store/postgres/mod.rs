//! The store in Postgres.

mod import;
mod listen;
mod load;
mod predictor;
mod read;
mod samples;
mod sql;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::future::BoxFuture;
use sqlx::{
    Connection, Executor, PgConnection, PgPool,
    migrate::Migrator,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::DropGuard;

use super::{
    Added, AddedBefore, Catalog, PlacedSignature, SampleAddition, SignatureCursor, Store, StoreError, Written,
    failure::{self, check_schema},
    limits,
};
use crate::{
    config::DatabaseConfig,
    domain::{DeviceId, ImportBatch, ImportReceipt, PairSample, SharingMode, Signature, TraceEntry},
    interference::Predictor,
};

static MIGRATOR: Migrator = sqlx::migrate!("migrations/postgres");

/// The store in a Postgres database. It connects when it is first used, so that a daemon can start before its database.
pub struct PostgresStore {
    pool: PgPool,
    options: PgConnectOptions,
    config: DatabaseConfig,
    /// The schema was found to be that of this build.
    schema_is_known: Arc<AtomicBool>,
    /// Told when a commit was made here or heard of.
    committed: Arc<Notify>,
    listener: OnceLock<DropGuard>,
}

impl PostgresStore {
    /// All statements, for the test that prepares each.
    pub const STATEMENTS: &[&str] = sql::ALL;

    /// A store in the database of `options`. Nothing is sent before the first use.
    pub fn open(options: PgConnectOptions, config: &DatabaseConfig) -> Self {
        let options = bounded(options);
        Self {
            pool: pool_options(config).connect_lazy_with(options.clone()),
            options,
            config: config.clone(),
            schema_is_known: Arc::default(),
            committed: Arc::default(),
            listener: OnceLock::new(),
        }
    }

    /// The pool, for tests that misuse it.
    #[doc(hidden)]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Runs `work` on a connection in a task of its own, so that a caller who goes away leaves nothing half done, for at most
    /// `limit`.
    async fn run<T, W>(&self, limit: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    {
        let (pool, schema_is_known) = (self.pool.clone(), Arc::clone(&self.schema_is_known));
        let task = tokio::spawn(async move {
            let mut connection = pool.acquire().await?;
            let bounded = timeout(limit, async {
                if !schema_is_known.load(Ordering::Relaxed) {
                    know_schema(&mut connection).await?;
                    schema_is_known.store(true, Ordering::Relaxed);
                }
                work(&mut connection).await
            });
            if let Ok(done) = bounded.await {
                return done;
            }
            // Whatever it waits for may still come: it cannot serve another.
            connection.close_on_drop();
            Err(failure::no_answer(limit))
        });
        task.await.unwrap_or_else(|ended| Err(failure::task_ended(&ended)))
    }

    /// Runs `work` with the next catalog version in a transaction, which is committed and told to the other replicas when
    /// `work` changed something.
    async fn write<T, W>(&self, limit: Duration, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection, i64) -> BoxFuture<'c, Result<Written<T>, StoreError>> + Send + 'static,
    {
        let committed = Arc::clone(&self.committed);
        self.run(limit, move |connection| {
            Box::pin(async move {
                let mut transaction = connection.begin().await?;
                let version: i64 = sqlx::query_scalar(sql::NEXT_VERSION).fetch_one(&mut *transaction).await?;
                match work(&mut transaction, version).await? {
                    Written::Changed(value) => {
                        sqlx::query(sql::NOTIFY).bind(version.to_string()).execute(&mut *transaction).await?;
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

/// Bounds for what the server does for us: no statement, and no transaction that nobody works on, lasts for ever.
fn bounded(options: PgConnectOptions) -> PgConnectOptions {
    options.application_name("pairsight").options([
        ("statement_timeout", "60s"),
        ("idle_in_transaction_session_timeout", "30s"),
        // The roll back after each use finds no transaction as a rule: not worth a warning.
        ("client_min_messages", "error"),
    ])
}

fn pool_options(config: &DatabaseConfig) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(config.max_connections)
        .acquire_timeout(config.acquire_timeout)
        .max_lifetime(Duration::from_mins(5))
        .idle_timeout(Duration::from_mins(1))
        // sqlx 0.9.0 returns a connection to the pool inside a transaction when the future of `begin` is dropped.
        .after_release(|connection, _| {
            Box::pin(async move {
                connection.execute("rollback").await?;
                Ok(true)
            })
        })
}

async fn know_schema(connection: &mut PgConnection) -> Result<(), StoreError> {
    let applied: Vec<i64> = sqlx::query_scalar(sql::APPLIED_MIGRATION).fetch_all(connection).await?;
    check_schema(&applied, MIGRATOR.iter().map(|migration| migration.version))
}

#[async_trait]
impl Store for PostgresStore {
    async fn migrate(&self) -> Result<(), StoreError> {
        let options = self.options.clone().options([("statement_timeout", "0")]);
        let connect_limit = self.config.acquire_timeout;
        let task = tokio::spawn(async move {
            let connecting = timeout(connect_limit, PgConnection::connect_with(&options));
            let mut connection = connecting.await.map_err(|_| failure::no_answer(connect_limit))??;
            // Holds a lock of the database, so that two at once do the work once.
            MIGRATOR.run_direct(None, &mut connection, false).await?;
            Ok(connection.close().await?)
        });
        task.await.unwrap_or_else(|ended| Err(failure::task_ended(&ended)))
    }

    async fn catalog_version(&self) -> Result<i64, StoreError> {
        self.run(limits::READ, |c| Box::pin(async { Ok(sqlx::query_scalar(sql::CATALOG_VERSION).fetch_one(c).await?) })).await
    }

    async fn load_catalog(&self, previous: Option<&Catalog>) -> Result<Catalog, StoreError> {
        load::catalog(self, previous.cloned()).await
    }

    async fn changed(&self) {
        self.listener.get_or_init(|| listen::start(self.options.clone(), Arc::clone(&self.committed)));
        // An expired poll interval is as good as a notification.
        _ = timeout(self.config.poll_interval, self.committed.notified()).await;
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
