//! Log lines go to stderr, as text or as one JSON object a line.

use std::io::{self, IsTerminal};

use anyhow::anyhow;
use tracing_subscriber::EnvFilter;

use super::failure::BadSetting;
use crate::config::{LogConfig, LogFormat};

/// Starts logging. A short-lived verb says nothing below a warning unless the filter was set.
pub(super) fn start(config: &LogConfig, long_lived: bool) -> anyhow::Result<()> {
    let filter = if long_lived || config.filter != LogConfig::default().filter { config.filter.as_str() } else { "warn" };
    let filter = EnvFilter::try_new(filter).map_err(|error| BadSetting(format!("log.filter: {error}")))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match config.format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    }
    .map_err(|error| anyhow!("logging cannot start: {error}"))
}
