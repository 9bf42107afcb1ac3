//! What is wrong with co-runs, row by row, and how much each timed direction still counts. Nothing is dropped without a word: a
//! finding names the row, says why, and states the weight that follows from it.
//!
//! With S the slowdown of a direction, s its standard error, and repeats being the directions of one configuration, sharing mode
//! and campaign:
//!
//! | finding | when | weight |
//! |---|---|---|
//! | duplicate | the same configuration and the same figures to the last bit as another row | 0: the other one counts |
//! | faster than solo | S < 1 - max(5 %, 3 s) | 0 |
//! | implausible | S > 20 | (20 / S)^2; the figure stays as it is |
//! | contradictory | two repeats differ by d > l = max(5 % of their mean, 3 s of the difference); or of three and more the robust scale d > l = max(5 % of the median, 3 s) | (l / d)^2 |
//! | outlier | one of three or more repeats lies d > l = max(5 % of the median, 3 s, 3 robust scales) from their median | (l / d)^2 |
//!
//! The robust scale is 1.4826 times the median absolute deviation from the median. A sample does not say how many repeats its
//! standard deviation is over, so that stands for the standard error, which it is never below. The weights make a direction
//! count as if its error were as large as what is found. A measured S a little below 1 is noise and no finding.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use serde::Serialize;

use crate::domain::{PairSample, SharingMode};

/// Relative deviation that may always be noise.
const NOISE: f64 = 0.05;
/// Standard errors, or robust scales, that may be noise.
const ERRORS: f64 = 3.0;
/// Largest slowdown that is taken as it is.
const PLAUSIBLE: f64 = 20.0;
/// From a median absolute deviation to the standard deviation of a normal distribution.
pub(super) const SIGMA_OF_MAD: f64 = 1.4826;

/// A kind of finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Another row says the same.
    Duplicate,
    /// Faster beside a partner than alone, by more than noise.
    FasterThanSolo,
    /// A slowdown too large to believe without a second look.
    Implausible,
    /// Repeats differ by more than noise.
    Contradictory,
    /// Far from the other repeats, as a throttled run is.
    Outlier,
}

/// Something wrong with one timed direction of a sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Place of the sample among those examined, from 0.
    pub sample: usize,
    /// Its row in its source.
    pub pair_id: String,
    /// The timed tenant: 0 the first, 1 the second.
    pub side: usize,
    /// What is wrong.
    pub kind: FindingKind,
    /// The same for people, with the figures.
    pub detail: String,
    /// Weight that the direction is left with, [0, 1]; 0 keeps it out.
    pub weight: f64,
}

/// What is wrong with `samples`, by place, side and kind. Neither the order of the samples nor the names of the workloads matter.
#[must_use]
pub fn examine(samples: &[PairSample]) -> Vec<Finding> {
    examine_added(&[], samples)
}

/// What is wrong with `added` beside the samples that are `known`. Findings are of the added ones alone, and of two equal rows the
/// known one counts.
#[must_use]
pub fn examine_added(known: &[PairSample], added: &[PairSample]) -> Vec<Finding> {
    let samples: Vec<&PairSample> = known.iter().chain(added).collect();
    let mut findings = vec![];
    let mut repeats: BTreeMap<Configuration, Vec<Direction>> = BTreeMap::new();
    let kept = counted(&samples, known.len());
    for (i, sample) in samples.iter().enumerate() {
        for (side, direction) in directions(i, sample) {
            let found = alone(samples[kept[i]], i == kept[i], direction);
            let stays_out = found.as_ref().is_some_and(|(_, _, weight)| *weight <= 0.0);
            findings.extend(found.map(|found| finding(sample, direction, found)));
            if !stays_out {
                repeats.entry(configuration(sample, side)).or_default().push(direction);
            }
        }
    }
    for repeats in repeats.values() {
        findings
            .extend(compared(repeats).into_iter().map(|(direction, found)| finding(samples[direction.sample], direction, found)));
    }
    findings.retain(|finding| finding.sample >= known.len());
    for finding in &mut findings {
        finding.sample -= known.len();
    }
    findings.sort_by_key(|finding| (finding.sample, finding.side, finding.kind));
    findings
}

