//! `export dataset`: what the store holds of a device, as a dataset folder that reads back to the same catalog.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context as _;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::{
    bundled,
    cli::{
        context::Context,
        failure::{Advice, Misuse},
        nearest::did_you_mean,
        output::FormatArg,
        share_arg::parse_mode,
        table::printable,
    },
    domain::{Ceiling, CeilingBasis, Device, DeviceId, PairSample, Provenance, SharingMode, Signature, SoloLatency, TraceEntry},
    store::{Catalog, SignatureCursor, Store},
};

/// Signatures read at a time.
const PAGE: u32 = 1000;

const EXAMPLES: &str = "\
Writes dataset.json, signature.csv, solo.csv, pair.csv and, where there are traces, trace.csv. A dataset has one sharing mode and one
provenance: where the store holds several, say which with --sharing-mode and --provenance.

Examples:
  pairsight export dataset ./copy
  pairsight export dataset ./copy --device sim-qv100-eighth
  pairsight export dataset ./mine --device nvidia-h200 --sharing-mode MPS_LIMIT --provenance measured";

/// Write what the store holds of a device as a dataset folder.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DatasetArgs {
    /// Folder to write; created, or empty.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The device [default: the only one with workloads, the bundled one aside].
    #[arg(long, value_name = "ID")]
    device: Option<String>,
    /// Mode of the co-runs [default: the only one there is].
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    sharing_mode: Option<SharingMode>,
    /// Only what comes from there: measured, imported, simulated or analytic [default: the only one there is].
    #[arg(long, value_name = "PROVENANCE")]
    provenance: Option<Provenance>,
    #[command(flatten)]
    format: FormatArg,
}

/// All that is written.
struct Content {
    device: Arc<Device>,
    sharing_mode: SharingMode,
    provenance: Provenance,
    signatures: Vec<Signature>,
    solo: Vec<SoloLatency>,
    pairs: Vec<PairSample>,
    trace: Vec<TraceEntry>,
}

/// Runs the verb.
pub(super) async fn run(args: DatasetArgs, context: &Context) -> anyhow::Result<()> {
    let store = context.store().await?;
    let content = gather(&args, store.as_ref()).await;
    store.close().await;
    let content = content?;
    tokio::task::block_in_place(|| write(&args.dir, &content))?;
    let answer = json!({
        "dir": args.dir.display().to_string(),
        "device": content.device.device_id,
        "signatures": content.signatures.len(),
        "solo_latencies": content.solo.len(),
        "pair_samples": content.pairs.len(),
        "trace_entries": content.trace.len(),
    });
    args.format.print(&answer, || {
        format!(
            "Wrote {} signatures, {} solo latencies, {} co-runs and {} trace entries of {} to {}.",
            content.signatures.len(),
            content.solo.len(),
            content.pairs.len(),
            content.trace.len(),
            content.device.device_id,
            printable(args.dir.display().to_string())
        )
    })
}

async fn gather(args: &DatasetArgs, store: &dyn Store) -> anyhow::Result<Content> {
    let catalog = store.load_catalog(None).await?;
    let device = match &args.device {
        Some(id) => device(&catalog, id)?,
        None => only_device(&catalog)?,
    };
    let (sharing_mode, pairs) = pairs(args, &device, store).await?;
    let (mut signatures, mut solo, mut trace) = (vec![], vec![], vec![]);
    for profile in catalog.workloads.get(&device.device_id).into_iter().flat_map(|workloads| workloads.values()) {
        signatures.extend(all_signatures(store, &device, &profile.workload).await?);
        // A sum of kernels is made anew by whoever reads the folder.
        solo.extend(profile.solo.iter().filter(|solo| !solo.from_kernels).cloned());
        trace.extend(store.trace(&device.device_id, &profile.workload).await?);
    }
    if signatures.is_empty() {
        let hint = "a dataset needs at least one; `pairsight workloads list` shows what there is";
        return Err(Advice::new(format!("device {} has no signature", device.device_id), hint).into());
    }
    let mut content = Content { device, sharing_mode, provenance: Provenance::Measured, signatures, solo, pairs, trace };
    content.keep_one_provenance(args.provenance)?;
    Ok(content)
}

