//! What a call can answer besides a result, and the one place where that becomes a `tonic::Status`.

use std::{collections::HashMap, time::Duration};

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use crate::{
    domain::{Invalid, SharingMode},
    interference::TenantError,
    store::StoreError,
};

/// Domain of every `google.rpc.ErrorInfo`.
pub const DOMAIN: &str = "pairsight";
/// Longest message of a status: one above about 8 KiB, with its details, breaks the stream.
const MAX_MESSAGE_BYTES: usize = 1024;
/// Most field violations of one status.
const MAX_VIOLATIONS: usize = 20;
/// When a refused client should try again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A kind of thing that is asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// A device.
    Device,
    /// A workload.
    Workload,
    /// A signature of a workload.
    Signature,
    /// A predictor.
    Predictor,
    /// A profiling job.
    Job,
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ServiceError {
    /// There is no such thing.
    #[error("{} {name:?} is not known", resource.word())]
    Unknown {
        /// Its kind.
        resource: Resource,
        /// The name asked for.
        name: String,
    },
    /// The workload is there but has no signature on the device.
    #[error("workload {workload:?} has no signature on device {device} at any share")]
    SignatureMissing {
        /// The workload.
        workload: String,
        /// The device.
        device: String,
    },
    /// There is nothing that samples could be learnt by: the generic predictor answers.
    #[error("no fitted predictor answers for device {device}, {sharing_mode}: fit one first")]
    PredictorNotFitted {
        /// The device.
        device: String,
        /// The sharing mode.
        sharing_mode: SharingMode,
    },
    /// There are co-runs, and none that can be learnt from.
    #[error("{0}")]
    NoUsableSample(String),
    /// A field of the request cannot be used.
    #[error("{}", invalid_message(.0))]
    Invalid(Vec<Invalid>),
    /// The tenants need more SMs than there are.
    #[error("sm_share adds up to {total}: under SM_PARTITION the tenants' shares cannot exceed the device")]
    SharesExceedDevice {
        /// Sum of the shares.
        total: f64,
    },
    /// Too many pairs for one call, or too large an answer.
    #[error("{0}")]
    TooManyPairs(String),
    /// The page token is not one that this call gave out.
    #[error("page_token was not given out by this call with this filter")]
    PageTokenInvalid,
    /// Other content came under the same request identifier before.
    #[error("request_id {0:?} was used before for other content")]
    RequestIdReused(String),
    /// More calls at once than the server takes.
    #[error("too many calls at once; try again later")]
    Overloaded,
    /// The store cannot be reached.
    #[error("the store cannot be reached now: {0}")]
    StoreUnavailable(String),
    /// Declared, but not there yet.
    #[error("{0} is not built yet")]
    NotBuilt(&'static str),
    /// The call took longer than it may.
    #[error("the call took longer than its time limit")]
    DeadlineExceeded,
    /// The server is stopping.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// A fault of the server, with nothing that the caller could mend.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Resource {
    fn word(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Workload => "workload",
            Self::Signature => "signature",
            Self::Predictor => "predictor",
            Self::Job => "job",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Device => "DEVICE_UNKNOWN",
            Self::Workload => "WORKLOAD_UNKNOWN",
            Self::Signature => "SIGNATURE_UNKNOWN",
            Self::Predictor => "PREDICTOR_UNKNOWN",
            Self::Job => "JOB_UNKNOWN",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::Device => "pairsight.v1.Device",
            Self::Workload => "pairsight.v1.Workload",
            Self::Signature => "pairsight.v1.Signature",
            Self::Predictor => "pairsight.v1.Predictor",
            Self::Job => "pairsight.v1.ProfileJob",
        }
    }
}

impl ServiceError {
    /// Nothing of this name.
    pub fn unknown(resource: Resource, name: impl Into<String>) -> Self {
        Self::Unknown { resource, name: name.into() }
    }

    /// One field that cannot be used.
    pub fn field(field: impl Into<String>, problem: impl std::fmt::Display) -> Self {
        Self::from(Invalid::new(field, problem))
    }

