//! The integration tests: one binary, a module per capability.

mod ingest_dataset;
mod ingest_devices;
mod ingest_fuzz;
mod ingest_ncu;
