//! Non-negative least squares with a ridge, on the normal equations.

use nalgebra::{DMatrix, DVector};

/// Steps an unknown after which the solution is taken as it is; fewer than one are usual.
const MAX_STEPS_PER_UNKNOWN: usize = 5;

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
    /// The active-set method: the unknown whose increase helps most becomes free, until none helps (Lawson, Hanson, "Solving Least
    /// Squares Problems", 1974, chapter 23). With `ridge > 0` the problem is strictly convex, so it ends at the one minimum.
    pub(super) fn solve(&self, ridge: f64) -> Vec<f64> {
        let n = self.moment.len();
        let rms = |i: usize| (self.gram[(i, i)] / self.rows.max(1) as f64).sqrt();
        let scale: Vec<f64> = (0..n).map(|i| if rms(i) > 0.0 { rms(i).max(LEAST_SCALE) } else { f64::INFINITY }).collect();
        let penalty = (ridge * self.rows as f64).max(f64::MIN_POSITIVE);
        let diagonal = |i: usize, j: usize| if i == j { penalty } else { 0.0 };
        let gram = DMatrix::from_fn(n, n, |i, j| self.gram[(i, j)] / (scale[i] * scale[j]) + diagonal(i, j));
        let moment = DVector::from_fn(n, |i, _| self.moment[i] / scale[i]);
        let theta = active_set(&gram, &moment);
        theta.iter().zip(&scale).map(|(theta, scale)| theta / scale).collect()
    }
}

/// The `x >= 0` that minimises `x . gram x / 2 - moment . x`.
fn active_set(gram: &DMatrix<f64>, moment: &DVector<f64>) -> DVector<f64> {
    let n = moment.len();
    let mut x = DVector::zeros(n);
    let mut free: Vec<usize> = vec![];
    let tolerance = 1e-10 * moment.amax();
    for _ in 0..MAX_STEPS_PER_UNKNOWN * n {
        let gain = moment - gram * &x;
        let candidates = (0..n).filter(|i| !free.contains(i) && gain[*i] > tolerance);
        let Some(next) = candidates.max_by(|a, b| gain[*a].total_cmp(&gain[*b])) else { break };
        free.push(next);
        // Towards the minimum over the free ones, as far as none turns negative; those that would are fixed again.
        while let Some(minimum) = minimum_over(gram, moment, &free) {
            let shortfall = |(at, i): (usize, &usize)| (minimum[at] <= 0.0).then(|| x[*i] / (x[*i] - minimum[at]));
            let step = free.iter().enumerate().filter_map(shortfall).fold(1.0, f64::min);
            for (at, i) in free.iter().enumerate() {
                x[*i] = if step < 1.0 { x[*i] + step * (minimum[at] - x[*i]) } else { minimum[at] };
            }
            if step >= 1.0 {
                break;
            }
            let bound = |(at, i): (usize, &usize)| minimum[at] <= 0.0 && x[*i] <= 1e-14;
            let fixed: Vec<usize> = free.iter().enumerate().filter(|pair| bound(*pair)).map(|(_, i)| *i).collect();
            fixed.iter().for_each(|i| x[*i] = 0.0);
            free.retain(|i| !fixed.contains(i));
            if fixed.is_empty() {
                break;
            }
        }
    }
    x
}

fn minimum_over(gram: &DMatrix<f64>, moment: &DVector<f64>, free: &[usize]) -> Option<DVector<f64>> {
    let part = gram.select_rows(free).select_columns(free);
    Some(part.cholesky()?.solve(&moment.select_rows(free)))
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
