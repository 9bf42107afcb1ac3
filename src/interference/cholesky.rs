//! Cholesky factors of thousands of rows: nalgebra's own factorisation works a column at a time; this one works in blocks, so that
//! nearly all of it is matrix products.

use nalgebra::{DMatrix, DVector};

/// Rows of a block.
const BLOCK: usize = 64;

/// The lower factor L of a symmetric, positive definite matrix L Lᵀ.
#[derive(Debug, Clone)]
pub(super) struct Factor(DMatrix<f64>);

impl Factor {
    /// The factor of `a`, of which the lower triangle is read; `None` when it is not positive definite.
    pub(super) fn new(mut a: DMatrix<f64>) -> Option<Self> {
        let n = a.nrows();
        for k in (0..n).step_by(BLOCK) {
            let b = BLOCK.min(n - k);
            let below = n - k - b;
            let diagonal = a.view((k, k), (b, b)).clone_owned().cholesky()?.unpack();
            if below > 0 {
                let mut side = a.view((k + b, k), (below, b)).transpose();
                diagonal.solve_lower_triangular_mut(&mut side).then_some(())?;
                for j in (0..below).step_by(BLOCK) {
                    let c = BLOCK.min(below - j);
                    let (rows, columns) = (side.columns(j, below - j).transpose(), side.columns(j, c).clone_owned());
                    a.view_mut((k + b + j, k + b + j), (below - j, c)).gemm(-1.0, &rows, &columns, 1.0);
                }
                a.view_mut((k + b, k), (below, b)).copy_from(&side.transpose());
            }
            a.view_mut((k, k), (b, b)).copy_from(&diagonal);
        }
        a.fill_upper_triangle(0.0, 1);
        Some(Self(a))
    }

    /// Solves L X = B in place.
    pub(super) fn solve_lower(&self, b: &mut DMatrix<f64>) {
        let n = self.0.nrows();
        for k in (0..n).step_by(BLOCK) {
            let rows = BLOCK.min(n - k);
            let mut solved = b.rows(k, rows).clone_owned();
            self.0.view((k, k), (rows, rows)).solve_lower_triangular_mut(&mut solved);
            b.rows_mut(k, rows).copy_from(&solved);
            let below = n - k - rows;
            if below > 0 {
                b.rows_mut(k + rows, below).gemm(-1.0, &self.0.view((k + rows, k), (below, rows)), &solved, 1.0);
            }
        }
    }

    /// Solves L Lᵀ x = y.
    pub(super) fn solve(&self, y: &DVector<f64>) -> DVector<f64> {
        let mut x = y.clone();
        self.0.solve_lower_triangular_mut(&mut x);
        self.0.tr_solve_lower_triangular_mut(&mut x);
        x
    }

    /// Half the logarithm of the determinant of L Lᵀ.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.0.diagonal().iter().map(|x| x.ln()).sum()
    }

    /// The factor of the matrix with rows and columns added: `side` is L⁻¹ times the columns beside it, `corner` the factor of what
    /// remains of the new corner.
    pub(super) fn extended(&self, side: &DMatrix<f64>, corner: &Self) -> Self {
        let (n, k) = (self.0.nrows(), corner.0.nrows());
        let mut l = DMatrix::zeros(n + k, n + k);
        l.view_mut((0, 0), (n, n)).copy_from(&self.0);
        l.view_mut((n, 0), (k, n)).copy_from(&side.transpose());
        l.view_mut((n, n), (k, k)).copy_from(&corner.0);
        Self(l)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(n: usize) -> DMatrix<f64> {
        DMatrix::from_fn(n, n, |i, j| (-0.01 * (i as f64 - j as f64).powi(2)).exp() + if i == j { 0.1 } else { 0.0 })
    }

    #[test]
    fn blocks_make_no_difference() {
        for n in [1, 5, 64, 65, 200] {
            let a = matrix(n);
            let factor = Factor::new(a.clone()).expect("it is positive definite");
            assert!((&factor.0 * factor.0.transpose() - &a).amax() < 1e-12, "{n}");
            let y = DVector::from_fn(n, |i, _| i as f64);
            assert!((&a * factor.solve(&y) - &y).amax() < 1e-8, "{n}");
            let mut half = DMatrix::from_column_slice(n, 1, y.as_slice());
            factor.solve_lower(&mut half);
            assert!((&factor.0 * half - DMatrix::from_column_slice(n, 1, y.as_slice())).amax() < 1e-8, "{n}");
        }
    }

    #[test]
    fn an_extended_factor_is_that_of_the_larger_matrix() {
        let a = matrix(90);
        let first = Factor::new(a.view((0, 0), (80, 80)).clone_owned()).expect("it is positive definite");
        let mut side = a.view((0, 80), (80, 10)).clone_owned();
        first.solve_lower(&mut side);
        let rest = a.view((80, 80), (10, 10)).clone_owned() - side.transpose() * &side;
        let extended = first.extended(&side, &Factor::new(rest).expect("it is positive definite"));
        let whole = Factor::new(a).expect("it is positive definite");
        assert!((extended.0 - whole.0).amax() < 1e-10);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_factor() {
        assert!(Factor::new(DMatrix::from_row_slice(2, 2, &[1.0, 2.0, 2.0, 1.0])).is_none());
    }
}