/// How much each direction of each sample counts, [0, 1]: the least of what is found of it, 1 where nothing is; 0 where the side was
/// not timed. To be multiplied with what measurement noise makes of it.
#[must_use]
pub fn weights(samples: &[PairSample]) -> Vec<[f64; 2]> {
    weights_of(samples, &examine(samples))
}

/// The same from findings that were already made of `samples`.
#[must_use]
pub fn weights_of(samples: &[PairSample], findings: &[Finding]) -> Vec<[f64; 2]> {
    let timed = |corun: Option<f64>| f64::from(u8::from(corun.is_some()));
    let mut weights: Vec<[f64; 2]> = samples.iter().map(|sample| sample.corun_us.map(timed)).collect();
    for finding in findings {
        let weight = &mut weights[finding.sample][finding.side];
        *weight = weight.min(finding.weight);
    }
    weights
}

/// Kind, detail, weight.
type Found = (FindingKind, String, f64);

fn finding(sample: &PairSample, direction: Direction, (kind, detail, weight): Found) -> Finding {
    Finding { sample: direction.sample, pair_id: sample.pair_id.clone(), side: direction.side, kind, detail, weight }
}

/// A timed side of a sample.
#[derive(Debug, Clone, Copy)]
struct Direction {
    sample: usize,
    side: usize,
    slowdown: f64,
    /// Standard error of the slowdown, 0 when it is not known.
    error: f64,
}

/// The timed directions of a sample, with the side that each has in a configuration of equal tenants.
fn directions(place: usize, sample: &PairSample) -> Vec<(usize, Direction)> {
    let timed = |side: usize| {
        let slowdown = sample.corun_us[side]? / sample.solo_us[side];
        let error = sample.stdev_us[side].unwrap_or(0.0) / sample.solo_us[side];
        Some(Direction { sample: place, side, slowdown, error })
    };
    let mut directions: Vec<Direction> = [0, 1].into_iter().filter_map(timed).collect();
    if tenant(sample, 0) == tenant(sample, 1) {
        // Which of two equal tenants is called the first is chance: the slower one of each sample is compared with the slower ones.
        directions.sort_by(|a, b| a.slowdown.total_cmp(&b.slowdown));
        directions.into_iter().enumerate().collect()
    } else {
        directions.into_iter().map(|direction| (direction.side, direction)).collect()
    }
}

/// Workload and share.
type TenantKey<'s> = (&'s Arc<str>, u64);

/// Mode, campaign, victim, partner, rank among equal tenants.
type Configuration<'s> = (SharingMode, &'s str, TenantKey<'s>, TenantKey<'s>, usize);

fn tenant(sample: &PairSample, side: usize) -> TenantKey<'_> {
    (&sample.workloads[side], sample.sm_shares[side].key())
}

fn configuration(sample: &PairSample, side: usize) -> Configuration<'_> {
    let (victim, partner) = (tenant(sample, side), tenant(sample, 1 - side));
    let rank = if victim == partner { side } else { 0 };
    (sample.sharing_mode, &sample.campaign, victim, partner, rank)
}

/// For each sample the place of the one that counts for it: of equal ones a known one, else that with the least `pair_id`.
fn counted(samples: &[&PairSample], known: usize) -> Vec<usize> {
    let mut first: HashMap<_, usize> = HashMap::new();
    let precedence = |i: usize| (Reverse(i < known), samples[i].pair_id.as_str(), i);
    let contents: Vec<_> = samples.iter().map(|sample| content(sample)).collect();
    for (i, content) in contents.iter().enumerate() {
        let counted = first.entry(content).or_insert(i);
        if precedence(i) < precedence(*counted) {
            *counted = i;
        }
    }
    contents.iter().map(|content| first[content]).collect()
}

