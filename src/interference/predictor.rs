//! A fitted model as an immutable artefact, ready to answer; and the generic one from first principles.

use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    adapt::Posterior,
    calibration::{Calibration, LEVEL},
    compose::{Law, Range},
    pressure::Needs,
    residual::{Departures, Residual},
    terms::{self, TermSpec},
};
use crate::domain::{Channel, DeviceId, Provenance, SharingMode};

/// Version of the artefact's form; a build reads only its own.
const FORMAT: u32 = 2;

/// Coefficients of the generic predictor. Beyond a ceiling, a victim that is bound by the resource slows down in proportion to
/// the demand, for DRAM, L2 and the launch path; evicted L2 hits are DRAM demand. Below it, requests wait for the partner's: half
/// a service time per unit of its load, the slope of the mean wait in a queue with fixed service times, rho / (2 (1 - rho)), at low
/// load (Pollaczek-Khinchine).
const GENERIC_TERMS: [(&str, f64); 6] = [
    ("dram_bound*dram", 0.5),
    ("dram_oversubscription", 1.0),
    ("l2_bound*l2", 0.5),
    ("l2_oversubscription", 1.0),
    ("l2_refetch_oversubscription", 1.0),
    ("launch_oversubscription", 1.0),
];

/// 90 % quantile of log(measured / predicted) of the generic predictor, from its answers for the bundled simulated co-runs; the
/// test `the_bound_of_the_generic_predictor_is_measured` recomputes it.
const GENERIC_UPPER_LOG_RATIO: f64 = 0.48;

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
    /// Timed directions left out because a signature is missing.
    pub left_out: usize,
    /// Timed directions kept out because of what is wrong with them (see [`super::quality`]).
    pub kept_out: usize,
    /// Weakest provenance among the samples.
    pub provenance: Provenance,
    /// SHA-256 of the samples, hexadecimal.
    pub data_sha256: String,
    /// Ridge that was chosen on left-out directions, dimensionless.
    pub ridge: f64,
    /// Mean absolute relative error on directions left out by configuration, per cent.
    pub held_out_mean_error_pct: f64,
    /// The same on directions of models left out, per cent; `None` where too few models are there.
    pub unseen_mean_error_pct: Option<f64>,
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
    /// Its terms, those with a coefficient above 0.
    pub terms: Vec<Term>,
    /// Pressures that the coefficients were fitted on.
    pub(super) range: Range,
    /// What the channels leave; `None` when it could not be told from noise.
    pub(super) residual: Option<Residual>,
    /// Bounds.
    pub calibration: Calibration,
    /// How it was fitted.
    pub fit: FitReport,
}

impl Artefact {
    /// An artefact of the form that this build reads.
    pub(super) fn new(
        device: DeviceId,
        sharing_mode: SharingMode,
        terms: Vec<Term>,
        range: Range,
        residual: Option<Residual>,
        calibration: Calibration,
        fit: FitReport,
    ) -> Self {
        Self { format: FORMAT, device, sharing_mode, terms, range, residual, calibration, fit }
    }
}

