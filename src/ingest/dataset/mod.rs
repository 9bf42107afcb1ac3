//! The dataset folder: `dataset.json`, `signature.csv[.gz]`, and optionally `solo.csv`, `pair.csv` and `trace.csv`.

mod complete;
mod manifest;
mod pairs;
mod signatures;
mod solo;
mod table;
mod trace;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use self::table::Table;
use super::{IngestError, Place, Progress};
use crate::{
    domain::{Device, DeviceId, ImportBatch, PairSample, SharingMode, Signature, SoloLatency, TraceEntry},
    interference::quality::Finding,
};

pub use manifest::SignatureBasis;

/// A dataset, whole and checked.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Name of the folder.
    pub name: String,
    /// All that can be stored.
    pub batch: ImportBatch,
    /// How the device was shared in the co-runs, and limited in the solo runs.
    pub sharing_mode: SharingMode,
    /// What the counters are, if the dataset says.
    pub signature_basis: Option<SignatureBasis>,
    /// Terms under which it may be used; empty when not stated.
    pub licence: String,
    /// Where it comes from; empty when not stated.
    pub source: String,
    /// Batch size of a workload, where a `batch` column states it.
    pub batch_sizes: BTreeMap<Arc<str>, u32>,
    /// Line of each co-run in `pair.csv`, in the order of the batch.
    pub pair_lines: Vec<u64>,
    /// What was read and what is missing.
    pub report: DatasetReport,
}

/// What was read of a dataset and what is missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DatasetReport {
    /// Launches of one iteration of every workload at every share.
    pub launches: u64,
    /// Distinct operators of all workloads: workload, kernel name, grid, block.
    pub operators: u64,
    /// Iterations that these are of: 1.
    pub iterations: u64,
    /// Their time in kernels, microseconds.
    pub duration_us: f64,
    /// Rows of `signature.csv`.
    pub signatures: u64,
    /// Workloads with a signature, a solo latency or both.
    pub workloads: u64,
    /// Rows of `solo.csv`.
    pub solo_latencies: u64,
    /// Workloads and shares with signatures and without a row there: where nothing was measured, the sum of their kernels stands.
    pub solo_latencies_from_kernels: u64,
    /// Rows of `pair.csv` with at least one side timed.
    pub pair_samples: u64,
    /// Rows of `trace.csv`.
    pub trace_entries: u64,
    /// Counters in at least one signature.
    pub metrics_used: Vec<String>,
    /// Counters that the predictor can use and no signature has, nor one that stands for them.
    pub metrics_missing: Vec<String>,
    /// What a person should know before trusting it.
    pub warnings: Vec<String>,
    /// Co-runs that contradict each other or cannot be believed; they are stored all the same, and a fit gives them less weight.
    pub findings: Vec<RowFinding>,
}

/// Something wrong with a row of `pair.csv`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowFinding {
    /// Line of the row, from 1, in the decompressed text.
    pub line: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What the readers of the single files fill.
#[derive(Default)]
struct Content {
    signatures: Vec<Signature>,
    solo: Vec<SoloLatency>,
    pairs: Vec<PairSample>,
    pair_lines: Vec<u64>,
    trace: Vec<TraceEntry>,
    batch_sizes: BTreeMap<Arc<str>, u32>,
    warnings: Vec<String>,
}

/// Reads the folder `dir`. `devices` are those known beside it: the built-in ones, and those of a device file.
pub fn read(dir: &Path, devices: &BTreeMap<DeviceId, Device>, progress: &Progress) -> Result<Dataset, IngestError> {
    let manifest = manifest::read(&dir.join("dataset.json"), devices)?;
    let mut content = Content { warnings: manifest.warnings.clone(), ..Content::default() };

    let signature_file = find(dir, "signature.csv").ok_or_else(|| IngestError::Open {
        place: Place::file(&dir.join("signature.csv")),
        source: std::io::Error::other("neither it nor signature.csv.gz is there"),
    })?;
    signatures::read(Table::open(&signature_file, progress)?, manifest.provenance, &mut content)?;
    optional(dir, "solo.csv", progress, &mut content, |table, content| solo::read(table, manifest.provenance, content))?;
    optional(dir, "pair.csv", progress, &mut content, |table, content| pairs::read(table, &manifest, content))?;
    if let Some(file) = find(dir, "trace.csv") {
        trace::read(Table::open(&file, progress)?, &mut content)?;
    }
    complete::dataset(dir, manifest, content)
}

fn optional(
    dir: &Path,
    name: &str,
    progress: &Progress,
    content: &mut Content,
    read: impl FnOnce(Table, &mut Content) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    if let Some(file) = find(dir, name) {
        return read(Table::open(&file, progress)?, content);
    }
    content.warnings.push(format!("there is no {name}"));
    Ok(())
}

/// `name` or `name.gz` in `dir`, whichever is there.
fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    [name.to_owned(), format!("{name}.gz")].into_iter().map(|name| dir.join(name)).find(|path| path.exists())
}
