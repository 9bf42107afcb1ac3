//! Configuration: built-in defaults, then a TOML file, then `PAIRSIGHT__SECTION__KEY` from the environment, then flags.

mod load;
mod validate;

use std::{net::SocketAddr, path::PathBuf, time::Duration};

pub use load::{ConfigError, Overrides};

use secrecy::SecretString;
use serde::Deserialize;

/// All settings. Every one has a default, so that no configuration is needed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Directory of all that the embedded default keeps.
    pub data_dir: PathBuf,
    /// The store.
    pub database: DatabaseConfig,
    /// The gRPC server.
    pub server: ServerConfig,
    /// The HTTP port for probes and metrics.
    pub admin: AdminConfig,
    /// The snapshot and what it is filled with.
    pub catalog: CatalogConfig,
    /// Logging.
    pub log: LogConfig,
}

/// The store.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DatabaseConfig {
    /// `postgres://...` or `sqlite://...`; none means `pairsight.db` in the data directory. Kept out of every log line.
    pub url: Option<SecretString>,
    /// Most connections of the pool.
    pub max_connections: u32,
    /// Longest wait for a connection.
    #[serde(with = "humantime_serde")]
    pub acquire_timeout: Duration,
    /// How long SQLite waits for another writer.
    #[serde(with = "humantime_serde")]
    pub busy_timeout: Duration,
    /// How often the catalog version is asked for when nothing was notified.
    #[serde(with = "humantime_serde")]
    pub poll_interval: Duration,
}

/// The gRPC server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// Address of the gRPC port.
    pub grpc_listen: SocketAddr,
    /// Longest time for one call; streams included up to their first message.
    #[serde(with = "humantime_serde")]
    pub request_timeout: Duration,
    /// Most calls at once over all connections; more are refused with OVERLOADED.
    pub max_concurrent_requests: usize,
    /// Most calls at once on one connection.
    pub max_concurrent_requests_per_connection: usize,
    /// Age at which a connection is closed in good order, so that load spreads over replicas.
    #[serde(with = "humantime_serde")]
    pub max_connection_age: Duration,
    /// Longest time that shutdown waits for running calls.
    #[serde(with = "humantime_serde")]
    pub drain_timeout: Duration,
    /// Largest total size of one import over gRPC, bytes.
    pub max_import_bytes: u64,
    /// PEM file of the certificate chain; with `tls_key` turns TLS on.
    pub tls_certificate: Option<PathBuf>,
    /// PEM file of the private key.
    pub tls_key: Option<PathBuf>,
}

/// The HTTP port for probes and metrics.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdminConfig {
    /// Its address.
    pub listen: SocketAddr,
}

/// The snapshot and what it is filled with.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogConfig {
    /// Put the bundled catalog into a store that never had it.
    pub bundled: bool,
    /// Age without contact to the store beyond which answers say `SNAPSHOT_STALE`.
    #[serde(with = "humantime_serde")]
    pub stale_after: Duration,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Logging.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// Form of the lines.
    pub format: LogFormat,
    /// Filter in the syntax of `tracing_subscriber::EnvFilter`.
    pub filter: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: directories::ProjectDirs::from("", "", "pairsight")
                .map_or_else(|| PathBuf::from("pairsight-data"), |dirs| dirs.data_dir().to_owned()),
            database: DatabaseConfig::default(),
            server: ServerConfig::default(),
            admin: AdminConfig::default(),
            catalog: CatalogConfig::default(),
            log: LogConfig::default(),
        }
    }
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            url: None,
            max_connections: 8,
            acquire_timeout: Duration::from_secs(3),
            busy_timeout: Duration::from_secs(5),
            poll_interval: Duration::from_millis(500),
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            grpc_listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            request_timeout: Duration::from_secs(10),
            max_concurrent_requests: 1024,
            max_concurrent_requests_per_connection: 256,
            max_connection_age: Duration::from_secs(1800),
            drain_timeout: Duration::from_secs(10),
            max_import_bytes: 1 << 30,
            tls_certificate: None,
            tls_key: None,
        }
    }
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 9464)) }
    }
}

impl Default for CatalogConfig {
    fn default() -> Self {
        Self { bundled: true, stale_after: Duration::from_secs(10) }
    }
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}
