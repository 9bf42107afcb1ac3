//! A fitted model as an immutable artefact, and the one from first principles.

use serde::{Deserialize, Serialize};

use crate::domain::{Channel, DeviceId, Provenance, SharingMode};

/// One term with its coefficient.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Name of the term.
    pub term: String,
    /// Channel to which it belongs.
    pub channel: Channel,
    /// Coefficient, slowdown per unit of the feature, at least 0.
    pub coefficient: f64,
}

/// What the fit was made of and how well it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitReport {
    /// Seed of the folds.
    pub seed: u64,
    /// Timed directions used.
    pub samples: usize,
    /// Weakest provenance among them.
    pub provenance: Provenance,
    /// SHA-256 of the samples, hexadecimal.
    pub data_sha256: String,
    /// Mean absolute relative error on the fitted directions, per cent.
    pub training_mean_error_pct: f64,
    /// The same on directions left out by unordered pair of workloads, per cent.
    pub held_out_mean_error_pct: f64,
}

/// A fitted model: all that an answer depends on but the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Artefact {
    /// Version of the artefact's form.
    pub format: u32,
    /// Device it was fitted for.
    pub device: DeviceId,
    /// Sharing mode it was fitted for.
    pub sharing_mode: SharingMode,
    /// Its terms.
    pub terms: Vec<Term>,
    /// How it was fitted.
    pub fit: FitReport,
}

/// Why an artefact cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArtefactError {
    /// Not JSON of the form.
    #[error("predictor artefact: {0}")]
    Json(#[from] serde_json::Error),
    /// Made by another version.
    #[error("predictor artefact has format {0}, this build reads 1")]
    Format(u32),
}

/// A model ready to answer.
#[derive(Debug, Clone)]
pub struct Predictor {
    /// First 16 hexadecimal digits of the artefact's SHA-256, or "generic-1".
    pub version: String,
    /// SHA-256 of the artefact's JSON, hexadecimal.
    pub content_sha256: String,
    /// The artefact; `None` for the generic predictor.
    pub artefact: Option<Artefact>,
}

impl Predictor {
    /// Reads an artefact's JSON as [`Artefact::to_json`] wrote it.
    pub fn from_json(json: &str) -> Result<Self, ArtefactError> {
        let _ = json;
        todo!()
    }

    /// The predictor from first principles.
    #[must_use]
    pub fn generic() -> Self {
        todo!()
    }
}

impl Artefact {
    /// The artefact's JSON: equal for equal artefacts, so that its hash names it.
    #[must_use]
    pub fn to_json(&self) -> String {
        todo!()
    }
}
