//! What all readers have in common: storing what was read, once, and saying so.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::{Map, Value, json};

use super::ImportOptions;
use crate::{
    cli::{context::Context, table::printable},
    domain::{ImportBatch, ImportReceipt, Invalid},
    store::{Catalog, Store, StoreError},
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
    let imported = if options.request_id.is_some() {
        store.import(&request_id, batch).await
    } else {
        until_there(store.as_ref(), &mut request_id, batch).await
    };
    store.close().await;
    Ok(Stored { device, request_id, receipt: Some(imported?) })
}

/// Imports `batch`. Content that was imported before, but was deleted or replaced since, is stored again: only the person who
/// did that can ask for it. Each time it goes by another name, made from the receipt of the time before.
async fn until_there(store: &dyn Store, request_id: &mut String, batch: &ImportBatch) -> Result<ImportReceipt, StoreError> {
    let content = request_id.clone();
    let mut receipt = store.import(request_id, batch).await?;
    if !receipt.already_imported {
        return Ok(receipt);
    }
    let catalog = store.load_catalog(None).await?;
    while receipt.already_imported && !is_there(&catalog, batch, receipt.catalog_version) {
        *request_id = format!("{content}.{}", receipt.catalog_version);
        receipt = store.import(request_id, batch).await?;
    }
    Ok(receipt)
}

/// Every workload of `batch` is as the import at `version` left it.
fn is_there(catalog: &Catalog, batch: &ImportBatch, version: i64) -> bool {
    let there = catalog.workloads.get(&batch.device.device_id);
    let signed = batch.signatures.iter().map(|signature| signature.workload.as_ref());
    let timed = batch.solo_latencies.iter().map(|solo| solo.workload.as_ref());
    let wanted: BTreeSet<&str> = signed.chain(timed).collect();
    let stored = |workload: &str| there.and_then(|there| there.get(workload));
    wanted.iter().all(|workload| stored(workload).is_some_and(|profile| profile.catalog_version <= version))
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
