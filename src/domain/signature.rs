use std::sync::Arc;

use super::{Counters, Invalid, Provenance, SmShare};

/// Longest name of a workload, bytes.
pub const MAX_WORKLOAD_BYTES: usize = 512;
/// Longest name of an operator, bytes; template-heavy kernels need thousands.
pub const MAX_OPERATOR_BYTES: usize = 16 * 1024;

/// One kernel launch variant with its counters, run alone at one SM share.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// Workload that launches the operator.
    pub workload: Arc<str>,
    /// Family that evaluation holds out together; `None` means the workload's name before the first `/`.
    pub family: Option<Arc<str>>,
    /// Share on which it ran.
    pub sm_share: SmShare,
    /// Kernel name, whole.
    pub operator: Arc<str>,
    /// Grid; empty when not known.
    pub grid: Arc<str>,
    /// Block; empty when not known.
    pub block: Arc<str>,
    /// Data type; empty when not known.
    pub dtype: Arc<str>,
    /// Launches in one iteration, a mean.
    pub launches: f64,
    /// Mean duration of one launch, microseconds.
    pub duration_us: f64,
    /// Mean counters of one launch.
    pub counters: Counters,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The duration was taken under locked clocks or flushed caches.
    pub clocks_locked: bool,
}

impl Signature {
    /// Checks every field; an error names it.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate_workload("workload", &self.workload)?;
        Invalid::text("operator", &self.operator, MAX_OPERATOR_BYTES)?;
        for (field, text) in [("grid", &self.grid), ("block", &self.block), ("dtype", &self.dtype)] {
            if !text.is_empty() {
                Invalid::text(field, text, 64)?;
            }
        }
        if let Some(family) = &self.family {
            Invalid::text("family", family, MAX_WORKLOAD_BYTES)?;
        }
        Invalid::positive("launches", self.launches)?;
        Invalid::positive("duration_us", self.duration_us)?;
        self.counters.validate()
    }
}

/// `name` when it can name a workload.
pub fn validate_workload<'n>(field: &str, name: &'n str) -> Result<&'n str, Invalid> {
    Invalid::text(field, name, MAX_WORKLOAD_BYTES)
}

/// The family of a workload that states none: its name before the first `/`.
#[must_use]
pub fn family_of(workload: &str) -> &str {
    workload.split_once('/').map_or(workload, |(family, _)| family)
}
