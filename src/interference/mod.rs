//! The interference model: what two tenants of a device do to each other, from what each does alone.

mod compose;
mod fit;
mod neighbourhood;
mod nnls;
mod predict;
mod predictor;
mod pressure;
mod profile;
mod reason;
mod solo_curve;
mod tenant;
mod terms;

pub use fit::{FitError, FitInput, fit};
pub use neighbourhood::Neighbourhood;
pub use predict::{Contribution, OperatorPairCost, PairPrediction, TenantPrediction, predict};
pub use predictor::{Artefact, ArtefactError, Calibration, FitReport, Predictor, Term};
pub use profile::{OperatorProfile, OperatorRow, ShareProfile, WorkloadProfile};
pub use reason::Reason;
pub use tenant::{Tenant, TenantError};
