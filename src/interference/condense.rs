//! A workload's operators, condensed: composition costs the product of two tenants' parts, and operators of much the same pressure
//! do much the same harm. A fit and an answer work on the same condensed parts, so that there is one rule.

use std::collections::{BTreeMap, btree_map::Entry};

use super::pressure::Pressure;

/// Parts that a share of a workload keeps. With 8 the mean error on the measured data sets is as with 12 and more.
pub(super) const PARTS: usize = 8;

/// Cells a ceiling in which operators are put together before distances between pairs of them are taken.
const CELLS: f64 = 20.0;

/// Operators of much the same pressure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Time in them, in any unit.
    pub weight: f64,
    /// Their pressure, the mean by time.
    pub pressure: Pressure,
}

impl Part {
    fn absorb(&mut self, other: &Self) {
        self.pressure = self.pressure.mixed_with(&other.pressure, other.weight / (self.weight + other.weight));
        self.weight += other.weight;
    }
}

/// At most [`PARTS`] parts, by Ward's rule: time and again the two are put together whose union adds least to the sum of squared
/// distances by time (Ward, "Hierarchical grouping to optimize an objective function", 1963).
pub(super) fn condense(parts: &[Part]) -> Vec<Part> {
    let mut cells: BTreeMap<[i64; COORDINATES], Part> = BTreeMap::new();
    for part in parts.iter().filter(|part| part.weight > 0.0) {
        #[expect(clippy::cast_possible_truncation, reason = "pressures are far below the range of an i64")]
        match cells.entry(coordinates(&part.pressure).map(|x| (x * CELLS).round() as i64)) {
            Entry::Vacant(entry) => {
                entry.insert(*part);
            }
            Entry::Occupied(mut entry) => entry.get_mut().absorb(part),
        }
    }
    let mut parts: Vec<Part> = cells.into_values().collect();
    while parts.len() > PARTS {
        let Some((low, high)) = closest(&parts) else { break };
        let other = parts.remove(high);
        parts[low].absorb(&other);
    }
    parts
}

const COORDINATES: usize = 8;

fn coordinates(p: &Pressure) -> [f64; COORDINATES] {
    [p.dram, p.l2, p.hits, p.insertion, p.writes, p.reuse.min(1.0).sqrt(), p.footprint, p.busy]
}

fn closest(parts: &[Part]) -> Option<(usize, usize)> {
    let places: Vec<_> = parts.iter().map(|part| coordinates(&part.pressure)).collect();
    let mut best: Option<(f64, usize, usize)> = None;
    for high in 1..parts.len() {
        for low in 0..high {
            let (a, b) = (parts[low].weight, parts[high].weight);
            let squared: f64 = places[low].iter().zip(&places[high]).map(|(x, y)| (x - y).powi(2)).sum();
            let cost = a * b / (a + b) * squared;
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, low, high));
            }
        }
    }
    best.map(|(_, low, high)| (low, high))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn time_and_mean_pressure_are_kept(parts in prop::collection::vec((0.1..9.0_f64, 0.0..1.0_f64, 0.0..1.0_f64), 1..60)) {
            let part = |(weight, dram, l2): &(f64, f64, f64)| {
                Part { weight: *weight, pressure: Pressure { dram: *dram, l2: *l2, busy: 1.0, ..Pressure::default() } }
            };
            let parts: Vec<Part> = parts.iter().map(part).collect();
            let condensed = condense(&parts);
            prop_assert!(condensed.len() <= PARTS);
            let sum = |parts: &[Part], of: fn(&Part) -> f64| parts.iter().map(of).sum::<f64>();
            for of in [|p: &Part| p.weight, |p: &Part| p.weight * p.pressure.dram, |p: &Part| p.weight * p.pressure.l2] {
                prop_assert!((sum(&parts, of) - sum(&condensed, of)).abs() < 1e-9);
            }
        }
    }
}
