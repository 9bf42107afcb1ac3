//! The layers of the configuration and how they are put on each other.

use std::{
    collections::HashMap,
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use config::{Environment, File, FileFormat};
use secrecy::SecretString;

use super::{Config, LogFormat};

/// What begins the name of every environment variable that is read.
const PREFIX: &str = "PAIRSIGHT__";

/// What the command line sets; it wins over everything else.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--data-dir`
    pub data_dir: Option<PathBuf>,
    /// `--database-url`
    pub database_url: Option<SecretString>,
    /// `--grpc-listen`
    pub grpc_listen: Option<SocketAddr>,
    /// `--admin-listen`
    pub admin_listen: Option<SocketAddr>,
    /// `--log-format`
    pub log_format: Option<LogFormat>,
}

/// Why there is no configuration. The command line answers it with exit code 64.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file or the environment cannot be read as a configuration; the message names the key.
    #[error("configuration: {0}")]
    Read(String),
    /// A setting that cannot be used.
    #[error("configuration: {field}: {problem}")]
    Field {
        /// Path of the setting, for example `server.tls_key`.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl Config {
    /// Reads the configuration: defaults, then `file`, then the environment, then `overrides`; and checks it as a whole.
    pub fn load(file: Option<&Path>, overrides: Overrides) -> Result<Self, ConfigError> {
        Self::load_from(file, std::env::vars_os(), overrides)
    }

    /// [`Config::load`] with the environment given.
    pub fn load_from(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        overrides: Overrides,
    ) -> Result<Self, ConfigError> {
        let environment = ours(environment)?;
        let mut layers = config::Config::builder();
        if let Some(file) = file {
            layers = layers.add_source(File::from(file).format(FileFormat::Toml));
        }
        let read = layers
            .add_source(
                Environment::with_prefix(PREFIX.trim_end_matches('_'))
                    .prefix_separator("__")
                    .separator("__")
                    .source(Some(environment)),
            )
            .build()
            .and_then(config::Config::try_deserialize::<Self>);
        let mut config = read.map_err(|error| ConfigError::Read(error.to_string()))?;
        config.apply(overrides);
        config.validate()?;
        Ok(config)
    }

    fn apply(&mut self, overrides: Overrides) {
        fn set<T>(setting: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *setting = value;
            }
        }
        set(&mut self.data_dir, overrides.data_dir);
        set(&mut self.server.grpc_listen, overrides.grpc_listen);
        set(&mut self.admin.listen, overrides.admin_listen);
        set(&mut self.log.format, overrides.log_format);
        if overrides.database_url.is_some() {
            self.database.url = overrides.database_url;
        }
    }
}

/// The variables that begin with [`PREFIX`]. One that is not text is an error: it was meant for us and would be lost.
fn ours(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Result<HashMap<String, String>, ConfigError> {
    let mut ours = HashMap::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        let Ok(value) = value.into_string() else {
            return Err(ConfigError::Read(format!("environment variable {name} is not UTF-8")));
        };
        ours.insert(name.to_owned(), value);
    }
    Ok(ours)
}
