use std::sync::Arc;

use super::{Invalid, Provenance, SharingMode, SmShare, validate_workload};

/// Latency of a workload alone on a share.
#[derive(Debug, Clone, PartialEq)]
pub struct SoloLatency {
    /// The workload.
    pub workload: Arc<str>,
    /// Its share.
    pub sm_share: SmShare,
    /// Mean latency of one iteration, microseconds.
    pub latency_us: f64,
    /// Standard deviation of one iteration, microseconds.
    pub stdev_us: Option<f64>,
    /// Iterations measured.
    pub samples: Option<u64>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// It is the sum of the kernels' durations, for want of a measurement.
    pub from_kernels: bool,
}

impl SoloLatency {
    /// Checks every field; an error names it.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_workload("workload", &self.workload)?;
        Invalid::positive("latency_us", self.latency_us)?;
        if let Some(stdev) = self.stdev_us {
            Invalid::not_negative("stdev_us", stdev)?;
        }
        Ok(())
    }
}

/// One launch of a workload, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceEntry {
    /// The workload.
    pub workload: Arc<str>,
    /// Place in the sequence, from 0.
    pub position: u32,
    /// Kernel name, as in the workload's signatures.
    pub operator: Arc<str>,
    /// Idle time before the launch, microseconds.
    pub gap_before_us: f64,
}

impl TraceEntry {
    /// Checks every field; an error names it.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_workload("workload", &self.workload)?;
        Invalid::text("operator", &self.operator, super::MAX_OPERATOR_BYTES)?;
        Invalid::not_negative("gap_before_us", self.gap_before_us)?;
        Ok(())
    }
}

/// One measured co-run of two tenants.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSample {
    /// Name of the row in its source, unique in a device and sharing mode.
    pub pair_id: String,
    /// Mode in which the device was shared.
    pub sharing_mode: SharingMode,
    /// Workloads of the first and the second tenant.
    pub workloads: [Arc<str>; 2],
    /// Their shares.
    pub sm_shares: [SmShare; 2],
    /// Their latencies alone, microseconds.
    pub solo_us: [f64; 2],
    /// Their latencies side by side, microseconds; `None` where that side was not timed.
    pub corun_us: [Option<f64>; 2],
    /// Standard deviations of those, microseconds.
    pub stdev_us: [Option<f64>; 2],
    /// Measuring campaign; empty when there is only one.
    pub campaign: String,
    /// Where it comes from.
    pub provenance: Provenance,
}

impl PairSample {
    /// Checks every field; an error names it as the columns of a dataset do.
    pub fn validate(&self) -> Result<(), Invalid> {
        Invalid::text("pair_id", &self.pair_id, 128)?;
        if !self.campaign.is_empty() {
            Invalid::text("campaign", &self.campaign, 128)?;
        }
        for (i, side) in ["a", "b"].iter().enumerate() {
            validate_workload(&format!("{side}_workload"), &self.workloads[i])?;
            Invalid::positive(&format!("{side}_solo_us"), self.solo_us[i])?;
            if let Some(corun) = self.corun_us[i] {
                Invalid::positive(&format!("{side}_corun_us"), corun)?;
            }
            if let Some(stdev) = self.stdev_us[i] {
                Invalid::not_negative(&format!("{side}_stdev_us"), stdev)?;
            }
        }
        let total = self.sm_shares[0].get() + self.sm_shares[1].get();
        if self.sharing_mode.shares_are_disjoint() && total > 1.0 + SmShare::TOLERANCE {
            return Err(Invalid::new("b_sm_share", format_args!("shares add up to {total}, more than the device has")));
        }
        Ok(())
    }
}
