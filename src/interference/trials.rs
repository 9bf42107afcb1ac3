//! Trials inside a training fold: what is chosen or calibrated is judged on directions that were left out, some between measured
//! ones, some of models that were not seen at all.

use std::{collections::HashSet, sync::Arc};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

use super::{data::Direction, residual::Subject};

/// Most trials with unseen models: models are put together where there are more.
const UNSEEN_FOLDS: usize = 6;
/// Co-runs given of each unseen model where a few samples are.
pub(super) const GIVEN: usize = 4;
/// Fewest directions that a trial learns from.
const LEAST: usize = 10;

/// What a trial is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Configurations left out: the workloads are known.
    Between,
    /// Models left out.
    Unseen,
}

/// Directions to learn from, and directions to be judged on.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub kind: Kind,
    pub train: Vec<usize>,
    pub test: Vec<usize>,
    /// Those of `test` that are given where a few samples are.
    pub given: Vec<usize>,
}

/// What is left out together.
type Units = fn(&Direction, &[Subject]) -> Vec<Arc<str>>;

/// A way to leave something out: what decides that a direction is learnt from, and what that it is tested.
struct Level {
    /// A direction with any of these left out is not learnt from.
    excluded_by: Units,
    /// A direction of which this is left out is tested; what is given is given of each.
    tested_by: Units,
}

fn victim_model(d: &Direction, subjects: &[Subject]) -> Vec<Arc<str>> {
    vec![subjects[d.subjects[0]].family.clone()]
}

fn partner_model(d: &Direction, subjects: &[Subject]) -> Vec<Arc<str>> {
    vec![subjects[d.subjects[1]].family.clone()]
}

fn either_model(d: &Direction, subjects: &[Subject]) -> Vec<Arc<str>> {
    [victim_model(d, subjects), partner_model(d, subjects)].concat()
}

fn victim_workload(d: &Direction, subjects: &[Subject]) -> Vec<Arc<str>> {
    vec![subjects[d.subjects[0]].workload.clone()]
}

/// By model; where too few are left, by target model, else partner model, else target workload. What remains are configurations.
const LEVELS: [Level; 4] = [
    Level { excluded_by: either_model, tested_by: victim_model },
    Level { excluded_by: victim_model, tested_by: victim_model },
    Level { excluded_by: partner_model, tested_by: partner_model },
    Level { excluded_by: victim_workload, tested_by: victim_workload },
];

/// `folds` trials between measured configurations, of the directions `chosen`.
pub(super) fn between(directions: &[Direction], chosen: &[usize], folds: usize, seed: u64) -> Vec<Trial> {
    let mut configurations: Vec<usize> = distinct(chosen.iter().map(|i| directions[*i].configuration));
    configurations.shuffle(&mut StdRng::seed_from_u64(seed));
    let folds = folds.min(configurations.len());
    let trial = |fold: usize| {
        let left_out: HashSet<usize> = configurations.iter().skip(fold).step_by(folds).copied().collect();
        let (test, train) = chosen.iter().partition(|i| left_out.contains(&directions[**i].configuration));
        Trial { kind: Kind::Between, train, test, given: vec![] }
    };
    (0..folds).map(trial).filter(|trial| trial.train.len() >= LEAST).collect()
}

/// Trials with unseen models, of the directions `chosen`; none where too little is left.
pub(super) fn unseen(directions: &[Direction], subjects: &[Subject], chosen: &[usize], seed: u64) -> Vec<Trial> {
    let of_level = |level: &Level| -> Option<Vec<Trial>> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut units: Vec<Arc<str>> = distinct(chosen.iter().flat_map(|i| (level.tested_by)(&directions[*i], subjects)));
        units.shuffle(&mut rng);
        let folds = UNSEEN_FOLDS.min(units.len());
        let mut trials = vec![];
        for fold in 0..folds {
            let left_out: Vec<&Arc<str>> = units.iter().skip(fold).step_by(folds).collect();
            let has = |by: Units, i: &usize| by(&directions[*i], subjects).iter().any(|unit| left_out.contains(&unit));
            let train: Vec<usize> = chosen.iter().copied().filter(|i| !has(level.excluded_by, i)).collect();
            let test: Vec<usize> = chosen.iter().copied().filter(|i| has(level.tested_by, i)).collect();
            if train.len() < LEAST.max(chosen.len() / 10) || test.is_empty() {
                continue;
            }
            let mut given = vec![];
            for unit in &left_out {
                let of_unit = |i: &usize| (level.tested_by)(&directions[*i], subjects).contains(unit);
                let mut configurations = distinct(test.iter().filter(|i| of_unit(i)).map(|i| directions[*i].configuration));
                configurations.shuffle(&mut rng);
                configurations.truncate(GIVEN.min(configurations.len() / 2));
                given.extend(test.iter().copied().filter(|i| configurations.contains(&directions[*i].configuration)));
            }
            given.sort_unstable();
            given.dedup();
            trials.push(Trial { kind: Kind::Unseen, train, test, given });
        }
        (trials.len() >= 2).then_some(trials)
    };
    LEVELS.iter().find_map(of_level).unwrap_or_default()
}

fn distinct<T: Clone + Eq + std::hash::Hash>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(value.clone())).collect()
}
