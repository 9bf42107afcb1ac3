//! Fresh stores for tests: a file in a directory of its own, or a database of its own on a throw-away Postgres.

use std::{env, panic::AssertUnwindSafe, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use futures::FutureExt;
use pairsight::{
    config::DatabaseConfig,
    store::{self, PostgresStore, SqliteStore, Store},
};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, postgres::PgConnectOptions};
use tempfile::TempDir;

/// Runs each test named on both stores.
macro_rules! on_both_stores {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { $crate::store_backend::Backend::sqlite().hold(super::$name).await })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() { $crate::store_backend::Backend::postgres().await.hold(super::$name).await })*
        }
    };
}
pub(crate) use on_both_stores;

/// Where the stores of one test lie.
pub(crate) enum Backend {
    Sqlite(TempDir),
    Postgres { server: Box<PgConnectOptions>, url: String, database: String },
}

impl Backend {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// A new, empty database without schema.
    pub(crate) async fn postgres() -> Self {
        let url = env::var("PAIRSIGHT_TEST_POSTGRES_URL").expect(
            "set PAIRSIGHT_TEST_POSTGRES_URL to the URL of a superuser on a throw-away Postgres, or run ./test.sh, which starts one",
        );
        let database = format!("pairsight_test_{}", uuid::Uuid::new_v4().simple());
        let server = Box::new(PgConnectOptions::from_str(&url).unwrap());
        let mut connection = PgConnection::connect_with(&server).await.unwrap();
        connection.execute(AssertSqlSafe(format!("create database {database}"))).await.unwrap();
        Self::Postgres { server, url: with_database(&url, &database), database }
    }

    pub(crate) fn config(&self) -> DatabaseConfig {
        let url = match self {
            Self::Sqlite(_) => None,
            Self::Postgres { url, .. } => Some(url.as_str().into()),
        };
        DatabaseConfig { url, poll_interval: Duration::from_millis(200), ..DatabaseConfig::default() }
    }

    fn data_dir(&self) -> PathBuf {
        match self {
            Self::Sqlite(directory) => directory.path().join("made/on/the/way"),
            Self::Postgres { .. } => PathBuf::new(),
        }
    }

    /// Another handle on the same store, with its schema.
    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        let store = store::open(&self.config(), &self.data_dir()).await.unwrap();
        store.migrate().await.unwrap();
        store
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.data_dir().join("pairsight.db")
    }

    /// The options of the test's database.
    pub(crate) fn postgres_options(&self) -> PgConnectOptions {
        match self {
            Self::Postgres { url, .. } => PgConnectOptions::from_str(url).unwrap(),
            Self::Sqlite(_) => panic!("not a Postgres"),
        }
    }

    pub(crate) async fn open_sqlite(&self) -> SqliteStore {
        SqliteStore::open(&self.file(), &self.config()).await.unwrap()
    }

    pub(crate) fn open_postgres(&self, config: &DatabaseConfig) -> PostgresStore {
        PostgresStore::open(self.postgres_options(), config)
    }

    /// Runs a test and removes what it left, also when it fails.
    pub(crate) async fn hold<F: Future<Output = ()>>(self, test: impl FnOnce(Arc<Self>) -> F) {
        let this = Arc::new(self);
        let outcome = AssertUnwindSafe(test(Arc::clone(&this))).catch_unwind().await;
        if let Self::Postgres { server, database, .. } = &*this {
            let mut connection = PgConnection::connect_with(server).await.unwrap();
            connection.execute(AssertSqlSafe(format!("drop database {database} with (force)"))).await.unwrap();
        }
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }
}

/// `url` with another database.
fn with_database(url: &str, database: &str) -> String {
    let (base, query) = url.split_once('?').map_or((url, None), |(base, query)| (base, Some(query)));
    let (scheme, rest) = base.split_once("://").expect("PAIRSIGHT_TEST_POSTGRES_URL is a URL");
    let authority = rest.split('/').next().unwrap_or_default();
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{scheme}://{authority}/{database}{query}")
}
