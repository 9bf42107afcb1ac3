//! The words of the field as types, with their validation. No I/O, no async, no clock.

mod counters;
mod device;
mod import;
mod invalid;
mod kinds;
mod sample;
mod share;
mod signature;

pub use counters::{Counters, KnownCounters, L2_SECTOR_BYTES};
pub use device::{Ceiling, CeilingBasis, Device, DeviceId};
pub use import::{ImportBatch, ImportReceipt};
pub use invalid::Invalid;
pub use kinds::{Channel, ConfidenceClass, Provenance, SharingMode};
pub use sample::{PairSample, SoloLatency, TraceEntry};
pub use share::SmShare;
pub use signature::{MAX_OPERATOR_BYTES, MAX_WORKLOAD_BYTES, Signature, family_of, validate_workload};
