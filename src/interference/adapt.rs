//! Few samples: what a handful of measured co-runs of a new workload, input or device change in a fitted predictor. The
//! coefficients of the terms stay as they are; departures and residual follow in closed form.

use std::{collections::HashMap, sync::Arc};

use nalgebra::{DMatrix, DVector};

use super::{
    Artefact, Predictor, Source,
    calibration::relative_error,
    cholesky::Factor,
    compose::Law,
    data::{Data, Direction},
    fit::observation,
    residual::{Cast, Kernel, Observation, Residual, Subject, log_ratios},
};

/// Co-runs from which on each is predicted from the others.
const LEAVE_ONE_OUT: usize = 4;

/// Error after over error before up to which leaving one out says neither yes nor no: co-runs that were chosen to differ tell
/// little of each other. The evidence decides then.
const DRAW: f64 = 1.25;

/// An adapted predictor, and whether it is better than the one that it comes from.
#[derive(Debug, Clone)]
pub struct Adaptation {
    /// The adapted predictor.
    pub artefact: Artefact,
    /// What the new co-runs say of it.
    pub check: AdaptationCheck,
}

/// How an adaptation was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptationCheck {
    /// Timed directions learnt from.
    pub samples: usize,
    /// Timed directions without a signature on both sides, or kept out by what is wrong with them.
    pub left_out: usize,
    /// Mean absolute relative error on the new co-runs before, per cent.
    pub error_before_pct: f64,
    /// The same after: of each co-run with an adaptation to the others; `None` with fewer than 4.
    pub error_after_pct: Option<f64>,
    /// Logarithm of how much likelier each new co-run is after the others than before them, summed; `None` with fewer than 4.
    pub leave_one_out_gain: Option<f64>,
    /// Logarithm of how much likelier the new co-runs are when the predictor may depart for them than when it may not.
    pub log_evidence_ratio: f64,
    /// It is better: by the gain of leaving one out with 4 co-runs or more, by the evidence with fewer. What is not better is not published.
    pub improves: bool,
}

/// Why nothing was adapted.
#[derive(Debug, thiserror::Error)]
pub enum AdaptError {
    /// The predictor was not fitted, or nothing but the channels of it.
    #[error("the predictor has no residual that could be adapted: fit one for the device first")]
    Generic,
    /// No new co-run has signatures on both sides.
    #[error("none of {given} timed directions has signatures on both sides")]
    NoSamples {
        /// Directions given.
        given: usize,
    },
}

/// The factor of the covariance of what a predictor was fitted to: what an adaptation starts from. It takes the cube of the number
/// of observations to make, and their square to use.
#[derive(Debug)]
pub(super) struct Posterior {
    factor: Factor,
}

impl Posterior {
    fn of(residual: &Residual) -> Option<Self> {
        let rows: Vec<&Observation> = residual.observations.iter().collect();
        let cast = residual.cast(&residual.subjects);
        let factor = cast.kernel(residual.priors).factor(&rows)?;
        Some(Self { factor })
    }
}

/// A fitted predictor's residual beside new directions.
pub(super) struct Beside<'p> {
    residual: &'p Residual,
    law: &'p Law,
    factor: &'p Factor,
    pub subjects: Vec<Subject>,
    places: HashMap<(Arc<str>, u64), usize>,
}

impl<'p> Beside<'p> {
    /// `None` for a predictor without a residual.
    pub(super) fn new(predictor: &'p Predictor) -> Option<Self> {
        let residual = predictor.artefact.as_ref()?.residual.as_ref()?;
        let posterior = predictor.posterior.get_or_init(|| Posterior::of(residual)).as_ref()?;
        let subjects = residual.subjects.clone();
        let places = subjects.iter().enumerate().map(|(i, s)| (key(s), i)).collect();
        Some(Self { residual, law: &predictor.law, factor: &posterior.factor, subjects, places })
    }

    /// The place of a subject, taken in if it is new.
    pub(super) fn subject(&mut self, subject: &Subject) -> usize {
        *self.places.entry(key(subject)).or_insert_with(|| {
            self.subjects.push(subject.clone());
            self.subjects.len() - 1
        })
    }

    fn observation(&mut self, direction: &Direction, subjects: &[Subject]) -> Observation {
        let [victim, partner] = direction.subjects.map(|s| self.subject(&subjects[s]));
        Observation { victim, partner, ..observation(self.law, direction) }
    }

    pub(super) fn law(&self) -> &Law {
        self.law
    }

    pub(super) fn cast(&self) -> Cast {
        self.residual.cast(&self.subjects)
    }

    pub(super) fn kernel<'c>(&self, cast: &'c Cast) -> Kernel<'c> {
        cast.kernel(self.residual.priors)
    }

    /// L⁻¹ times the covariances between what was fitted and `new`.
    pub(super) fn side(&self, kernel: &Kernel<'_>, new: &[&Observation]) -> DMatrix<f64> {
        let fitted: Vec<&Observation> = self.residual.observations.iter().collect();
        let mut side = kernel.matrix(&fitted, new);
        self.factor.solve_lower(&mut side);
        side
    }
}

fn key(subject: &Subject) -> (Arc<str>, u64) {
    (subject.workload.clone(), subject.sm_share.key())
}

