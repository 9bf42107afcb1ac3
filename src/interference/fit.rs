//! Fits a predictor: the channels' coefficients from operator-level and workload-level samples together, by non-negative least
//! squares on the relative error, from the linear mean over operator pairs to the harmonic composition by Gauss-Newton steps; then
//! the residual on what they leave.

use std::{collections::HashMap, sync::Arc};

use rayon::prelude::*;

use super::{
    Artefact, WorkloadProfile,
    calibration::{self, Held},
    compose::{ByChannel, Law, PairFeatures, Range},
    data::{Data, Direction, thinned},
    nnls::NormalEquations,
    place::Metric,
    predictor::{FitReport, Term},
    residual::{Cast, Observation, Residual, log_ratios},
    select, solo_curve,
    terms::{TERMS, TermSpec},
    trials::{self, Trial},
};
use crate::domain::{Device, PairSample, SharingMode};

/// Fewest timed directions that a fit is made from.
const MIN_SAMPLES: usize = 10;
/// Ridges tried on left-out directions, the usual one first; without a unit (see [`NormalEquations::solve`]).
const RIDGES: [f64; 4] = [1e-3, 1e-4, 1e-2, 1e-1];
const GAUSS_NEWTON_STEPS: usize = 8;
/// Directions on which ridge and priors are chosen; more would not choose better, only later.
const CHOOSING: usize = 700;
/// Directions that the residual learns from; its cost grows with their cube.
const RESIDUAL_ROWS: usize = 2_500;
/// Folds on which ridge and priors are chosen, and folds on which bounds are calibrated.
const CHOOSING_FOLDS: usize = 3;
const CALIBRATION_FOLDS: usize = 8;

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
        "{usable} of {given} timed directions can be used, at least {MIN_SAMPLES} of two configurations are needed; the others have no signature or were kept out"
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
    let data = Data::gather(input.sources, input.sharing_mode);
    let enough = data.directions.iter().any(|d| d.configuration != data.directions[0].configuration);
    if data.directions.len() < MIN_SAMPLES || !enough {
        return Err(FitError::TooFewSamples { usable: data.directions.len(), given: data.given });
    }
    let is_home = input.sources.iter().any(|source| source.device.device_id == input.device.device_id);
    let bench = Bench::new(&data, is_home);
    let few = thinned(&data.directions, CHOOSING);
    let mut choosing = trials::between(&data.directions, &few, CHOOSING_FOLDS, input.seed);
    choosing.extend(trials::unseen(&data.directions, &data.subjects, &few, input.seed));
    let ridge = bench.best_ridge(&choosing);

    let all: Vec<usize> = (0..data.directions.len()).collect();
    let coefficients = bench.solve(&all, ridge);
    let (law, terms) = bench.law(&coefficients, &all);
    let rows = thinned(&data.directions, RESIDUAL_ROWS);
    let observations = observations(&law, &data.directions, &rows);

    let metric = Metric::new(&data.subjects.iter().map(|s| s.place).collect::<Vec<_>>());
    let cast = Cast::new(&data.subjects, &metric, &|_| true);
    let prepared: Vec<select::Prepared> = choosing.par_iter().map(|trial| bench.prepared(trial, ridge)).collect();
    let priors = select::priors(&cast, &observations, &prepared);
    tracing::debug!(device = %input.device.device_id, ridge, ?priors, terms = terms.len(), "chosen on what was left out");

    let mut calibrating = trials::between(&data.directions, &rows, CALIBRATION_FOLDS, input.seed);
    calibrating.extend(trials::unseen(&data.directions, &data.subjects, &rows, input.seed));
    let held: Vec<Held> =
        calibrating.par_iter().flat_map_iter(|trial| bench.prepared(trial, ridge).held(&cast, priors, &data)).collect();
    let refs: Vec<&Observation> = observations.iter().collect();
    let kernel = cast.kernel(priors);
    let alpha = kernel.factor(&refs).map(|factor| factor.solve(&log_ratios(&refs)));
    drop(refs);
    let residual = alpha.map(|alpha| Residual {
        priors,
        metric,
        adapted_from: observations.len(),
        observations,
        subjects: data.subjects.clone(),
        alpha: alpha.iter().copied().collect(),
    });
    let held_out = |unseen: bool| calibration::mean_error_pct(held.iter().filter(|h| h.is_first_look(unseen)));
    Ok(Artefact::new(
        input.device.device_id.clone(),
        input.sharing_mode,
        terms,
        *law.range(),
        residual,
        calibration::calibrate(&held, &solo_curve::errors(input.sources)),
        FitReport {
            seed: input.seed,
            samples: data.directions.len(),
            left_out: data.given - data.directions.len() - data.kept_out,
            kept_out: data.kept_out,
            provenance: data.provenance,
            data_sha256: data.sha256.clone(),
            ridge,
            held_out_mean_error_pct: held_out(false).unwrap_or(0.0),
            unseen_mean_error_pct: held_out(true),
        },
    ))
}

