//! Co-runs that are added together with what was learnt from them.

use serde::{Deserialize, Serialize};

use crate::{
    domain::{DeviceId, PairSample, SharingMode},
    interference::Predictor,
};

use super::{
    StoreError, batch,
    failure::unreadable,
    kept::{NewPredictor, RequestRow},
};

/// Co-runs with what was learnt from them.
#[derive(Debug, Clone)]
pub struct SampleAddition {
    /// Identifies the call.
    pub request_id: String,
    /// SHA-256 of what the call brought, hexadecimal.
    pub content_sha256: String,
    /// Device of the co-runs, which has to be in the store.
    pub device: DeviceId,
    /// Mode of the co-runs.
    pub sharing_mode: SharingMode,
    /// The co-runs; each replaces the one of the same `pair_id`.
    pub samples: Vec<PairSample>,
    /// Version of the predictor that has to answer still, for what was learnt to hold.
    pub learnt_from: String,
    /// What is to answer from then on; `None` leaves the one that does.
    pub adapted: Option<Predictor>,
    /// What the call is answered, for when it comes again.
    pub answer: String,
}

/// What became of an addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is stored.
    Now {
        /// Catalog version from which on it can be read.
        catalog_version: i64,
    },
    /// The same content was added under the same request before.
    Before(AddedBefore),
    /// Another predictor answers than the one learnt from: nothing was stored, and what was learnt has to be learnt anew.
    Overtaken,
}

/// An addition that was made before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedBefore {
    /// Catalog version from which on it could be read.
    pub catalog_version: i64,
    /// What it was answered.
    pub answer: String,
}

/// The same as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptAnswer {
    catalog_version: i64,
    answer: String,
}

/// An addition as rows, for the task that holds the transaction.
pub(super) struct Order {
    pub(super) request_id: String,
    pub(super) content_sha256: String,
    pub(super) device: String,
    pub(super) sharing_mode: String,
    /// JSON arrays of rows.
    pub(super) pairs: Vec<String>,
    pub(super) learnt_from: String,
    pub(super) adapted: Option<NewPredictor>,
    answer: String,
}

impl TryFrom<SampleAddition> for Order {
    type Error = StoreError;

    fn try_from(addition: SampleAddition) -> Result<Self, StoreError> {
        Ok(Self {
            pairs: batch::pair_rows(&addition.samples).map_err(|error| unreadable("co-runs", error))?,
            adapted: addition.adapted.as_ref().map(NewPredictor::try_from).transpose()?,
            device: addition.device.to_string(),
            sharing_mode: addition.sharing_mode.to_string(),
            request_id: addition.request_id,
            content_sha256: addition.content_sha256,
            learnt_from: addition.learnt_from,
            answer: addition.answer,
        })
    }
}

impl Order {
    /// The answer to be kept.
    pub(super) fn receipt(&self, catalog_version: i64) -> Result<String, StoreError> {
        let kept = KeptAnswer { catalog_version, answer: self.answer.clone() };
        serde_json::to_string(&kept).map_err(|error| unreadable("an answer", error))
    }
}

/// The answer to a request that was served before, when `content_sha256` is what it brought.
pub(super) fn answered(request_id: &str, content_sha256: &str, row: &RequestRow) -> Result<AddedBefore, StoreError> {
    let receipt = row.receipt_of(request_id, content_sha256)?;
    let kept: KeptAnswer = serde_json::from_str(receipt).map_err(|error| unreadable("an answer", error))?;
    Ok(AddedBefore { catalog_version: kept.catalog_version, answer: kept.answer })
}
