//! `export matrix`: the slowdown of every workload beside every other, each on the same share.

use std::{collections::BTreeMap, path::PathBuf};

use clap::Args;
use serde::Serialize;

use crate::{
    cli::{
        context::Context,
        failure::{Advice, Refused},
        output::{FormatArg, note, print},
        share_arg::{ShareArg, parse_mode},
        table::{printable, shortened},
        words,
    },
    domain::SharingMode,
    interference::{Predictor, WorkloadProfile},
    proto::{self, PredictPairRequest, PredictPairView, tenant},
    server,
    store::Catalog,
};

const EXAMPLES: &str = "\
Row: the workload that is slowed down. Column: the one beside it. Workloads without a signature on the device are left out.

Examples:
  pairsight export matrix --device sim-qv100-eighth --sm-share 0.5
  pairsight export matrix --device sim-qv100-eighth --sm-share 5sm --csv > slowdown.csv
  pairsight export matrix --device nvidia-h200 --sm-share 30% --sharing-mode MPS_LIMIT --format json";

/// Print the slowdown of every workload beside every other, each on the same share.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MatrixArgs {
    /// The device.
    #[arg(long, value_name = "ID")]
    device: String,
    /// Share of each tenant: a fraction (0.5), per cent (50%) or a number of SMs (54sm).
    #[arg(long, value_name = "SHARE")]
    sm_share: ShareArg,
    /// How the two share the device [default: its only fitted mode, else `SM_PARTITION`].
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    sharing_mode: Option<SharingMode>,
    /// Print CSV instead: a row a victim, a column a partner.
    #[arg(long, conflicts_with = "format")]
    csv: bool,
    /// Read workloads of the device from the store, and the device itself from this TOML file if the store lacks it.
    #[arg(long, value_name = "FILE")]
    device_file: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

/// What is printed: `slowdown_ratio[victim][partner]`, in the order of `workloads`.
#[derive(Debug, Serialize)]
struct Matrix {
    device: String,
    sharing_mode: &'static str,
    sm_share: f64,
    predictor_version: String,
    catalog_version: i64,
    workloads: Vec<String>,
    slowdown_ratio: Vec<Vec<f64>>,
}

/// Runs the verb.
pub(super) async fn run(args: MatrixArgs, context: &Context) -> anyhow::Result<()> {
    let catalog = context.catalog(&args.device_file).await?;
    let matrix = tokio::task::block_in_place(|| matrix(&args, &catalog))?;
    if args.csv {
        return print(&csv(&matrix)?);
    }
    args.format.print(&matrix, || text(&matrix))
}

fn matrix(args: &MatrixArgs, catalog: &Catalog) -> anyhow::Result<Matrix> {
    let workloads = workloads(args, catalog)?;
    let n = workloads.len();
    let mut slowdown_ratio = vec![vec![1.0; n]; n];
    let mut last = None;
    for victim in 0..n {
        for partner in victim..n {
            let request = request(args, &workloads[victim], &workloads[partner]);
            let answer = server::predict_pair(catalog, Predictor::generic(), &request, PredictPairView::Full, false)
                .map_err(|error| Refused::from(tonic::Status::from(error)))?;
            if let [a, b] = answer.tenants.as_slice() {
                slowdown_ratio[partner][victim] = b.slowdown_ratio;
                slowdown_ratio[victim][partner] = a.slowdown_ratio;
            }
            last = Some(answer);
        }
    }
    let last = last.unwrap_or_default();
    Ok(Matrix {
        device: args.device.clone(),
        sharing_mode: last.sharing_mode().as_str_name(),
        sm_share: last.tenants.first().map_or(0.0, |tenant| tenant.sm_share),
        predictor_version: last.predictor_version,
        catalog_version: last.catalog_version,
        workloads,
        slowdown_ratio,
    })
}

/// The workloads that can be predicted, by name.
fn workloads(args: &MatrixArgs, catalog: &Catalog) -> anyhow::Result<Vec<String>> {
    let of_device = catalog.workloads.iter().find(|(id, _)| id.as_str() == args.device).map(|(_, workloads)| workloads);
    let (known, bare): (Vec<_>, Vec<_>) = of_device
        .into_iter()
        .flat_map(BTreeMap::values)
        .map(AsRef::as_ref)
        .partition(|profile: &&WorkloadProfile| !profile.shares.is_empty());
    if known.is_empty() {
        let hint = "`pairsight devices list` lists the devices, `pairsight import` brings workloads";
        return Err(Advice::new(format!("no workload has a signature on device {:?}", args.device), hint).into());
    }
    if !bare.is_empty() {
        note(format_args!("left out, for want of a signature: {} of {} workloads", bare.len(), bare.len() + known.len()));
    }
    Ok(known.into_iter().map(|profile| profile.workload.to_string()).collect())
}

fn request(args: &MatrixArgs, victim: &str, partner: &str) -> PredictPairRequest {
    let tenant = |workload: &str| proto::Tenant {
        source: Some(tenant::Source::Workload(workload.to_owned())),
        share: Some(args.sm_share.to_proto()),
        ..proto::Tenant::default()
    };
    PredictPairRequest {
        device: args.device.clone(),
        sharing_mode: args.sharing_mode.map(proto::SharingMode::from).unwrap_or_default().into(),
        tenants: vec![tenant(victim), tenant(partner)],
        view: PredictPairView::Basic.into(),
        profile_if_missing: false,
    }
}

fn csv(matrix: &Matrix) -> anyhow::Result<String> {
    let mut rows = csv::Writer::from_writer(vec![]);
    rows.write_record(std::iter::once("victim").chain(matrix.workloads.iter().map(String::as_str)))?;
    for (victim, slowdowns) in matrix.workloads.iter().zip(&matrix.slowdown_ratio) {
        rows.write_record(std::iter::once(victim.clone()).chain(slowdowns.iter().map(ToString::to_string)))?;
    }
    Ok(String::from_utf8(rows.into_inner()?)?)
}

fn text(matrix: &Matrix) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    let name = |workload: &String| shortened(&printable(workload), 24);
    table.set_header(std::iter::once("slower by".to_owned()).chain(matrix.workloads.iter().map(name)));
    for (victim, slowdowns) in matrix.workloads.iter().zip(&matrix.slowdown_ratio) {
        table.add_row(std::iter::once(name(victim)).chain(slowdowns.iter().map(|ratio| words::change(*ratio))));
    }
    format!(
        "Each row's workload beside each column's, {:.1}% of {} each ({})\n\n{}\n\nPredictor {}, catalog version {}",
        matrix.sm_share * 100.0,
        printable(&matrix.device),
        matrix.sharing_mode.trim_start_matches("SHARING_MODE_"),
        table.trim_fmt(),
        matrix.predictor_version,
        matrix.catalog_version
    )
}
