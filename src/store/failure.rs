//! What a database error means to the caller. sqlx keeps passwords out of its texts; so do these.

use std::{fmt, path::Path, time::Duration};

use sqlx::{error::DatabaseError, migrate::MigrateError, postgres::PgDatabaseError, sqlite::SqliteError};

use super::StoreError;

/// What brings a schema up to date; named by every error that it cures.
const REMEDY: &str = "run `pairsight migrate`";

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Database(database) => of_database(database.as_ref()),
            E::Io(_) | E::Tls(_) | E::Protocol(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed | E::BeginFailed => {
                Self::Unavailable(error.to_string())
            }
            E::Configuration(_) | E::InvalidArgument(_) => Self::Configuration(error.to_string()),
            // The others say that a value or a statement is not what this build expects.
            _ => Self::Corrupt(error.to_string()),
        }
    }
}

impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) => error.into(),
            MigrateError::ExecuteMigration(error, version) => match error.into() {
                Self::Unavailable(why) => Self::Unavailable(why),
                other => Self::Schema(format!("migration {version} failed: {other}; cure that, then {REMEDY}")),
            },
            MigrateError::VersionMissing(version) => newer(version),
            other => Self::Schema(format!("the schema is not one that this build can bring up to date: {other}")),
        }
    }
}

fn of_database(error: &dyn DatabaseError) -> StoreError {
    let text = error.to_string();
    if let Some(postgres) = error.try_downcast_ref::<PgDatabaseError>() {
        of_postgres(postgres.code(), text)
    } else if let Some(code) = error.try_downcast_ref::<SqliteError>().and_then(DatabaseError::code) {
        of_sqlite(code.parse().unwrap_or(0), text)
    } else {
        StoreError::Corrupt(text)
    }
}

/// By SQLSTATE: class 08 connection, 25 transaction ended or read-only, 28 and 3D refused, 40 to be tried again, 53 out of
/// resources, 55 and 57 locked, cancelled or shutting down, 58 trouble of the system.
fn of_postgres(code: &str, text: String) -> StoreError {
    match code.get(..2).unwrap_or_default() {
        "08" | "25" | "28" | "3D" | "40" | "53" | "55" | "57" | "58" => StoreError::Unavailable(text),
        // Undefined table and column.
        _ if matches!(code, "42P01" | "42703") => other_schema(&text),
        _ => StoreError::Corrupt(text),
    }
}

/// By primary result code: permission, busy, locked, out of memory, read-only, interrupted, I/O, full, cannot open, locking.
fn of_sqlite(code: i32, text: String) -> StoreError {
    match code & 0xff {
        3 | 5 | 6 | 7 | 8 | 9 | 10 | 13 | 14 | 15 => StoreError::Unavailable(text),
        1 if text.contains("no such ") => other_schema(&text),
        _ => StoreError::Corrupt(text),
    }
}

fn other_schema(text: &str) -> StoreError {
    StoreError::Schema(format!("the schema is not the one of this build ({text}): {REMEDY}"))
}

fn newer(version: i64) -> StoreError {
    StoreError::Schema(format!(
        "the schema has migration {version}, which this build does not know: use the build that made it, or take a newer one and \
         {REMEDY}"
    ))
}

/// Compares the migrations that a database has with those that this build brings.
pub(super) fn check_schema(applied: &[i64], known: impl Iterator<Item = i64>) -> Result<(), StoreError> {
    let known: Vec<i64> = known.collect();
    if let Some(version) = applied.iter().find(|version| !known.contains(version)) {
        Err(newer(*version))
    } else if applied.len() < known.len() {
        Err(StoreError::Schema(format!(
            "the schema is older than this build ({} of {} migrations are there): {REMEDY}",
            applied.len(),
            known.len()
        )))
    } else {
        Ok(())
    }
}

/// Nothing came back in time.
pub(super) fn no_answer(limit: Duration) -> StoreError {
    StoreError::Unavailable(format!("no answer within {} s", limit.as_secs()))
}

/// The task that worked on it ended by itself.
pub(super) fn task_ended(ended: &tokio::task::JoinError) -> StoreError {
    StoreError::Unavailable(format!("the task that served the call ended: {ended}"))
}

/// A directory of the store cannot be made.
pub(super) fn no_directory(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", path.display()))
}

/// Something stored is not what its column holds.
pub(super) fn unreadable(what: &str, error: impl fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_ends_is_worth_another_try() {
        for code in ["08006", "57P01", "57014", "53300", "40001", "40P01", "25P03"] {
            assert!(matches!(of_postgres(code, String::new()), StoreError::Unavailable(_)), "{code}");
        }
        for code in [5, 5 | (2 << 8), 13] {
            assert!(matches!(of_sqlite(code, String::new()), StoreError::Unavailable(_)), "{code}");
        }
        assert!(matches!(of_postgres("23505", String::new()), StoreError::Corrupt(_)));
    }

    #[test]
    fn a_schema_of_another_build_names_the_cure() {
        check_schema(&[1, 2], [1, 2].into_iter()).unwrap();
        for (applied, known) in [(&[][..], &[1][..]), (&[1], &[1, 2]), (&[1, 2], &[1])] {
            let error = check_schema(applied, known.iter().copied()).unwrap_err();
            assert!(error.to_string().contains("run `pairsight migrate`"), "{error}");
        }
    }
}
