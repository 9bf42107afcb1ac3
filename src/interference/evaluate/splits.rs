//! Which directions are tested, and which may be learnt from meanwhile.

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use strum::{Display, EnumString, VariantArray, VariantNames};

use super::{
    samples::{Direction, Samples, grouped},
    set::{EvaluationSet, Profiles},
};
use crate::domain::SmShare;

/// Folds of the splits that deal groups out.
const FOLDS: usize = 5;

/// What a fold leaves out of training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, VariantArray, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Split {
    /// A fifth of the configurations: unordered pairs of (workload, share).
    Random,
    /// A fifth of the unordered pairs of workloads.
    UnseenPair,
    /// A target workload, in both roles.
    UnseenInput,
    /// The partners of one model, as partners.
    UnseenPartner,
    /// A target model, as target.
    UnseenTarget,
    /// A target model, in both roles.
    UnseenModel,
    /// Both models of a pair, in both roles.
    UnseenBoth,
    /// An SM share: its signatures, solo latencies and co-runs.
    UnseenPartition,
    /// The first set; the others are learnt from.
    UnseenDevice,
    /// A measuring campaign.
    CrossCampaign,
}

impl Split {
    /// True for the splits in which a few samples of what is unseen can be given.
    #[must_use]
    pub fn has_few_shot(self) -> bool {
        use Split::{UnseenDevice, UnseenInput, UnseenModel, UnseenPartner, UnseenTarget};
        matches!(self, UnseenTarget | UnseenModel | UnseenPartner | UnseenInput | UnseenDevice)
    }
}

/// One fold. Places are those of [`Samples::directions`].
#[derive(Debug)]
pub(super) struct Fold {
    /// What is left out, for people.
    pub held_out: String,
    /// Learnt from.
    pub train: Vec<usize>,
    /// Tested.
    pub test: Vec<usize>,
    /// Groups of the split's kind in training.
    pub train_groups: usize,
    /// For a share that is left out.
    pub withheld: Option<Withheld>,
}

/// A share of which nothing is known.
#[derive(Debug)]
pub(super) struct Withheld {
    /// The share.
    pub share: SmShare,
    /// What is known of the workloads at the others.
    pub profiles: Profiles,
    /// Targets without measured shares on both sides: predicted, reported apart.
    pub extrapolated: Vec<usize>,
}

