//! Fits the channels' coefficients from operator-level and workload-level samples together: non-negative least squares on the
//! relative error, from the linear mean over operator pairs to the harmonic composition by Gauss-Newton steps.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    io::Write,
    sync::Arc,
};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use sha2::{Digest, Sha256};

use super::{
    Artefact, WorkloadProfile,
    compose::PairFeatures,
    neighbourhood::{Neighbourhood, quantile},
    nnls::NormalEquations,
    predictor::{Calibration, FitReport, Term},
    pressure::Needs,
    tenant::Tenant,
    terms::{TERMS, TermSpec},
};
use crate::domain::{Device, DeviceId, PairSample, Provenance, SharingMode};

/// Fewest timed directions that a fit is made from.
const MIN_SAMPLES: usize = 10;
const FOLDS: usize = 5;
/// Ridges tried on left-out pairs; without a unit (see [`NormalEquations::solve`]).
const RIDGES: [f64; 3] = [1e-4, 1e-3, 1e-2];
const GAUSS_NEWTON_STEPS: usize = 12;
/// Level of the upper bounds.
const LEVEL: f64 = 0.9;

/// Co-runs on one device, with the profiles of their workloads.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The device of the profiles and of the co-runs.
    pub device: &'a Device,
    /// Profiles of the workloads in the samples, by name.
    pub profiles: &'a HashMap<Arc<str>, Arc<WorkloadProfile>>,
    /// The co-runs. A side whose co-run latency is missing is not learnt from.
    pub samples: &'a [PairSample],
}

/// What a fit is made from.
pub struct FitInput<'a> {
    /// The device that the predictor is for.
    pub device: &'a Device,
    /// Sharing mode of the co-runs that are used; others are passed over.
    pub sharing_mode: SharingMode,
    /// The data: of the device itself, or of others whose predictor is to be carried over to it, since features are fractions of a
    /// device's own ceilings.
    pub sources: &'a [Source<'a>],
    /// Seed of the folds.
    pub seed: u64,
}

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Too little data.
    #[error(
        "{usable} of {given} timed directions can be used, at least {MIN_SAMPLES} of two pairs of workloads are needed; the others have no signature"
    )]
    TooFewSamples {
        /// Directions that have signatures on both sides.
        usable: usize,
        /// Directions given.
        given: usize,
    },
}

