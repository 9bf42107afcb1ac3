//! What all readers have in common: storing what was read, once, and saying so.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::{Map, Value, json};

use super::ImportOptions;
use crate::{
    cli::{context::Context, table::printable},
    domain::{ImportBatch, ImportReceipt, Invalid},
    store::{Store, StoreError},
};

/// Longest name of an import, bytes.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// What became of a batch.
pub(super) struct Stored {
    device: String,
    request_id: String,
    /// `None` when nothing was to be changed.
    receipt: Option<ImportReceipt>,
}

/// Stores `batch`, or only checks it under `--dry-run`.
pub(super) async fn store(batch: &ImportBatch, options: &ImportOptions, context: &Context) -> anyhow::Result<Stored> {
    batch.validate()?;
    let content = batch.content_sha256();
    let device = batch.device.device_id.to_string();
    if let Some(id) = &options.request_id {
        Invalid::text("--request-id", id, MAX_REQUEST_ID_BYTES)
            .map_err(|error| crate::cli::failure::Misuse(error.to_string()))?;
    }
    let mut request_id = options.request_id.clone().unwrap_or(content);
    if options.dry_run {
        return Ok(Stored { device, request_id, receipt: None });
    }
    let store = context.store().await?;
    let mut imported = store.import(&request_id, batch).await;
    if let (Ok(ImportReceipt { already_imported: true, .. }), None) = (&imported, &options.request_id) {
        imported = match again_after_deletion(store.as_ref(), &mut request_id, batch).await {
            Ok(None) => imported,
            Ok(Some(receipt)) => Ok(receipt),
            Err(error) => Err(error),
        };
    }
    store.close().await;
    Ok(Stored { device, request_id, receipt: Some(imported?) })
}

/// Content that was imported before and is no longer all there is stored again: only the person who deleted it can ask for that.
async fn again_after_deletion(
    store: &dyn Store,
    request_id: &mut String,
    batch: &ImportBatch,
) -> Result<Option<ImportReceipt>, StoreError> {
    let catalog = store.load_catalog(None).await?;
    let there = catalog.workloads.get(&batch.device.device_id);
    let signed = batch.signatures.iter().map(|signature| signature.workload.as_ref());
    let wanted: BTreeSet<&str> = signed.chain(batch.solo_latencies.iter().map(|solo| solo.workload.as_ref())).collect();
    if wanted.iter().all(|workload| there.is_some_and(|there| there.contains_key(*workload))) {
        return Ok(None);
    }
    *request_id = format!("{request_id}.{}", catalog.version);
    store.import(request_id, batch).await.map(Some)
}

impl Stored {
    /// The report of a reader with what became of it.
    pub(super) fn json(&self, report: impl serde::Serialize) -> anyhow::Result<Value> {
        let mut object = match serde_json::to_value(report)? {
            Value::Object(object) => object,
            _ => Map::new(),
        };
        let mut set = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
        set("device", json!(self.device));
        set("request_id", json!(self.request_id));
        set("dry_run", json!(self.receipt.is_none()));
        let receipt = self.receipt.unwrap_or_default();
        set("catalog_version", json!(receipt.catalog_version));
        set("already_imported", json!(receipt.already_imported));
        if self.receipt.is_some() {
            set("signatures", json!(receipt.signatures));
            set("workloads", json!(receipt.workloads));
            set("solo_latencies", json!(receipt.solo_latencies));
            set("pair_samples", json!(receipt.pair_samples));
        }
        Ok(Value::Object(object))
    }

    /// The first line: what became of `what`.
    pub(super) fn headline(&self, what: &str) -> String {
        let (what, device) = (printable(what), printable(&self.device));
        match self.receipt {
            None => format!("{what} for device {device} can be imported; nothing was changed (dry run)."),
            Some(receipt) if receipt.already_imported => {
                format!(
                    "{what} for device {device}: already imported, nothing changed (catalog version {}).",
                    receipt.catalog_version
                )
            }
            Some(receipt) => format!("Imported {what} for device {device} (catalog version {}).", receipt.catalog_version),
        }
    }
}

/// Lines of facts, then what is missing and what to know.
pub(super) fn summary(headline: &str, facts: &[(&str, String)], warnings: &[String]) -> String {
    let mut text = headline.to_owned();
    for (name, value) in facts {
        let _ = write!(text, "\n  {name:<18}{}", printable(value));
    }
    for warning in warnings {
        let _ = write!(text, "\n  note: {}", printable(warning));
    }
    text
}

/// Names as a list, or `none`.
pub(super) fn names(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
