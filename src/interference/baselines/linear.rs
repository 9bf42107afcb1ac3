//! Model-level linear predictor: the slowdown as a linear function of both tenants' L2 and DRAM utilisation.

use nalgebra::{DMatrix, DVector, SVD};

use super::{Example, Side};

/// Victim's L2, partner's L2, victim's DRAM, partner's DRAM, constant.
const TERMS: usize = 5;

/// slowdown = `c . x`, with `x` the four utilisations times the tenant's share, and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ModelLinear([f64; TERMS]);

impl ModelLinear {
    /// Ordinary least squares of the slowdown; of all solutions the one of least norm. `None` where a row lacks a counter.
    pub(super) fn fit(training: &[&Example]) -> Option<Self> {
        let rows: Vec<[f64; TERMS]> = training.iter().map(|example| example.sides.as_ref().map(row)).collect::<Option<_>>()?;
        let x = DMatrix::from_fn(rows.len(), TERMS, |i, j| rows[i][j]);
        let y = DVector::from_iterator(training.len(), training.iter().map(|example| example.slowdown));
        let svd = SVD::new(x, true, true);
        // What is below the rounding of the largest singular value is not there.
        let rounding = svd.singular_values.max() * f64::EPSILON * training.len().max(TERMS) as f64;
        let solution = svd.solve(&y, rounding).ok()?;
        Some(Self(std::array::from_fn(|i| solution[i])))
    }

    /// The slowdown of the first beside the second.
    pub(super) fn slowdown(&self, sides: &[Side; 2]) -> f64 {
        self.0.iter().zip(row(sides)).map(|(coefficient, x)| coefficient * x).sum()
    }
}

fn row([victim, partner]: &[Side; 2]) -> [f64; TERMS] {
    [victim.l2 * victim.share, partner.l2 * partner.share, victim.dram * victim.share, partner.dram * partner.share, 1.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example([l2_v, l2_p, dram_v, dram_p]: [f64; 4], slowdown: f64) -> Example {
        let side = |dram, l2| Side { dram, l2, share: 0.5 };
        Example {
            sides: Some([side(dram_v, l2_v), side(dram_p, l2_p)]),
            slowdown,
            models: [0, 1],
            workloads: [0, 1],
            configuration: 0,
        }
    }

    fn fitted(examples: &[Example]) -> ModelLinear {
        ModelLinear::fit(&examples.iter().collect::<Vec<_>>()).expect("all counters are there")
    }

    fn assert_close(got: &[f64], wanted: &[f64]) {
        assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{got:?} is not {wanted:?}");
    }

    #[test]
    fn finds_the_line_that_the_data_lies_on() {
        let places = [
            [0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 1.0, 1.0],
        ];
        let line = |p: [f64; 4]| 1.1 + 0.5 * (0.2 * p[0] + 0.4 * p[1] + 0.6 * p[2] + 0.8 * p[3]);
        let linear = fitted(&places.map(|place| example(place, line(place))));
        assert_close(&linear.0, &[0.2, 0.4, 0.6, 0.8, 1.1]);
    }

    #[test]
    fn of_many_solutions_it_takes_the_shortest() {
        // One row, x = [0.5, 0, 0, 0, 1], y = 2.5: the least-norm solution is y x / |x|^2 = 2 x.
        assert_close(&fitted(&[example([1.0, 0.0, 0.0, 0.0], 2.5)]).0, &[1.0, 0.0, 0.0, 0.0, 2.0]);
        // Both L2 columns always alike: each gets half of the slope.
        let alike = [0.0, 0.4, 1.0].map(|u| example([u, u, 0.0, 0.0], 1.0 + 0.5 * u));
        assert_close(&fitted(&alike).0, &[0.5, 0.5, 0.0, 0.0, 1.0]);
    }
}
