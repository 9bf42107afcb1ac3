//! The command line: one file a verb. Arguments are read here, work is done in the other rooms.

mod context;
mod datasets;
mod devices;
mod evaluate;
mod example;
mod export;
mod failure;
mod findings;
mod fit;
mod healthcheck;
mod import;
mod logging;
mod migrate;
mod nearest;
mod output;
mod predict;
mod predictor;
mod serve;
mod share_arg;
mod source;
mod suggest;
mod table;
mod verdict;
mod words;
mod workloads;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use context::GlobalArgs;
use context::{Context, Listen};

const EXAMPLES: &str = "\
Examples:
  pairsight serve --example
  pairsight predict --a decode_a@0.5 --b mixed_b@0.5 --device sim-qv100-eighth
  pairsight import ncu report.csv --device nvidia-h100-sxm --workload resnet50/b16 --sm-share 0.5
  pairsight --data-dir ./data fit --dataset ./my-measurements --publish

Exit codes: 0 done, 1 failed, 2 usage, 64 configuration.";

/// Predicts, before placement, how much two DNN inference tasks on one GPU slow each other down, and why.
#[derive(Debug, Parser)]
#[command(name = "pairsight", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// The verb.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
#[expect(missing_docs, reason = "each verb is described by its arguments, and a comment here would replace that in the help")]
pub enum Command {
    Serve(serve::ServeArgs),
    Predict(Box<predict::PredictArgs>),
    Import(import::ImportArgs),
    Fit(fit::FitArgs),
    Evaluate(evaluate::EvaluateArgs),
    Suggest(suggest::SuggestArgs),
    Predictor(predictor::PredictorArgs),
    Devices(devices::DevicesArgs),
    Workloads(workloads::WorkloadsArgs),
    Export(export::ExportArgs),
    Migrate(migrate::MigrateArgs),
    Healthcheck(healthcheck::HealthcheckArgs),
}

/// Runs a command line and reports how it ended.
#[must_use]
pub fn run(cli: Cli) -> ExitCode {
    failure::conclude(start(cli))
}

fn start(cli: Cli) -> anyhow::Result<()> {
    let listen = match &cli.command {
        Command::Serve(args) => args.listen(),
        _ => Listen::default(),
    };
    let context = Context::new(cli.global, listen)?;
    logging::start(&context.config.log, matches!(cli.command, Command::Serve(_)))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(dispatch(cli.command, &context));
    // A name look-up or a blocking read that still runs must not hold up the exit.
    runtime.shutdown_background();
    result
}

async fn dispatch(command: Command, context: &Context) -> anyhow::Result<()> {
    match command {
        Command::Serve(args) => serve::run(args, context).await,
        Command::Predict(args) => predict::run(*args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Fit(args) => fit::run(args, context).await,
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Suggest(args) => suggest::run(&args),
        Command::Predictor(args) => predictor::run(args, context).await,
        Command::Devices(args) => devices::run(args, context).await,
        Command::Workloads(args) => workloads::run(args, context).await,
        Command::Export(args) => export::run(args, context).await,
        Command::Migrate(args) => migrate::run(args, context).await,
        Command::Healthcheck(args) => healthcheck::run(args, context).await,
    }
}
