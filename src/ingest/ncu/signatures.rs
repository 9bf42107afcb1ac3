//! From sums over launches to signatures of one iteration.

use std::collections::BTreeSet;

use super::{
    NcuOptions,
    metrics::{DURATION, METRICS},
    totals::{Totals, Variant},
    units::Dimension,
};
use crate::{
    domain::{Counters, Provenance, Signature},
    ingest::number,
};

/// Signatures, and how they were come by.
#[derive(Default)]
pub(super) struct Signed {
    pub(super) signatures: Vec<Signature>,
    /// Sum of all durations, microseconds.
    pub(super) duration_us: f64,
    /// Metrics that were used, by their places in the table.
    pub(super) used: BTreeSet<usize>,
    /// Variants left out, since nothing tells how long they ran.
    pub(super) without_duration: u64,
    /// Variants whose duration follows from bytes and bytes per second.
    pub(super) derived_durations: u64,
    /// No variant has a duration: the latency given was spread evenly over the launches.
    pub(super) assumed_durations: bool,
}

struct Duration {
    mean_us: f64,
    /// Over the launches that have it.
    sum_us: f64,
    from: [Option<usize>; 2],
    derived: bool,
}

/// The signatures of all variants that have a duration; of all variants when none has and a latency is given.
pub(super) fn sign(totals: &Totals, options: &NcuOptions, iterations: u64) -> Signed {
    let mut signed = Signed::default();
    for variant in &totals.variants {
        let Some(duration) = measured(variant).or_else(|| derived(variant)) else {
            signed.without_duration += 1;
            continue;
        };
        signed.duration_us += duration.sum_us;
        signed.derived_durations += u64::from(duration.derived);
        signed.used.extend(duration.from.into_iter().flatten());
        let counters = counters(variant, duration.mean_us, &mut signed.used);
        signed.signatures.push(signature(variant, options, iterations, duration.mean_us, counters));
    }
    if let (true, Some(latency_us)) = (signed.signatures.is_empty(), options.latency_us) {
        assume_durations(totals, options, iterations, latency_us, &mut signed);
    }
    signed
}

/// Spreads the latency evenly over the launches. Counters per launch stay as they are; every signature is marked, so that every
/// answer from it says so.
fn assume_durations(totals: &Totals, options: &NcuOptions, iterations: u64, latency_us: f64, signed: &mut Signed) {
    let launches = number::count(totals.launch_count()) / number::count(iterations);
    let duration_us = latency_us / launches;
    for variant in &totals.variants {
        let mut counters = counters(variant, duration_us, &mut signed.used);
        counters.set("duration_assumed", 1.0);
        signed.signatures.push(signature(variant, options, iterations, duration_us, counters));
    }
    signed.assumed_durations = true;
    signed.without_duration = 0;
}

fn signature(variant: &Variant, options: &NcuOptions, iterations: u64, duration_us: f64, counters: Counters) -> Signature {
    Signature {
        workload: options.workload.as_str().into(),
        family: None,
        sm_share: options.sm_share,
        operator: variant.kernel.clone(),
        grid: variant.grid.clone(),
        block: variant.block.clone(),
        dtype: "".into(),
        launches: number::count(variant.launches) / number::count(iterations),
        duration_us,
        counters,
        provenance: Provenance::Imported,
        // Unless told otherwise ncu locks the clocks to base and flushes the caches before each kernel; a report does not say
        // that it was told so.
        clocks_locked: true,
    }
}

fn measured(variant: &Variant) -> Option<Duration> {
    let mut metrics = (0..METRICS.len()).filter(|metric| METRICS[*metric].counter == DURATION);
    metrics.find_map(|metric| {
        let (sum_us, count) = variant.sum(metric)?;
        (sum_us > 0.0).then(|| Duration {
            mean_us: sum_us / number::count(count),
            sum_us,
            from: [Some(metric), None],
            derived: false,
        })
    })
}

/// A sum of bytes, and the same per second, tell the time between them.
fn derived(variant: &Variant) -> Option<Duration> {
    (0..METRICS.len()).find_map(|rate| {
        let bytes_name = METRICS[rate].name.strip_suffix(".per_second")?;
        let bytes = METRICS.iter().position(|metric| metric.name == bytes_name)?;
        let mean_us = variant.mean(bytes)? / variant.mean(rate)? * 1e6;
        (mean_us.is_finite() && mean_us > 0.0).then_some(Duration {
            mean_us,
            sum_us: mean_us * number::count(variant.launches),
            from: [Some(bytes), Some(rate)],
            derived: true,
        })
    })
}

fn counters(variant: &Variant, duration_us: f64, used: &mut BTreeSet<usize>) -> Counters {
    let mut counters = Counters::default();
    for (index, metric) in METRICS.iter().enumerate() {
        // The table lists the preferred names first.
        if metric.counter == DURATION || counters.get(metric.counter).is_some() {
            continue;
        }
        if let Some(mean) = variant.mean(index) {
            let seconds = if metric.dimension == Dimension::ByteRate { duration_us / 1e6 } else { 1.0 };
            counters.set(metric.counter, mean * metric.factor * seconds);
            used.insert(index);
        }
    }
    counters
}
