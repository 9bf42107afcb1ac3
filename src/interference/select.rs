//! Chooses the residual's priors by what they do to directions that were left out: between measured ones, of models that were
//! never seen, and of those after a few co-runs.

use nalgebra::DVector;
use rayon::prelude::*;

use super::{
    calibration::{Held, relative_error},
    data::Data,
    quality::SIGMA_OF_MAD,
    residual::{Cast, Kernel, Observation, Priors, log_ratios},
    trials::{Kind, Trial},
};

/// By how much the score must fall for a choice to leave what does well everywhere: with few models left out it is a noisy judge.
pub(super) const MARGIN: f64 = 0.03;
/// Passes over the priors; a third changes next to nothing.
const PASSES: usize = 2;

/// Values tried. Variances are in units of what the channels leave, but for the slopes, which are dimensionless.
const LENGTHS: [f64; 4] = [0.4, 0.6, 0.9, 1.4];
const SMOOTH: [f64; 4] = [0.0, 0.5, 2.0, 8.0];
const INTERCEPTS: [f64; 4] = [0.0, 0.1, 0.3, 3.0];
const SLOPES: [f64; 5] = [0.0, 0.1, 0.3, 1.0, 3.0];
const NOISES: [f64; 3] = [0.1, 0.3, 1.0];

/// Relative errors on what a trial left out.
pub(super) struct Errors {
    pub kind: Kind,
    pub errors: Vec<f64>,
}

/// The sum over the kinds of trial of the logarithm of the mean error: a choice must do well in all of them.
pub(super) fn score(errors: &[Errors]) -> f64 {
    [Kind::Between, Kind::Unseen].into_iter().filter_map(|kind| log_mean(errors.iter().filter(|e| e.kind == kind))).sum()
}

fn log_mean<'e>(errors: impl Iterator<Item = &'e Errors>) -> Option<f64> {
    let errors: Vec<f64> = errors.flat_map(|e| e.errors.iter().copied()).collect();
    (!errors.is_empty()).then(|| (errors.iter().sum::<f64>() / errors.len() as f64 + 1e-6).ln())
}

/// A trial with its channels fitted.
pub(super) struct Prepared {
    kind: Kind,
    train: Vec<Observation>,
    test: Vec<Observation>,
    /// Places in `test` of those that are given where a few samples are, and of the others.
    given: Vec<usize>,
    others: Vec<usize>,
}

impl Prepared {
    pub(super) fn new(trial: &Trial, train: Vec<Observation>, test: Vec<Observation>) -> Self {
        let (given, others) = (0..test.len()).partition(|i| trial.given.binary_search(&trial.test[*i]).is_ok());
        Self { kind: trial.kind, train, test, given, others }
    }

    /// What is left of the log ratios of the tested directions, without samples of them and with a few; the latter only of those
    /// that are not given.
    fn left(&self, kernel: &Kernel<'_>) -> Option<[Vec<f64>; 2]> {
        let (train, test): (Vec<_>, Vec<_>) = (self.train.iter().collect(), self.test.iter().collect());
        let factor = kernel.factor(&train)?;
        let mut half = kernel.matrix(&train, &test);
        let mut y = nalgebra::DMatrix::from_column_slice(train.len(), 1, log_ratios(&train).as_slice());
        factor.solve_lower(&mut y);
        factor.solve_lower(&mut half);
        let left = log_ratios(&test) - half.transpose() * y.column(0);
        let all = left.iter().copied().collect();
        if self.given.is_empty() {
            return Some([all, vec![]]);
        }
        // What the given ones say of the others beyond the training: the posterior's covariance between them.
        let of = |places: &[usize]| -> Vec<&Observation> { places.iter().map(|i| &self.test[*i]).collect() };
        let (given, others) = (of(&self.given), of(&self.others));
        let (half_given, half_others) = (half.select_columns(&self.given), half.select_columns(&self.others));
        let mut corner = kernel.matrix(&given, &given) - half_given.transpose() * &half_given;
        for (i, row) in given.iter().enumerate() {
            corner[(i, i)] += kernel.noise(row);
        }
        let across = kernel.matrix(&others, &given) - half_others.transpose() * &half_given;
        let pick = |places: &[usize]| DVector::from_iterator(places.len(), places.iter().map(|i| left[*i]));
        let left = pick(&self.others) - across * corner.cholesky()?.solve(&pick(&self.given));
        Some([all, left.iter().copied().collect()])
    }

