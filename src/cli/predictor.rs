//! `predictor`: the fitted models and which of them answers.

mod compare;
mod diff;

use std::fmt::Write;

use clap::{Args, Subcommand};
pub(super) use compare::Rivals;

use super::{
    context::Context,
    failure::Advice,
    nearest::did_you_mean,
    output::{FormatArg, note},
    share_arg::parse_mode,
    table::{printable, table},
    words,
};
use crate::{
    domain::{DeviceId, SharingMode},
    interference::{Artefact, Predictor, Term},
    proto::{self, ListPredictorsResponse},
    server::wire::predictor_to_wire,
    store::{Catalog, PredictorInfo, Store},
};

const EXAMPLES: &str = "\
Examples:
  pairsight predictor list
  pairsight predictor show 3f2a9c0d11e4b7a8
  pairsight predictor activate 3f2a9c0d11e4b7a8
  pairsight predictor diff 3f2a9c0d11e4b7a8 81b0c7d2
  pairsight predictor rollback --device nvidia-h200";

const LIST_EXAMPLES: &str = "\
Examples:
  pairsight predictor list
  pairsight predictor list --device nvidia-h200 --format json";

const SHOW_EXAMPLES: &str = "\
Examples:
  pairsight predictor show 3f2a9c0d11e4b7a8
  pairsight predictor show 3f2a9c0d11e4b7a8 --format json";

const DIFF_EXAMPLES: &str = "\
A coefficient of 0 is that of a term which the predictor does without.

Examples:
  pairsight predictor diff 3f2a9c0d11e4b7a8 81b0c7d2
  pairsight predictor diff 3f2a9c0d 81b0c7d2 --format json";

const ACTIVATE_EXAMPLES: &str = "\
A running daemon answers with it within two seconds.

A predictor that is worse than the one that answers is refused unless --force says otherwise. Of two that were fitted to the same data
the errors on configurations left out are compared; of others the mean errors on all co-runs of their device and mode in the
store. Worse is an error larger by more than a tenth and by more than 0.1 percentage points. Where there is nothing to compare on, a
note says so.

Examples:
  pairsight predictor activate 3f2a9c0d11e4b7a8
  pairsight predictor activate 3f2a9c0d11e4b7a8 --force";

const ROLLBACK_EXAMPLES: &str = "\
Makes the predictor that was active before the present one answer again.

Examples:
  pairsight predictor rollback --device nvidia-h200
  pairsight predictor rollback --device nvidia-h200 --sharing-mode MPS_LIMIT";

/// List the fitted predictors, show one, say which answers.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictorArgs {
    #[command(subcommand)]
    command: PredictorCommand,
}