/// A tenant with its figures to the last bit: alone, beside the other, standard deviation.
type SideContent<'s> = (TenantKey<'s>, [Option<u64>; 3]);

/// What a sample says, whichever of its tenants is called the first and whatever its row is called.
fn content(sample: &PairSample) -> (SharingMode, [SideContent<'_>; 2]) {
    let side = |i: usize| {
        let figures = [Some(sample.solo_us[i]), sample.corun_us[i], sample.stdev_us[i]];
        (tenant(sample, i), figures.map(|figure| figure.map(f64::to_bits)))
    };
    let mut sides = [side(0), side(1)];
    sides.sort_unstable();
    (sample.sharing_mode, sides)
}

/// What a direction shows by itself; `counted` is the sample that counts for it, `is_it` says that this is its own.
fn alone(counted: &PairSample, is_it: bool, direction: Direction) -> Option<Found> {
    let slowdown = direction.slowdown;
    let noise = NOISE.max(ERRORS * direction.error);
    if !is_it {
        let detail = format!("the same configuration and figures as row {}: counted once", counted.pair_id);
        Some((FindingKind::Duplicate, detail, 0.0))
    } else if slowdown < 1.0 - noise {
        let detail =
            format!("{slowdown:.4} times the latency alone, faster than alone by more than noise ({noise:.4}): kept out");
        Some((FindingKind::FasterThanSolo, detail, 0.0))
    } else if slowdown > PLAUSIBLE {
        let weight = (PLAUSIBLE / slowdown).powi(2);
        let detail = format!("{slowdown:.1} times the latency alone, more than {PLAUSIBLE} is in question: weight {weight:.3}");
        Some((FindingKind::Implausible, detail, weight))
    } else {
        None
    }
}

/// What the repeats of one configuration show beside each other.
fn compared(repeats: &[Direction]) -> Vec<(Direction, Found)> {
    match repeats {
        [] | [_] => vec![],
        [a, b] => {
            let limit = (NOISE * f64::midpoint(a.slowdown, b.slowdown)).max(ERRORS * a.error.hypot(b.error));
            let difference = (a.slowdown - b.slowdown).abs();
            let found = |own: &Direction, other: &Direction| {
                let detail = format!("{:.4} times the latency alone, {:.4} in its repeat", own.slowdown, other.slowdown);
                (*own, lowered(FindingKind::Contradictory, &detail, limit, difference))
            };
            if difference > limit { vec![found(a, b), found(b, a)] } else { vec![] }
        }
        many => beside_median(many),
    }
}

fn beside_median(repeats: &[Direction]) -> Vec<(Direction, Found)> {
    let center = median(repeats.iter().map(|direction| direction.slowdown));
    let scale = SIGMA_OF_MAD * median(repeats.iter().map(|direction| (direction.slowdown - center).abs()));
    let noise = (NOISE * center).max(ERRORS * median(repeats.iter().map(|direction| direction.error)));
    let found = |direction: &Direction| {
        let said = |rest: &str| format!("{:.4} times the latency alone, {rest}", direction.slowdown);
        let deviation = (direction.slowdown - center).abs();
        let limit = (NOISE * center).max(ERRORS * scale.max(direction.error));
        if deviation > limit {
            let detail = said(&format!("{center:.4} is the median of its {} repeats", repeats.len()));
            Some((*direction, lowered(FindingKind::Outlier, &detail, limit, deviation)))
        } else if scale > noise {
            let detail = said(&format!("its {} repeats scatter by {scale:.4}", repeats.len()));
            Some((*direction, lowered(FindingKind::Contradictory, &detail, noise, scale)))
        } else {
            None
        }
    };
    repeats.iter().filter_map(found).collect()
}

fn lowered(kind: FindingKind, detail: &str, limit: f64, deviation: f64) -> Found {
    let weight = (limit / deviation).powi(2).min(1.0);
    (kind, format!("{detail}, more than noise ({limit:.4}): weight {weight:.3}"), weight)
}

/// The median; 0 of nothing.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
