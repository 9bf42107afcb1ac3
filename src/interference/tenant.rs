//! A workload placed on a share: what composition works on.

use crate::domain::{ConfidenceClass, Device, Provenance, Signature, SmShare};

use super::WorkloadProfile;

/// Something that a reader of an answer has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Code for programs, for example `SHARE_INTERPOLATED`.
    pub code: &'static str,
    /// One sentence for people.
    pub detail: String,
    /// The class to which an answer with this reason falls at best.
    pub class: ConfidenceClass,
}

/// Why a tenant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TenantError {
    /// The workload has no signature at any share.
    #[error("workload {workload:?} has no signature on device {device} at any share")]
    SignatureMissing {
        /// The workload.
        workload: String,
        /// The device.
        device: String,
    },
}

/// A workload placed on a share of a device's SMs.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// The share.
    pub sm_share: SmShare,
    /// Latency of one iteration alone on the share, microseconds.
    pub solo_latency_us: f64,
    /// Fraction of time in which it is busy, (0, 1].
    pub activity: f64,
    /// Weakest provenance of the figures used.
    pub provenance: Provenance,
    /// Counters that the predictor uses and that some operator lacks.
    pub missing_counters: Vec<&'static str>,
    /// What a reader has to know of it.
    pub reasons: Vec<Reason>,
}

impl Tenant {
    /// Places a workload of the catalog: at a measured share the measured values; between, interpolated; outside,
    /// extrapolated, with reasons.
    pub fn place(
        device: &Device,
        profile: &WorkloadProfile,
        sm_share: SmShare,
        activity: f64,
        solo_latency_us: Option<f64>,
    ) -> Result<Self, TenantError> {
        let _ = (device, profile, sm_share, activity, solo_latency_us);
        todo!()
    }

    /// Places operators given with the request; their counters are those at `sm_share`. At least one.
    #[must_use]
    pub fn of_operators(
        device: &Device,
        operators: &[Signature],
        sm_share: SmShare,
        activity: f64,
        solo_latency_us: Option<f64>,
    ) -> Self {
        let _ = (device, operators, sm_share, activity, solo_latency_us);
        todo!()
    }
}
