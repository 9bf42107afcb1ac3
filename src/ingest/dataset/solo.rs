//! `solo.csv`.

use std::collections::HashSet;

use super::{
    Content,
    complete::share_key,
    signatures::Names,
    table::{Table, name_of},
};
use crate::{
    domain::{Provenance, SoloLatency},
    ingest::IngestError,
};

const KNOWN: [&str; 6] = ["workload", "sm_share", "latency_us", "stdev_us", "samples", "batch"];

/// Reads every row into `content`.
pub(super) fn read(mut table: Table, provenance: Provenance, content: &mut Content) -> Result<(), IngestError> {
    let workload = table.required("workload")?;
    let sm_share = table.required("sm_share")?;
    let latency_us = table.required("latency_us")?;
    let stdev_us = Some(table.required("stdev_us")?);
    let samples = Some(table.required("samples")?);
    let batch = table.column("batch");
    let (mut names, mut seen) = (Names::default(), HashSet::new());
    table.rows(|row| {
        let solo = SoloLatency {
            workload: names.shared(row.text(workload)?),
            sm_share: row.share(sm_share)?,
            latency_us: row.figure(latency_us)?,
            stdev_us: row.optional_figure(stdev_us)?,
            samples: row.optional_count(samples)?,
            provenance,
            from_kernels: false,
        };
        solo.validate().map_err(|invalid| row.of(invalid))?;
        if !seen.insert((solo.workload.clone(), share_key(solo.sm_share))) {
            return Err(row.invalid(workload, "stands twice with this share"));
        }
        if let Some(batch) = row.optional_count(batch)?.and_then(|batch| u32::try_from(batch).ok()) {
            content.batch_sizes.insert(solo.workload.clone(), batch);
        }
        content.solo.push(solo);
        Ok(())
    })?;
    content.warnings.extend(table.ending());
    content.warnings.extend(unknown_columns(&table, &KNOWN));
    Ok(())
}

/// A warning that names the columns that are not `known`.
pub(super) fn unknown_columns(table: &Table, known: &[&str]) -> Option<String> {
    let unknown: Vec<&str> =
        table.header().iter().map(AsRef::as_ref).filter(|name| !name.is_empty() && !known.contains(name)).collect();
    (!unknown.is_empty()).then(|| format!("{}: left out columns {}", name_of(table.path()), unknown.join(", ")))
}
