//! What happens to every call before and after its service: identified, traced and counted, limited, timed.

mod body;
mod drain;
mod limit;
mod observe;
mod timeout;

pub(super) use drain::DrainLayer;
pub(super) use limit::{ConnectionSlots, LimitLayer};
pub(super) use observe::ObserveLayer;
pub(super) use timeout::TimeoutLayer;

use tonic::{Status, body::Body, codegen::http};

use super::ServiceError;

/// The answer to a call that does not reach its service.
fn refusal(error: ServiceError) -> http::Response<Body> {
    Status::from(error).into_http()
}

/// Health is asked about a server in trouble: it is neither limited nor timed.
fn is_health(path: &str) -> bool {
    path.starts_with("/grpc.health.v1.Health/")
}