/// What the residual learns from the directions `chosen`.
pub(super) fn observations(law: &Law, directions: &[Direction], chosen: &[usize]) -> Vec<Observation> {
    chosen.iter().map(|i| observation(law, &directions[*i])).collect()
}

/// What the residual learns from a direction.
pub(super) fn observation(law: &Law, direction: &Direction) -> Observation {
    let composed = law.compose(&direction.victim, &direction.partner);
    Observation {
        victim: direction.subjects[0],
        partner: direction.subjects[1],
        by_channel: relative(&composed.by_channel, composed.slowdown),
        log_ratio: (direction.measured / composed.slowdown).ln(),
        weight: direction.weight,
    }
}

/// Contributions over the slowdown that they add up to.
pub(super) fn relative(by_channel: &ByChannel, slowdown: f64) -> ByChannel {
    by_channel.map(|contribution| contribution / slowdown)
}

/// A direction ready to be fitted.
struct Row {
    features: PairFeatures,
    measured: f64,
    weight: f64,
}

/// The data with its features, on which channels are fitted again and again.
struct Bench<'d> {
    data: &'d Data,
    terms: Vec<&'static TermSpec>,
    rows: Vec<Row>,
}

impl<'d> Bench<'d> {
    /// `is_home` when some of the data is of the device that the fit is for.
    fn new(data: &'d Data, is_home: bool) -> Self {
        let usable = |term: &&TermSpec| term.needs.without(data.known).is_empty() && (is_home || !term.is_of_host);
        let terms: Vec<&'static TermSpec> = TERMS.iter().filter(usable).collect();
        let row = |d: &Direction| Row {
            features: PairFeatures::new(&terms, &d.victim, &d.partner),
            measured: d.measured,
            weight: d.weight,
        };
        let rows = data.directions.par_iter().map(row).collect();
        Self { data, terms, rows }
    }

    /// Coefficients that minimise the squared relative error over `chosen` rows.
    fn solve(&self, chosen: &[usize], ridge: f64) -> Vec<f64> {
        let terms = self.terms.len();
        let mut coefficients = vec![0.0; terms];
        let mut gradient = vec![0.0; terms];
        for _ in 0..GAUSS_NEWTON_STEPS {
            let mut equations = NormalEquations::new(terms);
            for row in chosen.iter().map(|i| &self.rows[*i]) {
                let predicted = row.features.slowdown(&coefficients, &mut gradient);
                let linear: f64 = gradient.iter().zip(&coefficients).map(|(g, c)| g * c).sum();
                equations.add(&gradient, row.measured - predicted + linear, row.weight * row.measured.powi(-2));
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

    /// The channels with `coefficients` from the directions `chosen`.
    fn law(&self, coefficients: &[f64], chosen: &[usize]) -> (Law, Vec<Term>) {
        let mut range = Range::nothing();
        for direction in chosen.iter().map(|i| &self.data.directions[*i]) {
            range.take_in(&direction.victim, &direction.partner);
        }
        let terms = self.terms.iter().copied().zip(coefficients.iter().copied()).filter(|(_, coefficient)| *coefficient > 0.0);
        let law = Law::new(terms.clone(), range);
        let term = |(term, coefficient): (&TermSpec, f64)| Term { term: term.name.clone(), channel: term.channel, coefficient };
        (law, terms.map(term).collect())
    }

    /// The ridge with which channels alone do best on what is left out, the kinds of trial counting alike.
    fn best_ridge(&self, trials: &[Trial]) -> f64 {
        let score = |ridge: &f64| {
            let errors = trials.par_iter().map(|trial| {
                let (law, _) = self.law(&self.solve(&trial.train, *ridge), &trial.train);
                let error = |i: &usize| {
                    let d = &self.data.directions[*i];
                    (law.compose(&d.victim, &d.partner).slowdown / d.measured - 1.0).abs()
                };
                select::Errors { kind: trial.kind, errors: trial.test.iter().map(error).collect() }
            });
            select::score(&errors.collect::<Vec<_>>())
        };
        let mut best = (score(&RIDGES[0]), RIDGES[0]);
        for ridge in &RIDGES[1..] {
            let score = score(ridge);
            if score < best.0 - select::MARGIN {
                best = (score, *ridge);
            }
        }
        best.1
    }

    /// A trial with its channels fitted.
    fn prepared(&self, trial: &Trial, ridge: f64) -> select::Prepared {
        let (law, _) = self.law(&self.solve(&trial.train, ridge), &trial.train);
        let of = |chosen: &[usize]| observations(&law, &self.data.directions, chosen);
        select::Prepared::new(trial, of(&trial.train), of(&trial.test))
    }
}
