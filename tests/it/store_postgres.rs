//! What is particular to Postgres: notifications, connections that are lost, and a schema that is brought up to date on demand.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::join_all};
use pairsight::{
    config::DatabaseConfig,
    store::{self, CatalogHandle, PostgresStore, Store, StoreError},
};
use sqlx::{Connection, Executor, PgConnection, SqlSafeStr};
use tokio::{
    net::TcpListener,
    task::yield_now,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{store_backend::Backend, store_data::batch};

/// Stands for all other connections to the test's database.
const OTHERS: &str = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";

#[tokio::test]
async fn every_statement_can_be_prepared() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            backend.open().await;
            let mut connection = PgConnection::connect_with(&backend.postgres_options()).await.unwrap();
            for statement in PostgresStore::STATEMENTS {
                let prepared = Executor::prepare(&mut connection, statement.into_sql_str()).await;
                prepared.unwrap_or_else(|error| panic!("{statement}\n{error}"));
            }
        })
        .await;
}

#[tokio::test]
async fn another_schema_names_the_cure() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            let cure = |error: StoreError| matches!(error, StoreError::Schema(text) if text.contains("run `pairsight migrate`"));
            let store = backend.open_postgres(&backend.config());
            assert!(cure(store.catalog_version().await.unwrap_err()));
            assert!(cure(store.import("r", &batch(&["w"], &[1.0], 1)).await.unwrap_err()));
            store.migrate().await.unwrap();
            assert_eq!(store.catalog_version().await.unwrap(), 0);

            let newer = "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
                     values (9999, 'from the future', true, '', 0)";
            store.pool().execute(newer).await.unwrap();
            let old = backend.open_postgres(&backend.config());
            assert!(cure(old.catalog_version().await.unwrap_err()));
            assert!(cure(old.migrate().await.unwrap_err()));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_migrate_at_once() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            for store in join_all((0..4).map(|_| backend.open())).await {
                assert_eq!(store.catalog_version().await.unwrap(), 0);
            }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_begin_leaves_no_transaction_open() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            let store = backend.open_postgres(&DatabaseConfig { max_connections: 1, ..backend.config() });
            store.migrate().await.unwrap();
            let mut other = PgConnection::connect_with(&backend.postgres_options()).await.unwrap();
            for polls in 1..12 {
                let mut begin = Box::pin(store.pool().begin());
                for _ in 0..polls {
                    if (&mut begin).now_or_never().is_some() {
                        break;
                    }
                    sleep(Duration::from_millis(1)).await;
                }
                drop(begin);
                let committed = store.import(&format!("r{polls}"), &batch(&["w"], &[1.0], 1)).await.unwrap();
                let seen: i64 = sqlx::query_scalar("select version from catalog").fetch_one(&mut other).await.unwrap();
                assert_eq!(seen, committed.catalog_version, "after {polls} polls");
            }
            yield_now().await;
            let open = sqlx::AssertSqlSafe(format!("select count(*) {OTHERS} and state like 'idle in transaction%'"));
            let open: i64 = sqlx::query_scalar(open).fetch_one(&mut other).await.unwrap();
            assert_eq!(open, 0);
        })
        .await;
}

/// Follows a store that is polled so seldom that only a notification can tell in time.
fn follow(backend: &Backend) -> (Arc<CatalogHandle>, CancellationToken) {
    let config = DatabaseConfig { poll_interval: Duration::from_mins(10), ..backend.config() };
    let store: Arc<dyn Store> = Arc::new(backend.open_postgres(&config));
    let (handle, stop) = (Arc::new(CatalogHandle::new()), CancellationToken::new());
    tokio::spawn({
        let (handle, stop) = (Arc::clone(&handle), stop.clone());
        async move { handle.follow(store, stop).await }
    });
    (handle, stop)
}

async fn shows(handle: &CatalogHandle, version: i64, within: Duration) {
    let since = Instant::now();
    while handle.load().version < version {
        assert!(since.elapsed() < within, "version {version} does not show, {} does", handle.load().version);
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notification_tells_of_a_commit() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            let writer = backend.open().await;
            let (handle, stop) = follow(&backend);
            for version in 1..=5 {
                writer.import(&format!("r{version}"), &batch(&["w"], &[1.0], 1)).await.unwrap();
                shows(&handle, version, Duration::from_secs(2)).await;
            }
            stop.cancel();
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_are_made_again() {
    Backend::postgres()
        .await
        .hold(async |backend: Arc<Backend>| {
            let writer = backend.open().await;
            let (handle, stop) = follow(&backend);
            writer.import("r1", &batch(&["w"], &[1.0], 1)).await.unwrap();
            shows(&handle, 1, Duration::from_secs(2)).await;

            let mut admin = PgConnection::connect_with(&backend.postgres_options()).await.unwrap();
            admin.execute(sqlx::AssertSqlSafe(format!("select pg_terminate_backend(pid) {OTHERS}"))).await.unwrap();
            writer.import("r2", &batch(&["w"], &[1.0], 1)).await.unwrap();
            shows(&handle, 2, Duration::from_secs(4)).await;
            writer.import("r3", &batch(&["w"], &[1.0], 1)).await.unwrap();
            shows(&handle, 3, Duration::from_secs(2)).await;
            stop.cancel();
        })
        .await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable_in_time() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let url = format!("postgres://me:hunter2@127.0.0.1:{port}/db");
    refuses_in_time(&url).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_unavailable_in_time() {
    // Takes connections and never says a word.
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me:hunter2@{}/db", mute.local_addr().unwrap());
    refuses_in_time(&url).await;
}

async fn refuses_in_time(url: &str) {
    let config =
        DatabaseConfig { url: Some(url.into()), acquire_timeout: Duration::from_millis(500), ..DatabaseConfig::default() };
    let store = store::open(&config, "unused".as_ref()).await.unwrap();
    for _ in 0..2 {
        let error = timeout(Duration::from_secs(2), store.catalog_version()).await.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
    let error = timeout(Duration::from_secs(2), store.migrate()).await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
}
