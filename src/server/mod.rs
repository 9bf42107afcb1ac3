//! The daemon: gRPC services over the snapshot, an admin port for probes and metrics, and their wiring.

mod devices;
mod error;
pub mod json;
mod predict;
mod wire;

pub use error::{DOMAIN, Resource, ServiceError};
pub use predict::predict_pair;