/// Why an artefact cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArtefactError {
    /// Not JSON of the form.
    #[error("predictor artefact: {0}")]
    Json(#[from] serde_json::Error),
    /// Made by another version.
    #[error("predictor artefact has format {0}, this build reads {FORMAT}")]
    Format(u32),
    /// A term that this build does not have.
    #[error("predictor artefact has the unknown term {0:?}")]
    Term(String),
    /// A coefficient that no fit makes.
    #[error("predictor artefact: coefficient of {term} must be a finite number, at least 0, is {coefficient}")]
    Coefficient {
        /// Name of the term.
        term: String,
        /// Its coefficient.
        coefficient: f64,
    },
    /// A residual whose parts do not fit together.
    #[error("predictor artefact: residual: {0}")]
    Residual(&'static str),
}

/// A model ready to answer.
#[derive(Clone)]
pub struct Predictor {
    /// First 16 hexadecimal digits of the artefact's SHA-256, or "generic-1".
    pub version: String,
    /// SHA-256 of the artefact's JSON, hexadecimal; empty for the generic predictor.
    pub content_sha256: String,
    /// The artefact; `None` for the generic predictor.
    pub artefact: Option<Artefact>,
    pub(super) law: Law,
    pub(super) departures: Option<Departures>,
    pub(super) needs: Needs,
    pub(super) calibration: Calibration,
    /// What an adaptation starts from; made when the first one asks.
    pub(super) posterior: Arc<OnceLock<Option<Posterior>>>,
    json: String,
}

impl Predictor {
    /// Makes an artefact ready to answer.
    pub fn new(artefact: &Artefact) -> Result<Self, ArtefactError> {
        let json = serde_json::to_string(artefact)?;
        Self::from_json(&json)
    }

    /// Reads an artefact's JSON as [`Predictor::to_json`] gives it; its hash is that of the text.
    pub fn from_json(json: &str) -> Result<Self, ArtefactError> {
        let artefact: Artefact = serde_json::from_str(json)?;
        if artefact.format != FORMAT {
            return Err(ArtefactError::Format(artefact.format));
        }
        let terms = artefact.terms.iter().map(weighted).collect::<Result<Vec<_>, _>>()?;
        if let Some(residual) = &artefact.residual {
            residual.check().map_err(ArtefactError::Residual)?;
        }
        let content_sha256 = format!("{:x}", Sha256::digest(json));
        Ok(Self {
            version: content_sha256[..16].to_owned(),
            content_sha256,
            needs: needs(&terms),
            law: Law::new(terms.into_iter(), artefact.range),
            departures: artefact.residual.as_ref().map(Departures::new),
            calibration: artefact.calibration.clone(),
            posterior: Arc::default(),
            artefact: Some(artefact),
            json: json.to_owned(),
        })
    }

    /// The artefact's JSON, the text that its version is the hash of; empty for the generic predictor.
    #[must_use]
    pub fn to_json(&self) -> &str {
        &self.json
    }

    /// The predictor from first principles, for devices and modes without a fit.
    #[must_use]
    pub fn generic() -> &'static Self {
        static GENERIC: LazyLock<Predictor> = LazyLock::new(|| {
            let weighted = |(name, coefficient): &(&str, f64)| Some((terms::term(name)?, *coefficient));
            let terms: Vec<_> = GENERIC_TERMS.iter().filter_map(weighted).collect();
            Predictor {
                version: "generic-1".to_owned(),
                content_sha256: String::new(),
                artefact: None,
                needs: needs(&terms),
                law: Law::new(terms.into_iter(), Range::everything()),
                departures: None,
                calibration: Calibration {
                    level: LEVEL,
                    near: GENERIC_UPPER_LOG_RATIO,
                    few: GENERIC_UPPER_LOG_RATIO,
                    far: [GENERIC_UPPER_LOG_RATIO; 3],
                    solo_curve: 0.0,
                    threshold: 0.0,
                    reach: 1.0,
                },
                posterior: Arc::default(),
                json: String::new(),
            }
        });
        &GENERIC
    }
}

impl std::fmt::Debug for Predictor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Predictor").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A term with its coefficient.
type Weighted = (&'static TermSpec, f64);

fn weighted(term: &Term) -> Result<Weighted, ArtefactError> {
    let spec: &'static TermSpec = terms::term(&term.term).ok_or_else(|| ArtefactError::Term(term.term.clone()))?;
    if term.coefficient.is_finite() && term.coefficient >= 0.0 {
        Ok((spec, term.coefficient))
    } else {
        Err(ArtefactError::Coefficient { term: term.term.clone(), coefficient: term.coefficient })
    }
}

fn needs(terms: &[Weighted]) -> Needs {
    terms.iter().fold(Needs::default(), |needs, (term, _)| needs.union(term.needs))
}
