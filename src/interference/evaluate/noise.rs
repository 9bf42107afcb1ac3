//! How well the co-runs themselves are known: no error below that means anything.

use std::collections::HashMap;

use serde::Serialize;

use super::{
    samples::{Direction, Samples, grouped},
    set::EvaluationSet,
};

/// What a noise floor was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseBasis {
    /// The same direction of the same configuration in several rows.
    Repeats,
    /// The spread within a run, over the root of the number of iterations.
    Stdev,
}

/// Mean standard error of the measured co-run means of set 0, per cent, and what it is from. Repeats are preferred: they also
/// see what changes from run to run. Iterations are those that `solo.csv` states for the workload and share, since `pair.csv` has
/// no such column.
pub(super) fn floor(set: &EvaluationSet<'_>, samples: &Samples) -> Option<(f64, NoiseBasis)> {
    let repeats = mean_pct(&of_repeats(samples)).map(|pct| (pct, NoiseBasis::Repeats));
    repeats.or_else(|| mean_pct(&of_stdev(set, samples)).map(|pct| (pct, NoiseBasis::Stdev)))
}

fn mean_pct(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| 100.0 * values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation over the mean, of the rows of each direction that was measured more than once.
fn of_repeats(samples: &Samples) -> Vec<f64> {
    let of_first_set = (0..samples.directions.len()).filter(|i| samples.directions[*i].set == 0);
    let at = |i: usize| &samples.directions[i];
    // Both sides of a workload beside itself are one run: the side keeps them apart.
    let own_side = |d: &Direction| if d.victim == d.partner { d.side } else { 0 };
    let repeated = grouped(of_first_set, |i| (at(i).victim, at(i).partner, own_side(at(i))));
    let spread = |(_, rows): ((_, _, usize), Vec<usize>)| {
        let n = rows.len() as f64;
        let latencies = rows.iter().map(|i| at(*i).corun_us);
        let mean = latencies.clone().sum::<f64>() / n;
        let variance = latencies.map(|latency| (latency - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (rows.len() > 1).then(|| variance.sqrt() / mean)
    };
    repeated.into_iter().filter_map(spread).collect()
}

fn of_stdev(set: &EvaluationSet<'_>, samples: &Samples) -> Vec<f64> {
    let mut iterations: HashMap<&str, Vec<_>> = HashMap::new();
    for solo in set.solo_latencies {
        iterations.entry(solo.workload.as_ref()).or_default().push((solo.sm_share, solo.samples));
    }
    let error = |d: &Direction| {
        let stdev_us = set.pair_samples[d.row].stdev_us[d.side]?;
        let of_workload = iterations.get(samples.workloads[d.victim.workload].as_ref())?;
        let (_, count) = of_workload.iter().find(|(share, _)| *share == samples.shares[d.victim.share])?;
        let count = (*count).filter(|count| *count > 0)?;
        Some(stdev_us / (count as f64).sqrt() / d.corun_us)
    };
    samples.directions.iter().filter(|d| d.set == 0).filter_map(error).collect()
}