#[derive(Debug, Subcommand)]
enum PredictorCommand {
    /// List predictors, newest first.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Only those of this device.
        #[arg(long, value_name = "ID")]
        device: Option<String>,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Show one predictor with its terms.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// Version, as answers and `predictor list` name it, or its first digits.
        // Not `version`: clap keeps that name for --version.
        #[arg(value_name = "VERSION")]
        predictor: String,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Compare the terms and errors of two.
    #[command(after_help = DIFF_EXAMPLES)]
    Diff {
        /// Version of the first, or its first digits.
        #[arg(value_name = "A")]
        a: String,
        /// Version of the second.
        #[arg(value_name = "B")]
        b: String,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Make a stored predictor the one that answers for its device and mode.
    #[command(after_help = ACTIVATE_EXAMPLES)]
    Activate {
        /// Version, or its first digits.
        #[arg(value_name = "VERSION")]
        predictor: String,
        /// Also one that is worse than the one that answers.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Go back to the predictor before.
    #[command(after_help = ROLLBACK_EXAMPLES)]
    Rollback {
        /// The device.
        #[arg(long, value_name = "ID")]
        device: String,
        /// The sharing mode [default: the only one of the device that has an active predictor].
        #[arg(long, value_name = "MODE", value_parser = parse_mode)]
        sharing_mode: Option<SharingMode>,
        #[command(flatten)]
        format: FormatArg,
    },
}

/// Runs the verb.
pub(super) async fn run(args: PredictorArgs, context: &Context) -> anyhow::Result<()> {
    let store = context.store().await?;
    let result = on(store.as_ref(), args.command).await;
    store.close().await;
    result
}

async fn on(store: &dyn Store, command: PredictorCommand) -> anyhow::Result<()> {
    let catalog = store.load_catalog(None).await?;
    match command {
        PredictorCommand::List { device, format } => {
            let of_device = |info: &&PredictorInfo| device.as_ref().is_none_or(|device| info.device.as_str() == device);
            let predictors =
                catalog.predictors.iter().filter(of_device).map(|info| predictor_to_wire(info, None, false)).collect();
            let answer = ListPredictorsResponse { predictors, next_page_token: String::new() };
            format.print_message(&answer, || list(&answer.predictors))
        }
        PredictorCommand::Show { predictor, format } => {
            let info = find(&catalog, &predictor)?;
            let stored = Predictor::from_json(&store.predictor_artefact(&info.version).await?)?;
            let predictor = predictor_to_wire(info, Some(&stored), true);
            format.print_message(&predictor, || show(&predictor, stored.artefact.as_ref()))
        }
        PredictorCommand::Diff { a, b, format } => {
            let diff = diff::diff(store, &catalog, [&a, &b]).await?;
            format.print(&diff, || diff::text(&diff))
        }
        PredictorCommand::Activate { predictor, force, format } => {
            let info = find(&catalog, &predictor)?;
            if !force {
                check_not_worse(store, &catalog, info).await?;
            }
            let catalog_version = store.activate_predictor(&info.version).await?;
            changed(format, &info.version, &info.device, info.sharing_mode, catalog_version)
        }
        PredictorCommand::Rollback { device, sharing_mode, format } => {
            let (device, mode) = rolled_back(&catalog, &device, sharing_mode)?;
            let catalog_version = store.roll_back_predictor(&device, mode).await?;
            let catalog = store.load_catalog(Some(&catalog)).await?;
            let mut active = catalog.predictors.iter().filter(|info| info.active);
            let now = active.find(|info| info.device == device && info.sharing_mode == mode);
            let now = now.map_or("generic-1", |info| &info.version);
            changed(format, now, &device, mode, catalog_version)
        }
    }
}

/// Refuses a predictor that is worse than the one that answers, as far as the two can be compared.
async fn check_not_worse(store: &dyn Store, catalog: &Catalog, info: &PredictorInfo) -> anyhow::Result<()> {
    let candidate = Predictor::from_json(&store.predictor_artefact(&info.version).await?);
    let candidate = candidate.map_err(|error| Advice::new(error.to_string(), "--force activates it all the same"))?;
    let answering = catalog.active.get(&(info.device.clone(), info.sharing_mode));
    match Rivals::of(store, catalog, &candidate).await? {
        Some(rivals) if rivals.worse() => {
            let hint = "--force activates it all the same; the present one goes on answering";
            return Err(Advice::new(rivals.to_string(), hint).into());
        }
        Some(_) => {}
        None if answering.is_none_or(|answering| answering.version == info.version) => {}
        None => note("note: the store has no co-run on which the two predictors could be compared"),
    }
    Ok(())
}

fn changed(format: FormatArg, version: &str, device: &DeviceId, mode: SharingMode, catalog_version: i64) -> anyhow::Result<()> {
    let answer = serde_json::json!({
        "predictor_version": version,
        "device": device.as_str(),
        "sharing_mode": proto::SharingMode::from(mode).as_str_name(),
        "catalog_version": catalog_version,
    });
    format.print(&answer, || {
        format!("Predictor {version} answers for {device}, {mode}, from catalog version {catalog_version} on.")
    })
}

/// The predictor whose version is `version` or begins with it.
fn find<'c>(catalog: &'c Catalog, version: &str) -> anyhow::Result<&'c PredictorInfo> {
    let exact = catalog.predictors.iter().find(|info| info.version == version);
    let mut abbreviated = catalog.predictors.iter().filter(|info| version.len() >= 4 && info.version.starts_with(version));
    let only = match (abbreviated.next(), abbreviated.next()) {
        (Some(info), None) => Some(info),
        _ => None,
    };
    exact.or(only).ok_or_else(|| {
        let hint = did_you_mean(version, catalog.predictors.iter().map(|info| info.version.as_str()), "pairsight predictor list");
        Advice::new(format!("predictor {version:?} is not in the catalog"), hint).into()
    })
}

