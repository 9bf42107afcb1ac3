//! `suggest`: which co-runs of a workload to measure next.

use std::{collections::HashMap, sync::Arc};

use clap::Args;
use serde::Serialize;

use super::{
    devices::DeviceFiles,
    failure::Advice,
    fit::{Data, DataArgs},
    nearest::did_you_mean,
    output::FormatArg,
    table::{printable, table},
};
use crate::{
    interference::{CoRun, Suggestion, WorkloadProfile, suggest},
    proto,
    server::suggestions::unmeasured_coruns,
};

const EXAMPLES: &str = "\
A predictor is fitted to the co-runs of the sets. The candidates are the co-runs of the workload with every other one that has a
signature there, at shares that have one, but for those that were measured. The first suggestion is the one that tells most about
all of them; each further one is worth most once those before it are measured.

Examples:
  pairsight suggest --dataset ./my-measurements --workload resnet50/b16
  pairsight suggest --dataset ./my-measurements --workload resnet50/b16 --count 8 --format json";

/// Name the co-runs of a workload that are worth measuring next.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SuggestArgs {
    #[command(flatten)]
    data: DataArgs,
    /// The workload about which something is to be learnt.
    #[arg(long, value_name = "WORKLOAD")]
    workload: String,
    /// Most co-runs to name.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
    #[command(flatten)]
    files: DeviceFiles,
    #[command(flatten)]
    format: FormatArg,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Suggested {
    workload: String,
    device: String,
    sharing_mode: &'static str,
    /// Of the fit that the expected errors are of.
    predictor_version: String,
    /// Co-runs that were chosen from.
    candidates: usize,
    suggestions: Vec<SuggestedCoRun>,
}

#[derive(Debug, Serialize)]
struct SuggestedCoRun {
    workloads: [String; 2],
    sm_shares: [f64; 2],
    expected_error_before_pct: f64,
    expected_error_after_pct: f64,
}

impl SuggestedCoRun {
    fn new(corun: &CoRun, suggestion: &Suggestion) -> Self {
        Self {
            workloads: corun.workloads.clone().map(|workload| workload.to_string()),
            sm_shares: corun.sm_shares.map(|share| share.get()),
            expected_error_before_pct: suggestion.expected_error_before_pct,
            expected_error_after_pct: suggestion.expected_error_after_pct,
        }
    }
}

/// Runs the verb.
pub(super) fn run(args: &SuggestArgs) -> anyhow::Result<()> {
    let suggested = tokio::task::block_in_place(|| suggested(args))?;
    args.format.print(&suggested, || text(&suggested))
}

fn suggested(args: &SuggestArgs) -> anyhow::Result<Suggested> {
    let data = Data::read(&args.data, &args.files)?;
    let workload = known(&data.profiles, &args.workload)?;
    let predictor = data.fit(0)?;
    let candidates = unmeasured_coruns(&data.profiles, &workload, data.sharing_mode, &data.samples);
    let count = usize::try_from(args.count).unwrap_or(usize::MAX);
    let suggestions = suggest(&predictor, &data.device, &data.profiles, &candidates, &candidates, count);
    Ok(Suggested {
        workload: workload.to_string(),
        device: data.device.device_id.to_string(),
        sharing_mode: proto::SharingMode::from(data.sharing_mode).as_str_name(),
        predictor_version: predictor.version,
        candidates: candidates.len(),
        suggestions: suggestions.iter().map(|s| SuggestedCoRun::new(&candidates[s.candidate], s)).collect(),
    })
}

/// The workload's name as the sets have it, with a signature.
fn known(profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>>, workload: &str) -> anyhow::Result<Arc<str>> {
    let signed: HashMap<&str, &Arc<str>> =
        profiles.values().filter(|p| !p.shares.is_empty()).map(|p| (p.workload.as_ref(), &p.workload)).collect();
    signed.get(workload).map(|name| Arc::clone(name)).ok_or_else(|| {
        let mut names: Vec<&str> = signed.keys().copied().collect();
        names.sort_unstable();
        let hint = did_you_mean(workload, names, "head signature.csv");
        Advice::new(format!("workload {workload:?} has no signature in the datasets"), hint).into()
    })
}

fn text(suggested: &Suggested) -> String {
    let mode = suggested.sharing_mode.trim_start_matches("SHARING_MODE_");
    let (workload, device) = (printable(&suggested.workload), printable(&suggested.device));
    if suggested.suggestions.is_empty() {
        return format!("No co-run of {workload} on {device}, {mode}, is left to be measured.");
    }
    let rows = suggested.suggestions.iter().enumerate().map(|(i, corun)| {
        let side = |i: usize| format!("{}@{}", corun.workloads[i], corun.sm_shares[i]);
        [
            (i + 1).to_string(),
            side(0),
            side(1),
            format!("{:.2}%", corun.expected_error_before_pct),
            format!("{:.2}%", corun.expected_error_after_pct),
        ]
    });
    let header = ["", "run", "beside", "expected error before", "after"];
    format!(
        "To learn most about {workload} on {device}, {mode}, measure next (of {} co-runs):\n\n{}",
        suggested.candidates,
        table(header, rows)
    )
}