/// The folds of `split`, and its number of groups.
pub(super) fn folds(split: Split, sets: &[EvaluationSet<'_>], samples: &Samples, seed: u64) -> (Vec<Fold>, usize) {
    let model = |model: &usize| samples.models[*model].to_string();
    match split {
        Split::Random => dealt_out(samples, seed, "configurations", |d| d.configuration),
        Split::UnseenPair => dealt_out(samples, seed, "pairs of workloads", |d| unordered(d.workloads())),
        Split::UnseenInput => left_out(
            samples,
            |d| d.victim.workload,
            |workload| samples.workloads[*workload].to_string(),
            |d, workload| !d.workloads().contains(workload),
        ),
        Split::UnseenPartner => left_out(samples, |d| d.partner.model, model, |d, out| d.partner.model != *out),
        Split::UnseenTarget => left_out(samples, |d| d.victim.model, model, |d, out| d.victim.model != *out),
        Split::UnseenModel => left_out(samples, |d| d.victim.model, model, |d, out| !d.models().contains(out)),
        Split::UnseenBoth => left_out(
            samples,
            |d| unordered(d.models()),
            |pair| pair.map(|model| samples.models[model].as_ref()).join(" + "),
            |d, pair| d.models().iter().all(|model| !pair.contains(model)),
        ),
        Split::CrossCampaign => left_out(
            samples,
            |d| d.campaign,
            |campaign| format!("campaign {:?}", samples.campaigns[*campaign]),
            |d, campaign| d.campaign != *campaign,
        ),
        Split::UnseenPartition => withheld_shares(sets, samples),
        Split::UnseenDevice => other_device(sets, samples),
    }
}

fn unordered([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

/// Groups in order of first appearance, shuffled by the seed, dealt out to [`FOLDS`] folds.
fn dealt_out<K: Eq + std::hash::Hash + Copy>(
    samples: &Samples,
    seed: u64,
    kind: &str,
    key: impl Fn(&Direction) -> K,
) -> (Vec<Fold>, usize) {
    let mut groups = grouped(0..samples.directions.len(), |i| key(&samples.directions[i]));
    groups.shuffle(&mut StdRng::seed_from_u64(seed));
    let fold = |fold: usize| {
        let part = |tested: bool| {
            let mut members: Vec<usize> = (groups.iter().enumerate())
                .filter(|(g, _)| (g % FOLDS == fold) == tested)
                .flat_map(|(_, (_, members))| members.iter().copied())
                .collect();
            members.sort_unstable();
            members
        };
        let held = groups.iter().skip(fold).step_by(FOLDS).count();
        Fold {
            held_out: format!("part {} of {FOLDS}: {held} {kind}", fold + 1),
            train: part(false),
            test: part(true),
            train_groups: groups.len() - held,
            withheld: None,
        }
    };
    ((0..FOLDS).map(fold).collect(), groups.len())
}

/// A fold a group: its directions are tested; learnt from are those that `may_learn` when it is left out.
fn left_out<K: Eq + std::hash::Hash + Copy>(
    samples: &Samples,
    key: impl Fn(&Direction) -> K,
    name: impl Fn(&K) -> String,
    may_learn: impl Fn(&Direction, &K) -> bool,
) -> (Vec<Fold>, usize) {
    let at = |i: usize| &samples.directions[i];
    let groups = grouped(0..samples.directions.len(), |i| key(at(i)));
    let count = groups.len();
    let fold = |(group, test): (K, Vec<usize>)| {
        let train: Vec<usize> = (0..samples.directions.len()).filter(|i| may_learn(at(*i), &group)).collect();
        let train_groups = grouped(train.iter().copied(), |i| key(at(i))).len();
        Fold { held_out: name(&group), train, test, train_groups, withheld: None }
    };
    (groups.into_iter().map(fold).collect(), count)
}

/// A fold a share: nothing measured there is known.
fn withheld_shares(sets: &[EvaluationSet<'_>], samples: &Samples) -> (Vec<Fold>, usize) {
    let (mut folds, groups) = left_out(
        samples,
        |d| d.victim.share,
        |share| format!("share {}", samples.shares[*share].get()),
        |d, share| ![d.victim.share, d.partner.share].contains(share),
    );
    let (Some(set), shares) = (sets.first(), grouped(0..samples.directions.len(), |i| samples.directions[i].victim.share)) else {
        return (folds, groups);
    };
    for (fold, (share, _)) in folds.iter_mut().zip(shares) {
        let share = samples.shares[share];
        let profiles = set.profiles(Some(share));
        let workload = |i: usize| &samples.workloads[samples.directions[i].victim.workload];
        let (test, extrapolated) = fold.test.iter().partition(|i| is_bracketed(&profiles, workload(**i), share));
        fold.test = test;
        fold.withheld = Some(Withheld { share, profiles, extrapolated });
    }
    (folds, groups)
}

/// True when both signatures and solo latencies of `workload` lie on both sides of `share`.
fn is_bracketed(profiles: &Profiles, workload: &str, share: SmShare) -> bool {
    // Both are ascending.
    let around = |first: Option<SmShare>, last: Option<SmShare>| {
        first.is_some_and(|first| first < share) && last.is_some_and(|last| last > share)
    };
    profiles.get(workload).is_some_and(|profile| {
        let (shares, solo) = (&profile.shares, &profile.solo);
        around(shares.first().map(|s| s.sm_share), shares.last().map(|s| s.sm_share))
            && around(solo.first().map(|s| s.sm_share), solo.last().map(|s| s.sm_share))
    })
}

/// One fold: the first set is tested.
fn other_device(sets: &[EvaluationSet<'_>], samples: &Samples) -> (Vec<Fold>, usize) {
    let (test, train): (Vec<usize>, Vec<usize>) = (0..samples.directions.len()).partition(|i| samples.directions[*i].set == 0);
    let train_groups = grouped(train.iter().copied(), |i| samples.directions[i].set).len();
    let held_out = sets.first().map_or_else(String::new, |set| set.name.to_owned());
    (vec![Fold { held_out, train, test, train_groups, withheld: None }], 1)
}
