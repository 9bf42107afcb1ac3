//! Evaluation: how well a predictor fitted to some of a set's co-runs predicts the others, beside the baselines. The protocol is
//! that of `docs/evaluation.md`; no clock and no file is touched here.

mod bench;
mod few_shot;
mod noise;
mod options;
mod ours;
mod pooled;
mod report;
mod samples;
mod set;
mod splits;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use self::{
    bench::{Bench, Outcome},
    few_shot::Halves,
    samples::Samples,
    splits::Fold,
};
use crate::domain::{Provenance, SharingMode};

pub use few_shot::{Chooser, FewShot};
pub use noise::NoiseBasis;
pub use options::Options;
pub use report::{ClassErrors, Coverage, CurvePoint, Errors, Evaluation, Extrapolated, FoldReport, Methods, Point};
pub use set::EvaluationSet;
pub use splits::Split;

/// Fewest groups in training for which the bounds' coverage is promised.
const PROMISED_GROUPS: usize = 5;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// No fold has something to learn from and something to test.
    #[error("SPLIT_EMPTY: no fold of {split} is left on {dataset}{}", reasons(.skipped))]
    SplitEmpty {
        /// The split.
        split: Split,
        /// The set.
        dataset: String,
        /// Each fold with why it was skipped.
        skipped: Vec<String>,
    },
    /// More samples are asked for than there are.
    #[error("{count} samples are asked for, the pool has {pool}: half of the configurations of what is left out")]
    PoolTooSmall {
        /// Configurations asked for.
        count: usize,
        /// Configurations in the largest pool.
        pool: usize,
    },
    /// Samples of something that is not unseen.
    #[error("few samples go with unseen-target, unseen-model, unseen-partner, unseen-input and unseen-device, not with {0}")]
    NoFewShot(Split),
    /// Wrong number of sets.
    #[error("unseen-device takes a set to test and at least one to learn from; every other split takes one set at a time")]
    SetCount,
    /// Sets that no one predictor is for.
    #[error("{first} was shared by {first_mode}, {other} by {other_mode}: a predictor is for one sharing mode")]
    SharingModes {
        /// The tested set.
        first: String,
        /// Its mode.
        first_mode: SharingMode,
        /// A set to learn from.
        other: String,
        /// Its mode.
        other_mode: SharingMode,
    },
}

fn reasons(skipped: &[String]) -> String {
    match skipped {
        [] => ": it has no timed co-run of two workloads with signatures".to_owned(),
        [first] => format!(" ({first})"),
        [first, rest @ ..] => format!(" ({first}; and {} more)", rest.len()),
    }
}

