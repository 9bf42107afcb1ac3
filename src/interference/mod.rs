//! The interference model: what two tenants of a device do to each other, from what each does alone.

mod channels;
mod compose;
mod fit;
mod generic;
mod predict;
mod predictor;
mod profile;
mod tenant;

pub use fit::{FitError, FitInput, fit};
pub use predict::{Contribution, OperatorPairCost, PairPrediction, TenantPrediction, predict};
pub use predictor::{Artefact, ArtefactError, FitReport, Predictor, Term};
pub use profile::{OperatorProfile, OperatorRow, ShareProfile, WorkloadProfile};
pub use tenant::{Reason, Tenant, TenantError};
