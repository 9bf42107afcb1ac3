//! `fit`: a predictor from dataset folders.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;

use super::{
    context::Context,
    datasets,
    devices::DeviceFiles,
    failure::{Advice, Misuse},
    findings,
    output::{FormatArg, note},
    predictor::{Rivals, terms},
};
use crate::{
    domain::{Device, PairSample, Provenance, SharingMode, Signature, SoloLatency, family_of},
    ingest::dataset::Dataset,
    interference::{
        self, Artefact, FitInput, OperatorRow, Predictor, Source, Term, WorkloadProfile,
        quality::{self, Finding},
    },
    proto,
    store::{Catalog, Store},
};

const EXAMPLES: &str = "\
The sets must be of one device and one sharing mode. Simulated sets are not mixed with others unless asked. Without --publish nothing
is stored; with it the predictor is stored and answers from then on (`pairsight predictor rollback` goes back).

Examples:
  pairsight fit --dataset ./my-measurements
  pairsight import dataset ./my-measurements && pairsight fit --dataset ./my-measurements --publish
  pairsight fit --dataset ./campaign-1 --dataset ./campaign-2 --seed 7 --format json";

/// Fit a predictor to the co-runs of datasets.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct FitArgs {
    #[command(flatten)]
    data: DataArgs,
    /// Store the predictor and make it the one that answers.
    #[arg(long)]
    publish: bool,
    /// Write the predictor's artefact, one line of JSON, to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seed of the folds on which the held-out error is taken.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    files: DeviceFiles,
    #[command(flatten)]
    format: FormatArg,
}

/// The sets that a predictor is fitted to.
#[derive(Debug, Args)]
pub(super) struct DataArgs {
    /// Dataset folder; may be given several times.
    #[arg(long, value_name = "DIR", required = true)]
    dataset: Vec<PathBuf>,
    /// Fit simulated and other sets together.
    #[arg(long)]
    allow_mixed_provenance: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Fitted {
    predictor_version: String,
    device: String,
    sharing_mode: &'static str,
    provenance: &'static str,
    seed: u64,
    samples: usize,
    left_out: usize,
    kept_out: usize,
    unseen_mean_error_pct: Option<f64>,
    held_out_mean_error_pct: f64,
    terms: Vec<FittedTerm>,
    /// Co-runs that contradict each other or cannot be believed.
    findings: Vec<FittedFinding>,
    published: bool,
    catalog_version: Option<i64>,
}

#[derive(Debug, Serialize)]
struct FittedTerm {
    term: String,
    channel: &'static str,
    coefficient: f64,
}

#[derive(Debug, Serialize)]
struct FittedFinding {
    dataset: String,
    line: u64,
    #[serde(flatten)]
    finding: Finding,
}

impl From<&Term> for FittedTerm {
    fn from(term: &Term) -> Self {
        let channel = proto::Channel::from(term.channel).as_str_name();
        Self { term: term.term.clone(), channel, coefficient: term.coefficient }
    }
}

/// Runs the verb.
pub(super) async fn run(args: FitArgs, context: &Context) -> anyhow::Result<()> {
    let (predictor, findings) = tokio::task::block_in_place(|| fit(&args))?;
    let catalog_version = if args.publish { Some(publish(&predictor, &args, context).await?) } else { None };
    if let Some(file) = &args.out {
        std::fs::write(file, format!("{}\n", predictor.to_json())).with_context(|| file.display().to_string())?;
    }
    let Some(artefact) = &predictor.artefact else { return Err(anyhow::anyhow!("the fit has no artefact")) };
    let fitted = Fitted {
        predictor_version: predictor.version.clone(),
        device: artefact.device.to_string(),
        sharing_mode: proto::SharingMode::from(artefact.sharing_mode).as_str_name(),
        provenance: proto::Provenance::from(artefact.fit.provenance).as_str_name(),
        seed: artefact.fit.seed,
        samples: artefact.fit.samples,
        left_out: artefact.fit.left_out,
        kept_out: artefact.fit.kept_out,
        unseen_mean_error_pct: artefact.fit.unseen_mean_error_pct,
        held_out_mean_error_pct: artefact.fit.held_out_mean_error_pct,
        terms: artefact.terms.iter().map(FittedTerm::from).collect(),
        findings,
        published: args.publish,
        catalog_version,
    };
    args.format.print(&fitted, || text(&fitted, artefact))
}

fn fit(args: &FitArgs) -> anyhow::Result<(Predictor, Vec<FittedFinding>)> {
    let data = Data::read(&args.data, &args.files)?;
    let findings = data.findings();
    let places = findings.iter().map(|row| (format!("{}/pair.csv, line {}", row.dataset, row.line), &row.finding));
    for line in findings::lines(&places.collect::<Vec<_>>()) {
        note(format_args!("note: {line}"));
    }
    Ok((data.fit(args.seed)?, findings))
}

/// What the sets hold together.
pub(super) struct Data {
    /// The device of all of them, with the newest of its ceilings.
    pub(super) device: Device,
    /// The mode of all of them.
    pub(super) sharing_mode: SharingMode,
    /// The workloads with a signature or a latency.
    pub(super) profiles: HashMap<Arc<str>, Arc<WorkloadProfile>>,
    /// The co-runs of all of them.
    pub(super) samples: Vec<PairSample>,
    /// Set and line of each co-run.
    places: Vec<(String, u64)>,
}

impl Data {
    /// Reads the sets and checks that they fit together.
    pub(super) fn read(args: &DataArgs, files: &DeviceFiles) -> anyhow::Result<Self> {
        let sets = datasets::read(&args.dataset, files)?;
        let Some(first) = sets.first() else { return Err(Misuse("name a set with --dataset".to_owned()).into()) };
        check_together(first, &sets, args.allow_mixed_provenance)?;
        let mut later = sets[1..].iter().map(|set| &set.batch.device);
        let device = later.try_fold(first.batch.device.clone(), |device, newer| newer.merged_with(&device))?;
        Ok(Self {
            sharing_mode: first.sharing_mode,
            profiles: profiles(&device, &sets),
            samples: samples(&sets)?,
            places: sets.iter().flat_map(|set| set.pair_lines.iter().map(|line| (set.name.clone(), *line))).collect(),
            device,
        })
    }