fn rolled_back(catalog: &Catalog, device: &str, mode: Option<SharingMode>) -> anyhow::Result<(DeviceId, SharingMode)> {
    // Not `catalog.active`: it lacks those that this build cannot read, from which one wants to go back most of all.
    let active = catalog.predictors.iter().filter(|info| info.active && info.device.as_str() == device);
    let active: Vec<_> = active.filter(|info| mode.is_none_or(|mode| mode == info.sharing_mode)).collect();
    match active.as_slice() {
        [only] => Ok((only.device.clone(), only.sharing_mode)),
        [] => {
            Err(Advice::new(format!("no predictor is active for device {device:?}"), "`pairsight predictor list` lists all")
                .into())
        }
        _ => Err(super::failure::Misuse(format!(
            "device {device} has active predictors for several modes: name one with --sharing-mode"
        ))
        .into()),
    }
}

fn list(predictors: &[proto::Predictor]) -> String {
    if predictors.is_empty() {
        return "No fitted predictor; the generic one from first principles answers.".to_owned();
    }
    let header = ["version", "device", "mode", "active", "samples", "data", "held-out error"];
    table(
        header,
        predictors.iter().map(|predictor| {
            [
                predictor.predictor_version.clone(),
                predictor.device.clone(),
                predictor.sharing_mode().as_str_name().trim_start_matches("SHARING_MODE_").to_owned(),
                if predictor.active { "yes" } else { "no" }.to_owned(),
                predictor.samples.to_string(),
                words::provenance(predictor.provenance()).to_owned(),
                format!("{:.2}%", predictor.held_out_mean_error_pct),
            ]
        }),
    )
}

fn show(predictor: &proto::Predictor, artefact: Option<&Artefact>) -> String {
    let mode = predictor.sharing_mode().as_str_name().trim_start_matches("SHARING_MODE_");
    let mut text = format!(
        "Predictor {} for {}, {mode}{}\nfitted on {} timed directions, {}; held-out error {:.2}%",
        predictor.predictor_version,
        printable(&predictor.device),
        if predictor.active { ", active" } else { "" },
        predictor.samples,
        words::provenance(predictor.provenance()),
        predictor.held_out_mean_error_pct,
    );
    if let Some(artefact) = artefact {
        let fit = &artefact.fit;
        if let Some(unseen) = fit.unseen_mean_error_pct {
            let _ = write!(text, ", {unseen:.2}% on models left out");
        }
        let _ = write!(text, ", seed {}", fit.seed);
        let _ = write!(text, "\n\n{}", terms(&artefact.terms));
    }
    text
}

/// The terms that take part, by size.
pub(super) fn terms<'t>(terms: impl IntoIterator<Item = &'t Term>) -> String {
    let mut terms: Vec<_> = terms.into_iter().filter(|term| term.coefficient > 0.0).collect();
    terms.sort_by(|a, b| b.coefficient.total_cmp(&a.coefficient));
    table(
        ["term", "channel", "coefficient"],
        terms.into_iter().map(|term| {
            [term.term.clone(), words::channel(term.channel.into()).to_owned(), words::significant(term.coefficient)]
        }),
    )
}
