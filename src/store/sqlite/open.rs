//! Opens the file, also when another process does so at the same moment.

use std::{fs, path::Path, time::Duration};

use sqlx::{
    Connection, Executor, SqliteConnection, SqlitePool,
    migrate::Migrator,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous},
};
use tokio::time::{Instant, sleep};

use crate::{
    config::DatabaseConfig,
    store::{
        StoreError,
        failure::{self, check_schema},
    },
};

use super::sql;

static MIGRATOR: Migrator = sqlx::migrate!("migrations/sqlite");

/// Pause between two tries to turn on the write-ahead log.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn pool(file: &Path, config: &DatabaseConfig) -> Result<SqlitePool, StoreError> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).map_err(|error| failure::no_directory(directory, &error))?;
    }
    let pool = SqlitePoolOptions::new()
        .max_connections(config.max_connections)
        .acquire_timeout(config.acquire_timeout)
        .connect_lazy_with(connect_options(file, config));
    prepare(&pool, config).await.map_err(|error| named(file, error))?;
    Ok(pool)
}

fn connect_options(file: &Path, config: &DatabaseConfig) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .busy_timeout(config.busy_timeout)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Normal)
        // What a large import leaves of the log is given back.
        .pragma("journal_size_limit", "67108864")
        // Rows are read by the hundred thousand: a longer queue between SQLite's thread and ours spares switches.
        .row_buffer_size(1024)
}

async fn prepare(pool: &SqlitePool, config: &DatabaseConfig) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    write_ahead_log(&mut connection, config.busy_timeout).await?;
    drop(connection);
    migrate(pool).await
}

/// Turns the write-ahead log on; it stays on in the file. SQLite does not wait when two processes do this at once, so we do.
async fn write_ahead_log(connection: &mut SqliteConnection, busy_timeout: Duration) -> Result<(), StoreError> {
    let give_up = Instant::now() + busy_timeout;
    loop {
        match connection.execute("pragma journal_mode = wal").await.map_err(StoreError::from) {
            Err(StoreError::Unavailable(_)) if Instant::now() < give_up => sleep(PAUSE).await,
            done => return done.map(drop),
        }
    }
}

/// Brings the schema up to date. Takes the write lock only when there is something to do: another process may be writing.
pub(super) async fn migrate(pool: &SqlitePool) -> Result<(), StoreError> {
    let pool = pool.clone();
    let task = tokio::spawn(async move {
        let mut connection = pool.acquire().await?;
        if is_current(&mut connection).await? {
            return Ok(());
        }
        // One transaction around all: the first of several processes does the work, the others find it done.
        let mut transaction = connection.begin_with("begin immediate").await?;
        MIGRATOR.run_direct(None, &mut *transaction, false).await?;
        Ok(transaction.commit().await?)
    });
    task.await.unwrap_or_else(|ended| Err(failure::task_ended(&ended)))
}

async fn is_current(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let known = || MIGRATOR.iter().map(|migration| migration.version);
    let applied: Result<Vec<i64>, _> = sqlx::query_scalar(sql::APPLIED_MIGRATION).fetch_all(connection).await;
    match applied.map_err(StoreError::from) {
        Ok(applied) if applied.len() < known().count() => Ok(false),
        Ok(applied) => check_schema(&applied, known()).map(|()| true),
        // No table of migrations yet: a new file.
        Err(StoreError::Schema(_)) => Ok(false),
        Err(other) => Err(other),
    }
}

/// The error with the file, which SQLite does not tell.
fn named(file: &Path, error: StoreError) -> StoreError {
    let file = file.display();
    match error {
        StoreError::Unavailable(why) => StoreError::Unavailable(format!("{file}: {why}")),
        StoreError::Schema(why) => StoreError::Schema(format!("{file}: {why}")),
        StoreError::Corrupt(why) => StoreError::Corrupt(format!("{file}: {why}")),
        other => other,
    }
}
