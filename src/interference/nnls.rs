//! Non-negative least squares with a ridge, on the normal equations.

use nalgebra::{DMatrix, DVector};

/// Sweeps after which the solution is taken as it is; a few dozen are usual.
const MAX_SWEEPS: usize = 10_000;

/// A feature that is next to nothing in all of the data would get a huge coefficient and, with it, the first tenant that presses
/// a little harder an absurd slowdown; below this root mean square (a five-hundredth of a ceiling) the ridge grows.
const LEAST_SCALE: f64 = 0.002;

/// The sums from which a least-squares problem `min sum_k w_k (y_k - x_k . theta)^2` is solved.
#[derive(Debug, Clone)]
pub(super) struct NormalEquations {
    gram: DMatrix<f64>,
    moment: DVector<f64>,
    rows: usize,
}

impl NormalEquations {
    pub(super) fn new(columns: usize) -> Self {
        Self { gram: DMatrix::zeros(columns, columns), moment: DVector::zeros(columns), rows: 0 }
    }

    /// Adds a row `x` with target `y` and weight `w`.
    pub(super) fn add(&mut self, x: &[f64], y: f64, w: f64) {
        let x = DVector::from_column_slice(x);
        self.gram.ger(w, &x, &x, 1.0);
        self.moment.axpy(w * y, &x, 1.0);
        self.rows += 1;
    }

    /// The `theta >= 0` that minimises the weighted squares plus `ridge` times the squares of `theta`, each in units of its
    /// column's root mean square or [`LEAST_SCALE`], whichever is larger. Columns that are zero everywhere get 0.
    ///
    /// Cyclic coordinate descent: with `ridge > 0` the problem is strictly convex, so it converges to the one minimum
    /// (Franc, Hlavac, Navara, "Sequential coordinate-wise algorithm for the non-negative least squares problem", 2005).
    pub(super) fn solve(&self, ridge: f64) -> Vec<f64> {
        let n = self.moment.len();
        let rms = |i: usize| (self.gram[(i, i)] / self.rows.max(1) as f64).sqrt();
        let scale: Vec<f64> = (0..n).map(|i| if rms(i) > 0.0 { rms(i).max(LEAST_SCALE) } else { 0.0 }).collect();
        let mut theta = vec![0.0; n];
        // Gradient of half the objective, in scaled coordinates, at theta = 0.
        let mut gradient: Vec<f64> = (0..n).map(|i| if scale[i] > 0.0 { -self.moment[i] / scale[i] } else { 0.0 }).collect();
        let penalty = ridge * self.rows as f64;
        for _ in 0..MAX_SWEEPS {
            let mut moved = 0.0_f64;
            for i in (0..n).filter(|i| scale[*i] > 0.0) {
                let curvature = self.gram[(i, i)] / (scale[i] * scale[i]) + penalty;
                let next = (theta[i] - gradient[i] / curvature).max(0.0);
                let step = next - theta[i];
                if step != 0.0 {
                    theta[i] = next;
                    for j in (0..n).filter(|j| scale[*j] > 0.0) {
                        gradient[j] += step * self.gram[(j, i)] / (scale[j] * scale[i]);
                    }
                    gradient[i] += step * penalty;
                    moved = moved.max(step.abs());
                }
            }
            if moved < 1e-9 {
                break;
            }
        }
        theta.iter().zip(&scale).map(|(theta, scale)| if *scale > 0.0 { theta / scale } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn problem(rows: &[Vec<f64>], y: &[f64]) -> NormalEquations {
        let mut equations = NormalEquations::new(rows[0].len());
        rows.iter().zip(y).for_each(|(x, y)| equations.add(x, *y, 1.0));
        equations
    }

    #[test]
    fn finds_the_known_solution_with_an_active_bound() {
        // Without the bound the second coefficient would be -1.
        let theta = problem(&[vec![1.0, 0.0], vec![1.0, 1.0], vec![0.0, 1.0]], &[2.0, 1.0, -1.0]).solve(0.0);
        assert!((theta[0] - 1.5).abs() < 1e-6 && theta[1] == 0.0, "{theta:?}");
    }

    #[test]
    fn a_rank_deficient_problem_with_an_empty_column_is_solved() {
        let theta = problem(&[vec![1.0, 1.0, 0.0], vec![2.0, 2.0, 0.0]], &[2.0, 4.0]).solve(1e-6);
        assert!((theta[0] + theta[1] - 2.0).abs() < 1e-4 && theta[2] == 0.0, "{theta:?}");
    }

    proptest! {
        #[test]
        fn the_solution_meets_the_conditions_of_optimality(
            rows in prop::collection::vec(prop::collection::vec(0.0..2.0_f64, 5), 8..30),
            noise in prop::collection::vec(-1.0..3.0_f64, 30),
        ) {
            let equations = problem(&rows, &noise[..rows.len()]);
            let theta = DVector::from_vec(equations.solve(0.0));
            let gradient = &equations.gram * &theta - &equations.moment;
            for i in 0..5 {
                prop_assert!(theta[i] >= 0.0);
                let tolerance = 1e-4 * (1.0 + equations.moment[i].abs());
                prop_assert!(gradient[i] > -tolerance, "gradient {} at {}", gradient[i], theta[i]);
                prop_assert!(theta[i] < 1e-9 || gradient[i].abs() < tolerance, "gradient {} at {}", gradient[i], theta[i]);
            }
        }
    }
}
