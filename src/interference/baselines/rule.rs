//! Binary compute-memory rule: a tenant is memory-bound or it is not, and a pair slows down as such pairs do on average.

use super::{
    Example, Side,
    groups::{InnerFold, left_out_groups},
};

/// The rule, fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BinaryRule {
    /// Utilisation, the larger of DRAM and L2, above which a tenant is memory-bound.
    threshold: f64,
    means: ClassMeans,
}

impl BinaryRule {
    /// Finds the threshold with the least mean relative error on groups left out of `training` (see [`left_out_groups`]), among
    /// the midpoints between the utilisations that occur and one beyond each end; of equals the lowest. Then the classes' means
    /// are those of all of `training`. `None` where a row lacks a counter.
    pub(super) fn fit(training: &[&Example]) -> Option<Self> {
        let rows: Vec<Row> = training.iter().map(|example| Row::of(example)).collect::<Option<_>>()?;
        let folds = left_out_groups(training);
        let scored = thresholds(&rows).into_iter().map(|threshold| (threshold, left_out_error(&rows, &folds, threshold)));
        let (threshold, _) = scored.min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        Some(Self { threshold, means: ClassMeans::of(rows.iter(), threshold) })
    }

    /// The slowdown of the first beside the second.
    pub(super) fn slowdown(&self, sides: &[Side; 2]) -> f64 {
        self.means.get(sides.map(|side| side.intensity()), self.threshold)
    }
}

struct Row {
    intensities: [f64; 2],
    slowdown: f64,
}

impl Row {
    fn of(example: &Example) -> Option<Self> {
        Some(Self { intensities: example.sides?.map(|side| side.intensity()), slowdown: example.slowdown })
    }
}

/// Mean slowdown by class of the victim and of the partner.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ClassMeans {
    by_class: [[Option<f64>; 2]; 2],
    overall: f64,
}

impl ClassMeans {
    fn of<'r>(rows: impl Iterator<Item = &'r Row>, threshold: f64) -> Self {
        let mut sums = [[(0.0, 0.0); 2]; 2];
        for row in rows {
            let [victim, partner] = classes(row.intensities, threshold);
            let (sum, count) = &mut sums[victim][partner];
            *sum += row.slowdown;
            *count += 1.0;
        }
        let (sum, count) = sums.iter().flatten().fold((0.0, 0.0), |(s, n), (sum, count)| (s + sum, n + count));
        Self {
            by_class: sums.map(|partners| partners.map(|(sum, count): (f64, f64)| (count > 0.0).then(|| sum / count))),
            overall: if count > 0.0 { sum / count } else { 1.0 },
        }
    }

    fn get(&self, intensities: [f64; 2], threshold: f64) -> f64 {
        let [victim, partner] = classes(intensities, threshold);
        self.by_class[victim][partner].unwrap_or(self.overall)
    }
}

fn classes(intensities: [f64; 2], threshold: f64) -> [usize; 2] {
    intensities.map(|intensity| usize::from(intensity > threshold))
}

/// Candidates, ascending.
fn thresholds(rows: &[Row]) -> Vec<f64> {
    let mut values: Vec<f64> = rows.iter().flat_map(|row| row.intensities).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (Some(first), Some(last)) = (values.first().copied(), values.last().copied()) else { return vec![] };
    let between = values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
    std::iter::once(first - 1.0).chain(between).chain([last + 1.0]).collect()
}

/// Mean |predicted - measured| / measured over the folds' left-out rows.
fn left_out_error(rows: &[Row], folds: &[InnerFold], threshold: f64) -> f64 {
    let mut errors = (0.0, 0.0);
    for fold in folds {
        let means = ClassMeans::of(fold.train.iter().map(|i| &rows[*i]), threshold);
        for row in fold.test.iter().map(|i| &rows[*i]) {
            errors.0 += (means.get(row.intensities, threshold) / row.slowdown - 1.0).abs();
            errors.1 += 1.0;
        }
    }
    errors.0 / errors.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(intensity: f64) -> Side {
        Side { dram: intensity, l2: intensity / 2.0, share: 0.5 }
    }

    fn example(victim: (usize, f64), partner: (usize, f64), slowdown: f64) -> Example {
        let workloads = [victim.0, partner.0];
        Example {
            sides: Some([side(victim.1), side(partner.1)]),
            slowdown,
            models: workloads,
            workloads,
            configuration: victim.0.min(partner.0) * 10 + victim.0.max(partner.0),
        }
    }

    /// Two light tenants (0.1, 0.2) and two heavy ones (0.7, 0.9): heavy beside heavy runs at half the speed.
    fn training() -> Vec<Example> {
        let tenants = [(0, 0.1), (1, 0.2), (2, 0.7), (3, 0.9)];
        let pairs = tenants.iter().flat_map(|v| tenants.iter().map(move |p| (*v, *p)));
        let slowdown = |v: f64, p: f64| if v > 0.5 && p > 0.5 { 2.0 } else { 1.0 };
        pairs.map(|(v, p)| example(v, p, slowdown(v.1, p.1))).collect()
    }

    #[test]
    fn puts_the_threshold_between_the_classes() {
        let examples = training();
        let rule = BinaryRule::fit(&examples.iter().collect::<Vec<_>>()).expect("all counters are there");
        assert!((rule.threshold - 0.45).abs() < 1e-12, "{rule:?}");
        assert!((rule.slowdown(&[side(0.8), side(0.6)]) - 2.0).abs() < 1e-12);
        assert!((rule.slowdown(&[side(0.8), side(0.3)]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_class_pair_that_was_not_seen_gets_the_mean() {
        let rows = [Row { intensities: [0.1, 0.1], slowdown: 1.0 }, Row { intensities: [0.9, 0.9], slowdown: 2.0 }];
        let means = ClassMeans::of(rows.iter(), 0.5);
        assert!((means.get([0.9, 0.9], 0.5) - 2.0).abs() < 1e-12);
        assert!((means.get([0.1, 0.9], 0.5) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn candidates_are_the_midpoints_and_both_ends() {
        let rows = [Row { intensities: [0.25, 0.5], slowdown: 1.0 }, Row { intensities: [0.5, 1.0], slowdown: 1.0 }];
        assert_eq!(thresholds(&rows), [-0.75, 0.375, 0.75, 2.0]);
    }
}
