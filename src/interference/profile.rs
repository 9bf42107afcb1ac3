//! A workload as the predictor sees it: each operator's pressure on the shared resources, at each measured share.

use std::sync::Arc;

use super::{
    condense::{Part, condense},
    pressure::{Needs, Pressure},
    sequence::in_sequence,
};
use crate::domain::{Device, KnownCounters, Provenance, Signature, SmShare, SoloLatency};

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

impl From<&Signature> for OperatorRow {
    fn from(signature: &Signature) -> Self {
        Self {
            sm_share: signature.sm_share,
            operator: signature.operator.clone(),
            launches: signature.launches,
            duration_us: signature.duration_us,
            counters: KnownCounters::from(&signature.counters),
            provenance: signature.provenance,
            clocks_locked: signature.clocks_locked,
        }
    }
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
    pub(super) pressure: Pressure,
}

/// A workload at one measured share.
#[derive(Debug, Clone)]
pub struct ShareProfile {
    /// The share.
    pub sm_share: SmShare,
    /// Its operators, in the order of the signatures.
    pub operators: Vec<OperatorProfile>,
    /// Some duration was taken under locked clocks or flushed caches.
    pub clocks_locked: bool,
    /// Some duration was not measured but taken from an even spread of the latency.
    pub durations_assumed: bool,
    /// The operators condensed; weights are microseconds of an iteration.
    pub(super) parts: Vec<Part>,
    /// Places in `operators` of those that take most time, most first.
    pub(super) heaviest: Vec<usize>,
}

/// Operators of a tenant that are looked at for the worst pairs; those beyond run too short to be among them.
const HEAVIEST: usize = 16;

impl ShareProfile {
    /// From the operators of one share; the second value holds the quantities that all of them gave.
    fn new(device: &Device, sm_share: SmShare, rows: Vec<OperatorRow>) -> (Self, Needs) {
        let mut known = Needs::ALL;
        let mut share = Self {
            sm_share,
            operators: Vec::with_capacity(rows.len()),
            clocks_locked: rows.iter().any(|row| row.clocks_locked),
            durations_assumed: rows.iter().any(|row| row.counters.duration_assumed == Some(1.0)),
            parts: vec![],
            heaviest: vec![],
        };
        for row in rows {
            let (pressure, given) = Pressure::new(device, sm_share, row.duration_us, &row.counters);
            known = known.intersection(given);
            let OperatorRow { operator, launches, duration_us, .. } = row;
            share.operators.push(OperatorProfile { operator, launches, duration_us, pressure });
        }
        share.condense();
        (share, known)
    }

    fn condense(&mut self) {
        let time_us = |op: &OperatorProfile| op.launches * op.duration_us;
        let parts: Vec<Part> = self.operators.iter().map(|op| Part { weight: time_us(op), pressure: op.pressure }).collect();
        self.parts = condense(&parts);
        self.heaviest = (0..self.operators.len()).collect();
        self.heaviest.sort_by(|a, b| time_us(&self.operators[*b]).total_cmp(&time_us(&self.operators[*a])));
        self.heaviest.truncate(HEAVIEST);
    }

    /// Time in kernels of one iteration, microseconds.
    #[must_use]
    pub fn kernel_time_us(&self) -> f64 {
        self.operators.iter().map(|op| op.launches * op.duration_us).sum()
    }

    /// Launches of one iteration.
    #[must_use]
    pub fn launches(&self) -> f64 {
        self.operators.iter().map(|op| op.launches).sum()
    }
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
    /// Solo latencies by share, ascending: the measured ones, or the sums of kernels when nothing was measured.
    pub solo: Vec<SoloLatency>,
    /// Counters that the predictor can use and that some operator lacks.
    pub missing_counters: Vec<&'static str>,
    /// Weakest provenance among the signatures; `None` without signatures.
    pub provenance: Option<Provenance>,
    /// Catalog version at which the workload last changed.
    pub catalog_version: i64,
    /// Quantities that every operator's counters gave.
    pub(super) known: Needs,
}

impl WorkloadProfile {
    /// Builds the profile of `workload` on `device` from its rows (any order of shares; the order within a share is kept) and
    /// its solo latencies (any order). A share with operators and without any solo latency gets the sum of its kernels.
    #[must_use]
    pub fn build(
        device: &Device,
        workload: Arc<str>,
        family: Arc<str>,
        rows: Vec<OperatorRow>,
        solo: Vec<SoloLatency>,
        catalog_version: i64,
    ) -> Self {
        let provenance = rows.iter().map(|row| row.provenance).max();
        let mut by_share: Vec<(SmShare, Vec<OperatorRow>)> = vec![];
        for row in rows {
            match by_share.iter_mut().find(|(share, _)| *share == row.sm_share) {
                Some((_, rows)) => rows.push(row),
                None => by_share.push((row.sm_share, vec![row])),
            }
        }
        let mut known = Needs::ALL;
        let mut shares: Vec<ShareProfile> = vec![];
        for (sm_share, mut rows) in by_share {
            let measured = solo.iter().find(|s| s.sm_share == sm_share && !s.from_kernels);
            in_sequence(device, &mut rows, measured.map(|s| s.latency_us));
            let (share, given) = ShareProfile::new(device, sm_share, rows);
            known = known.intersection(given);
            shares.push(share);
        }
        shares.sort_by(|a, b| a.sm_share.get().total_cmp(&b.sm_share.get()));
        let solo = best_solo_latencies(&workload, &shares, solo, provenance);
        let missing_counters = if shares.is_empty() { vec![] } else { Needs::ALL.without(known).counters() };
        Self { workload, family, shares, solo, missing_counters, provenance, catalog_version, known }
    }
}

/// The measured latencies where there are any, else one from the kernels at each share: the two are not mixed, because kernels
/// profiled under locked clocks would bend the curve.
fn best_solo_latencies(
    workload: &Arc<str>,
    shares: &[ShareProfile],
    mut solo: Vec<SoloLatency>,
    provenance: Option<Provenance>,
) -> Vec<SoloLatency> {
    if solo.iter().any(|s| !s.from_kernels) {
        solo.retain(|s| !s.from_kernels);
    } else if let Some(provenance) = provenance {
        solo = shares
            .iter()
            .map(|share| SoloLatency {
                workload: workload.clone(),
                sm_share: share.sm_share,
                latency_us: share.kernel_time_us(),
                stdev_us: None,
                samples: None,
                provenance,
                from_kernels: true,
            })
            .collect();
    }
    solo.sort_by(|a, b| a.sm_share.get().total_cmp(&b.sm_share.get()));
    solo
}
