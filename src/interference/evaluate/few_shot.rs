//! The few samples of what is unseen: the seeded half that they are taken from, and which are taken.

use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};

use super::{
    samples::{Samples, grouped},
    splits::{Fold, Split},
};

/// Draws that chance is averaged over.
pub(super) const DRAWS: usize = 10;

/// Who chooses the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Chooser {
    /// `suggest`, which sees the pool's signatures and none of its latencies.
    Suggest,
    /// Chance, the mean of ten draws.
    Random,
}

/// A few samples of what a fold holds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FewShot {
    /// Configurations measured, the K of the protocol.
    pub count: usize,
    /// Who chooses them.
    pub chooser: Chooser,
}

/// The two halves of a fold's configurations, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Halves {
    /// May be measured, in the order of the draw that made the halves.
    pub pool: Vec<usize>,
    /// Never measured: the test set, whatever the number of samples.
    pub test: HashSet<usize>,
}

impl Halves {
    /// A seeded half of the configurations of the unseen model; for an unseen device, of each target model of it. A configuration
    /// of two target models counts for the one that appears first. Of an odd number the test set has one more.
    pub(super) fn new(split: Split, fold: &Fold, samples: &Samples, seed: u64) -> Self {
        let at = |i: usize| &samples.directions[i];
        let stratum = |i: usize| if split == Split::UnseenDevice { at(i).victim.model } else { 0 };
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut seen, mut pool, mut test) = (HashSet::new(), vec![], HashSet::new());
        for (_, members) in grouped(fold.test.iter().copied(), stratum) {
            let mut configurations: Vec<usize> =
                members.into_iter().map(|i| at(i).configuration).filter(|configuration| seen.insert(*configuration)).collect();
            configurations.shuffle(&mut rng);
            let rest = configurations.split_off(configurations.len() / 2);
            pool.extend(configurations);
            test.extend(rest);
        }
        Self { pool, test }
    }

    /// The pool in a random order, that of draw number `draw`: its first K are the samples of that draw for every K.
    pub(super) fn draw(&self, seed: u64, draw: usize) -> Vec<usize> {
        let mut order = self.pool.clone();
        order.shuffle(&mut StdRng::seed_from_u64(seed.wrapping_add(1 + draw as u64)));
        order
    }
}

/// The numbers of samples at which a curve up to `count` is drawn: 0, 1, 2, 4, 8, ... and `count`.
pub(super) fn steps(count: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1), |k| Some(k * 2)).take_while(|k| *k < count);
    let mut steps: Vec<usize> = std::iter::once(0).chain(doubling).chain([count]).collect();
    steps.dedup();
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_doubling_steps_and_its_end() {
        assert_eq!(steps(0), [0]);
        assert_eq!(steps(1), [0, 1]);
        assert_eq!(steps(4), [0, 1, 2, 4]);
        assert_eq!(steps(6), [0, 1, 2, 4, 6]);
    }

    #[test]
    fn draws_differ_and_repeat() {
        let halves = Halves { pool: (0..20).collect(), test: HashSet::new() };
        assert_eq!(halves.draw(3, 1), halves.draw(3, 1));
        assert_ne!(halves.draw(3, 1), halves.draw(3, 2));
    }
}
