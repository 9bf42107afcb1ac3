//! Where a tenant lies among others: what decides how alike two tenants are, and how far one is from the data of a fit.

use serde::{Deserialize, Serialize};

use super::{
    condense::Part,
    pressure::{Need, Needs, Pressure},
};

/// Number of coordinates of a place.
pub(super) const COORDINATES: usize = 14;

/// A tenant's place: means by time of its pressures, and the logarithms of its latency and launch rate. A coordinate that its
/// counters do not give is missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Place([Option<f64>; COORDINATES]);

impl Place {
    /// Of a tenant whose time is cut into `parts`, with `solo_us` the latency alone, microseconds.
    pub(super) fn of(parts: &[Part], solo_us: f64, elasticity: Option<f64>, known: Needs) -> Self {
        let mean = |of: fn(&Pressure) -> f64| parts.iter().map(|part| part.weight * of(&part.pressure)).sum::<f64>();
        let given = |need: Need, of: fn(&Pressure) -> f64| known.has(need).then(|| mean(of));
        Self([
            given(Need::Dram, |p| p.dram),
            given(Need::L2, |p| p.l2),
            given(Need::L2Hits, |p| p.hits),
            given(Need::Dram, |p| p.insertion),
            given(Need::Writes, |p| p.writes),
            given(Need::Footprint, |p| p.footprint),
            given(Need::Stall, |p| p.stall),
            given(Need::Warps, |p| p.warps),
            given(Need::Writes, |p| p.written),
            elasticity,
            Some(mean(|p| p.share)),
            Some(mean(|p| p.busy)),
            Some(solo_us.ln()),
            Some(mean(|p| p.launch).max(1e-9).ln()),
        ])
    }
}

/// Below this a coordinate does not vary.
const STEADY: f64 = 1e-6;

/// A measure of distance between places: each coordinate over its standard deviation in the data of a fit. Coordinates that do
/// not vary there, or that a tenant there lacks, do not count; one that is missing at one of two places is taken to be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Metric {
    /// One over the standard deviation; 0 where the coordinate does not count.
    weights: [f64; COORDINATES],
}

impl Metric {
    pub(super) fn new(places: &[Place]) -> Self {
        let weight = |i: usize| {
            let values: Option<Vec<f64>> = places.iter().map(|place| place.0[i]).collect();
            let spread = values.map_or(0.0, |values| spread(&values));
            if spread > STEADY { 1.0 / spread } else { 0.0 }
        };
        Self { weights: std::array::from_fn(weight) }
    }

    /// The mean squared difference of the coordinates that count, in squared standard deviations.
    pub(super) fn squared(&self, a: &Place, b: &Place) -> f64 {
        let (mut sum, mut count) = (0.0, 0);
        for (weight, (a, b)) in self.weights.iter().zip(a.0.iter().zip(&b.0)) {
            if *weight > 0.0 {
                count += 1;
                if let (Some(a), Some(b)) = (a, b) {
                    sum += (weight * (a - b)).powi(2);
                }
            }
        }
        sum / f64::from(count.max(1))
    }
}

fn spread(values: &[f64]) -> f64 {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt()
}
