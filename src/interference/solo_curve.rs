//! Solo latency over SM share: measured values at measured shares, log-log between them, and outside by the nearest slope.

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