fn device(catalog: &Catalog, id: &str) -> anyhow::Result<Arc<Device>> {
    catalog.devices.values().find(|device| device.device_id.as_str() == id).cloned().ok_or_else(|| {
        let hint = did_you_mean(id, catalog.devices.keys().map(DeviceId::as_str), "pairsight devices list");
        Advice::new(format!("device {id:?} is not in the catalog"), hint).into()
    })
}

/// The device that is meant when none is named: the only one with workloads; the bundled one only where there is no other.
fn only_device(catalog: &Catalog) -> anyhow::Result<Arc<Device>> {
    let bundled = bundled::predictor()?.artefact.map(|artefact| artefact.device);
    let filled = |id: &DeviceId| catalog.workloads.get(id).is_some_and(|workloads| !workloads.is_empty());
    let (bundled, own): (Vec<_>, Vec<_>) =
        catalog.devices.values().filter(|device| filled(&device.device_id)).partition(|d| bundled.as_ref() == Some(&d.device_id));
    match (own.as_slice(), bundled.as_slice()) {
        ([only], _) | ([], [only]) => Ok(Arc::clone(only)),
        ([], _) => Err(Misuse("no device has workloads: import some first".to_owned()).into()),
        (several, _) => {
            let names: Vec<_> = several.iter().map(|device| device.device_id.to_string()).collect();
            Err(Misuse(format!("there are workloads of {}: choose with --device", names.join(" and "))).into())
        }
    }
}

/// The co-runs of the mode asked for, or of the only one that has any.
async fn pairs(args: &DatasetArgs, device: &Device, store: &dyn Store) -> anyhow::Result<(SharingMode, Vec<PairSample>)> {
    let mut found = vec![];
    for mode in <SharingMode as strum::VariantArray>::VARIANTS {
        if args.sharing_mode.is_none_or(|wanted| wanted == *mode) {
            let samples = store.pair_samples(&device.device_id, *mode).await?;
            if !samples.is_empty() {
                found.push((*mode, samples));
            }
        }
    }
    if found.len() > 1 {
        let modes: Vec<_> = found.iter().map(|(mode, _)| mode.to_string()).collect();
        return Err(Misuse(format!("there are co-runs of {}: choose with --sharing-mode", modes.join(" and "))).into());
    }
    Ok(found.pop().unwrap_or((args.sharing_mode.unwrap_or(SharingMode::SmPartition), vec![])))
}

async fn all_signatures(store: &dyn Store, device: &Device, workload: &str) -> anyhow::Result<Vec<Signature>> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let page = store.signatures(&device.device_id, workload, "", after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(SignatureCursor { sm_share: last.signature.sm_share.get(), position: last.position });
        all.extend(page.into_iter().map(|placed| placed.signature));
    }
}

impl Content {
    fn keep_one_provenance(&mut self, wanted: Option<Provenance>) -> Result<(), Misuse> {
        let signatures = self.signatures.iter().map(|signature| signature.provenance);
        let others = self.solo.iter().map(|solo| solo.provenance).chain(self.pairs.iter().map(|pair| pair.provenance));
        let there: BTreeSet<Provenance> = signatures.chain(others).collect();
        self.provenance = match (wanted, there.iter().collect::<Vec<_>>().as_slice()) {
            (Some(wanted), _) => wanted,
            (None, [only]) => **only,
            (None, several) => {
                let names: Vec<_> = several.iter().map(ToString::to_string).collect();
                return Err(Misuse(format!("there are {} figures: choose with --provenance", names.join(" and "))));
            }
        };
        self.signatures.retain(|signature| signature.provenance == self.provenance);
        self.solo.retain(|solo| solo.provenance == self.provenance);
        self.pairs.retain(|pair| pair.provenance == self.provenance);
        if self.signatures.is_empty() {
            return Err(Misuse(format!("there is no {} signature", self.provenance)));
        }
        Ok(())
    }
}

