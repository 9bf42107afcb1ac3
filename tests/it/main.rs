//! The integration tests: one binary, a module per capability.

mod docs;
mod interference;