    /// What is left of each tested direction under `priors`.
    pub(super) fn held(&self, cast: &Cast, priors: Priors, data: &Data) -> Vec<Held> {
        let Some([all, few]) = self.left(&cast.kernel(priors)) else { return vec![] };
        let reach = Reach::new(&self.train, cast, data);
        let mut held: Vec<Held> =
            self.test.iter().zip(&all).map(|(row, left)| reach.held(self.kind, row, *left, false)).collect();
        held.extend(self.others.iter().zip(&few).map(|(i, left)| reach.held(self.kind, &self.test[*i], *left, true)));
        held
    }
}

/// What a trial's training knows of tenants.
struct Reach<'t> {
    data: &'t Data,
    cast: &'t Cast,
    roles: [Vec<usize>; 2],
}

impl<'t> Reach<'t> {
    fn new(train: &[Observation], cast: &'t Cast, data: &'t Data) -> Self {
        let role = |of: fn(&Observation) -> usize| {
            let mut subjects: Vec<usize> = train.iter().map(of).collect();
            subjects.sort_unstable();
            subjects.dedup();
            subjects
        };
        Self { data, cast, roles: [role(|o| o.victim), role(|o| o.partner)] }
    }

    fn held(&self, kind: Kind, row: &Observation, left: f64, few: bool) -> Held {
        let known = |role: usize, subject: usize| {
            let workload = &self.data.subjects[subject].workload;
            self.roles[role].iter().any(|s| self.data.subjects[*s].workload == *workload)
        };
        let distance = |role: usize, subject: usize| self.cast.distance(subject, &self.roles[role]);
        Held {
            kind,
            log_ratio: left,
            few,
            unknown: [!known(0, row.victim), !known(1, row.partner)],
            unit: self.cast.family(if known(0, row.victim) { row.partner } else { row.victim }),
            distance: distance(0, row.victim).max(distance(1, row.partner)),
        }
    }
}

/// The priors that do best, by going over them one at a time.
pub(super) fn priors(cast: &Cast, observations: &[Observation], trials: &[Prepared]) -> Priors {
    let mut deviations: Vec<f64> = observations.iter().map(|o| o.log_ratio.abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let median = deviations.get(deviations.len() / 2).copied().unwrap_or(0.0);
    let unit = (SIGMA_OF_MAD * median).powi(2).max(1e-8);
    let start = Priors { smooth: 2.0 * unit, length: 0.6, intercept: 0.3 * unit, slope: 1.0, noise: 0.3 * unit };
    let mut best = (judged(cast, start, trials), start);
    for _ in 0..PASSES {
        let before = best.1;
        for varied in VARIATIONS {
            for priors in varied(best.1, unit) {
                if priors != best.1 {
                    let score = judged(cast, priors, trials);
                    if score < best.0 - MARGIN {
                        best = (score, priors);
                    }
                }
            }
        }
        if best.1 == before {
            break;
        }
    }
    best.1
}

/// The same priors but for one of them.
type Variation = fn(Priors, f64) -> Vec<Priors>;

const VARIATIONS: [Variation; 5] = [
    |priors, _| SLOPES.iter().map(|slope| Priors { slope: *slope, ..priors }).collect(),
    |priors, unit| SMOOTH.iter().map(|smooth| Priors { smooth: smooth * unit, ..priors }).collect(),
    |priors, _| LENGTHS.iter().map(|length| Priors { length: *length, ..priors }).collect(),
    |priors, unit| NOISES.iter().map(|noise| Priors { noise: noise * unit, ..priors }).collect(),
    |priors, unit| INTERCEPTS.iter().map(|intercept| Priors { intercept: intercept * unit, ..priors }).collect(),
];

/// The score of `priors`, with a few samples as a kind of its own.
fn judged(cast: &Cast, priors: Priors, trials: &[Prepared]) -> f64 {
    let kernel = cast.kernel(priors);
    let left: Vec<(Kind, Option<[Vec<f64>; 2]>)> = trials.par_iter().map(|trial| (trial.kind, trial.left(&kernel))).collect();
    if left.iter().any(|(_, left)| left.is_none()) {
        return f64::INFINITY;
    }
    let relative = |left: &Vec<f64>| left.iter().map(|r| relative_error(*r)).collect();
    let errors = |place: usize| -> Vec<Errors> {
        left.iter().filter_map(|(kind, left)| Some(Errors { kind: *kind, errors: relative(&left.as_ref()?[place]) })).collect()
    };
    score(&errors(0)) + score(&errors(1))
}
