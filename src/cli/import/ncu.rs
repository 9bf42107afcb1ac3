//! `import ncu`: reports of Nsight Compute as CSV.

use std::{path::PathBuf, sync::LazyLock};

use clap::Args;

use super::{
    ImportOptions,
    stored::{self, Stored, names, summary},
};
use crate::{
    cli::{
        context::{Context, find_device, known_devices},
        failure::Misuse,
        share_arg::{ShareArg, parse_positive},
        words,
    },
    domain::{Device, DeviceId},
    ingest::{
        Progress,
        ncu::{self, ImportReport, NcuOptions},
    },
};

static HELP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "\
FILE is what `ncu --csv` prints, with --page raw, --page details or --metrics; it may be gzipped. Capture one with

  {}

and give the latency of an undisturbed iteration with --latency-us: ncu locks the clocks and flushes the caches, so that the
sum of the kernels' durations is not what an iteration takes in production.

Examples:
  pairsight import ncu report.csv --device nvidia-h100-sxm --workload resnet50/b16 --sm-share 0.5 --latency-us 5120
  pairsight import ncu bert.csv.gz --device nvidia-a100-sxm4-40gb --workload bert/b8 --sm-share 54sm --iterations 2
  pairsight import ncu report.csv --device nvidia-t4 --workload test --sm-share 100% --dry-run --format json",
        ncu::CAPTURE_COMMAND
    )
});

/// Import a report of Nsight Compute (CSV).
#[derive(Debug, Args)]
// Not wrapped, so that the command can be copied whole.
#[command(after_help = HELP.as_str(), term_width = 0)]
pub(super) struct NcuArgs {
    /// The report.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Device on which it was taken; created in the store if it is built in or in a --device-file.
    #[arg(long, value_name = "ID")]
    device: String,
    /// Name of the workload, "model/configuration" by custom.
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// Share of the SMs on which it ran: a fraction (0.5), per cent (50%) or a number of SMs (54sm).
    #[arg(long, value_name = "SHARE")]
    sm_share: ShareArg,
    /// Iterations of the workload in the report [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Mean latency of one iteration alone on that share, microseconds [default: the sum of the kernels].
    #[arg(long, value_name = "US", value_parser = parse_positive)]
    latency_us: Option<f64>,
    #[command(flatten)]
    options: ImportOptions,
}

/// Runs the verb.
pub(super) async fn run(args: NcuArgs, context: &Context) -> anyhow::Result<()> {
    crate::domain::validate_workload("--workload", &args.workload).map_err(|error| Misuse(error.to_string()))?;
    let device = device(&args, context).await?;
    let sm_share = args.sm_share.on(device.sm_count).map_err(|error| Misuse(format!("--sm-share: {}", error.problem)))?;
    let options = NcuOptions {
        device,
        workload: args.workload.clone(),
        sm_share,
        iterations: args.iterations,
        latency_us: args.latency_us,
        report_only: args.options.dry_run,
    };
    let progress = Progress::on_stderr();
    let read = tokio::task::block_in_place(|| ncu::read(&args.file, &options, &progress));
    progress.finish();
    let (batch, report) = read?;
    let stored = stored::store(&batch, &args.options, context).await?;
    args.options.format.print(&stored.json(&report)?, || text(&args.workload, &report, &stored))
}

/// The device, from the store only where neither a file nor the built-in table has it.
async fn device(args: &NcuArgs, context: &Context) -> anyhow::Result<Device> {
    let known = known_devices(&args.options.files.device_file)?;
    if let Some(device) = DeviceId::new("device", args.device.as_str()).ok().and_then(|id| known.get(&id).cloned()) {
        return Ok(device);
    }
    find_device(&args.device, &args.options.files.device_file, &context.catalog(&[]).await?)
}

fn text(workload: &str, report: &ImportReport, stored: &Stored) -> String {
    let per_iteration = if report.iterations > 1 { format!(" in {} iterations", report.iterations) } else { String::new() };
    let facts = [
        ("launches", format!("{}{per_iteration}, {} distinct operators", report.launches, report.operators)),
        ("time in kernels", words::duration(report.duration_us)),
        ("metrics used", names(&report.metrics_used)),
        ("not there", names(&report.metrics_missing)),
    ];
    summary(&stored.headline(&format!("workload {workload}")), &facts, &report.warnings)
}
