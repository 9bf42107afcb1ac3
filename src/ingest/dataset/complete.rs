//! What holds across the files of a dataset: missing solo latencies, parts that do not meet, the report.

use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    sync::Arc,
};

use super::{Content, Dataset, DatasetReport, RowFinding, manifest::Manifest, table::name_of};
use crate::{
    domain::{ImportBatch, Signature, SmShare},
    ingest::{IngestError, Place, ncu::metrics::WANTED},
    interference::quality,
};

/// A share as a key: equal for shares that are the same.
pub(super) type ShareKey = i64;

/// The key of `share`.
#[expect(clippy::cast_possible_truncation, reason = "a share lies in (0, 1]")]
pub(super) fn share_key(share: SmShare) -> ShareKey {
    (share.get() / SmShare::TOLERANCE).round() as i64
}

/// The dataset from its parts.
pub(super) fn dataset(dir: &Path, manifest: Manifest, mut content: Content) -> Result<Dataset, IngestError> {
    let from_kernels = without_solo(&content);
    warn(&mut content, from_kernels);
    let report = DatasetReport {
        launches: launches(&content.signatures),
        operators: operators(&content.signatures),
        // A dataset tells what one iteration launches.
        iterations: 1,
        duration_us: content.signatures.iter().map(|signature| signature.launches * signature.duration_us).sum(),
        signatures: content.signatures.len() as u64,
        workloads: workloads(&content),
        solo_latencies: content.solo.len() as u64,
        solo_latencies_from_kernels: from_kernels as u64,
        pair_samples: content.pairs.len() as u64,
        trace_entries: content.trace.len() as u64,
        findings: findings(&content),
        warnings: content.warnings,
        ..counters(&content.signatures)
    };
    let batch = ImportBatch {
        signatures: content.signatures,
        solo_latencies: content.solo,
        pair_samples: content.pairs,
        trace: content.trace,
        ..ImportBatch::new(manifest.device)
    };
    batch.validate().map_err(|invalid| IngestError::of(Place::file(dir), invalid))?;
    Ok(Dataset {
        name: name_of(dir),
        batch,
        sharing_mode: manifest.sharing_mode,
        signature_basis: manifest.signature_basis,
        licence: manifest.licence,
        source: manifest.source,
        batch_sizes: content.batch_sizes,
        pair_lines: content.pair_lines,
        report,
    })
}

/// How many workloads and shares have signatures and no solo latency. The catalog adds up their kernels where it has none either.
fn without_solo(content: &Content) -> usize {
    let known: HashSet<(&str, ShareKey)> =
        content.solo.iter().map(|solo| (solo.workload.as_ref(), share_key(solo.sm_share))).collect();
    let signed: HashSet<(&str, ShareKey)> =
        content.signatures.iter().map(|signature| (signature.workload.as_ref(), share_key(signature.sm_share))).collect();
    signed.difference(&known).count()
}

fn warn(content: &mut Content, from_kernels: usize) {
    let signed: HashSet<&str> = content.signatures.iter().map(|signature| signature.workload.as_ref()).collect();
    let unsigned = |workload: &Arc<str>| !signed.contains(workload.as_ref());
    let solo_only: BTreeSet<&Arc<str>> =
        content.solo.iter().map(|solo| &solo.workload).filter(|workload| unsigned(workload)).collect();
    let pairs = content.pairs.iter().filter(|pair| pair.workloads.iter().any(unsigned)).count();
    let traced: BTreeSet<&Arc<str>> =
        content.trace.iter().map(|entry| &entry.workload).filter(|workload| unsigned(workload)).collect();
    let mut warnings = vec![];
    if from_kernels > 0 {
        warnings.push(format!(
            "{from_kernels} workloads and shares have signatures but no solo latency: the sum of their kernels stands for it"
        ));
    }
    if !solo_only.is_empty() {
        warnings.push(format!("{} workloads have a solo latency but no signature", solo_only.len()));
    }
    if pairs > 0 {
        warnings.push(format!("{pairs} co-runs have a workload without a signature"));
    }
    if !traced.is_empty() {
        warnings.push(format!("{} workloads have a trace but no signature", traced.len()));
    }
    content.warnings.extend(warnings);
}

fn findings(content: &Content) -> Vec<RowFinding> {
    let found = quality::examine(&content.pairs);
    found.into_iter().map(|finding| RowFinding { line: content.pair_lines[finding.sample], finding }).collect()
}

/// Launches of one iteration of every workload at every share. Rounded at the end: each row has a mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and the cast stops at the largest count"
)]
fn launches(signatures: &[Signature]) -> u64 {
    signatures.iter().map(|signature| signature.launches).sum::<f64>().round() as u64
}

/// Distinct operators, as a kernel with its grid and block, of each workload.
fn operators(signatures: &[Signature]) -> u64 {
    let variants = signatures.iter().map(|s| [&s.workload, &s.operator, &s.grid, &s.block]);
    variants.collect::<HashSet<_>>().len() as u64
}

fn workloads(content: &Content) -> u64 {
    let signed = content.signatures.iter().map(|signature| signature.workload.as_ref());
    signed.chain(content.solo.iter().map(|solo| solo.workload.as_ref())).collect::<HashSet<&str>>().len() as u64
}

fn counters(signatures: &[Signature]) -> DatasetReport {
    let there: BTreeSet<&str> =
        signatures.iter().flat_map(|signature| signature.counters.iter()).map(|(name, _)| name.as_ref()).collect();
    let missing = WANTED.iter().filter(|(counters, _)| !counters.iter().any(|counter| there.contains(counter)));
    DatasetReport {
        metrics_used: there.iter().map(|name| (*name).to_owned()).collect(),
        metrics_missing: missing.map(|(counters, _)| counters[0].to_owned()).collect(),
        ..DatasetReport::default()
    }
}
