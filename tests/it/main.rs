//! The integration tests: one binary, a module per capability.

mod docs;
mod interference;
mod store_backend;
mod store_conformance;
mod store_data;
mod store_postgres;
mod store_sqlite;
