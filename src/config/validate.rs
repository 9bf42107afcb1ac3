//! The check of the configuration as a whole.

use std::time::Duration;

use secrecy::ExposeSecret;

use super::{Config, ConfigError};

/// Longest time that any setting may name: beyond it, clocks overflow.
const MAX_DURATION: Duration = Duration::from_hours(366 * 24);

impl Config {
    /// Checks all settings and how they go together; an error names the first that cannot be used.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check_durations()?;
        self.check_limits()?;
        self.check_tls()?;
        self.check_addresses()?;
        self.check_texts()
    }

    fn check_durations(&self) -> Result<(), ConfigError> {
        let durations = [
            ("database.acquire_timeout", self.database.acquire_timeout),
            ("database.busy_timeout", self.database.busy_timeout),
            ("database.poll_interval", self.database.poll_interval),
            ("server.request_timeout", self.server.request_timeout),
            ("server.max_connection_age", self.server.max_connection_age),
            ("server.drain_timeout", self.server.drain_timeout),
            ("catalog.stale_after", self.catalog.stale_after),
        ];
        for (field, duration) in durations {
            require(!duration.is_zero(), field, "must be longer than 0")?;
            require(duration <= MAX_DURATION, field, "must be at most a year")?;
        }
        require(
            self.catalog.stale_after > self.database.poll_interval,
            "catalog.stale_after",
            "must be longer than database.poll_interval, or every answer would be called stale",
        )
    }

    fn check_limits(&self) -> Result<(), ConfigError> {
        let limits = [
            ("database.max_connections", u64::from(self.database.max_connections)),
            ("server.max_concurrent_requests", self.server.max_concurrent_requests as u64),
            ("server.max_concurrent_requests_per_connection", self.server.max_concurrent_requests_per_connection as u64),
            ("server.max_import_bytes", self.server.max_import_bytes),
        ];
        for (field, limit) in limits {
            require(limit > 0, field, "must be above 0")?;
        }
        let most = 1_000_000;
        require(self.server.max_concurrent_requests <= most, "server.max_concurrent_requests", "must be at most 1,000,000")?;
        require(
            self.server.max_concurrent_requests_per_connection <= most,
            "server.max_concurrent_requests_per_connection",
            "must be at most 1,000,000",
        )
    }

    fn check_tls(&self) -> Result<(), ConfigError> {
        match (&self.server.tls_certificate, &self.server.tls_key) {
            (Some(_), None) => Err(field("server.tls_key", "must be set when server.tls_certificate is")),
            (None, Some(_)) => Err(field("server.tls_certificate", "must be set when server.tls_key is")),
            (Some(_), Some(_)) | (None, None) => Ok(()),
        }
    }

    fn check_addresses(&self) -> Result<(), ConfigError> {
        let same = self.server.grpc_listen == self.admin.listen && self.admin.listen.port() != 0;
        require(!same, "admin.listen", "must not be the address of server.grpc_listen")
    }

    fn check_texts(&self) -> Result<(), ConfigError> {
        require(!self.data_dir.as_os_str().is_empty(), "data_dir", "must not be empty")?;
        if let Some(url) = &self.database.url {
            let known = ["postgres://", "postgresql://", "sqlite:"].iter().any(|scheme| url.expose_secret().starts_with(scheme));
            require(known, "database.url", "must begin with postgres:// or sqlite:")?;
        }
        tracing_subscriber::EnvFilter::try_new(&self.log.filter)
            .map(drop)
            .map_err(|error| field("log.filter", &error.to_string()))
    }
}

fn field(field: &'static str, problem: &str) -> ConfigError {
    ConfigError::Field { field, problem: problem.to_owned() }
}

fn require(holds: bool, name: &'static str, problem: &str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(field(name, problem)) }
}