/// Fits a predictor. The same input and seed give the same artefact, whatever the order of the samples.
pub fn fit(input: &FitInput<'_>) -> Result<Artefact, FitError> {
    let mut samples: Vec<(&Source<'_>, &PairSample)> = input
        .sources
        .iter()
        .flat_map(|source| source.samples.iter().map(move |sample| (source, sample)))
        .filter(|(_, sample)| sample.sharing_mode == input.sharing_mode)
        .collect();
    samples.sort_by_cached_key(|(source, sample)| (source.device.device_id.clone(), content(sample)));
    let tenants = TenantCache::new(&samples);
    let directions = directions(&samples, &tenants);
    let given = samples.iter().flat_map(|(_, s)| s.corun_us).flatten().count();
    let groups = groups(&directions, input.seed);
    if directions.len() < MIN_SAMPLES || groups.len() < 2 {
        return Err(FitError::TooFewSamples { usable: directions.len(), given });
    }
    let known = directions.iter().fold(Needs::ALL, |known, d| known.intersection(d.victim.known).intersection(d.partner.known));
    let terms: Vec<&'static TermSpec> = TERMS.iter().filter(|term| term.needs().without(known).is_empty()).collect();
    let rows: Vec<Row> = directions.iter().map(|d| Row::new(&terms, d)).collect();

    let held_out = RIDGES.map(|ridge| held_out_log_ratios(&rows, terms.len(), &groups, ridge));
    let (ridge, log_ratios) = RIDGES
        .iter()
        .zip(held_out)
        .min_by(|(_, a), (_, b)| mean_error_pct(a).total_cmp(&mean_error_pct(b)))
        .map_or((RIDGES[0], vec![]), |(ridge, log_ratios)| (*ridge, log_ratios));
    let all: Vec<usize> = (0..rows.len()).collect();
    let coefficients = solve(&rows, &all, terms.len(), ridge);
    let training: Vec<f64> = rows.iter().map(|row| row.log_ratio(&coefficients)).collect();
    let provenance = directions.iter().map(|d| d.provenance).max().unwrap_or(Provenance::Simulated);

    Ok(Artefact::new(
        input.device.device_id.clone(),
        input.sharing_mode,
        terms
            .iter()
            .zip(&coefficients)
            .filter(|(_, coefficient)| **coefficient > 0.0)
            .map(|(term, coefficient)| Term { term: term.name.to_owned(), channel: term.channel, coefficient: *coefficient })
            .collect(),
        calibrate(&log_ratios),
        Neighbourhood::new(
            directions.iter().map(|d| (d.pair[0].as_ref(), d.victim.as_ref())),
            directions.iter().map(|d| (d.pair[1].as_ref(), d.partner.as_ref())),
        ),
        FitReport {
            seed: input.seed,
            samples: directions.len(),
            left_out: given - directions.len(),
            provenance,
            data_sha256: data_sha256(&samples),
            ridge,
            training_mean_error_pct: mean_error_pct(&training),
            held_out_mean_error_pct: mean_error_pct(&log_ratios),
        },
    ))
}

/// One timed side of a co-run.
struct Direction {
    /// Workloads of the victim and of the partner.
    pair: [Arc<str>; 2],
    victim: Arc<Tenant>,
    partner: Arc<Tenant>,
    measured: f64,
    provenance: Provenance,
}

/// Tenants by workload, share and solo latency: most rows of a data set share theirs.
struct TenantCache(HashMap<TenantKey, Arc<Tenant>>);

/// Device, workload, share, solo latency.
type TenantKey = (DeviceId, Arc<str>, u64, u64);

impl TenantCache {
    fn new(samples: &[(&Source<'_>, &PairSample)]) -> Self {
        let mut cache = HashMap::new();
        for (source, sample) in samples {
            for side in 0..2 {
                let Some(profile) = source.profiles.get(&sample.workloads[side]) else { continue };
                cache.entry(Self::key(source, sample, side)).or_insert_with(|| {
                    Tenant::place(source.device, profile, sample.sm_shares[side], 1.0, Some(sample.solo_us[side]))
                        .ok()
                        .map(|tenant| Arc::new(tenant.condensed()))
                });
            }
        }
        Self(cache.into_iter().filter_map(|(key, tenant)| Some((key, tenant?))).collect())
    }

    fn key(source: &Source<'_>, sample: &PairSample, side: usize) -> TenantKey {
        let device = source.device.device_id.clone();
        (device, sample.workloads[side].clone(), sample.sm_shares[side].get().to_bits(), sample.solo_us[side].to_bits())
    }

    fn get(&self, source: &Source<'_>, sample: &PairSample, side: usize) -> Option<Arc<Tenant>> {
        self.0.get(&Self::key(source, sample, side)).cloned()
    }
}

fn directions(samples: &[(&Source<'_>, &PairSample)], tenants: &TenantCache) -> Vec<Direction> {
    let mut directions = vec![];
    for (source, sample) in samples {
        let (Some(a), Some(b)) = (tenants.get(source, sample, 0), tenants.get(source, sample, 1)) else { continue };
        for (side, victim, partner) in [(0, &a, &b), (1, &b, &a)] {
            if let Some(corun_us) = sample.corun_us[side] {
                directions.push(Direction {
                    pair: [sample.workloads[side].clone(), sample.workloads[1 - side].clone()],
                    victim: victim.clone(),
                    partner: partner.clone(),
                    measured: corun_us / sample.solo_us[side],
                    provenance: sample.provenance.max(victim.provenance).max(partner.provenance),
                });
            }
        }
    }
    directions
}

/// The directions of each unordered pair of workloads, in a seeded order.
fn groups(directions: &[Direction], seed: u64) -> Vec<Vec<usize>> {
    let mut by_pair: BTreeMap<[Arc<str>; 2], Vec<usize>> = BTreeMap::new();
    for (i, direction) in directions.iter().enumerate() {
        let mut pair = direction.pair.clone();
        pair.sort();
        by_pair.entry(pair).or_default().push(i);
    }
    let mut groups: Vec<_> = by_pair.into_values().collect();
    groups.shuffle(&mut StdRng::seed_from_u64(seed));
    groups
}

/// A direction ready to be fitted.
struct Row {
    features: PairFeatures,
    measured: f64,
}

impl Row {
    fn new(terms: &[&TermSpec], direction: &Direction) -> Self {
        Self { features: PairFeatures::new(terms, &direction.victim, &direction.partner), measured: direction.measured }
    }

    /// log(measured / predicted).
    fn log_ratio(&self, coefficients: &[f64]) -> f64 {
        let mut gradient = vec![0.0; coefficients.len()];
        (self.measured / self.features.slowdown(coefficients, &mut gradient)).ln()
    }
}

/// Coefficients that minimise the squared relative error over `chosen` rows.
fn solve(rows: &[Row], chosen: &[usize], terms: usize, ridge: f64) -> Vec<f64> {
    let mut coefficients = vec![0.0; terms];
    let mut gradient = vec![0.0; terms];
    for _ in 0..GAUSS_NEWTON_STEPS {
        let mut equations = NormalEquations::new(terms);
        for row in chosen.iter().map(|i| &rows[*i]) {
            let predicted = row.features.slowdown(&coefficients, &mut gradient);
            let linear: f64 = gradient.iter().zip(&coefficients).map(|(g, c)| g * c).sum();
            equations.add(&gradient, row.measured - predicted + linear, row.measured.powi(-2));
        }
        let next = equations.solve(ridge);
        let moved = next.iter().zip(&coefficients).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        coefficients = next;
        if moved < 1e-4 * (1.0 + coefficients.iter().copied().fold(0.0, f64::max)) {
            break;
        }
    }
    coefficients
}

/// log(measured / predicted) of every row, each predicted without the pair of workloads that it belongs to.
fn held_out_log_ratios(rows: &[Row], terms: usize, groups: &[Vec<usize>], ridge: f64) -> Vec<f64> {
    let folds = FOLDS.min(groups.len());
    let mut log_ratios = vec![];
    for fold in 0..folds {
        let part = |wanted: bool| -> Vec<usize> {
            let chosen = groups.iter().enumerate().filter(|(g, _)| (g % folds == fold) == wanted);
            chosen.flat_map(|(_, rows)| rows.iter().copied()).collect()
        };
        let coefficients = solve(rows, &part(false), terms, ridge);
        log_ratios.extend(part(true).into_iter().map(|i| rows[i].log_ratio(&coefficients)));
    }
    log_ratios
}

/// Mean |predicted - measured| / measured, per cent, from log(measured / predicted).
fn mean_error_pct(log_ratios: &[f64]) -> f64 {
    100.0 * log_ratios.iter().map(|r| ((-r).exp() - 1.0).abs()).sum::<f64>() / log_ratios.len().max(1) as f64
}

fn calibrate(log_ratios: &[f64]) -> Calibration {
    let mut sorted = log_ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    Calibration { level: LEVEL, upper_log_ratio: quantile(&sorted, LEVEL).unwrap_or(0.0).max(0.0) }
}

/// What a sample says, without the name that its row happens to have: this orders and identifies the data of a fit.
fn content(sample: &PairSample) -> impl Ord + Debug + use<> {
    let bits = |value: f64| value.to_bits();
    (
        sample.workloads.clone(),
        sample.sm_shares.map(|share| bits(share.get())),
        sample.solo_us.map(bits),
        sample.corun_us.map(|corun| corun.map(bits)),
        sample.campaign.clone(),
    )
}

fn data_sha256(samples: &[(&Source<'_>, &PairSample)]) -> String {
    let mut hash = Sha256::new();
    for (_, sample) in samples {
        // Writing into a hash cannot fail.
        let _ = write!(hash, "{:?}", content(sample));
    }
    format!("{:x}", hash.finalize())
}
