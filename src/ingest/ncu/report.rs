use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    NcuOptions,
    metrics::{DURATION, METRICS, WANTED},
    notes::Notes,
    signatures::Signed,
    totals::{Totals, metrics_there, saturating_sum},
};

/// What was understood of a report and what is missing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ImportReport {
    /// Kernel launches in the whole report.
    pub launches: u64,
    /// Distinct launch variants: kernel name, grid, block.
    pub operators: u64,
    /// Iterations of the workload in the report.
    pub iterations: u64,
    /// Sum of all kernel durations in the whole report, microseconds.
    pub duration_us: f64,
    /// Metrics of the report that were used, by their names there.
    pub metrics_used: Vec<String>,
    /// Metrics that the predictor can use and the report lacks, by the names under which `ncu` collects them.
    pub metrics_missing: Vec<String>,
    /// What a person should know before trusting it.
    pub warnings: Vec<String>,
}

/// The report on what was read.
pub(super) fn report(totals: &Totals, signed: &Signed, notes: &Notes, options: &NcuOptions, iterations: u64) -> ImportReport {
    let mut warnings = vec![];
    warn_of_iterations(totals, options, iterations, &mut warnings);
    warn_of_durations(signed, notes, options, &mut warnings);
    warn_of_gaps(totals, &mut warnings);
    warn_of_device(totals, options, &mut warnings);
    warn_of_text(totals, notes, &mut warnings);
    ImportReport {
        launches: totals.launch_count(),
        operators: totals.variants.len() as u64,
        iterations,
        duration_us: signed.duration_us,
        metrics_used: signed.used.iter().map(|metric| METRICS[*metric].name.to_owned()).collect(),
        metrics_missing: missing(signed),
        warnings,
    }
}

fn missing(signed: &Signed) -> Vec<String> {
    let there: BTreeSet<&str> = signed.used.iter().map(|metric| METRICS[*metric].counter).collect();
    let lacking = WANTED.iter().filter(|(counters, _)| !counters.iter().any(|counter| there.contains(counter)));
    let duration = (signed.duration_us == 0.0).then_some("gpu__time_duration.sum");
    duration.into_iter().chain(lacking.map(|(_, metric)| *metric)).map(str::to_owned).collect()
}

fn warn_of_iterations(totals: &Totals, options: &NcuOptions, iterations: u64, warnings: &mut Vec<String>) {
    if options.iterations.is_none() {
        warnings.push(
            "the number of iterations is not given: the whole report is taken for one; --iterations N says otherwise".to_owned(),
        );
    }
    let uneven = totals.variants.iter().filter(|variant| variant.launches % iterations != 0).count();
    if uneven > 0 {
        warnings.push(format!(
            "the launches of {uneven} of {} operators do not divide by {iterations} iterations: their launches per iteration are means",
            totals.variants.len()
        ));
    }
}

fn warn_of_durations(signed: &Signed, notes: &Notes, options: &NcuOptions, warnings: &mut Vec<String>) {
    let clocks = if notes.free_clocks { "flushed caches" } else { "clocks locked to base and flushed caches" };
    let latency = if options.latency_us.is_some() {
        "the latency is the one given"
    } else {
        "their sum stands for the latency where none was measured; --latency-us X gives one"
    };
    warnings.push(format!("ncu takes durations under {clocks} unless told otherwise; {latency}"));
    if signed.derived_durations > 0 {
        warnings.push(format!(
            "the report has no duration of {} operators: it is taken from their bytes and bytes per second",
            signed.derived_durations
        ));
    }
    if signed.assumed_durations {
        warnings
            .push("the report has no duration of any kernel: the latency given is spread evenly over the launches".to_owned());
    }
    if signed.without_duration > 0 {
        warnings.push(format!("{} operators have no duration and are left out", signed.without_duration));
    }
}

fn warn_of_gaps(totals: &Totals, warnings: &mut Vec<String>) {
    let there = metrics_there(&totals.variants);
    for metric in there {
        let name = METRICS[metric].name;
        let lacking = totals.variants.iter().filter(|variant| variant.sum(metric).is_none());
        let without = saturating_sum(lacking.map(|variant| variant.launches));
        let gaps = totals.launches_without(metric);
        if gaps > 0 {
            warnings.push(format!(
                "{name} is missing in {gaps} launches of operators that have it in others, as in a report that was cut off"
            ));
        }
        if without > 0 && METRICS[metric].counter != DURATION {
            warnings.push(format!("{name} is missing in all {without} launches of some operators"));
        }
    }
}

fn warn_of_device(totals: &Totals, options: &NcuOptions, warnings: &mut Vec<String>) {
    let device = &options.device;
    if let Some(ours) = &device.compute_capability {
        let others: Vec<&str> = totals.capabilities.iter().map(String::as_str).filter(|theirs| theirs != ours).collect();
        if !others.is_empty() {
            warnings.push(format!(
                "the report is of a GPU of compute capability {}, but {} has {ours}",
                others.join(" and "),
                device.device_id
            ));
        }
    }
    for count in totals.sm_counts.iter().filter(|count| count.parse() != Ok(device.sm_count)) {
        warnings.push(format!("the report is of a GPU with {count} SMs, but {} has {}", device.device_id, device.sm_count));
    }
}

fn warn_of_text(totals: &Totals, notes: &Notes, warnings: &mut Vec<String>) {
    if notes.skipped > 0 {
        warnings.push(format!(
            "{} lines among the rows are no rows and were skipped, the first is line {}",
            notes.skipped, notes.first_skipped
        ));
    }
    if notes.tables > 1 {
        warnings.push(format!("the file has {} tables: they are taken for reports of different runs and added up", notes.tables));
    }
    if totals.process_count() > notes.tables as usize {
        warnings.push("the report has launches of several processes: they are added up".to_owned());
    }
    if let Some((line, message)) = &notes.refusal {
        warnings.push(format!("ncu reported an error on line {line}: {message}"));
    }
}
