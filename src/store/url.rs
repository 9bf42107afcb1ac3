//! Which store a URL names.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use secrecy::ExposeSecret;
use sqlx::{postgres::PgConnectOptions, sqlite::SqliteConnectOptions};

use crate::config::DatabaseConfig;

use super::StoreError;

/// File of the embedded store in the data directory.
const DEFAULT_FILE: &str = "pairsight.db";

/// A store to open.
pub(super) enum Target {
    /// A Postgres database.
    Postgres(Box<PgConnectOptions>),
    /// An SQLite file.
    Sqlite(PathBuf),
}

/// The store that `config` names. An error tells the scheme at most: the rest of a URL may be a password.
pub(super) fn target(config: &DatabaseConfig, data_dir: &Path) -> Result<Target, StoreError> {
    let Some(url) = &config.url else {
        return Ok(Target::Sqlite(data_dir.join(DEFAULT_FILE)));
    };
    let url = url.expose_secret();
    match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => match PgConnectOptions::from_str(url) {
            Ok(options) => Ok(Target::Postgres(Box::new(options))),
            Err(error) => Err(refused(&format!("is not a usable postgres URL: {error}"))),
        },
        Some("sqlite") => sqlite(url),
        Some(scheme) if url.contains("://") => {
            Err(refused(&format!("has the scheme {scheme:?}, known are postgres and sqlite")))
        }
        _ => Err(refused("is not a URL: it must begin with postgres:// or sqlite://")),
    }
}

fn sqlite(url: &str) -> Result<Target, StoreError> {
    let options =
        SqliteConnectOptions::from_str(url).map_err(|error| refused(&format!("is not a usable sqlite URL: {error}")))?;
    let file = options.get_filename();
    // An unnamed or in-memory database is another one for each connection.
    if file.as_os_str().is_empty() || file.to_string_lossy().starts_with("file:sqlx-in-memory") {
        return Err(refused("names no file: write for example sqlite:///var/lib/pairsight/pairsight.db"));
    }
    Ok(Target::Sqlite(file.to_owned()))
}

fn refused(problem: &str) -> StoreError {
    StoreError::Configuration(format!("database.url {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: Option<&str>) -> Result<Target, StoreError> {
        target(&DatabaseConfig { url: url.map(Into::into), ..DatabaseConfig::default() }, Path::new("data"))
    }

    #[test]
    fn the_scheme_picks_the_store() {
        assert!(matches!(of(None), Ok(Target::Sqlite(file)) if file == Path::new("data/pairsight.db")));
        assert!(matches!(of(Some("sqlite://x/y.db?mode=rwc")), Ok(Target::Sqlite(file)) if file == Path::new("x/y.db")));
        assert!(matches!(of(Some("sqlite:///x/y.db")), Ok(Target::Sqlite(file)) if file == Path::new("/x/y.db")));
        for url in ["postgres://a:b@host/db", "postgresql:///db?host=/run"] {
            assert!(matches!(of(Some(url)), Ok(Target::Postgres(_))));
        }
    }

    #[test]
    fn a_refusal_keeps_the_password_to_itself() {
        let urls =
            ["mysql://me:hunter2@host/db", "me:hunter2@host", "postgres://me:hunter2@host:99999/db", "sqlite::memory:", ""];
        for url in urls {
            match of(Some(url)) {
                Err(StoreError::Configuration(text)) => {
                    assert!(text.starts_with("database.url"), "{text}");
                    assert!(!text.contains("hunter2"), "{text}");
                }
                _ => panic!("{url} was taken"),
            }
        }
    }
}
