//! `import dataset`: the folder format.

use std::path::PathBuf;

use clap::Args;

use super::{
    ImportOptions,
    stored::{self, Stored, names, summary},
};
use crate::{
    cli::{
        context::{Context, known_devices},
        findings,
    },
    ingest::{
        Progress,
        dataset::{self, DatasetReport},
    },
};

const EXAMPLES: &str = "\
DIR holds dataset.json, signature.csv[.gz] and, where there are, solo.csv, pair.csv and trace.csv. It is stored as a whole or not at
all; importing the same again changes nothing.

Examples:
  pairsight import dataset ./my-measurements
  pairsight import dataset ./my-measurements --dry-run --format json
  pairsight --data-dir ./data import dataset ./lab-a100 --device-file lab.toml";

/// Import a dataset folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DatasetArgs {
    /// The folder.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    options: ImportOptions,
}

/// Runs the verb.
pub(super) async fn run(args: DatasetArgs, context: &Context) -> anyhow::Result<()> {
    let devices = known_devices(&args.options.files.device_file)?;
    let progress = Progress::on_stderr();
    let read = tokio::task::block_in_place(|| dataset::read(&args.dir, &devices, &progress));
    progress.finish();
    let set = read?;
    let stored = stored::store(&set.batch, &args.options, context).await?;
    args.options.format.print(&stored.json(&set.report)?, || text(&set.name, &set.report, &stored))
}

fn text(name: &str, report: &DatasetReport, stored: &Stored) -> String {
    let mut facts = vec![
        ("signatures", format!("{}, {} workloads", report.signatures, report.workloads)),
        ("solo latencies", report.solo_latencies.to_string()),
        ("co-runs", report.pair_samples.to_string()),
        ("counters", names(&report.metrics_used)),
        ("not there", names(&report.metrics_missing)),
    ];
    if report.trace_entries > 0 {
        facts.insert(3, ("trace entries", report.trace_entries.to_string()));
    }
    let findings: Vec<_> = report.findings.iter().map(|row| (format!("pair.csv, line {}", row.line), &row.finding)).collect();
    let notes = [report.warnings.clone(), findings::lines(&findings)].concat();
    summary(&stored.headline(&format!("dataset {name}")), &facts, &notes)
}
