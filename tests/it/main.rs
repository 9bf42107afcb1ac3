//! The integration tests: one binary, a module per capability.
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

mod cli_export;
mod cli_fit;
mod cli_help;
mod cli_import;
mod cli_predict;
mod cli_serve;
mod cli_suggest;
mod cli_support;
mod docs;
mod evaluate;
mod ingest_dataset;
mod ingest_devices;
mod ingest_fuzz;
mod ingest_ncu;
mod interference;
mod quality;
mod server_catalog;
mod server_config;
mod server_json;
mod server_life;
mod server_postgres;
mod server_predict;
mod server_samples;
mod store_backend;
mod store_conformance;
mod store_data;
mod store_postgres;
mod store_sqlite;
mod support;
