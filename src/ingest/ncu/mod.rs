//! Reports of Nsight Compute as CSV: `--csv` of the raw page, the details page and `--metrics` runs, with whatever was printed
//! around them.

mod launches;
mod layout;
mod lines;
pub(super) mod metrics;
mod notes;
mod other;
mod report;
mod rows;
mod signatures;
mod totals;
mod units;
mod value;

use std::{io::BufRead, path::Path};

use self::{lines::Lines, rows::Rows, signatures::Signed, totals::Totals};
use super::{IngestError, Place, Progress, input};
use crate::domain::{Device, ImportBatch, Invalid, Provenance, SmShare, SoloLatency, validate_workload};

pub use metrics::CAPTURE_COMMAND;
pub use report::ImportReport;

/// What the report does not say.
#[derive(Debug, Clone)]
pub struct NcuOptions {
    /// Device on which it was taken.
    pub device: Device,
    /// Name of the workload.
    pub workload: String,
    /// Share of the SMs on which it ran.
    pub sm_share: SmShare,
    /// Iterations of the workload in the report; `None` takes the report for one.
    pub iterations: Option<u64>,
    /// Mean latency of one iteration alone, microseconds; `None` leaves what is known of it, else the sum of the kernels stands.
    pub latency_us: Option<f64>,
    /// Nothing will be stored: a report without durations is described and not refused.
    pub report_only: bool,
}

/// Reads the report `path`. An error names the file, and the line and the metric where there is one.
pub fn read(path: &Path, options: &NcuOptions, progress: &Progress) -> Result<(ImportBatch, ImportReport), IngestError> {
    let iterations = check(options).map_err(|invalid| IngestError::of(Place::file(path), invalid))?;
    let (head, text) = input::peek(input::open(path, progress)?, path)?;
    other::refuse_by_magic(path, &head)?;
    read_text(path, text, options, iterations)
}

fn read_text(
    path: &Path,
    text: impl BufRead,
    options: &NcuOptions,
    iterations: u64,
) -> Result<(ImportBatch, ImportReport), IngestError> {
    let mut rows = Rows::new(Lines::new(text, path), path);
    let mut totals = Totals::default();
    while let Some(row) = rows.next()? {
        totals.add(&row)?;
    }
    if rows.notes.tables == 0 {
        return Err(rows.no_table());
    }
    if totals.variants.is_empty() {
        return Err(rows.no_row());
    }
    let signed = signatures::sign(&totals, options, iterations);
    if signed.signatures.is_empty() && !options.report_only {
        return Err(no_duration(path));
    }
    let report = report::report(&totals, &signed, &rows.notes, options, iterations);
    let batch = batch(signed, options);
    batch.validate().map_err(|invalid| IngestError::of(Place::file(path), invalid))?;
    Ok((batch, report))
}

fn check(options: &NcuOptions) -> Result<u64, Invalid> {
    validate_workload("workload", &options.workload)?;
    if let Some(latency) = options.latency_us {
        Invalid::positive("latency_us", latency)?;
    }
    match options.iterations {
        Some(0) => Err(Invalid::new("iterations", "must be at least 1")),
        iterations => Ok(iterations.unwrap_or(1)),
    }
}

/// Without a latency the batch has none: what was measured before stays, and where nothing was, the catalog adds up the kernels.
fn batch(signed: Signed, options: &NcuOptions) -> ImportBatch {
    let solo = options.latency_us.filter(|_| !signed.signatures.is_empty()).map(|latency_us| SoloLatency {
        workload: options.workload.as_str().into(),
        sm_share: options.sm_share,
        latency_us,
        stdev_us: None,
        samples: None,
        provenance: Provenance::Imported,
        from_kernels: false,
    });
    ImportBatch {
        signatures: signed.signatures,
        solo_latencies: solo.into_iter().collect(),
        ..ImportBatch::new(options.device.clone())
    }
}

fn no_duration(path: &Path) -> IngestError {
    let advice = format!(
        "collect gpu__time_duration.sum as well, for example with: {CAPTURE_COMMAND}\nor give --latency-us X, which is then spread \
         evenly over the launches"
    );
    other::wrong(
        Place::file(path),
        "has no duration of any kernel (gpu__time_duration.sum, or Duration on the details page)",
        &advice,
    )
}