/// Adapts `predictor` to the co-runs of `source`, with the coefficients of the terms as they are.
pub fn adapt(predictor: &Predictor, source: &Source<'_>) -> Result<Adaptation, AdaptError> {
    let artefact = predictor.artefact.as_ref().ok_or(AdaptError::Generic)?;
    let mut beside = Beside::new(predictor).ok_or(AdaptError::Generic)?;
    let data = Data::gather(&[*source], artefact.sharing_mode);
    if data.directions.is_empty() {
        return Err(AdaptError::NoSamples { given: data.given });
    }
    let new: Vec<Observation> = data.directions.iter().map(|d| beside.observation(d, &data.subjects)).collect();
    let new_rows: Vec<&Observation> = new.iter().collect();
    let cast = beside.cast();
    let kernel = beside.kernel(&cast);
    let side = beside.side(&kernel, &new_rows);

    // What the fitted predictor says of the new directions: mean of the residual, and covariance of what is measured.
    let fitted: Vec<&Observation> = beside.residual.observations.iter().collect();
    let mut half = DMatrix::from_column_slice(fitted.len(), 1, log_ratios(&fitted).as_slice());
    beside.factor.solve_lower(&mut half);
    let left = log_ratios(&new_rows) - side.transpose() * half.column(0);
    let mut covariance = kernel.matrix(&new_rows, &new_rows) - side.transpose() * &side;
    for (i, row) in new_rows.iter().enumerate() {
        covariance[(i, i)] += kernel.noise(row);
    }
    let corner = Factor::new(covariance.clone()).ok_or(AdaptError::NoSamples { given: data.given })?;

    let factor = beside.factor.extended(&side, &corner);
    let rows: Vec<&Observation> = fitted.iter().copied().chain(new_rows.iter().copied()).collect();
    let alpha = factor.solve(&log_ratios(&rows));
    let check = check(&data, &new_rows, &kernel, &left, &covariance, &corner);
    tracing::debug!(device = %artefact.device, ?check, "adapted");
    let residual = Residual {
        observations: rows.iter().map(|row| (*row).clone()).collect(),
        subjects: beside.subjects.clone(),
        alpha: alpha.iter().copied().collect(),
        ..beside.residual.clone()
    };
    Ok(Adaptation { artefact: Artefact { residual: Some(residual), ..artefact.clone() }, check })
}

fn check(
    data: &Data,
    new: &[&Observation],
    kernel: &Kernel<'_>,
    left: &DVector<f64>,
    covariance: &DMatrix<f64>,
    corner: &Factor,
) -> AdaptationCheck {
    let mut co_runs: Vec<usize> = data.directions.iter().map(|d| d.configuration).collect();
    co_runs.sort_unstable();
    co_runs.dedup();
    let leave_one_out = || -> Option<(f64, f64)> {
        let (mut errors, mut gain) = (vec![], 0.0);
        for co_run in &co_runs {
            let (out, others): (Vec<usize>, Vec<usize>) =
                (0..new.len()).partition(|i| data.directions[*i].configuration == *co_run);
            let known = covariance.select_rows(&others).select_columns(&others).cholesky()?;
            let others_left = DVector::from_iterator(others.len(), others.iter().map(|i| left[*i]));
            let across = covariance.select_rows(&out).select_columns(&others);
            let prior = covariance.select_rows(&out).select_columns(&out);
            let out_left = DVector::from_iterator(out.len(), out.iter().map(|i| left[*i]));
            let surprise = &out_left - &across * known.solve(&others_left);
            let posterior = &prior - &across * known.solve(&across.transpose());
            errors.extend(surprise.iter().map(|r| relative_error(*r)));
            gain += log_density(&surprise, posterior)? - log_density(&out_left, prior)?;
        }
        Some((mean_pct(&errors), gain))
    };
    // With the noise alone for a covariance, the predictor may not depart.
    let noise: Vec<f64> = new.iter().map(|row| kernel.noise(row)).collect();
    let fixed: f64 = left.iter().zip(&noise).map(|(r, noise)| -0.5 * (r * r / noise + noise.ln())).sum();
    let free = -0.5 * left.dot(&corner.solve(left)) - corner.half_log_determinant();
    let before = mean_pct(&left.iter().map(|r| relative_error(*r)).collect::<Vec<_>>());
    let left_out = if co_runs.len() >= LEAVE_ONE_OUT { leave_one_out() } else { None };
    let log_evidence_ratio = free - fixed;
    AdaptationCheck {
        samples: data.directions.len(),
        left_out: data.given - data.directions.len(),
        error_before_pct: before,
        error_after_pct: left_out.map(|(after, _)| after),
        leave_one_out_gain: left_out.map(|(_, gain)| gain),
        log_evidence_ratio,
        improves: match left_out {
            Some((after, gain)) => gain > 0.0 || after <= DRAW * before && log_evidence_ratio > 0.0,
            None => log_evidence_ratio > 0.0,
        },
    }
}

/// The logarithm of the density of a normal distribution around 0, but for a constant of its dimension.
fn log_density(x: &DVector<f64>, covariance: DMatrix<f64>) -> Option<f64> {
    let factor = Factor::new(covariance)?;
    Some(-0.5 * x.dot(&factor.solve(x)) - factor.half_log_determinant())
}

fn mean_pct(errors: &[f64]) -> f64 {
    100.0 * errors.iter().sum::<f64>() / errors.len().max(1) as f64
}
