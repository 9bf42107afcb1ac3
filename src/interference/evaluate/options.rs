//! What is evaluated.

use super::{few_shot::FewShot, splits::Split};

/// What is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What each fold leaves out.
    pub split: Split,
    /// A few samples of what is left out. `Some` of 0 tests the same half as any other number.
    pub few_shot: Option<FewShot>,
    /// Also with fewer samples, for a curve.
    pub curve: bool,
    /// Only co-runs of which both workloads have at least this batch size.
    pub min_batch: Option<u32>,
    /// Seed of folds, halves, draws and fits.
    pub seed: u64,
}
