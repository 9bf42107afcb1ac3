//! What the stores write besides measurements: predictors, and the receipts of served requests.

use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{domain::ImportReceipt, interference::Predictor};

use super::{StoreError, failure::unreadable};

/// A predictor as it is kept.
pub(super) struct NewPredictor {
    pub(super) version: String,
    pub(super) device: String,
    pub(super) sharing_mode: String,
    pub(super) content_sha256: String,
    pub(super) artefact: String,
    pub(super) samples: i64,
    pub(super) provenance: String,
    pub(super) held_out_mean_error_pct: f64,
}

impl TryFrom<&Predictor> for NewPredictor {
    type Error = StoreError;

    /// The generic predictor is part of the build and in no store, so that its version is unknown here.
    fn try_from(predictor: &Predictor) -> Result<Self, StoreError> {
        let artefact = predictor.artefact.as_ref().ok_or_else(|| StoreError::PredictorUnknown(predictor.version.clone()))?;
        Ok(Self {
            version: predictor.version.clone(),
            device: artefact.device.to_string(),
            sharing_mode: artefact.sharing_mode.to_string(),
            content_sha256: predictor.content_sha256.clone(),
            artefact: predictor.to_json().to_owned(),
            samples: i64::try_from(artefact.fit.samples).unwrap_or(i64::MAX),
            provenance: artefact.fit.provenance.to_string(),
            held_out_mean_error_pct: artefact.fit.held_out_mean_error_pct,
        })
    }
}

/// A place in the history of what answered.
#[derive(FromRow)]
#[expect(clippy::struct_field_names, reason = "the names of the columns")]
pub(super) struct ActivationRow {
    pub(super) predictor_activation_id: i64,
    pub(super) predictor_id: String,
    /// The place to which a roll back returns.
    pub(super) previous_activation_id: Option<i64>,
}

/// A request that was served.
#[derive(FromRow)]
pub(super) struct RequestRow {
    content_sha256: String,
    receipt: String,
}

impl RequestRow {
    /// The receipt, when `content_sha256` is what the request brought.
    pub(super) fn receipt_of(&self, request_id: &str, content_sha256: &str) -> Result<&str, StoreError> {
        if self.content_sha256 == content_sha256 {
            Ok(&self.receipt)
        } else {
            Err(StoreError::RequestIdReused(request_id.to_owned()))
        }
    }
}

/// What is kept of a receipt.
#[derive(Serialize, Deserialize)]
struct KeptReceipt {
    signatures: u64,
    workloads: u64,
    solo_latencies: u64,
    pair_samples: u64,
    catalog_version: i64,
}

/// A receipt to be kept.
pub(super) fn receipt_json(receipt: &ImportReceipt) -> Result<String, StoreError> {
    let ImportReceipt { signatures, workloads, solo_latencies, pair_samples, catalog_version, already_imported: _ } = *receipt;
    serde_json::to_string(&KeptReceipt { signatures, workloads, solo_latencies, pair_samples, catalog_version })
        .map_err(|error| unreadable("a receipt", error))
}

/// The receipt of a request that was served before, when `content_sha256` is what it brought.
pub(super) fn replayed(request_id: &str, content_sha256: &str, row: &RequestRow) -> Result<ImportReceipt, StoreError> {
    let receipt = row.receipt_of(request_id, content_sha256)?;
    let kept: KeptReceipt = serde_json::from_str(receipt).map_err(|error| unreadable("a receipt", error))?;
    Ok(ImportReceipt {
        signatures: kept.signatures,
        workloads: kept.workloads,
        solo_latencies: kept.solo_latencies,
        pair_samples: kept.pair_samples,
        catalog_version: kept.catalog_version,
        already_imported: true,
    })
}
