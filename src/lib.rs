//! pairsight tells, before two DNN inference tasks are put on one GPU, how much each will slow the other down, why, and
//! how far the answer can be trusted. `docs/architecture.md` has the rooms and their order.

pub mod bundled;
pub mod cli;
pub mod config;
pub mod domain;
pub mod ingest;
pub mod interference;
pub mod server;
pub mod store;

/// The wire types, generated from `proto/pairsight/v1`.
#[expect(clippy::all, clippy::pedantic, clippy::allow_attributes, reason = "generated")]
pub mod proto {
    tonic::include_proto!("pairsight.v1");
}
