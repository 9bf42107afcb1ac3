//! `devices`: what is known of the GPUs.

use std::{path::PathBuf, sync::Arc};

use clap::{Args, Subcommand};

use super::{
    context::{Context, find_device, read_device_files},
    output::FormatArg,
    table::{printable, table},
    words,
};
use crate::{
    domain::{self, DeviceId},
    ingest,
    proto::{Ceiling, CeilingBasis, Device, ListDevicesResponse},
    server::wire::device_to_wire,
    store::Catalog,
};

const LIST_EXAMPLES: &str = "\
Lists the devices of the store, of the built-in table and of any --device-file.

Examples:
  pairsight devices list
  pairsight devices list --device-file lab.toml --format json";

const SHOW_EXAMPLES: &str = "\
Examples:
  pairsight devices show nvidia-h200
  pairsight devices show sim-qv100-eighth --format json";

const EXAMPLES: &str = "\
Examples:
  pairsight devices list
  pairsight devices show nvidia-h200";

/// List the GPUs that are known, or show one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DevicesArgs {
    #[command(subcommand)]
    command: DevicesCommand,
}

#[derive(Debug, Subcommand)]
enum DevicesCommand {
    /// List all devices.
    #[command(after_help = LIST_EXAMPLES)]
    List {
        #[command(flatten)]
        files: DeviceFiles,
        #[command(flatten)]
        format: FormatArg,
    },
    /// Show one device with its ceilings and their sources.
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// Identifier of the device.
        device: String,
        #[command(flatten)]
        files: DeviceFiles,
        #[command(flatten)]
        format: FormatArg,
    },
}

/// `--device-file`, for each verb that takes it.
#[derive(Debug, Clone, Args)]
pub(super) struct DeviceFiles {
    /// TOML file with more devices, one `[[device]]` each; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) device_file: Vec<PathBuf>,
}

/// Runs the verb.
pub(super) async fn run(args: DevicesArgs, context: &Context) -> anyhow::Result<()> {
    let catalog = context.catalog(&[]).await?;
    match args.command {
        DevicesCommand::List { files, format } => {
            let devices = all(&catalog, &files.device_file)?.iter().map(|device| on_wire(device, &catalog)).collect();
            let answer = ListDevicesResponse { devices, next_page_token: String::new() };
            format.print_message(&answer, || list(&answer.devices))
        }
        DevicesCommand::Show { device, files, format } => {
            let device = on_wire(&find_device(&device, &files.device_file, &catalog)?, &catalog);
            format.print_message(&device, || show(&device))
        }
    }
}

/// Every device once, by identifier; a file's entry before the store's before the built-in one.
fn all(catalog: &Catalog, files: &[PathBuf]) -> anyhow::Result<Vec<domain::Device>> {
    let mut devices = ingest::devices::built_in().clone();
    let stored = catalog.devices.values().map(Arc::as_ref).cloned();
    let by_id = |device: domain::Device| -> (DeviceId, domain::Device) { (device.device_id.clone(), device) };
    devices.extend(stored.chain(read_device_files(files)?).map(by_id));
    Ok(devices.into_values().collect())
}

fn on_wire(device: &domain::Device, catalog: &Catalog) -> Device {
    let fitted = catalog.active.keys().filter(|(id, _)| *id == device.device_id).map(|(_, mode)| *mode);
    device_to_wire(device, fitted)
}

fn list(devices: &[Device]) -> String {
    let header = ["device", "SMs", "step", "L2", "DRAM peak", "fitted for", "origin"];
    table(
        header,
        devices.iter().map(|device| {
            [
                device.device_id.clone(),
                device.sm_count.to_string(),
                device.partition_step.to_string(),
                if device.l2_bytes == 0 { "-".to_owned() } else { words::size(device.l2_bytes) },
                device.dram_bytes_per_s.as_ref().map_or_else(|| "-".to_owned(), |ceiling| words::bandwidth(ceiling.value)),
                modes(device),
                device.origin.clone(),
            ]
        }),
    )
}

fn modes(device: &Device) -> String {
    let modes: Vec<_> =
        device.fitted_sharing_modes().map(|mode| mode.as_str_name().trim_start_matches("SHARING_MODE_")).collect();
    if modes.is_empty() { "-".to_owned() } else { modes.join(", ") }
}

fn show(device: &Device) -> String {
    let known = |text: &str| if text.is_empty() { "not known".to_owned() } else { text.to_owned() };
    let bytes = |bytes: u64| if bytes == 0 { "not known".to_owned() } else { words::size(bytes) };
    let rate = |ceiling: &Option<Ceiling>| figure(ceiling.as_ref(), words::bandwidth);
    let clock = figure(device.clock_hz.as_ref(), |hz| format!("{:.0} MHz", hz / 1e6));
    let rows = [
        ["device".to_owned(), device.device_id.clone()],
        ["name".to_owned(), device.display_name.clone()],
        ["compute capability".to_owned(), known(&device.compute_capability)],
        ["SMs".to_owned(), format!("{}, partitions in steps of {}", device.sm_count, device.partition_step)],
        ["L2 cache".to_owned(), bytes(device.l2_bytes)],
        ["memory".to_owned(), bytes(device.memory_bytes)],
        ["DRAM ceiling".to_owned(), rate(&device.dram_bytes_per_s)],
        ["L2 ceiling".to_owned(), rate(&device.l2_bytes_per_s)],
        ["SM clock".to_owned(), clock],
        ["fitted for".to_owned(), modes(device)],
        ["origin".to_owned(), device.origin.clone()],
    ];
    rows.map(|[name, value]| format!("{name:<20}{}", printable(value))).join("\n")
}

/// A ceiling with where it comes from.
fn figure(ceiling: Option<&Ceiling>, show: impl Fn(f64) -> String) -> String {
    let Some(ceiling) = ceiling else { return "not known".to_owned() };
    let basis = match ceiling.basis() {
        CeilingBasis::Unspecified => "source not known",
        CeilingBasis::Measured => "measured",
        CeilingBasis::Datasheet => "datasheet",
        CeilingBasis::Estimated => "estimated",
    };
    let source = if ceiling.source.is_empty() { String::new() } else { format!(": {}", ceiling.source) };
    format!("{} ({basis}{source})", show(ceiling.value))
}