fn write(dir: &Path, content: &Content) -> anyhow::Result<()> {
    let shown = dir.display();
    fs::create_dir_all(dir).with_context(|| format!("{shown} cannot be created"))?;
    if fs::read_dir(dir).with_context(|| format!("{shown} cannot be read"))?.next().is_some() {
        return Err(Advice::new(format!("{shown} is not empty"), "name a new folder: nothing is overwritten").into());
    }
    write_signatures(&dir.join("signature.csv"), &content.signatures)?;
    write_solo(&dir.join("solo.csv"), &content.solo)?;
    write_pairs(&dir.join("pair.csv"), &content.pairs)?;
    if !content.trace.is_empty() {
        write_trace(&dir.join("trace.csv"), &content.trace)?;
    }
    // Last, so that a folder that was not finished is not taken for a dataset.
    let text = serde_json::to_string_pretty(&manifest(content))?;
    fs::write(dir.join("dataset.json"), text + "\n").with_context(|| format!("{shown}/dataset.json"))
}

fn manifest(content: &Content) -> Value {
    let device = &content.device;
    let percent = content.signatures.iter().flat_map(|s| s.counters.iter()).any(|(name, _)| name.ends_with("_pct"));
    let mut manifest = Map::new();
    let mut set = |key: &str, value: Value| drop(manifest.insert(key.to_owned(), value));
    set("format", json!("pairsight-dataset"));
    set("version", json!(1));
    set("device_id", json!(device.device_id));
    set("device", json!(device.display_name));
    set("licence", json!("as those of the data it was imported from"));
    set("compute_capability", json!(device.compute_capability.as_deref().unwrap_or_default()));
    set("sm_count", json!(device.sm_count));
    set("partition_step", json!(device.partition_step));
    set("sharing_mode", json!(content.sharing_mode));
    set("provenance", json!(content.provenance));
    set("signature_basis", json!(if percent { "pct_of_peak_whole_gpu" } else { "raw_sums" }));
    set("software", json!("pairsight export"));
    let ceilings = [
        ("dram_bytes_per_s", &device.dram_bytes_per_s),
        ("l2_bytes_per_s", &device.l2_bytes_per_s),
        ("clock_hz", &device.clock_hz),
    ];
    // A dataset's ceilings count as measured: those from a datasheet are not passed off as such.
    let measured: Vec<(&str, &Ceiling)> = ceilings
        .into_iter()
        .filter_map(|(key, ceiling)| Some((key, ceiling.as_ref()?)))
        .filter(|(_, ceiling)| ceiling.basis == CeilingBasis::Measured)
        .collect();
    set("source", json!(measured.first().map_or("the catalog of pairsight", |(_, ceiling)| ceiling.source.as_str())));
    for (key, ceiling) in measured {
        set(key, json!(ceiling.value));
    }
    for (key, bytes) in [("l2_bytes", device.l2_bytes), ("memory_bytes", device.memory_bytes)] {
        if let Some(bytes) = bytes {
            set(key, json!(bytes));
        }
    }
    Value::Object(manifest)
}

fn table(path: &Path, header: &[&str]) -> anyhow::Result<csv::Writer<BufWriter<File>>> {
    let file = File::create_new(path).with_context(|| format!("{} cannot be written", path.display()))?;
    let mut table = csv::Writer::from_writer(BufWriter::new(file));
    table.write_record(header)?;
    Ok(table)
}

fn finish(table: csv::Writer<BufWriter<File>>) -> anyhow::Result<()> {
    let mut file = table.into_inner().map_err(|error| io::Error::other(error.to_string()))?;
    Ok(file.flush()?)
}

