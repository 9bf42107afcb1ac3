//! The daemon: gRPC services over the snapshot, an admin port for probes and metrics, and their wiring.

mod admin;
mod batch;
mod catalog;
mod connection;
mod devices;
mod error;
mod filter;
mod grpc;
mod import;
pub mod json;
mod layers;
mod metrics;
mod paging;
mod predict;
mod prediction;
mod profiling;
mod samples;
mod serve;
mod snapshot;
mod state;
pub(crate) mod suggestions;
pub(crate) mod wire;

pub use error::{DOMAIN, Resource, ServiceError};
pub use predict::predict_pair;
pub use serve::{BoundAddresses, ServeError, serve};
