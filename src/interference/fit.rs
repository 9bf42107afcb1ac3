//! Fits the channels' coefficients from operator-level and workload-level samples together.

use std::{collections::HashMap, sync::Arc};

use crate::domain::{Device, PairSample, SharingMode};

use super::{Artefact, WorkloadProfile};

/// What a fit is made from.
pub struct FitInput<'a> {
    /// The device of all samples.
    pub device: &'a Device,
    /// Their sharing mode.
    pub sharing_mode: SharingMode,
    /// Profiles of the workloads in the samples.
    pub profiles: &'a HashMap<Arc<str>, Arc<WorkloadProfile>>,
    /// The co-runs.
    pub samples: &'a [PairSample],
    /// Seed of the folds.
    pub seed: u64,
}

/// Why nothing was fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Too little data.
    #[error("{usable} of {given} timed directions can be used, at least {needed} are needed: {why}")]
    TooFewSamples {
        /// Directions that have a signature and a latency.
        usable: usize,
        /// Directions given.
        given: usize,
        /// Least number.
        needed: usize,
        /// What the others lack.
        why: String,
    },
}

/// Fits a predictor.
pub fn fit(input: &FitInput<'_>) -> Result<Artefact, FitError> {
    let _ = input;
    todo!()
}
