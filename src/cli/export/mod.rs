//! `export`: the catalog as files.

mod dataset;
mod matrix;

use clap::{Args, Subcommand};

use super::context::Context;

const EXAMPLES: &str = "\
Examples:
  pairsight export matrix --device sim-qv100-eighth --sm-share 0.5 --csv > slowdown.csv
  pairsight export dataset ./copy --device sim-qv100-eighth";

/// Write the catalog as files: a matrix of slowdowns, a dataset folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    #[command(subcommand)]
    command: ExportCommand,
}

#[derive(Debug, Subcommand)]
enum ExportCommand {
    Matrix(matrix::MatrixArgs),
    Dataset(dataset::DatasetArgs),
}

/// Runs the verb.
pub(super) async fn run(args: ExportArgs, context: &Context) -> anyhow::Result<()> {
    match args.command {
        ExportCommand::Matrix(args) => matrix::run(args, context).await,
        ExportCommand::Dataset(args) => dataset::run(args, context).await,
    }
}