fn write_signatures(path: &Path, signatures: &[Signature]) -> anyhow::Result<()> {
    let counters: BTreeSet<&str> = signatures.iter().flat_map(|s| s.counters.iter()).map(|(name, _)| name.as_ref()).collect();
    let fixed =
        ["workload", "family", "sm_share", "operator", "grid", "block", "dtype", "launches", "duration_ns", "clocks_locked"];
    let header: Vec<&str> = fixed.into_iter().chain(counters.iter().copied()).collect();
    let mut table = table(path, &header)?;
    for s in signatures {
        let text = [&*s.workload, s.family.as_deref().unwrap_or_default()];
        let kernel = [&*s.operator, &*s.grid, &*s.block, &*s.dtype];
        let mut row: Vec<String> = text.map(str::to_owned).to_vec();
        row.push(s.sm_share.get().to_string());
        row.extend(kernel.map(str::to_owned));
        row.extend([s.launches.to_string(), nanoseconds(s.duration_us), s.clocks_locked.to_string()]);
        row.extend(counters.iter().map(|name| cell(s.counters.get(name))));
        table.write_record(row)?;
    }
    finish(table)
}

fn write_solo(path: &Path, solo: &[SoloLatency]) -> anyhow::Result<()> {
    let mut table = table(path, &["workload", "sm_share", "latency_us", "stdev_us", "samples"])?;
    for s in solo {
        let share = s.sm_share.get().to_string();
        let samples = s.samples.map(|samples| samples.to_string()).unwrap_or_default();
        table.write_record([&*s.workload, &share, &s.latency_us.to_string(), &cell(s.stdev_us), &samples])?;
    }
    finish(table)
}

fn write_pairs(path: &Path, pairs: &[PairSample]) -> anyhow::Result<()> {
    let header = [
        "pair_id",
        "a_workload",
        "a_sm_share",
        "b_workload",
        "b_sm_share",
        "a_solo_us",
        "b_solo_us",
        "a_corun_us",
        "b_corun_us",
        "a_stdev_us",
        "b_stdev_us",
        "campaign",
    ];
    let mut table = table(path, &header)?;
    for pair in pairs {
        let [a, b] = [0, 1].map(|side| [pair.workloads[side].to_string(), pair.sm_shares[side].get().to_string()]);
        let solo = pair.solo_us.map(|us| us.to_string());
        let mut row = vec![pair.pair_id.clone()];
        row.extend(a.into_iter().chain(b).chain(solo));
        row.extend(pair.corun_us.into_iter().chain(pair.stdev_us).map(cell));
        row.push(pair.campaign.clone());
        table.write_record(row)?;
    }
    finish(table)
}

fn write_trace(path: &Path, trace: &[TraceEntry]) -> anyhow::Result<()> {
    let mut table = table(path, &["workload", "position", "operator", "gap_before_ns"])?;
    for entry in trace {
        table.write_record([
            &*entry.workload,
            &entry.position.to_string(),
            &*entry.operator,
            &nanoseconds(entry.gap_before_us),
        ])?;
    }
    finish(table)
}

/// A figure that may be missing: an empty cell is missing, never zero.
fn cell(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Microseconds as the nanoseconds that read back to the same microseconds, to the last bit.
fn nanoseconds(us: f64) -> String {
    let ns = us * 1e3;
    [ns, ns.next_up(), ns.next_down()].into_iter().find(|ns| (ns / 1e3).to_bits() == us.to_bits()).unwrap_or(ns).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_change_of_unit() {
        for ns in [9918.1, 5056.0, 2.073_29e6, 11_047.4, 1e-3, 0.0, 7.0 / 3.0, 123_456.789_012_345] {
            let us = ns / 1e3;
            let back: f64 = nanoseconds(us).parse().unwrap();
            assert_eq!((back / 1e3).to_bits(), us.to_bits(), "{ns}");
        }
    }
}
