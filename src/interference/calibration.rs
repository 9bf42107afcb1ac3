//! Upper bounds and confidence from directions that were left out: split-conformal, by what was known of them.

use serde::{Deserialize, Serialize};

use super::trials::Kind;

/// Level of the upper bounds.
pub(super) const LEVEL: f64 = 0.9;
/// Models left out from which on their errors say what the next one's will be.
const FEW_UNITS: usize = 5;
/// Fewest left-out directions from which a bound is taken.
const LEAST: usize = 20;

/// A direction that was left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub kind: Kind,
    /// log(measured / predicted).
    pub log_ratio: f64,
    /// A few co-runs of what is unseen in it were given.
    pub few: bool,
    /// Whether the victim was never timed, and the partner never a partner.
    pub unknown: [bool; 2],
    /// The model that is unseen in it.
    pub unit: usize,
    /// Distance to the nearest victim or partner of the training, whichever is farther.
    pub distance: f64,
}

impl Held {
    /// It was predicted without samples of its own, of the kind asked for.
    pub(super) fn is_first_look(&self, unseen: bool) -> bool {
        !self.few && (self.kind == Kind::Unseen) == unseen
    }

    fn is_foreign(&self) -> bool {
        self.is_first_look(true) && (self.unknown[0] || self.unknown[1])
    }
}

/// Upper bounds from errors on left-out directions, as quantiles at `level` of log(measured / predicted), at least 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Level of the bounds.
    pub level: f64,
    /// Between measured tenants.
    pub near: f64,
    /// Where a few co-runs were measured of what was unseen.
    pub few: f64,
    /// Where the victim was never timed, where the partner was never a partner, and both.
    pub far: [f64; 3],
    /// Of the latency alone between two measured shares.
    pub solo_curve: f64,
    /// Distance up to which a workload that was never seen is as good as known: so far, bounds of known ones hold for those left
    /// out. 0 when they hold nowhere.
    pub threshold: f64,
    /// 90 % quantile of the distances at which bounds were calibrated; beyond, they widen in proportion.
    pub reach: f64,
}

/// What is known of the two tenants of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stratum {
    Near,
    Few,
    /// The victim, the partner, or both are unknown.
    Far(usize),
}

impl Stratum {
    /// Of a direction whose victim or partner is `unknown`.
    pub(super) fn of(unknown: [bool; 2]) -> Self {
        match unknown {
            [false, false] => Self::Near,
            [true, false] => Self::Far(0),
            [false, true] => Self::Far(1),
            [true, true] => Self::Far(2),
        }
    }
}

impl Calibration {
    /// The logarithm of bound over prediction.
    pub(super) fn log_width(&self, stratum: Stratum) -> f64 {
        match stratum {
            Stratum::Near => self.near,
            Stratum::Few => self.few,
            Stratum::Far(which) => self.far[which],
        }
    }
}

/// Bounds from what was left out, and from the errors of the solo curve at left-out shares.
pub(super) fn calibrate(held: &[Held], solo_curve: &[f64]) -> Calibration {
    let width = |chosen: &dyn Fn(&Held) -> bool| {
        let ratios: Vec<f64> = held.iter().filter(|h| chosen(h)).map(|h| h.log_ratio).collect();
        (ratios.len() >= LEAST).then(|| upper(ratios))
    };
    let every = upper(held.iter().map(|h| h.log_ratio).collect());
    let near = width(&|h| h.is_first_look(false)).unwrap_or(every);
    let threshold = threshold(held, near);
    let foreign = |unknown: [bool; 2]| width(&|h: &Held| h.is_foreign() && h.unknown == unknown && h.distance > threshold);
    let any_foreign = width(&|h| h.is_foreign() && h.distance > threshold).unwrap_or(2.0 * every).max(near);
    // Of a few models the next may be worse than all: the widest of them is taken for all.
    let widest = |few: bool| {
        let of_unit = |unit: usize| {
            upper(held.iter().filter(|h| h.unit == unit && h.few == few && h.kind == Kind::Unseen).map(|h| h.log_ratio).collect())
        };
        let mut all: Vec<usize> = held.iter().map(|h| h.unit).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(of_unit).fold(0.0, f64::max)
    };
    let scarce = units(held) < FEW_UNITS;
    let any_foreign = if scarce { any_foreign.max(widest(false)) } else { any_foreign };
    let far = |unknown| if scarce { any_foreign } else { foreign(unknown).unwrap_or(any_foreign).max(near) };
    let [victim, partner] = [[true, false], [false, true]].map(far);
    let both = foreign([true, true]).unwrap_or(any_foreign).max(victim).max(partner);
    let few = width(&|h| h.few).unwrap_or(any_foreign);
    let few = if scarce { few.max(widest(true)) } else { few }.clamp(near, any_foreign);
    let mut distances: Vec<f64> = held.iter().filter(|h| h.is_foreign()).map(|h| h.distance).collect();
    distances.sort_by(f64::total_cmp);
    Calibration {
        level: LEVEL,
        near,
        few,
        far: [victim, partner, both],
        solo_curve: upper(solo_curve.to_vec()),
        threshold,
        reach: quantile(&distances, LEVEL).unwrap_or(threshold).max(1e-9),
    }
}

/// Models left out.
fn units(held: &[Held]) -> usize {
    let mut units: Vec<usize> = held.iter().filter(|h| h.is_foreign()).map(|h| h.unit).collect();
    units.sort_unstable();
    units.dedup();
    units.len()
}

/// The largest distance up to which `near` covers the unseen directions as often as it should.
fn threshold(held: &[Held], near: f64) -> f64 {
    if units(held) < FEW_UNITS {
        return 0.0;
    }
    let mut foreign: Vec<(f64, bool)> =
        held.iter().filter(|h| h.is_foreign()).map(|h| (h.distance, h.log_ratio <= near)).collect();
    foreign.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut covered, mut threshold) = (0, 0.0);
    for (count, (distance, is_covered)) in foreign.iter().enumerate() {
        covered += usize::from(*is_covered);
        if count + 1 >= LEAST && covered as f64 >= LEVEL * (count + 1) as f64 {
            threshold = *distance;
        }
    }
    threshold
}

/// The quantile at [`LEVEL`], at least 0; 0 of nothing.
fn upper(mut log_ratios: Vec<f64>) -> f64 {
    log_ratios.sort_by(f64::total_cmp);
    quantile(&log_ratios, LEVEL).unwrap_or(0.0).max(0.0)
}

/// The `level` quantile of ascending `sorted` as split-conformal prediction takes it: the value of rank `ceil((n + 1) level)`,
/// the largest where that passes the end; `None` without values.
fn quantile(sorted: &[f64], level: f64) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank between 1 and n + 1")]
    let rank = ((sorted.len() + 1) as f64 * level).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied()
}

/// |predicted - measured| / measured from log(measured / predicted).
pub(super) fn relative_error(log_ratio: f64) -> f64 {
    ((-log_ratio).exp() - 1.0).abs()
}

/// Mean |predicted - measured| / measured, per cent; `None` of nothing.
pub(super) fn mean_error_pct<'h>(held: impl Iterator<Item = &'h Held>) -> Option<f64> {
    let errors: Vec<f64> = held.map(|h| relative_error(h.log_ratio)).collect();
    (!errors.is_empty()).then(|| 100.0 * errors.iter().sum::<f64>() / errors.len() as f64)
}
