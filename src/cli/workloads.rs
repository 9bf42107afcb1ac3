//! `workloads`: what is known of the workloads on each device.

use clap::{Args, Subcommand};

use super::{
    context::Context,
    failure::Advice,
    nearest::did_you_mean,
    output::FormatArg,
    table::{printable, table},
    words,
};
use crate::{
    domain::DeviceId,
    proto::{ListWorkloadsResponse, Workload},
    server::wire::workload_to_wire,
    store::Catalog,
};

const EXAMPLES: &str = "\
Examples:
  pairsight workloads list
  pairsight workloads show decode_a --device sim-qv100-eighth
  pairsight workloads delete resnet50/b16 --device nvidia-h200";

const LIST_EXAMPLES: &str = "\
Examples:
  pairsight workloads list
  pairsight workloads list --device sim-qv100-eighth --filter decode
  pairsight workloads list --format json";

const SHOW_EXAMPLES: &str = "\
Examples:
  pairsight workloads show decode_a --device sim-qv100-eighth
  pairsight workloads show decode_a --device sim-qv100-eighth --format json";

const DELETE_EXAMPLES: &str = "\
Deletes the workload's signatures, latencies, trace and co-runs on that device. Predictors fitted from them stay.

Examples:
  pairsight workloads delete resnet50/b16 --device nvidia-h200";

/// List the workloads of the catalog, show one, delete one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WorkloadsArgs {
    #[command(subcommand)]
    command: WorkloadsCommand,
}

#[derive(Debug, Subcommand)]
enum WorkloadsCommand {
    /// List workloads.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Only those on this device.
        #[arg(long, value_name = "ID")]
        device: Option<String>,
        /// Only those whose name contains this.
        #[arg(long, value_name = "TEXT", default_value = "")]
        filter: String,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Show one workload.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Delete one workload on a device.
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        format: FormatArg,
    },
}

#[derive(Debug, Args)]
struct Which {
    /// Name of the workload.
    workload: String,
    /// Device of its signatures.
    #[arg(long, value_name = "ID")]
    device: String,
}

/// Runs the verb.
pub(super) async fn run(args: WorkloadsArgs, context: &Context) -> anyhow::Result<()> {
    match args.command {
        WorkloadsCommand::List { device, filter, format } => {
            let workloads = matching(&context.catalog(&[]).await?, device.as_deref(), &filter)?;
            let answer = ListWorkloadsResponse { workloads, next_page_token: String::new() };
            format.print_message(&answer, || list(&answer.workloads))
        }
        WorkloadsCommand::Show { which, format } => {
            let workload = find(&context.catalog(&[]).await?, &which)?;
            format.print_message(&workload, || show(&workload))
        }
        WorkloadsCommand::Delete { which, format } => delete(&which, format, context).await,
    }
}

async fn delete(which: &Which, format: FormatArg, context: &Context) -> anyhow::Result<()> {
    let store = context.store().await?;
    let found = store.load_catalog(None).await.map_err(anyhow::Error::from).and_then(|catalog| find(&catalog, which));
    let deleted = match found {
        Ok(_) => {
            let device = DeviceId::new("device", which.device.as_str())?;
            store.delete_workload(&device, &which.workload).await.map_err(anyhow::Error::from)
        }
        Err(error) => Err(error),
    };
    store.close().await;
    let version = deleted?;
    let answer = serde_json::json!({ "device": which.device, "workload": which.workload, "catalog_version": version });
    format.print(&answer, || {
        let workload = printable(&which.workload);
        format!("Deleted {workload} on {}; gone from catalog version {version} on.", which.device)
    })
}

fn matching(catalog: &Catalog, device: Option<&str>, filter: &str) -> anyhow::Result<Vec<Workload>> {
    if let Some(device) = device {
        known_device(catalog, device)?;
    }
    let of_device = catalog.workloads.iter().filter(|(id, _)| device.is_none_or(|device| id.as_str() == device));
    let all = of_device.flat_map(|(id, workloads)| workloads.values().map(move |workload| (id, workload)));
    Ok(all.filter(|(_, w)| w.workload.contains(filter)).map(|(id, w)| workload_to_wire(id, w)).collect())
}

fn known_device(catalog: &Catalog, device: &str) -> anyhow::Result<DeviceId> {
    let ids: Vec<&DeviceId> = catalog.devices.keys().chain(catalog.workloads.keys()).collect();
    ids.iter().find(|id| id.as_str() == device).map(|id| (*id).clone()).ok_or_else(|| {
        let hint = did_you_mean(device, ids.iter().map(|id| id.as_str()), "pairsight devices list");
        Advice::new(format!("device {device:?} is not in the catalog"), hint).into()
    })
}

fn find(catalog: &Catalog, which: &Which) -> anyhow::Result<Workload> {
    let device = known_device(catalog, &which.device)?;
    let workloads = catalog.workloads.get(&device);
    workloads.and_then(|all| all.get(which.workload.as_str())).map(|profile| workload_to_wire(&device, profile)).ok_or_else(
        || {
            let names = workloads.into_iter().flat_map(|all| all.keys()).map(AsRef::as_ref);
            let hint = did_you_mean(&which.workload, names, &format!("pairsight workloads list --device {device}"));
            Advice::new(format!("workload {:?} is not in the catalog of device {device}", which.workload), hint).into()
        },
    )
}

fn list(workloads: &[Workload]) -> String {
    if workloads.is_empty() {
        return "No workload.".to_owned();
    }
    let header = ["workload", "device", "shares", "operators", "launches", "alone on the largest share", "from"];
    table(
        header,
        workloads.iter().map(|workload| {
            [
                workload.workload.clone(),
                workload.device.clone(),
                shares(&workload.sm_shares),
                workload.operators.to_string(),
                words::significant(workload.launches),
                workload.solo_latencies.last().map_or_else(|| "-".to_owned(), |solo| words::duration(solo.latency_us)),
                words::provenance(workload.provenance()).to_owned(),
            ]
        }),
    )
}

fn shares(shares: &[f64]) -> String {
    let shares: Vec<_> =
        shares.iter().map(|share| format!("{share:.4}").trim_end_matches('0').trim_end_matches('.').to_owned()).collect();
    if shares.is_empty() { "none".to_owned() } else { shares.join(" ") }
}

fn show(workload: &Workload) -> String {
    let missing = if workload.missing_counters.is_empty() { "none".to_owned() } else { workload.missing_counters.join(", ") };
    let rows = [
        ("workload", workload.workload.clone()),
        ("device", workload.device.clone()),
        ("family", workload.family.clone()),
        ("operators", format!("{}, {} launches an iteration", workload.operators, words::significant(workload.launches))),
        ("signatures at", shares(&workload.sm_shares)),
        ("come from", words::provenance(workload.provenance()).to_owned()),
        ("missing counters", missing),
        ("last changed", format!("catalog version {}", workload.catalog_version)),
    ];
    let mut text = rows.map(|(name, value)| format!("{name:<20}{}", printable(value))).join("\n");
    if !workload.solo_latencies.is_empty() {
        text.push_str("\n\n");
        let rows = workload.solo_latencies.iter().map(|solo| {
            let from = if solo.from_kernels { "sum of the kernels" } else { words::provenance(solo.provenance()) };
            [shares(&[solo.sm_share]), words::duration(solo.latency_us), from.to_owned()]
        });
        text.push_str(&table(["share", "alone", "from"], rows));
    }
    text
}
