//! The interference model: what two tenants of a device do to each other, from what each does alone.

mod adapt;
mod baselines;
mod compose;
pub mod evaluate;
mod fit;
mod neighbourhood;
mod nnls;
mod predict;
mod predictor;
mod pressure;
mod profile;
pub mod quality;
mod reason;
mod solo_curve;
mod suggest;
mod tenant;
mod terms;

pub use adapt::{AdaptError, Adaptation, AdaptationCheck, adapt};
pub use fit::{FitError, FitInput, Source, fit};
pub use neighbourhood::Neighbourhood;
pub use predict::{Contribution, OperatorPairCost, PairPrediction, TenantPrediction, predict};
pub use predictor::{Artefact, ArtefactError, Calibration, FitReport, Predictor, Term};
pub use profile::{OperatorProfile, OperatorRow, ShareProfile, WorkloadProfile};
pub use reason::Reason;
pub use suggest::{CoRun, Suggestion, suggest};
pub use tenant::{Tenant, TenantError};
