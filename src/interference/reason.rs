//! What a reader of an answer has to know, with the class that it leaves.

use crate::domain::{ConfidenceClass, Provenance, SmShare};

/// Code of the reason that a workload is far from the data.
pub(super) const FAR: &str = "SIGNATURE_FAR_FROM_DATA";

/// Something that a reader of an answer has to know. Codes are listed in `docs/api.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Code for programs, for example `SHARE_INTERPOLATED`.
    pub code: &'static str,
    /// One sentence for people.
    pub detail: String,
    /// The class to which an answer with this reason falls at best.
    pub class: ConfidenceClass,
}

impl Reason {
    /// A reason that leaves the class as it is.
    #[must_use]
    pub fn note(code: &'static str, detail: String) -> Self {
        Self { code, detail, class: ConfidenceClass::Calibrated }
    }

    /// A reason for which an answer is outside the data.
    pub(super) fn extrapolating(code: &'static str, detail: String) -> Self {
        Self { code, detail, class: ConfidenceClass::Extrapolating }
    }

    pub(super) fn prior_only(code: &'static str, detail: String) -> Self {
        Self { code, detail, class: ConfidenceClass::PriorOnly }
    }

    pub(super) fn share_interpolated(who: &str, share: SmShare) -> Self {
        Self::note(
            "SHARE_INTERPOLATED",
            format!("{who} was not measured at share {}: interpolated between the shares around it", share.get()),
        )
    }

    pub(super) fn share_extrapolated(who: &str, share: SmShare) -> Self {
        Self::extrapolating(
            "SHARE_EXTRAPOLATED",
            format!("share {} lies outside the shares at which {who} was measured", share.get()),
        )
    }

    pub(super) fn solo_latency_from_kernels(who: &str) -> Self {
        Self::extrapolating(
            "SOLO_LATENCY_FROM_KERNELS",
            format!("the latency of {who} alone is the sum of its kernels: launch gaps and overlap are not in it"),
        )
    }

    pub(super) fn clocks_locked(who: &str) -> Self {
        Self::note(
            "CLOCKS_LOCKED",
            format!(
                "kernels of {who} were timed by a profiler that locks clocks or flushes caches: their durations are not those in production"
            ),
        )
    }

    pub(super) fn generic_predictor() -> Self {
        Self::prior_only(
            "GENERIC_PREDICTOR",
            "no co-runs were fitted for this device and sharing mode: the answer is from the device's ceilings alone".to_owned(),
        )
    }

    pub(super) fn counters_missing(who: &str, missing: &[&str]) -> Self {
        Self::extrapolating(
            "COUNTERS_MISSING",
            format!(
                "{} of {who} cannot be told (no such counter, or no such ceiling of the device): what it would show is not in the answer",
                missing.join(", ")
            ),
        )
    }

    pub(super) fn signature_far_from_data(who: &str, distance: f64) -> Self {
        Self::extrapolating(
            FAR,
            format!(
                "{who} was not measured beside others, or only in one role; the nearest workload that was is {distance:.2} standard deviations away"
            ),
        )
    }

    pub(super) fn simulated_data() -> Self {
        Self::note("SIMULATED_DATA", "the data behind this answer comes from a simulated GPU, not from a real one".to_owned())
    }

    pub(super) fn durations_assumed(who: &str) -> Self {
        Self::extrapolating(
            "DURATIONS_ASSUMED",
            format!("no kernel of {who} was timed: its latency is spread evenly over the launches"),
        )
    }

    /// The reason that data of this kind gives, if any.
    pub(super) fn of_provenance(who: &str, provenance: Provenance) -> Option<Self> {
        match provenance {
            Provenance::Measured | Provenance::Imported => None,
            Provenance::Simulated => Some(Self::simulated_data()),
            Provenance::Analytic => Some(Self::prior_only(
                "ANALYTIC_DATA",
                format!("{who} was derived from a model's structure, nothing of it was measured"),
            )),
        }
    }
}