    /// Reason of its `ErrorInfo`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Unknown { resource, .. } => resource.reason(),
            Self::SignatureMissing { .. } => "SIGNATURE_MISSING",
            Self::PredictorNotFitted { .. } => "PREDICTOR_NOT_FITTED",
            Self::NoUsableSample(_) => "NO_USABLE_SAMPLE",
            Self::Invalid(_) => "INVALID_FIELD",
            Self::SharesExceedDevice { .. } => "SHARES_EXCEED_DEVICE",
            Self::TooManyPairs(_) => "TOO_MANY_PAIRS",
            Self::PageTokenInvalid => "PAGE_TOKEN_INVALID",
            Self::RequestIdReused(_) => "REQUEST_ID_REUSED",
            Self::Overloaded => "OVERLOADED",
            Self::StoreUnavailable(_) => "STORE_UNAVAILABLE",
            Self::NotBuilt(_) => "NOT_BUILT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::Internal(_) => "INTERNAL",
        }
    }

    /// Its gRPC code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Unknown { .. } => Code::NotFound,
            Self::SignatureMissing { .. } | Self::PredictorNotFitted { .. } | Self::NoUsableSample(_) => Code::FailedPrecondition,
            Self::Invalid(_) | Self::SharesExceedDevice { .. } | Self::TooManyPairs(_) | Self::PageTokenInvalid => {
                Code::InvalidArgument
            }
            Self::RequestIdReused(_) => Code::AlreadyExists,
            Self::Overloaded => Code::ResourceExhausted,
            Self::StoreUnavailable(_) | Self::ShuttingDown => Code::Unavailable,
            Self::NotBuilt(_) => Code::Unimplemented,
            Self::DeadlineExceeded => Code::DeadlineExceeded,
            Self::Internal(_) => Code::Internal,
        }
    }

    /// Its details: always an `ErrorInfo`, and what else belongs to the kind of error.
    fn details(&self) -> ErrorDetails {
        let mut details = ErrorDetails::with_error_info(self.reason(), DOMAIN, HashMap::new());
        match self {
            Self::Unknown { resource, name } => {
                details.set_resource_info(resource.type_name(), clamp(name, 256), "", "not found");
            }
            Self::Invalid(fields) => {
                let violations: Vec<_> = fields.iter().take(MAX_VIOLATIONS).map(violation).collect();
                details.set_bad_request(violations);
            }
            Self::SharesExceedDevice { .. } => {
                details.set_bad_request(vec![FieldViolation::new("tenants", clamp(&self.to_string(), 256))]);
            }
            Self::Overloaded | Self::StoreUnavailable(_) | Self::ShuttingDown => {
                details.set_retry_info(Some(RETRY_AFTER));
            }
            Self::SignatureMissing { .. }
            | Self::PredictorNotFitted { .. }
            | Self::NoUsableSample(_)
            | Self::TooManyPairs(_)
            | Self::PageTokenInvalid
            | Self::RequestIdReused(_)
            | Self::NotBuilt(_)
            | Self::DeadlineExceeded
            | Self::Internal(_) => {}
        }
        details
    }
}

fn violation(invalid: &Invalid) -> FieldViolation {
    FieldViolation::new(clamp(&invalid.field, 256), clamp(&invalid.problem, 256))
}

/// The beginning of `text`, at most `max_bytes` long: input comes back only so far.
fn clamp(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mark = "...";
    let end = text.floor_char_boundary(max_bytes - mark.len());
    format!("{}{mark}", &text[..end])
}

fn invalid_message(fields: &[Invalid]) -> String {
    fields.iter().take(MAX_VIOLATIONS).map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl From<ServiceError> for Status {
    fn from(error: ServiceError) -> Self {
        Self::with_error_details(error.code(), clamp(&error.to_string(), MAX_MESSAGE_BYTES), error.details())
    }
}

impl From<Invalid> for ServiceError {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(vec![invalid])
    }
}

impl From<TenantError> for ServiceError {
    fn from(error: TenantError) -> Self {
        match error {
            TenantError::SignatureMissing { workload, device } => Self::SignatureMissing { workload, device },
        }
    }
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::RequestIdReused(id) => Self::RequestIdReused(id),
            StoreError::DeviceDiffers(invalid) => invalid.within("new_device").into(),
            StoreError::DeviceUnknown(name) => Self::unknown(Resource::Device, name),
            StoreError::WorkloadUnknown { workload, .. } => Self::unknown(Resource::Workload, workload),
            StoreError::PredictorUnknown(version) => Self::unknown(Resource::Predictor, version),
            StoreError::Unavailable(why) => Self::StoreUnavailable(why),
            StoreError::Schema(why) | StoreError::Corrupt(why) => Self::Internal(why),
            // No call rolls back, and the store was opened before the first call.
            error @ (StoreError::NoEarlierPredictor { .. } | StoreError::Configuration(_)) => Self::Internal(error.to_string()),
        }
    }
}

/// The status as a message, for the items of a batch.
pub(super) fn to_message(error: ServiceError) -> tonic_types::Status {
    use prost::Message as _;

    let status = Status::from(error);
    // The details of a status are its own message, encoded; were they not, code and message are still worth sending.
    tonic_types::Status::decode(status.details()).unwrap_or_else(|_| tonic_types::Status {
        code: status.code().into(),
        message: status.message().to_owned(),
        details: vec![],
    })
}
