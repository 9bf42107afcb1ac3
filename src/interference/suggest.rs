//! Which co-runs to measure next: those that tell most about the pairs that are asked for.

use std::{collections::HashMap, hash::BuildHasher, sync::Arc};

use nalgebra::DMatrix;

use super::{
    Predictor, WorkloadProfile,
    adapt::Beside,
    fit::relative,
    residual::{Observation, Subject},
    tenant::Tenant,
};
use crate::domain::{Device, SmShare};

/// Directions that are weighed at once; of more, as many are taken evenly. The cost grows with their square.
const MOST: usize = 1_500;

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
/// fewer when there are fewer. Candidates and co-runs without signatures are passed over; a predictor that cannot be adapted
/// suggests nothing. No measured latency is looked at.
#[must_use]
pub fn suggest<S: BuildHasher>(
    predictor: &Predictor,
    device: &Device,
    profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>, S>,
    candidates: &[CoRun],
    asked: &[CoRun],
    count: usize,
) -> Vec<Suggestion> {
    let Some(mut weighing) = Weighing::new(predictor, device, profiles, candidates, asked) else { return vec![] };
    let mut suggestions = vec![];
    while suggestions.len() < count {
        let before = weighing.expected_error_pct();
        let Some(candidate) = weighing.take_best() else { break };
        suggestions.push(Suggestion {
            candidate,
            expected_error_before_pct: before,
            expected_error_after_pct: weighing.expected_error_pct(),
        });
    }
    suggestions
}

/// Timed directions of co-runs, and how their errors hang together.
struct Weighing {
    /// Posterior covariance of the logarithms of all directions.
    covariance: DMatrix<f64>,
    /// Variance of a measurement of each.
    noise: Vec<f64>,
    /// Places of the directions asked for.
    asked: Vec<usize>,
    /// Candidates not yet taken: their places in the caller's list, and their directions.
    candidates: Vec<(usize, Vec<usize>)>,
}

impl Weighing {
    fn new<S: BuildHasher>(
        predictor: &Predictor,
        device: &Device,
        profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>, S>,
        candidates: &[CoRun],
        asked: &[CoRun],
    ) -> Option<Self> {
        let mut beside = Beside::new(predictor)?;
        let mut rows: Vec<Observation> = vec![];
        let mut tenants = Tenants { device, profiles, placed: HashMap::new() };
        let same = candidates == asked;
        let limit = if same { MOST } else { MOST / 2 };
        let mut add = |co_run: &CoRun| -> Vec<usize> {
            let new = directions(&mut beside, &mut tenants, co_run);
            let from = rows.len();
            rows.extend(new);
            (from..rows.len()).collect()
        };
        let of = |co_run: &CoRun| usize::from(co_run.timed[0]) + usize::from(co_run.timed[1]);
        let chosen = evenly(candidates, limit, of);
        let candidates: Vec<(usize, Vec<usize>)> =
            chosen.into_iter().map(|i| (i, add(&candidates[i]))).filter(|(_, directions)| !directions.is_empty()).collect();
        let asked: Vec<usize> = if same {
            candidates.iter().flat_map(|(_, directions)| directions.iter().copied()).collect()
        } else {
            evenly(asked, limit, of).into_iter().flat_map(|i| add(&asked[i])).collect()
        };
        let rows: Vec<&Observation> = rows.iter().collect();
        let cast = beside.cast();
        let kernel = beside.kernel(&cast);
        let side = beside.side(&kernel, &rows);
        let covariance = kernel.matrix(&rows, &rows) - side.transpose() * &side;
        Some(Self { covariance, noise: rows.iter().map(|row| kernel.noise(row)).collect(), asked, candidates })
    }

    /// Root-mean-square error expected over what is asked for, per cent.
    fn expected_error_pct(&self) -> f64 {
        let variance: f64 = self.asked.iter().map(|i| self.covariance[(*i, *i)].max(0.0)).sum();
        100.0 * (variance / self.asked.len().max(1) as f64).sqrt()
    }

    /// Takes the candidate that shrinks the variance most, and conditions on it.
    fn take_best(&mut self) -> Option<usize> {
        let gain = |directions: &[usize]| self.told(directions).map_or(0.0, |(gain, _)| gain);
        let gains = self.candidates.iter().map(|(_, directions)| gain(directions));
        let best = gains.enumerate().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?.0;
        let (candidate, directions) = self.candidates.remove(best);
        if let Some((_, told)) = self.told(&directions) {
            self.covariance.gemm(-1.0, &told, &told.transpose(), 1.0);
        }
        Some(candidate)
    }

    /// How much variance a measurement of `directions` takes from what is asked for, and the factor of what it takes from all.
    fn told(&self, directions: &[usize]) -> Option<(f64, DMatrix<f64>)> {
        let mut known = self.covariance.select_rows(directions).select_columns(directions);
        for (i, direction) in directions.iter().enumerate() {
            known[(i, i)] += self.noise[*direction];
        }
        let lower = known.cholesky()?.unpack();
        let mut told = self.covariance.select_rows(directions);
        lower.solve_lower_triangular_mut(&mut told).then_some(())?;
        let gain = self.asked.iter().map(|i| told.column(*i).norm_squared()).sum();
        Some((gain, told.transpose()))
    }
}

/// At most as many of `co_runs` as come to `most` directions, evenly.
fn evenly(co_runs: &[CoRun], most: usize, directions: impl Fn(&CoRun) -> usize) -> Vec<usize> {
    let total: usize = co_runs.iter().map(directions).sum();
    let step = total.div_ceil(most).max(1);
    (0..co_runs.len()).step_by(step).collect()
}

/// Workload, share, latency alone.
type TenantKey = (Arc<str>, u64, Option<u64>);

struct Tenants<'a, S> {
    device: &'a Device,
    profiles: &'a HashMap<Arc<str>, Arc<WorkloadProfile>, S>,
    placed: HashMap<TenantKey, Option<Arc<Tenant>>>,
}

impl<S: BuildHasher> Tenants<'_, S> {
    fn get(&mut self, co_run: &CoRun, side: usize) -> Option<Arc<Tenant>> {
        let (workload, share, solo_us) = (&co_run.workloads[side], co_run.sm_shares[side], co_run.solo_us[side]);
        let profile = self.profiles.get(workload)?;
        let place = || Tenant::place(self.device, profile, share, 1.0, solo_us).ok().map(Arc::new);
        self.placed.entry((workload.clone(), share.get().to_bits(), solo_us.map(f64::to_bits))).or_insert_with(place).clone()
    }
}

/// The timed directions of a co-run, as observations without a result.
fn directions<S: BuildHasher>(beside: &mut Beside<'_>, tenants: &mut Tenants<'_, S>, co_run: &CoRun) -> Vec<Observation> {
    let [Some(a), Some(b)] = [0, 1].map(|side| tenants.get(co_run, side)) else { return vec![] };
    let sides = [(&a, &b), (&b, &a)];
    let timed = sides.into_iter().zip(co_run.timed).filter_map(|(sides, timed)| timed.then_some(sides));
    timed
        .map(|(victim, partner)| {
            let composed = beside.law().compose(victim, partner);
            Observation {
                victim: beside.subject(&Subject::of(victim)),
                partner: beside.subject(&Subject::of(partner)),
                by_channel: relative(&composed.by_channel, composed.slowdown),
                log_ratio: 0.0,
                weight: 1.0,
            }
        })
        .collect()
}
