//! `import`: files that people have, into the store.

mod dataset;
mod ncu;
mod stored;

use clap::{Args, Subcommand};

use super::{context::Context, devices::DeviceFiles, output::FormatArg};

const EXAMPLES: &str = "\
Examples:
  pairsight import dataset ./my-measurements
  pairsight import ncu report.csv --device nvidia-h100-sxm --workload resnet50/b16 --sm-share 0.5 --latency-us 5120";

/// Read measurements into the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    #[command(subcommand)]
    command: ImportCommand,
}

#[derive(Debug, Subcommand)]
enum ImportCommand {
    Dataset(dataset::DatasetArgs),
    Ncu(ncu::NcuArgs),
}

/// What every reader takes.
#[derive(Debug, Args)]
struct ImportOptions {
    /// Read and check everything, change nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Name of this import: the same content under the same name is stored once [default: a hash of the content].
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    #[command(flatten)]
    files: DeviceFiles,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(super) async fn run(args: ImportArgs, context: &Context) -> anyhow::Result<()> {
    match args.command {
        ImportCommand::Dataset(args) => dataset::run(args, context).await,
        ImportCommand::Ncu(args) => ncu::run(args, context).await,
    }
}
