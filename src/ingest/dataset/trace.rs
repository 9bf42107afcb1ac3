//! `trace.csv`.

use std::collections::HashSet;

use super::{Content, signatures::Names, solo::unknown_columns, table::Table};
use crate::{domain::TraceEntry, ingest::IngestError};

const KNOWN: [&str; 4] = ["workload", "position", "operator", "gap_before_ns"];

/// Reads every row into `content`.
pub(super) fn read(mut table: Table, content: &mut Content) -> Result<(), IngestError> {
    let workload = table.required("workload")?;
    let position = table.required("position")?;
    let operator = table.required("operator")?;
    let gap_before_ns = table.required("gap_before_ns")?;
    let (mut names, mut seen) = (Names::default(), HashSet::new());
    table.rows(|row| {
        let place = row.optional_count(Some(position))?.and_then(|place| u32::try_from(place).ok());
        let entry = TraceEntry {
            workload: names.shared(row.text(workload)?),
            position: place.ok_or_else(|| row.invalid(position, "must be a whole number, from 0"))?,
            operator: names.shared(row.text(operator)?),
            gap_before_us: row.optional_figure(Some(gap_before_ns))?.unwrap_or(0.0) / 1e3,
        };
        entry.validate().map_err(|invalid| row.of(invalid))?;
        if !seen.insert((entry.workload.clone(), entry.position)) {
            return Err(row.invalid(position, "stands twice in this workload"));
        }
        content.trace.push(entry);
        Ok(())
    })?;
    content.warnings.extend(table.ending());
    content.warnings.extend(unknown_columns(&table, &KNOWN));
    Ok(())
}
