//! The integration tests: one binary, a module per capability.

mod cli_export;
mod cli_fit;
mod cli_help;
mod cli_import;
mod cli_predict;
mod cli_serve;
mod cli_support;
mod docs;
mod interference;
mod store_backend;
mod store_conformance;
mod store_data;
mod store_postgres;
mod store_sqlite;