/// Evaluates on the first of `sets`: one set, or for `unseen-device` more, which are learnt from. `progress` is told how many of
/// how many folds are done. The result depends on the sets and the options alone; `wall_s` is left to the caller.
pub fn evaluate(
    sets: &[EvaluationSet<'_>],
    options: &Options,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Evaluation, EvaluateError> {
    let set = check(sets, options)?;
    let samples = Samples::new(sets, options.min_batch);
    let (folds, groups) = splits::folds(options.split, sets, &samples, options.seed);
    let halves = halves(&folds, &samples, options)?;
    let bench = Bench::new(sets, &samples, options);

    let done = AtomicUsize::new(0);
    let outcomes: Vec<Outcome> = folds
        .par_iter()
        .zip(&halves)
        .map(|(fold, halves)| {
            let outcome = bench.run(fold, halves.as_ref());
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, folds.len());
            outcome
        })
        .collect();

    let tested = pooled::last(&outcomes);
    if tested.is_empty() {
        let why = |outcome: &Outcome| Some(format!("{}: {}", outcome.held_out, outcome.skipped.as_ref()?));
        let skipped = outcomes.iter().filter_map(why).collect();
        return Err(EvaluateError::SplitEmpty { split: options.split, dataset: set.name.to_owned(), skipped });
    }
    let noise = noise::floor(set, &samples);
    Ok(Evaluation {
        dataset: set.name.to_owned(),
        trained_on: sets[1..].iter().map(|set| set.name.to_owned()).collect(),
        split: options.split.to_string(),
        few_shot: options.few_shot.map(|wanted| wanted.count),
        few_shot_chosen_by: options.few_shot.map(|wanted| wanted.chooser),
        seed: options.seed,
        min_batch: options.min_batch,
        samples: samples.directions.iter().filter(|d| d.set == 0).count(),
        tested: outcomes.iter().filter(|outcome| outcome.skipped.is_none()).map(|outcome| outcome.test).sum(),
        groups,
        noise_floor_pct: noise.map(|(pct, _)| pct),
        noise_floor_from: noise.map(|(_, basis)| basis),
        methods: pooled::methods(&tested),
        coverage: pooled::coverage(&tested),
        by_confidence_class: pooled::classes(&tested),
        folds: outcomes.iter().map(pooled::fold).collect(),
        few_shot_curve: if options.curve && options.few_shot.is_some() { pooled::curve(&outcomes) } else { vec![] },
        solo_curve: pooled::solo_curve(&tested),
        wall_s: 0.0,
        warnings: warnings(sets, options, &samples, &bench, &outcomes, &halves),
        points: pooled::points(&tested),
    })
}

/// The set that is tested.
fn check<'s, 'a>(sets: &'s [EvaluationSet<'a>], options: &Options) -> Result<&'s EvaluationSet<'a>, EvaluateError> {
    let (Some(first), others) = (sets.first(), sets.get(1..).unwrap_or_default()) else { return Err(EvaluateError::SetCount) };
    if (options.split == Split::UnseenDevice) == others.is_empty() {
        return Err(EvaluateError::SetCount);
    }
    if options.few_shot.is_some() && !options.split.has_few_shot() {
        return Err(EvaluateError::NoFewShot(options.split));
    }
    match others.iter().find(|other| other.sharing_mode != first.sharing_mode) {
        None => Ok(first),
        Some(other) => Err(EvaluateError::SharingModes {
            first: first.name.to_owned(),
            first_mode: first.sharing_mode,
            other: other.name.to_owned(),
            other_mode: other.sharing_mode,
        }),
    }
}

/// Pool and test half of each fold, where samples are given.
fn halves(folds: &[Fold], samples: &Samples, options: &Options) -> Result<Vec<Option<Halves>>, EvaluateError> {
    let Some(wanted) = options.few_shot else { return Ok(folds.iter().map(|_| None).collect()) };
    let halves: Vec<Halves> = folds.iter().map(|fold| Halves::new(options.split, fold, samples, options.seed)).collect();
    let pool = halves.iter().map(|halves| halves.pool.len()).max().unwrap_or(0);
    if !folds.is_empty() && wanted.count > pool {
        return Err(EvaluateError::PoolTooSmall { count: wanted.count, pool });
    }
    Ok(halves.into_iter().map(Some).collect())
}

fn warnings(
    sets: &[EvaluationSet<'_>],
    options: &Options,
    samples: &Samples,
    bench: &Bench<'_>,
    outcomes: &[Outcome],
    halves: &[Option<Halves>],
) -> Vec<String> {
    let mut warnings = samples.warnings.clone();
    let mut warn = |count: usize, text: &str| {
        if count > 0 {
            warnings.push(format!("{count} of {} folds {text}", outcomes.len()));
        }
    };
    warn(outcomes.iter().filter(|outcome| outcome.skipped.is_some()).count(), "were skipped: folds[] says why");
    let few = |outcome: &&Outcome| outcome.skipped.is_none() && outcome.train_groups < PROMISED_GROUPS;
    warn(outcomes.iter().filter(few).count(), "had fewer than 5 groups to learn from: coverage is reported, not promised");
    if let Some(wanted) = options.few_shot {
        let small = |halves: &&Option<Halves>| halves.as_ref().is_some_and(|halves| halves.pool.len() < wanted.count);
        warn(halves.iter().filter(small).count(), "have a pool smaller than the number of samples: all of it was given");
    }
    if !bench.has_counters() {
        warnings.push("a workload has no DRAM or no L2 utilisation: binary_rule and model_linear are left out".to_owned());
    }
    let lost: usize = outcomes.iter().map(|outcome| outcome.without_signature).sum();
    if lost > 0 {
        warnings.push(format!("left out {lost} directions with a tenant that has no signature at another share"));
    }
    let simulated = sets.iter().skip(1).flat_map(|set| set.pair_samples.iter().map(|s| s.provenance == Provenance::Simulated));
    let (some, all) = simulated.fold((false, true), |(some, all), simulated| (some || simulated, all && simulated));
    if some && !all {
        warnings.push("simulated co-runs were learnt from together with others".to_owned());
    }
    warnings
}
