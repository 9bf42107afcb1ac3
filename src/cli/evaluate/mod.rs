//! `evaluate`: how well predictions hold on co-runs that were not learnt from, beside the baselines.

mod plot;
mod table;

use std::{io::IsTerminal, path::PathBuf};

use anyhow::Context as _;
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use strum::VariantNames;
use tokio::time::Instant;

use super::{
    datasets,
    devices::DeviceFiles,
    failure::Misuse,
    output::{FormatArg, note},
    table::printable,
};
use crate::{
    ingest::dataset::Dataset,
    interference::evaluate::{Chooser, EvaluateError, Evaluation, EvaluationSet, FewShot, Options, Split, evaluate},
};

const EXAMPLES: &str = "\
Splits, by what a fold leaves out of training:
  random           a fifth of the configurations: pairs of (workload, share)
  unseen-pair      a fifth of the pairs of workloads
  unseen-input     a target workload, in both roles
  unseen-partner   the co-runs beside one model
  unseen-target    the co-runs of one model as the target
  unseen-model     a model, in both roles
  unseen-both      both models of a pair, in both roles
  unseen-partition all that was measured at one SM share; solo latencies come from the curve
  unseen-device    the first set; the others are learnt from
  cross-campaign   a measuring campaign

Several sets are evaluated one by one, except with unseen-device. Nothing is stored and no store is needed.

Examples:
  pairsight evaluate --dataset ./my-measurements --split random
  pairsight evaluate --dataset ./my-measurements --split unseen-model --few-shot 4 --plot few-shot.svg
  pairsight evaluate --dataset ./new-gpu --dataset ./old-gpu --split unseen-device --format json";

/// Measure how well predictions hold on co-runs that were not learnt from.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct EvaluateArgs {
    /// Dataset folder; may be given several times.
    #[arg(long, value_name = "DIR", required = true)]
    dataset: Vec<PathBuf>,
    /// What each fold leaves out of training.
    #[arg(long, value_name = "SPLIT", value_parser = split_parser())]
    split: Split,
    /// Give K co-runs of what a fold leaves out, chosen by `suggest`; half of its configurations are tested.
    #[arg(long, value_name = "K", conflicts_with = "few_shot_random")]
    few_shot: Option<usize>,
    /// The same, chosen by chance: the mean of 10 draws.
    #[arg(long, value_name = "K")]
    few_shot_random: Option<usize>,
    /// Only co-runs of which both workloads have at least this batch size.
    #[arg(long, value_name = "B")]
    min_batch: Option<u32>,
    /// Seed of folds, halves, draws and fits.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Draw the result into this SVG file; with few samples, also a curve over their number.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    files: DeviceFiles,
    #[command(flatten)]
    format: FormatArg,
}

fn split_parser() -> impl TypedValueParser<Value = Split> {
    PossibleValuesParser::new(Split::VARIANTS).try_map(|name| name.parse::<Split>())
}

impl EvaluateArgs {
    fn options(&self) -> Options {
        let shots = |count: Option<usize>, chooser| count.map(|count| FewShot { count, chooser });
        Options {
            split: self.split,
            few_shot: shots(self.few_shot, Chooser::Suggest).or(shots(self.few_shot_random, Chooser::Random)),
            curve: self.plot.is_some(),
            min_batch: self.min_batch,
            seed: self.seed,
        }
    }
}

/// What is printed for several sets.
#[derive(Debug, Serialize)]
struct Results<'r> {
    results: &'r [Evaluation],
}

/// Runs the verb.
pub(super) fn run(args: &EvaluateArgs) -> anyhow::Result<()> {
    let results = tokio::task::block_in_place(|| evaluations(args))?;
    for (result, warning) in results.iter().flat_map(|result| result.warnings.iter().map(move |warning| (result, warning))) {
        note(format_args!("note: {}: {}", printable(&result.dataset), printable(warning)));
    }
    if let Some(file) = &args.plot {
        std::fs::write(file, plot::svg(&results)?).with_context(|| file.display().to_string())?;
    }
    match results.as_slice() {
        [one] => args.format.print(one, || table::text(one)),
        several => args
            .format
            .print(&Results { results: several }, || several.iter().map(table::text).collect::<Vec<_>>().join("\n\n\n")),
    }
}

fn evaluations(args: &EvaluateArgs) -> anyhow::Result<Vec<Evaluation>> {
    let read = datasets::read(&args.dataset, &args.files)?;
    let sets: Vec<EvaluationSet<'_>> = read.iter().map(set).collect();
    let together = if args.split == Split::UnseenDevice { sets.len() } else { 1 };
    sets.chunks(together).map(|sets| timed(sets, &args.options())).collect()
}

fn timed(sets: &[EvaluationSet<'_>], options: &Options) -> anyhow::Result<Evaluation> {
    let began = Instant::now();
    let bar = bar();
    let result = evaluate(sets, options, &|done, folds| {
        bar.set_length(folds as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let evaluation = result.map_err(|error| match error {
        EvaluateError::PoolTooSmall { .. } | EvaluateError::NoFewShot(_) | EvaluateError::SetCount => {
            anyhow::Error::from(Misuse(error.to_string()))
        }
        EvaluateError::SplitEmpty { .. } | EvaluateError::SharingModes { .. } => error.into(),
    })?;
    Ok(Evaluation { wall_s: began.elapsed().as_secs_f64(), ..evaluation })
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let template = "folds {wide_bar} {pos}/{len} {eta}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn set(dataset: &Dataset) -> EvaluationSet<'_> {
    EvaluationSet {
        name: &dataset.name,
        device: &dataset.batch.device,
        sharing_mode: dataset.sharing_mode,
        signatures: &dataset.batch.signatures,
        solo_latencies: &dataset.batch.solo_latencies,
        pair_samples: &dataset.batch.pair_samples,
        batch_sizes: &dataset.batch_sizes,
    }
}
