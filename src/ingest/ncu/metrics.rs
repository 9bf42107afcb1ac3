//! The one table from the names that `ncu` has used for a metric to our counters.

use std::{collections::HashMap, sync::LazyLock};

use super::units::Dimension::{self, ByteRate, Bytes, Count, Percent, Time};

/// A metric by one of its names.
pub(super) struct Metric {
    /// Name in the report.
    pub(super) name: &'static str,
    /// Our counter, or [`DURATION`].
    pub(super) counter: &'static str,
    /// Dimension that this name has; a name may stand for two metrics that differ in it.
    pub(super) dimension: Dimension,
    /// Factor from the metric to the counter.
    pub(super) factor: f64,
}

/// The counter that is the duration of a launch, microseconds.
pub(super) const DURATION: &str = "duration_us";

/// The attribute that holds the number of SMs of the device.
pub(super) const SM_COUNT: &str = "device__attribute_multiprocessor_count";

const fn m(name: &'static str, counter: &'static str, dimension: Dimension, factor: f64) -> Metric {
    Metric { name, counter, dimension, factor }
}

/// For each counter, the names in order of preference: raw sums first, then rates, then the labels of the details page, newest
/// first. Rates (bytes per second) become bytes by the duration of the launch. A sector has 32 bytes.
pub(super) const METRICS: &[Metric] = &[
    m("gpu__time_duration.sum", DURATION, Time, 1.0),
    m("gpu__time_duration.avg", DURATION, Time, 1.0),
    m("gpu__time_duration.max", DURATION, Time, 1.0),
    m("Duration", DURATION, Time, 1.0),
    m("gpu__time_duration_measured_wallclock.sum", DURATION, Time, 1.0),
    // DRAM
    m("dram__bytes_read.sum", "dram_read_bytes", Bytes, 1.0),
    m("dram__bytes_op_read.sum", "dram_read_bytes", Bytes, 1.0),
    m("dram__sectors_read.sum", "dram_read_bytes", Count, 32.0),
    m("dram__sectors_op_read.sum", "dram_read_bytes", Count, 32.0),
    m("dram__bytes_read.sum.per_second", "dram_read_bytes", ByteRate, 1.0),
    m("dram__bytes_op_read.sum.per_second", "dram_read_bytes", ByteRate, 1.0),
    m("dram__bytes_write.sum", "dram_write_bytes", Bytes, 1.0),
    m("dram__bytes_op_write.sum", "dram_write_bytes", Bytes, 1.0),
    m("dram__sectors_write.sum", "dram_write_bytes", Count, 32.0),
    m("dram__sectors_op_write.sum", "dram_write_bytes", Count, 32.0),
    m("dram__bytes_write.sum.per_second", "dram_write_bytes", ByteRate, 1.0),
    m("dram__bytes_op_write.sum.per_second", "dram_write_bytes", ByteRate, 1.0),
    m("dram__bytes.sum", "dram_bytes", Bytes, 1.0),
    m("dram__sectors.sum", "dram_bytes", Count, 32.0),
    m("dram__bytes.sum.per_second", "dram_bytes", ByteRate, 1.0),
    m("Memory Throughput", "dram_bytes", ByteRate, 1.0),
    m("dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram_pct", Percent, 1.0),
    m("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "dram_pct", Percent, 1.0),
    m("dram__bytes.sum.pct_of_peak_sustained_elapsed", "dram_pct", Percent, 1.0),
    m("dram__bytes.avg.pct_of_peak_sustained_elapsed", "dram_pct", Percent, 1.0),
    m("DRAM Throughput", "dram_pct", Percent, 1.0),
    m("SOL DRAM", "dram_pct", Percent, 1.0),
    // L2
    m("lts__t_sectors_op_read.sum", "l2_read_sectors", Count, 1.0),
    m("lts__t_sectors_op_write.sum", "l2_write_sectors", Count, 1.0),
    m("lts__t_sectors.sum", "l2_sectors", Count, 1.0),
    m("lts__t_bytes.sum", "l2_sectors", Bytes, 1.0 / 32.0),
    m("lts__t_bytes.sum.per_second", "l2_sectors", ByteRate, 1.0 / 32.0),
    m("lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "l2_pct", Percent, 1.0),
    m("lts__t_sectors.sum.pct_of_peak_sustained_elapsed", "l2_pct", Percent, 1.0),
    m("lts__t_bytes.avg.pct_of_peak_sustained_elapsed", "l2_pct", Percent, 1.0),
    m("lts__t_bytes.sum.pct_of_peak_sustained_elapsed", "l2_pct", Percent, 1.0),
    m("lts__throughput.avg.pct_of_peak_sustained_elapsed", "l2_pct", Percent, 1.0),
    m("L2 Cache Throughput", "l2_pct", Percent, 1.0),
    m("SOL L2", "l2_pct", Percent, 1.0),
    m("SOL L2 Cache", "l2_pct", Percent, 1.0),
    m("lts__t_sectors_lookup_hit.sum", "l2_sector_hits", Count, 1.0),
    m("lts__t_sectors_lookup_miss.sum", "l2_sector_misses", Count, 1.0),
    m("lts__t_sector_hit_rate.pct", "l2_hit_pct", Percent, 1.0),
    m("lts__average_t_sector_hit_rate.pct", "l2_hit_pct", Percent, 1.0),
    m("lts__average_t_sector_hit_rate_realtime.pct", "l2_hit_pct", Percent, 1.0),
    m("L2 Hit Rate", "l2_hit_pct", Percent, 1.0),
    // SM
    m("sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm_pct", Percent, 1.0),
    m("Compute (SM) Throughput", "sm_pct", Percent, 1.0),
    m("Compute (SM) [%]", "sm_pct", Percent, 1.0),
    m("SOL SM", "sm_pct", Percent, 1.0),
    m("SM [%]", "sm_pct", Percent, 1.0),
    m("smsp__thread_inst_executed.sum", "thread_inst_executed", Count, 1.0),
    m("sm__thread_inst_executed.sum", "thread_inst_executed", Count, 1.0),
    m("smsp__inst_executed.sum", "sm_inst_executed", Count, 1.0),
    m("sm__inst_executed.sum", "sm_inst_executed", Count, 1.0),
    m("Executed Instructions", "sm_inst_executed", Count, 1.0),
    m("sm__warps_active.avg.per_cycle_active", "active_warps_avg", Count, 1.0),
    m("Achieved Active Warps Per SM", "active_warps_avg", Count, 1.0),
    m("sm__warps_active.avg.pct_of_peak_sustained_active", "achieved_occupancy_pct", Percent, 1.0),
    m("Achieved Occupancy", "achieved_occupancy_pct", Percent, 1.0),
    // L1
    m("l1tex__t_sector_hit_rate.pct", "l1_hit_pct", Percent, 1.0),
    m("L1/TEX Hit Rate", "l1_hit_pct", Percent, 1.0),
    m("l1tex__t_sectors.sum", "l1_sectors", Count, 1.0),
    m("l1tex__throughput.avg.pct_of_peak_sustained_active", "l1_active_pct", Percent, 1.0),
    m("L1/TEX Cache Throughput", "l1_active_pct", Percent, 1.0),
    // Per cent of the peak while the unit was active, and mixtures of several units: not of the device's peak over the launch, so
    // none of the predictor's counters.
    m("lts__t_bytes.avg.pct_of_peak_sustained_active", "l2_active_pct", Percent, 1.0),
    m("lts__t_sectors.avg.pct_of_peak_sustained_active", "l2_active_pct", Percent, 1.0),
    m("l1tex__t_bytes.avg.pct_of_peak_sustained_active", "l1_bytes_active_pct", Percent, 1.0),
    m("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "memory_composite_pct", Percent, 1.0),
    m("Memory Throughput", "memory_composite_pct", Percent, 1.0),
    m("SOL Memory", "memory_composite_pct", Percent, 1.0),
    m("Memory [%]", "memory_composite_pct", Percent, 1.0),
    // Launch
    m("launch__registers_per_thread", "registers_per_thread", Count, 1.0),
    m("Registers Per Thread", "registers_per_thread", Count, 1.0),
    m("launch__shared_mem_per_block_static", "shared_static_bytes_per_block", Bytes, 1.0),
    m("Static Shared Memory Per Block", "shared_static_bytes_per_block", Bytes, 1.0),
    m("launch__shared_mem_per_block_dynamic", "shared_dynamic_bytes_per_block", Bytes, 1.0),
    m("Dynamic Shared Memory Per Block", "shared_dynamic_bytes_per_block", Bytes, 1.0),
    m("launch__waves_per_multiprocessor", "waves_per_sm", Count, 1.0),
    m("Waves Per SM", "waves_per_sm", Count, 1.0),
];

/// What the predictor can use: counters that stand for one another, and the metric to collect when none of them is there.
pub(in crate::ingest) const WANTED: &[(&[&str], &str)] = &[
    (&["dram_read_bytes", "dram_bytes", "dram_pct"], "dram__bytes_read.sum"),
    (&["dram_write_bytes", "dram_bytes", "dram_pct"], "dram__bytes_write.sum"),
    (&["l2_read_sectors", "l2_sectors", "l2_pct"], "lts__t_sectors_op_read.sum"),
    (&["l2_write_sectors", "l2_sectors", "l2_pct"], "lts__t_sectors_op_write.sum"),
    (&["l2_sector_hits", "l2_hit_pct"], "lts__t_sectors_lookup_hit.sum"),
    (&["l2_sector_misses", "l2_hit_pct"], "lts__t_sectors_lookup_miss.sum"),
    (&["sm_pct"], "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    (&["thread_inst_executed"], "smsp__thread_inst_executed.sum"),
    (&["active_warps_avg"], "sm__warps_active.avg.per_cycle_active"),
];

/// The exact command that takes a report with all that the predictor can use. Caches stay warm and clocks free, as in production;
/// profile one iteration after the warm-up, between `cudaProfilerStart` and `cudaProfilerStop`, or put `--launch-skip` and
/// `--launch-count` in the place of `--profile-from-start off`. Kernels are replayed one by one: where they wait for one another,
/// as collectives do, replay hangs and `--replay-mode app-range` is needed, which tells no kernels apart.
pub const CAPTURE_COMMAND: &str = "ncu --csv --page raw --print-units base --clock-control none --cache-control none \
--profile-from-start off --target-processes all --log-file report.csv \
--metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,\
lts__t_sectors_lookup_hit.sum,lts__t_sectors_lookup_miss.sum,sm__throughput.avg.pct_of_peak_sustained_elapsed,\
smsp__thread_inst_executed.sum,sm__warps_active.avg.per_cycle_active,launch__registers_per_thread,\
launch__shared_mem_per_block_static,launch__shared_mem_per_block_dynamic python your_model.py";

/// The metrics that have `name`, by their places in [`METRICS`]; more than one when they differ in dimension.
pub(super) fn by_name(name: &str) -> &'static [usize] {
    static BY_NAME: LazyLock<HashMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
        let mut by_name: HashMap<&'static str, Vec<usize>> = HashMap::new();
        for (index, metric) in METRICS.iter().enumerate() {
            by_name.entry(metric.name).or_default().push(index);
        }
        by_name
    });
    BY_NAME.get(name).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::KnownCounters;

    #[test]
    fn the_capture_command_collects_all_that_is_wanted() {
        for (counters, metric) in WANTED {
            assert!(CAPTURE_COMMAND.contains(metric), "{metric} is not collected");
            assert!(by_name(metric).iter().any(|index| counters.contains(&METRICS[*index].counter)), "{metric} fills none");
            assert!(counters.iter().all(|counter| KnownCounters::NAMES.contains(counter)), "{counters:?} are not all known");
        }
    }

    #[test]
    fn names_differ_in_dimension_where_they_repeat() {
        for metric in METRICS {
            let mut dimensions: Vec<_> = by_name(metric.name).iter().map(|index| METRICS[*index].dimension).collect();
            dimensions.dedup();
            assert_eq!(dimensions.len(), by_name(metric.name).len(), "{}", metric.name);
        }
    }
}
