//! The daemon: gRPC services over the snapshot, an admin port for probes and metrics, and their wiring.

mod devices;
mod error;
mod filter;
pub mod json;
mod paging;
mod predict;
mod snapshot;
mod wire;

pub use error::{DOMAIN, Resource, ServiceError};
pub use predict::predict_pair;
