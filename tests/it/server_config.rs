//! The layers of the configuration and its check.

use std::{ffi::OsString, net::SocketAddr, time::Duration};

use pairsight::config::{Config, ConfigError, LogFormat, Overrides};

fn load(file: &str, environment: &[(&str, &str)], overrides: Overrides) -> Result<Config, ConfigError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pairsight.toml");
    std::fs::write(&path, file).unwrap();
    let environment = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Config::load_from(Some(&path), environment, overrides)
}

#[test]
fn each_layer_wins_over_the_one_before() {
    let file = "[server]\nrequest_timeout = \"7s\"\nmax_concurrent_requests = 5\n[log]\nfilter = \"warn\"\nformat = \"text\"";
    let environment = [
        ("PAIRSIGHT__SERVER__MAX_CONCURRENT_REQUESTS", "6"),
        ("PAIRSIGHT__LOG__FILTER", "debug"),
        ("PAIRSIGHT__DATA_DIR", "elsewhere"),
        ("PAIRSIGHT__CATALOG__BUNDLED", "false"),
        ("PAIRSIGHT__DATABASE__URL", "postgres://user:secret@host/db"),
        ("PAIRSIGHT_TEST_POSTGRES_URL", "not ours"),
    ];
    let listen: SocketAddr = ([0, 0, 0, 0], 1).into();
    let overrides = Overrides { log_format: Some(LogFormat::Json), grpc_listen: Some(listen), ..Overrides::default() };
    let config = load(file, &environment, overrides).unwrap();
    assert_eq!(config.server.request_timeout, Duration::from_secs(7));
    assert_eq!(config.server.max_concurrent_requests, 6);
    assert_eq!((config.log.filter.as_str(), config.log.format), ("debug", LogFormat::Json));
    assert_eq!((config.server.grpc_listen, config.data_dir.to_str()), (listen, Some("elsewhere")));
    assert!(!config.catalog.bundled);
    assert!(!format!("{config:?}").contains("secret"));
}

#[test]
fn unknown_keys_are_errors_that_name_them() {
    let error = load("", &[("PAIRSIGHT__SERVR__X", "1")], Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("servr"), "{error}");
    let error = load("[server]\ngrpc_listn = \"127.0.0.1:1\"", &[], Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("grpc_listn"), "{error}");
    let error = load("", &[("PAIRSIGHT__SERVER__REQUEST_TIMEOUT", "soon")], Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("request_timeout"), "{error}");
}

#[test]
fn the_check_names_the_setting() {
    for (file, named) in [
        ("[server]\nmax_concurrent_requests = 0", "server.max_concurrent_requests"),
        ("[server]\ntls_certificate = \"c.pem\"", "server.tls_key"),
        ("[server]\ntls_key = \"k.pem\"", "server.tls_certificate"),
        ("[server]\ngrpc_listen = \"127.0.0.1:9464\"", "admin.listen"),
        ("[server]\nrequest_timeout = \"0s\"", "server.request_timeout"),
        ("[catalog]\nstale_after = \"100ms\"", "catalog.stale_after"),
        ("[database]\nurl = \"mysql://x\"", "database.url"),
        ("[log]\nfilter = \"a=b=c\"", "log.filter"),
    ] {
        let error = load(file, &[], Overrides::default()).unwrap_err();
        assert!(matches!(&error, ConfigError::Field { field, .. } if *field == named), "{file}: {error}");
    }
}
