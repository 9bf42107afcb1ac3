//! What is particular to the store in a file: several processes, and processes that are killed.

use std::{
    env,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use futures::future::join_all;
use pairsight::store::{SqliteStore, Store, StoreError};
use sqlx::{Executor, SqlSafeStr, SqliteConnection};
use tokio::time::sleep;

use crate::{
    store_backend::Backend,
    store_data::{batch, device_id},
};

/// Directory of the process that is killed.
const VICTIM_FILE: &str = "PAIRSIGHT_TEST_VICTIM_FILE";
const OPERATORS: u32 = 3000;

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let backend = Backend::sqlite();
    let store = backend.open_sqlite().await;
    let mut connection = store.pool().acquire().await.unwrap();
    for statement in SqliteStore::STATEMENTS {
        let prepared = Executor::prepare(&mut *connection as &mut SqliteConnection, statement.into_sql_str()).await;
        prepared.unwrap_or_else(|error| panic!("{statement}\n{error}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_open_a_new_file_at_once() {
    let backend = Backend::sqlite();
    for store in join_all((0..8).map(|_| backend.open())).await {
        assert_eq!(store.catalog_version().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn the_schema_of_a_newer_build_is_refused() {
    let backend = Backend::sqlite();
    let store = backend.open_sqlite().await;
    let newer = "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
                 values (9999, 'from the future', true, x'00', 0)";
    store.pool().execute(newer).await.unwrap();
    store.close().await;
    let error = SqliteStore::open(&backend.file(), &backend.config()).await.err().unwrap();
    assert!(matches!(&error, StoreError::Schema(text) if text.contains("run `pairsight migrate`")), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let backend = Backend::sqlite();
    std::fs::create_dir_all(backend.file().parent().unwrap()).unwrap();
    std::fs::write(backend.file(), "not a database, but long enough to be looked at ".repeat(100)).unwrap();
    let error = SqliteStore::open(&backend.file(), &backend.config()).await.err().unwrap();
    assert!(matches!(&error, StoreError::Corrupt(text) if text.contains("pairsight.db")), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_import_is_there_whole_or_not_at_all() {
    let backend = Backend::sqlite();
    let store = backend.open().await;
    for wait in [150, 300] {
        let before = store.catalog_version().await.unwrap();
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["--exact", "store_sqlite::imports_until_it_is_killed", "--ignored"])
            .env(VICTIM_FILE, backend.file())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while store.catalog_version().await.unwrap() == before {
            assert_eq!(victim.try_wait().unwrap(), None, "the victim ended by itself");
            sleep(Duration::from_millis(5)).await;
        }
        sleep(Duration::from_millis(wait)).await;
        victim.kill().unwrap();
        victim.wait().unwrap();

        let catalog = backend.open().await.load_catalog(None).await.unwrap();
        let workloads = &catalog.workloads[&device_id()];
        assert_eq!(i64::try_from(workloads.len()), Ok(catalog.version), "one workload an import");
        for workload in workloads.values() {
            assert_eq!(workload.shares[0].operators.len(), OPERATORS as usize);
        }
    }
    // The lock of the dead is gone.
    store.import("after", &batch(&["after"], &[1.0], 1)).await.unwrap();
}

/// Run as a process of its own by the test above.
#[tokio::test]
#[ignore = "the victim of another test"]
async fn imports_until_it_is_killed() {
    let Ok(file) = env::var(VICTIM_FILE) else { return };
    let store = SqliteStore::open(file.as_ref(), &Backend::sqlite().config()).await.unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    loop {
        let name = uuid::Uuid::new_v4().to_string();
        store.import(&name, &batch(&[&name], &[1.0], OPERATORS)).await.unwrap();
    }
}