    /// Fits a predictor to all of it.
    pub(super) fn fit(&self, seed: u64) -> anyhow::Result<Predictor> {
        let sources = [Source { device: &self.device, profiles: &self.profiles, samples: &self.samples }];
        let input = FitInput { device: &self.device, sharing_mode: self.sharing_mode, sources: &sources, seed };
        Ok(Predictor::new(&interference::fit(&input)?)?)
    }

    fn findings(&self) -> Vec<FittedFinding> {
        let found = quality::examine(&self.samples).into_iter().map(|finding| {
            let (dataset, line) = self.places[finding.sample].clone();
            FittedFinding { dataset, line, finding }
        });
        found.collect()
    }
}

fn check_together(first: &Dataset, sets: &[Dataset], mixed_allowed: bool) -> Result<(), Advice> {
    let one_fit = "a predictor is fitted for one device and sharing mode; fit the sets one by one";
    let simulated = |set: &Dataset| set.batch.pair_samples.iter().any(|sample| sample.provenance == Provenance::Simulated);
    for set in sets {
        let [ours, theirs] = [&first.batch.device.device_id, &set.batch.device.device_id];
        if ours != theirs {
            return Err(Advice::new(format!("{} is of {ours}, {} of {theirs}", first.name, set.name), one_fit));
        }
        let [ours, theirs] = [first.sharing_mode, set.sharing_mode];
        if ours != theirs {
            return Err(Advice::new(format!("{} was shared by {ours}, {} by {theirs}", first.name, set.name), one_fit));
        }
        if simulated(first) != simulated(set) && !mixed_allowed {
            let message = format!("of {} and {}, one is simulated and the other is not", first.name, set.name);
            return Err(Advice::new(message, "--allow-mixed-provenance fits them together all the same"));
        }
    }
    Ok(())
}

/// The co-runs of all sets.
fn samples(sets: &[Dataset]) -> anyhow::Result<Vec<PairSample>> {
    let samples: Vec<_> = sets.iter().flat_map(|set| set.batch.pair_samples.iter().cloned()).collect();
    if samples.is_empty() {
        let hint = "a predictor is fitted to co-runs: pair.csv must have rows";
        return Err(Advice::new("the datasets have no co-run", hint).into());
    }
    Ok(samples)
}

/// Profiles from the sets' own signatures. Of a workload and share that stand in several sets the last one counts, as on import.
fn profiles(device: &Device, sets: &[Dataset]) -> HashMap<Arc<str>, Arc<WorkloadProfile>> {
    let mut workloads: BTreeMap<Arc<str>, Parts> = BTreeMap::new();
    for set in sets {
        let mut of_set: BTreeMap<Arc<str>, Parts> = BTreeMap::new();
        for signature in &set.batch.signatures {
            of_set.entry(signature.workload.clone()).or_default().signatures.push(signature);
        }
        for solo in &set.batch.solo_latencies {
            of_set.entry(solo.workload.clone()).or_default().solo.push(solo.clone());
        }
        for (workload, parts) in of_set {
            workloads.entry(workload).or_default().replace_with(parts);
        }
    }
    workloads.into_iter().map(|(workload, parts)| (workload.clone(), Arc::new(parts.profile(device, workload)))).collect()
}

/// What the sets hold of one workload.
#[derive(Default)]
struct Parts<'d> {
    signatures: Vec<&'d Signature>,
    solo: Vec<SoloLatency>,
}

