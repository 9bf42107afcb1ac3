//! How long the catalog takes to load, and how much memory: `cargo bench --bench catalog_load -- [--signatures N] [--url URL]`.
//!
//! Fills a store (a new SQLite file, or the empty database of the URL) with workloads of 100 operators at 5 shares, and loads it
//! in a process of its own, so that the peak of the memory is that of loading alone.
#![expect(clippy::print_stdout, reason = "prints its results")]

use std::{env, fs, path::Path, process::Command, sync::Arc};

use anyhow::{Context, Result, bail};
use pairsight::{
    config::DatabaseConfig,
    domain::{Counters, Device, ImportBatch, KnownCounters, Provenance, Signature, SmShare},
    store::{self, Store},
};
use tokio::time::Instant;

const OPERATORS: usize = 100;
const SHARES: [f64; 5] = [0.2, 0.4, 0.6, 0.8, 1.0];
const WORKLOADS_PER_BATCH: usize = 20;

struct Arguments {
    signatures: usize,
    url: Option<String>,
    /// Directory of a filled store, given to the process that loads.
    load_from: Option<String>,
}

fn arguments() -> Result<Arguments> {
    let mut found = Arguments { signatures: 1_000_000, url: None, load_from: None };
    let mut given = env::args().skip(1);
    while let Some(name) = given.next() {
        let mut value = || given.next().with_context(|| format!("{name} needs a value"));
        match name.as_str() {
            "--signatures" => found.signatures = value()?.parse()?,
            "--url" => found.url = Some(value()?),
            "--load-from" => found.load_from = Some(value()?),
            // What cargo adds.
            "--bench" => {}
            other => bail!("unknown argument {other}"),
        }
    }
    Ok(found)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments = arguments()?;
    let config = DatabaseConfig { url: arguments.url.clone().map(Into::into), ..DatabaseConfig::default() };
    if let Some(directory) = &arguments.load_from {
        return load(&*store::open(&config, directory.as_ref()).await?).await;
    }
    let directory = tempfile::tempdir()?;
    fill(&config, directory.path(), arguments.signatures).await?;

    let mut loading = Command::new(env::current_exe()?);
    loading.arg("--load-from").arg(directory.path());
    if let Some(url) = &arguments.url {
        loading.args(["--url", url]);
    }
    if !loading.status()?.success() {
        bail!("loading failed");
    }
    Ok(())
}

async fn fill(config: &DatabaseConfig, directory: &Path, signatures: usize) -> Result<()> {
    let store = store::open(config, directory).await?;
    store.migrate().await?;
    let started = Instant::now();
    let workloads = signatures.div_ceil(OPERATORS * SHARES.len());
    for first in (0..workloads).step_by(WORKLOADS_PER_BATCH) {
        let batch = batch(first..workloads.min(first + WORKLOADS_PER_BATCH))?;
        store.import(&format!("bench-{first}"), &batch).await?;
    }
    println!("filled  {workloads} workloads in {:.1} s", started.elapsed().as_secs_f64());
    store.close().await;
    Ok(())
}

fn batch(workloads: std::ops::Range<usize>) -> Result<ImportBatch> {
    let device: Device = serde_json::from_value(serde_json::json!({
        "device_id": "bench-gpu", "display_name": "Bench GPU", "sm_count": 100, "l2_bytes": 41_943_040,
        "dram_bytes_per_s": { "value": 1.5e12, "basis": "datasheet", "source": "bench" },
        "l2_bytes_per_s": { "value": 4.8e12, "basis": "datasheet", "source": "bench" },
    }))?;
    let names: Vec<Arc<str>> = (0..OPERATORS)
        .map(|i| format!("void cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_nn_align8::Kernel<{i}>").into())
        .collect();
    let mut batch = ImportBatch::new(device);
    for workload in workloads {
        let name: Arc<str> = format!("model_{}/b{workload}", workload % 50).into();
        for sm_share in SHARES {
            for (i, operator) in names.iter().enumerate() {
                batch.signatures.push(signature(&name, sm_share, operator, workload * OPERATORS + i)?);
            }
        }
    }
    Ok(batch)
}

#[expect(clippy::cast_precision_loss, reason = "any figure will do")]
fn signature(workload: &Arc<str>, sm_share: f64, operator: &Arc<str>, seed: usize) -> Result<Signature> {
    let mut counters = Counters::default();
    for (i, name) in KnownCounters::NAMES.iter().enumerate() {
        counters.set(*name, ((seed * 7919 + i * 104_729) % 100_003) as f64 * 16.0);
    }
    Ok(Signature {
        workload: Arc::clone(workload),
        family: None,
        sm_share: SmShare::new("sm_share", sm_share)?,
        operator: Arc::clone(operator),
        grid: "108x1x1".into(),
        block: "256x1x1".into(),
        dtype: "f16".into(),
        launches: (seed % 12 + 1) as f64,
        duration_us: (seed % 997 + 1) as f64 / 7.0,
        counters,
        provenance: Provenance::Imported,
        clocks_locked: false,
    })
}

async fn load(store: &dyn Store) -> Result<()> {
    let started = Instant::now();
    let catalog = store.load_catalog(None).await?;
    let seconds = started.elapsed().as_secs_f64();
    let profiles = catalog.workloads.values().flat_map(std::collections::BTreeMap::values);
    let rows: usize = profiles.flat_map(|profile| &profile.shares).map(|share| share.operators.len()).sum();
    println!("loaded  {rows} signatures in {seconds:.2} s, peak of resident memory {} MiB", peak_mib()?);
    let again = Instant::now();
    store.load_catalog(Some(&catalog)).await?;
    println!("again   with nothing changed in {:.3} s", again.elapsed().as_secs_f64());
    Ok(())
}

fn peak_mib() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("the peak is read from /proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM in /proc/self/status")?;
    let kib: u64 = line.split_whitespace().nth(1).context("VmHWM without a value")?.parse()?;
    Ok(kib / 1024)
}
