//! Solo latency over SM share: measured values at measured shares, log-log between them, and outside by the nearest slope.

use super::fit::Source;
use crate::domain::{SmShare, SoloLatency};

/// How a value at a share was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Measured,
    Interpolated,
    Extrapolated,
}

/// The two measured places around a share, and how far it lies from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bracket {
    pub low: usize,
    pub high: usize,
    /// 0 at `low`, 1 at `high`, by the logarithm of the share; 0 where the two are one.
    pub fraction: f64,
    pub reach: Reach,
}

/// Finds `share` among `measured`, ascending and not empty.
pub(super) fn bracket(measured: &[SmShare], share: SmShare) -> Bracket {
    if let Some(at) = measured.iter().position(|s| *s == share) {
        return Bracket { low: at, high: at, fraction: 0.0, reach: Reach::Measured };
    }
    let above = measured.partition_point(|s| s.get() < share.get());
    if above == 0 || above == measured.len() {
        let end = above.min(measured.len() - 1);
        return Bracket { low: end, high: end, fraction: 0.0, reach: Reach::Extrapolated };
    }
    let (low, high) = (measured[above - 1].get().ln(), measured[above].get().ln());
    let fraction = (share.get().ln() - low) / (high - low);
    Bracket { low: above - 1, high: above, fraction, reach: Reach::Interpolated }
}

/// Latency alone at `share`, microseconds, from `solo`, ascending by share and not empty.
///
/// Outside the measured range the slope of the nearest two points goes on, held between -1 (twice the SMs, half the time) and
/// 0. A single point goes down in proportion to the SMs, and up no further than `floor_ratio` of its latency: the part that
/// more SMs cannot speed up.
pub(super) fn solo_latency_us(solo: &[SoloLatency], share: SmShare, floor_ratio: f64) -> (f64, Reach) {
    let shares: Vec<SmShare> = solo.iter().map(|s| s.sm_share).collect();
    let at = bracket(&shares, share);
    let log = |i: usize| solo[i].latency_us.ln();
    let log_share = |i: usize| shares[i].get().ln();
    let latency = match at.reach {
        Reach::Measured => solo[at.low].latency_us,
        Reach::Interpolated => (log(at.low) + at.fraction * (log(at.high) - log(at.low))).exp(),
        Reach::Extrapolated if solo.len() == 1 => solo[0].latency_us * (shares[0].get() / share.get()).max(floor_ratio.min(1.0)),
        Reach::Extrapolated => {
            let (first, second) = if at.low == 0 { (0, 1) } else { (at.low - 1, at.low) };
            let slope = ((log(second) - log(first)) / (log_share(second) - log_share(first))).clamp(-1.0, 0.0);
            (log(at.low) + slope * (share.get().ln() - log_share(at.low))).exp()
        }
    };
    (latency, at.reach)
}

/// Elasticity of the latency alone at `share`: -d log(latency) / d log(share) between the measured neighbours on both sides, held
/// between 0 (more SMs do not help: host, memory or latency set the pace) and 1 (they help in proportion). `None` where fewer
/// than two shares are measured. `solo` is ascending by share.
pub(super) fn elasticity(solo: &[SoloLatency], share: SmShare) -> Option<f64> {
    if solo.len() < 2 {
        return None;
    }
    let below = solo.iter().rposition(|s| s.sm_share != share && s.sm_share.get() < share.get());
    let above = solo.iter().position(|s| s.sm_share != share && s.sm_share.get() > share.get());
    let nearest = |fallback: usize| solo.iter().position(|s| s.sm_share == share).unwrap_or(fallback);
    let last = solo.len() - 1;
    let (low, high) = match (below, above) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) if nearest(low) != low => (low, nearest(low)),
        (None, Some(high)) if nearest(high) != high => (nearest(high), high),
        (Some(_), None) => (last - 1, last),
        (None, _) => (0, 1),
    };
    let change = (solo[high].latency_us / solo[low].latency_us).ln();
    Some((-change / (solo[high].sm_share.get() / solo[low].sm_share.get()).ln()).clamp(0.0, 1.0))
}

/// log(measured / curve) of every measured share that lies between two others, with that share left out.
pub(super) fn errors(sources: &[Source<'_>]) -> Vec<f64> {
    let profiles = sources.iter().flat_map(|source| source.profiles.values());
    let of_profile = profiles.flat_map(|profile| {
        let solo = &profile.solo;
        (1..solo.len().saturating_sub(1)).filter(|i| !solo[*i].from_kernels).map(|i| {
            let others: Vec<SoloLatency> = [&solo[..i], &solo[i + 1..]].concat();
            (solo[i].latency_us / solo_latency_us(&others, solo[i].sm_share, 0.0).0).ln()
        })
    });
    of_profile.collect()
}
