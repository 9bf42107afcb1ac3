//! The wire types and the words of the domain, one into the other. Everything that comes in is checked here.

mod catalog;
mod device;
mod kinds;
mod learning;
mod prediction;
mod request;
mod sample;
mod signature;

pub(crate) use catalog::{predictor_to_wire, workload_to_wire};
pub(super) use device::device_from_wire;
pub(crate) use device::device_to_wire;
pub(super) use kinds::sharing_mode;
pub(crate) use learning::suggestion_to_wire;
pub(super) use learning::{added_samples_from_wire, check_to_wire, corun_from_wire, count, finding_to_wire};
pub(super) use prediction::{Answer, TenantAnswer};
pub(super) use request::{Pair, Source, TenantRequest};
pub(super) use sample::{pair_sample_from_wire, solo_from_wire, solo_to_wire, trace_from_wire};
pub(super) use signature::{operators_from_wire, put_on_share, share_from_wire, signature_from_wire, signature_to_wire};
