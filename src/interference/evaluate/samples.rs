//! The timed directions of the sets. Names become numbers in order of first appearance: from here on they are only compared.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use super::set::EvaluationSet;
use crate::domain::{PairSample, SmShare};

/// A workload on a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Tenancy {
    /// Number of the workload.
    pub workload: usize,
    /// Number of its model.
    pub model: usize,
    /// Number of the share.
    pub share: usize,
}

/// One timed side of a co-run.
#[derive(Debug, Clone)]
pub(super) struct Direction {
    /// Place of the set.
    pub set: usize,
    /// Place of the co-run in the set.
    pub row: usize,
    /// The side that was timed.
    pub side: usize,
    /// The one that was timed, and the one beside it.
    pub victim: Tenancy,
    pub partner: Tenancy,
    /// Number of the unordered pair of (workload, share).
    pub configuration: usize,
    /// Number of the campaign.
    pub campaign: usize,
    /// Latency alone, microseconds.
    pub solo_us: f64,
    /// Latency beside the partner, microseconds.
    pub corun_us: f64,
}

impl Direction {
    /// Co-run latency over solo latency.
    pub(super) fn slowdown(&self) -> f64 {
        self.corun_us / self.solo_us
    }

    /// Models of victim and partner.
    pub(super) fn models(&self) -> [usize; 2] {
        [self.victim.model, self.partner.model]
    }

    /// Workloads of victim and partner.
    pub(super) fn workloads(&self) -> [usize; 2] {
        [self.victim.workload, self.partner.workload]
    }
}

/// The directions of all sets and the names behind the numbers.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub directions: Vec<Direction>,
    pub workloads: Vec<Arc<str>>,
    pub models: Vec<Arc<str>>,
    pub shares: Vec<SmShare>,
    pub campaigns: Vec<Arc<str>>,
    pub warnings: Vec<String>,
}

impl Samples {
    /// Takes the rows whose workloads both have a signature and, where asked, a batch size of at least `min_batch`.
    pub(super) fn new(sets: &[EvaluationSet<'_>], min_batch: Option<u32>) -> Self {
        let mut samples = Self::default();
        let mut numbers = Numbers::default();
        for (place, set) in sets.iter().enumerate() {
            samples.add(place, set, min_batch, &mut numbers);
        }
        samples.workloads = numbers.workloads.names;
        samples.models = numbers.models.names;
        samples.campaigns = numbers.campaigns.names;
        samples
    }

    fn add(&mut self, place: usize, set: &EvaluationSet<'_>, min_batch: Option<u32>, numbers: &mut Numbers) {
        let families = set.families();
        let (mut unsigned, mut without_batch) = (0_u64, 0_u64);
        for (row, pair) in set.pair_samples.iter().enumerate() {
            let [Some(a), Some(b)] = pair.workloads.each_ref().map(|workload| families.get(workload)) else {
                unsigned += 1;
                continue;
            };
            let batches = pair.workloads.each_ref().map(|workload| set.batch(workload));
            if let Some(least) = min_batch {
                without_batch += u64::from(batches.contains(&None));
                if !batches.iter().all(|batch| batch.is_some_and(|batch| batch >= least)) {
                    continue;
                }
            }
            let tenancies = [(0, a), (1, b)].map(|(side, model): (usize, &Arc<str>)| Tenancy {
                workload: numbers.workloads.of(&pair.workloads[side]),
                model: numbers.models.of(model),
                share: self.share(pair.sm_shares[side]),
            });
            self.add_row(place, row, pair, tenancies, numbers);
        }
        if unsigned > 0 {
            self.warnings.push(format!("{}: left out {unsigned} co-runs with a workload that has no signature", set.name));
        }
        if without_batch > 0 {
            self.warnings
                .push(format!("{}: left out {without_batch} co-runs with a workload whose batch is not known", set.name));
        }
    }

    fn add_row(&mut self, set: usize, row: usize, pair: &PairSample, tenancies: [Tenancy; 2], numbers: &mut Numbers) {
        let mut unordered = tenancies;
        unordered.sort_unstable();
        for side in 0..2 {
            let Some(corun_us) = pair.corun_us[side] else { continue };
            self.directions.push(Direction {
                set,
                row,
                side,
                victim: tenancies[side],
                partner: tenancies[1 - side],
                configuration: numbers.configuration(unordered.map(|tenancy| (tenancy.workload, tenancy.share))),
                campaign: numbers.campaigns.of(&pair.campaign.as_str().into()),
                solo_us: pair.solo_us[side],
                corun_us,
            });
        }
    }

    /// The number of `share`; shares that differ by less than 1e-6 have the same.
    fn share(&mut self, share: SmShare) -> usize {
        self.shares.iter().position(|known| *known == share).unwrap_or_else(|| {
            self.shares.push(share);
            self.shares.len() - 1
        })
    }

    /// The co-runs of set `set` with only those sides timed that are in `chosen`, in the order of the rows.
    pub(super) fn rows(&self, set: usize, samples: &[PairSample], chosen: &[usize]) -> Vec<PairSample> {
        let mut rows: Vec<(usize, PairSample)> = vec![];
        let mut chosen: Vec<&Direction> = chosen.iter().map(|i| &self.directions[*i]).filter(|d| d.set == set).collect();
        chosen.sort_by_key(|direction| (direction.row, direction.side));
        for direction in chosen {
            if rows.last().is_none_or(|(row, _)| *row != direction.row) {
                let untimed = PairSample { corun_us: [None, None], ..samples[direction.row].clone() };
                rows.push((direction.row, untimed));
            }
            if let Some((_, row)) = rows.last_mut() {
                row.corun_us[direction.side] = Some(direction.corun_us);
            }
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// Numbers given so far.
#[derive(Default)]
struct Numbers {
    workloads: Names,
    models: Names,
    campaigns: Names,
    configurations: HashMap<[(usize, usize); 2], usize>,
}

impl Numbers {
    fn configuration(&mut self, key: [(usize, usize); 2]) -> usize {
        let next = self.configurations.len();
        *self.configurations.entry(key).or_insert(next)
    }
}

#[derive(Default)]
struct Names {
    numbers: HashMap<Arc<str>, usize>,
    names: Vec<Arc<str>>,
}

impl Names {
    fn of(&mut self, name: &Arc<str>) -> usize {
        *self.numbers.entry(name.clone()).or_insert_with(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        })
    }
}

/// `members` by `key`, the groups in order of first appearance.
pub(super) fn grouped<K: Eq + Hash + Copy>(
    members: impl IntoIterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Vec<(K, Vec<usize>)> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<usize>)> = vec![];
    for member in members {
        let place = *places.entry(key(member)).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key(member), vec![]));
        }
        groups[place].1.push(member);
    }
    groups
}
