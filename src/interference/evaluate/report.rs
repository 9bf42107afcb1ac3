//! What an evaluation says; serialised, it is the JSON of `pairsight evaluate`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{few_shot::Chooser, noise::NoiseBasis};

/// The result on one set. Errors are |predicted - measured| / measured co-run latency, per cent.
#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    /// Name of the set that was tested.
    pub dataset: String,
    /// Names of the sets that were learnt from, where they are others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trained_on: Vec<String>,
    /// Name of the split.
    pub split: String,
    /// Configurations measured of what each fold leaves out; `None` when the protocol is not in use.
    pub few_shot: Option<usize>,
    /// Who chose them.
    pub few_shot_chosen_by: Option<Chooser>,
    /// Seed of folds, halves, draws and fits.
    pub seed: u64,
    /// Smallest batch size taken.
    pub min_batch: Option<u32>,
    /// Timed directions of the set, after filtering.
    pub samples: usize,
    /// Directions tested over all folds; with draws by chance, each once.
    pub tested: usize,
    /// Groups of the split.
    pub groups: usize,
    /// Mean standard error of the measured co-run means, per cent; `None` where the set does not tell.
    pub noise_floor_pct: Option<f64>,
    /// What the noise floor is from.
    pub noise_floor_from: Option<NoiseBasis>,
    /// Errors by method, pooled over the tested directions of all folds.
    pub methods: Methods<Option<Errors>>,
    /// How often our upper bound held.
    pub coverage: Coverage,
    /// Our errors by what we said of our answers: names of `ConfidenceClass`, those that occur.
    pub by_confidence_class: BTreeMap<String, ClassErrors>,
    /// The folds, in order.
    pub folds: Vec<FoldReport>,
    /// Errors by number of samples, where a curve was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub few_shot_curve: Vec<CurvePoint>,
    /// Error of the solo latencies that the scaling curve gave (`unseen-partition`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub solo_curve: Option<Errors>,
    /// Time taken, seconds; the caller's clock.
    pub wall_s: f64,
    /// What to know before quoting a figure.
    pub warnings: Vec<String>,
    /// Every tested direction, for figures.
    #[serde(skip)]
    pub points: Vec<Point>,
}

/// One value a method.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Methods<T> {
    /// Ours.
    pub pairsight: T,
    /// The solo latency.
    pub no_interference: T,
    /// The median slowdown of the training fold.
    pub train_median: T,
    /// The mean slowdown of such pairs of memory-bound and other tenants.
    pub binary_rule: T,
    /// Linear in the four utilisations.
    pub model_linear: T,
}

impl<T> Methods<T> {
    /// From one value a method, in the order of the fields.
    pub(super) fn new([pairsight, no_interference, train_median, binary_rule, model_linear]: [T; 5]) -> Self {
        Self { pairsight, no_interference, train_median, binary_rule, model_linear }
    }

    /// Names and values, in order.
    pub fn named(&self) -> [(&'static str, &T); 5] {
        [
            ("pairsight", &self.pairsight),
            ("no_interference", &self.no_interference),
            ("train_median", &self.train_median),
            ("binary_rule", &self.binary_rule),
            ("model_linear", &self.model_linear),
        ]
    }
}

/// Errors of one method, per cent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Errors {
    /// Mean.
    pub mean_pct: f64,
    /// Median.
    pub median_pct: f64,
    /// 95 % quantile, interpolated.
    pub p95_pct: f64,
    /// Largest.
    pub max_pct: f64,
}

impl Errors {
    /// Of relative errors; `None` without any.
    pub(super) fn of(mut errors: Vec<f64>) -> Option<Self> {
        errors.sort_by(f64::total_cmp);
        Some(Self {
            mean_pct: 100.0 * errors.iter().sum::<f64>() / errors.len() as f64,
            median_pct: 100.0 * quantile(&errors, 0.5)?,
            p95_pct: 100.0 * quantile(&errors, 0.95)?,
            max_pct: 100.0 * errors.last()?,
        })
    }
}

/// The `level` quantile of ascending values, linear between two.
pub(super) fn quantile(sorted: &[f64], level: f64) -> Option<f64> {
    let at = level * sorted.len().checked_sub(1)? as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lies in 0..len")]
    let below = at.floor() as usize;
    let low = sorted.get(below)?;
    let high = sorted.get(below + 1).unwrap_or(low);
    Some(low + (at - at.floor()) * (high - low))
}

/// How often our upper bound held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coverage {
    /// The level that the bounds are for, [0, 1].
    pub level: f64,
    /// Fraction of the tested directions at or below their bound, [0, 1].
    pub measured: f64,
    /// Median of upper bound over prediction.
    pub median_width_ratio: f64,
}

/// Our answers of one confidence class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassErrors {
    /// Answers.
    pub count: usize,
    /// Their mean error, per cent.
    pub mean_pct: f64,
    /// Fraction at or below their bound, [0, 1].
    pub coverage: f64,
}

/// One fold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoldReport {
    /// What was left out.
    pub held_out: String,
    /// Directions learnt from.
    pub train: usize,
    /// Directions tested.
    pub test: usize,
    /// Groups of the split's kind in training; with fewer than 5 the bounds promise nothing.
    pub train_groups: usize,
    /// Mean error by method, per cent; `None` for a skipped fold.
    pub mean_pct: Option<Methods<Option<f64>>>,
    /// Fraction of the directions at or below our bound; `None` for a skipped fold.
    pub coverage: Option<f64>,
    /// Why the fold is not in the result; `None` when it is.
    pub skipped: Option<String>,
    /// Directions beyond the measured shares: in no other figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extrapolated: Option<Extrapolated>,
    /// `pair_id` of a row of each suggested configuration, best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested: Vec<String>,
}

/// Directions whose target has no measured shares on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extrapolated {
    /// How many.
    pub count: usize,
    /// Mean error by method, per cent.
    pub mean_pct: Methods<Option<f64>>,
    /// Mean error of the solo latency, per cent.
    pub solo_mean_pct: f64,
}

/// Errors at one number of samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Configurations measured.
    pub few_shot: usize,
    /// Mean error by method, per cent.
    pub mean_pct: Methods<Option<f64>>,
}

/// A tested direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Co-run latency as measured, microseconds.
    pub measured_us: f64,
    /// As we predicted it, microseconds.
    pub predicted_us: f64,
    /// Our upper bound, microseconds.
    pub upper_us: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 3.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[0.0, 10.0], 0.95), Some(9.5));
        assert_eq!(quantile(&[7.0], 0.95), Some(7.0));
        assert_eq!(quantile(&[], 0.95), None);
    }

    #[test]
    fn errors_are_in_per_cent() {
        let errors = Errors::of(vec![0.3, 0.1, 0.2]).expect("there are some");
        assert!((errors.mean_pct - 20.0).abs() < 1e-9 && (errors.max_pct - 30.0).abs() < 1e-9, "{errors:?}");
    }
}
