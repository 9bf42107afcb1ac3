//! The interference model: what two tenants of a device do to each other, from what each does alone.

mod adapt;
mod baselines;
mod calibration;
mod cholesky;
mod compose;
mod condense;
mod data;
pub mod evaluate;
mod fit;
mod nnls;
mod place;
mod predict;
mod predictor;
mod pressure;
mod profile;
pub mod quality;
mod reason;
mod residual;
mod select;
mod sequence;
mod solo_curve;
mod suggest;
mod tenant;
mod terms;
mod trials;

pub use adapt::{AdaptError, Adaptation, AdaptationCheck, adapt};
pub use calibration::Calibration;
pub use fit::{FitError, FitInput, Source, fit};
pub use predict::{Acquaintance, Contribution, OperatorPairCost, PairPrediction, TenantPrediction, predict, predict_known};
pub use predictor::{Artefact, ArtefactError, FitReport, Predictor, Term};
pub use profile::{OperatorProfile, OperatorRow, ShareProfile, WorkloadProfile};
pub use reason::Reason;
pub use suggest::{CoRun, Suggestion, suggest};
pub use tenant::{Tenant, TenantError};
