//! The predictors that ours is measured against, each fitted to the same co-runs.

mod groups;
mod linear;
mod rule;
mod utilisation;

use linear::ModelLinear;
use rule::BinaryRule;

pub(super) use utilisation::Utilisations;

/// What a baseline knows of one tenant. Both utilisations are of the tenant's own part of the device: the fraction of the whole
/// device's ceiling over the tenant's share, averaged by time over its operators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Side {
    /// DRAM bandwidth, dimensionless.
    pub dram: f64,
    /// L2 bandwidth, dimensionless.
    pub l2: f64,
    /// SM share, (0, 1].
    pub share: f64,
}

impl Side {
    /// What the binary rule classes a tenant by.
    fn intensity(&self) -> f64 {
        self.dram.max(self.l2)
    }
}

/// One timed direction as a baseline sees it. The numbers that stand for names are only ever compared with each other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Example {
    /// The victim and its partner; `None` where the counters do not tell.
    pub sides: Option<[Side; 2]>,
    /// Co-run latency over solo latency.
    pub slowdown: f64,
    /// Models of the two.
    pub models: [usize; 2],
    /// Workloads of the two.
    pub workloads: [usize; 2],
    /// Unordered pair of (workload, share).
    pub configuration: usize,
}

/// A slowdown by each baseline; `None` where it cannot say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BaselineSlowdowns {
    /// 1: nobody disturbs anybody.
    pub no_interference: f64,
    /// The median of the training slowdowns.
    pub train_median: f64,
    /// The mean of the class pair, memory-bound or not.
    pub binary_rule: Option<f64>,
    /// A linear function of the four utilisations.
    pub model_linear: Option<f64>,
}

/// All baselines, fitted.
#[derive(Debug, Clone)]
pub(super) struct Baselines {
    median: f64,
    rule: Option<BinaryRule>,
    linear: Option<ModelLinear>,
}

impl Baselines {
    /// Fits them to `training`; `None` without a training row. The last two need every row's counters.
    pub(super) fn fit(training: &[&Example]) -> Option<Self> {
        let mut slowdowns: Vec<f64> = training.iter().map(|example| example.slowdown).collect();
        let median = median(&mut slowdowns)?;
        Some(Self { median, rule: BinaryRule::fit(training), linear: ModelLinear::fit(training) })
    }

    /// The slowdown of the first of `sides` beside the second.
    pub(super) fn predict(&self, sides: Option<&[Side; 2]>) -> BaselineSlowdowns {
        BaselineSlowdowns {
            no_interference: 1.0,
            train_median: self.median,
            binary_rule: self.rule.as_ref().zip(sides).map(|(rule, sides)| rule.slowdown(sides)),
            model_linear: self.linear.as_ref().zip(sides).map(|(linear, sides)| linear.slowdown(sides)),
        }
    }
}

/// The middle value, or the mean of the middle two; `None` without values.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let upper = *values.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(values[n / 2 - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn without_counters_only_the_first_two_answer() {
        let example = Example { sides: None, slowdown: 1.5, models: [0, 1], workloads: [0, 1], configuration: 0 };
        let answer = Baselines::fit(&[&example]).expect("a row is there").predict(None);
        assert_eq!((answer.no_interference, answer.train_median), (1.0, 1.5));
        assert_eq!((answer.binary_rule, answer.model_linear), (None, None));
    }
}