impl Parts<'_> {
    fn profile(self, device: &Device, workload: Arc<str>) -> WorkloadProfile {
        let family = self.signatures.iter().find_map(|signature| signature.family.clone());
        let family = family.unwrap_or_else(|| family_of(&workload).into());
        let rows = self.signatures.into_iter().map(OperatorRow::from).collect();
        WorkloadProfile::build(device, workload, family, rows, self.solo, 0)
    }
}

impl<'d> Parts<'d> {
    fn replace_with(&mut self, newer: Parts<'d>) {
        self.signatures.retain(|old| newer.signatures.iter().all(|new| new.sm_share != old.sm_share));
        self.solo.retain(|old| newer.solo.iter().all(|new| new.sm_share != old.sm_share));
        self.signatures.extend(newer.signatures);
        self.solo.extend(newer.solo);
    }
}

/// Stores the predictor and makes it answer. Its device has to be there: a predictor of nothing would never be asked.
async fn publish(predictor: &Predictor, args: &FitArgs, context: &Context) -> anyhow::Result<i64> {
    let store = context.store().await?;
    let device = predictor.artefact.as_ref().map(|artefact| &artefact.device);
    let published = match (store.load_catalog(None).await, device) {
        (Ok(catalog), Some(device)) if !catalog.devices.contains_key(device) => {
            let dir = args.data.dataset.first().map(|dir| dir.display().to_string()).unwrap_or_default();
            let hint = format!("`pairsight import dataset {dir}` brings it there");
            Err(Advice::new(format!("device {device} is not in the store, so nothing was published"), hint).into())
        }
        (Ok(catalog), _) => {
            warn_if_worse(store.as_ref(), &catalog, predictor).await;
            store.publish_predictor(predictor, true).await.map_err(anyhow::Error::from)
        }
        (Err(error), _) => Err(error.into()),
    };
    store.close().await;
    published
}

/// A fit that was asked for is published all the same: it may know devices, ceilings or workloads that the active one does not.
async fn warn_if_worse(store: &dyn Store, catalog: &Catalog, predictor: &Predictor) {
    if let Ok(Some(rivals)) = Rivals::of(store, catalog, predictor).await
        && rivals.worse()
    {
        note(format_args!("note: {rivals}; `pairsight predictor rollback` goes back to it"));
    }
}

fn text(fitted: &Fitted, artefact: &Artefact) -> String {
    let published = match fitted.catalog_version {
        Some(version) => format!("Published: it answers from catalog version {version} on."),
        None => "Not stored; --publish stores it and makes it the one that answers.".to_owned(),
    };
    let left_out =
        if fitted.left_out > 0 { format!(" ({} left out for want of a signature)", fitted.left_out) } else { String::new() };
    let kept_out = if fitted.kept_out > 0 { format!(" ({} kept out)", fitted.kept_out) } else { String::new() };
    let unseen = fitted.unseen_mean_error_pct.map(|error| format!(", {error:.2}% on models left out")).unwrap_or_default();
    format!(
        "Predictor {} for {}, {}\nfitted on {} timed directions{left_out}{kept_out}, {}\nmean error {:.2}% on configurations left out{unseen}\n\n{}\n\n{published}",
        fitted.predictor_version,
        fitted.device,
        fitted.sharing_mode.trim_start_matches("SHARING_MODE_"),
        fitted.samples,
        artefact.fit.provenance,
        fitted.held_out_mean_error_pct,
        terms(&artefact.terms),
    )
}
