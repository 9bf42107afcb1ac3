//! Dataset folders named on the command line.

use std::path::PathBuf;

use super::{context::known_devices, devices::DeviceFiles, output::note, table::printable};
use crate::ingest::{
    Progress,
    dataset::{self, Dataset},
};

/// Reads the folders, with progress and a note a warning on standard error.
pub(super) fn read(dirs: &[PathBuf], files: &DeviceFiles) -> anyhow::Result<Vec<Dataset>> {
    let devices = known_devices(&files.device_file)?;
    let progress = Progress::on_stderr();
    let sets: Result<Vec<_>, _> = dirs.iter().map(|dir| dataset::read(dir, &devices, &progress)).collect();
    progress.finish();
    let sets = sets?;
    for (set, warning) in sets.iter().flat_map(|set| set.report.warnings.iter().map(move |warning| (set, warning))) {
        note(format_args!("note: {}: {}", printable(&set.name), printable(warning)));
    }
    Ok(sets)
}
