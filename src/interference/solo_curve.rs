//! Solo latency over SM share: measured values at measured shares, a falling curve between them, and outside by the nearest slope.

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
/// Between two measured shares it is linear in the logarithms, on the curve of [`falling`].
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
        Reach::Interpolated => {
            let logs = falling(solo);
            (logs[at.low] + at.fraction * (logs[at.high] - logs[at.low])).exp()
        }
        Reach::Extrapolated if solo.len() == 1 => solo[0].latency_us * (shares[0].get() / share.get()).max(floor_ratio.min(1.0)),
        Reach::Extrapolated => {
            let (first, second) = if at.low == 0 { (0, 1) } else { (at.low - 1, at.low) };
            let slope = ((log(second) - log(first)) / (log_share(second) - log_share(first))).clamp(-1.0, 0.0);
            (log(at.low) + slope * (share.get().ln() - log_share(at.low))).exp()
        }
    };
    (latency, at.reach)
}

/// Logarithms of the latencies, made not to rise with the share: more SMs do not slow a workload, so what rises is noise. Neighbours
/// that rise are averaged until none do (pool adjacent violators).
fn falling(solo: &[SoloLatency]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = vec![];
    for latency in solo {
        pools.push((latency.latency_us.ln(), 1));
        while let [.., (before, many), (after, more)] = pools[..]
            && after > before
        {
            let mean = (before * many as f64 + after * more as f64) / (many + more) as f64;
            pools.truncate(pools.len() - 2);
            pools.push((mean, many + more));
        }
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Provenance;

    fn solo(share: f64, latency_us: f64) -> SoloLatency {
        SoloLatency {
            workload: "a".into(),
            sm_share: SmShare::new("share", share).expect("it is one"),
            latency_us,
            stdev_us: None,
            samples: None,
            provenance: Provenance::Measured,
            from_kernels: false,
        }
    }

    #[test]
    fn noise_does_not_make_the_curve_rise() {
        let measured = [solo(0.2, 400.0), solo(0.4, 190.0), solo(0.5, 200.0), solo(0.8, 120.0)];
        let at = |share: f64| solo_latency_us(&measured, SmShare::new("share", share).expect("it is one"), 0.0);
        assert_eq!(at(0.5), (200.0, Reach::Measured));
        let between: Vec<f64> = [0.25, 0.3, 0.41, 0.45, 0.49, 0.6, 0.7].into_iter().map(|share| at(share).0).collect();
        assert!(between.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{between:?}");
        assert!((between[3].ln() - f64::midpoint(190.0_f64.ln(), 200.0_f64.ln())).abs() < 1e-9, "{between:?}");
    }

    #[test]
    fn elasticity_is_between_nothing_and_proportion() {
        let measured = [solo(0.2, 400.0), solo(0.4, 200.0), solo(0.8, 200.0)];
        let at = |share: f64| elasticity(&measured, SmShare::new("share", share).expect("it is one"));
        assert_eq!(at(0.2), Some(1.0));
        assert_eq!(at(0.8), Some(0.0));
        assert!((at(0.4).expect("two are measured") - 0.5).abs() < 1e-9);
        assert_eq!(elasticity(&measured[..1], SmShare::new("share", 0.2).expect("it is one")), None);
    }
}
