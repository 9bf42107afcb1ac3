use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Invalid;

/// Bytes of one L2 sector on every NVIDIA GPU since Maxwell.
pub const L2_SECTOR_BYTES: f64 = 32.0;

/// Counters of one launch by name: raw sums, or per cent of the whole device's peak where the name ends in `_pct`.
/// A counter that is not there is missing, never zero. Unknown names are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counters(BTreeMap<Arc<str>, f64>);

impl Counters {
    /// Sets a counter, replacing what was there.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: f64) {
        self.0.insert(name.into(), value);
    }

    /// The counter `name`, or `None` when it is missing.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// All counters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, f64)> {
        self.0.iter().map(|(name, value)| (name, *value))
    }

    /// True when there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that each name is usable and each value finite and not negative; an error names the counter.
    pub fn validate(&self) -> Result<(), Invalid> {
        for (name, value) in self.iter() {
            Invalid::text("counter name", name, 256)?;
            Invalid::not_negative(name, value)?;
        }
        Ok(())
    }
}

impl FromIterator<(Arc<str>, f64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, f64)>>(counters: I) -> Self {
        Self(counters.into_iter().collect())
    }
}

macro_rules! known_counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The counters that the predictor reads, picked out of [`Counters`]. All are of one launch.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct KnownCounters { $($(#[$doc])* pub $name: Option<f64>,)* }

        impl KnownCounters {
            /// Their names.
            pub const NAMES: &[&str] = &[$(stringify!($name),)*];
        }

        impl From<&Counters> for KnownCounters {
            fn from(counters: &Counters) -> Self {
                Self { $($name: counters.get(stringify!($name)),)* }
            }
        }
    };
}

known_counters! {
    /// Bytes read from DRAM.
    dram_read_bytes,
    /// Bytes written to DRAM.
    dram_write_bytes,
    /// Bytes moved from and to DRAM, where the two directions are not told apart.
    dram_bytes,
    /// DRAM throughput, per cent of the whole device's peak.
    dram_pct,
    /// Sectors read through L2.
    l2_read_sectors,
    /// Sectors written through L2.
    l2_write_sectors,
    /// Sectors moved through L2, where the two directions are not told apart.
    l2_sectors,
    /// L2 throughput, per cent of the whole device's peak.
    l2_pct,
    /// Sectors found in L2, pending fills included.
    l2_sector_hits,
    /// Sectors not found in L2.
    l2_sector_misses,
    /// Sectors found in L2, per cent of those asked for.
    l2_hit_pct,
    /// Bytes that missed in L2 at the first launch after the cache was flushed: the footprint.
    cold_l2_miss_bytes,
    /// SM throughput, per cent of the whole device's peak.
    sm_pct,
    /// Instructions executed by threads.
    thread_inst_executed,
    /// Warps resident on an active SM, the mean.
    active_warps_avg,
    /// Cycles in which a warp scheduler issued nothing because all its warps waited for a result, most often from memory; summed
    /// over the schedulers of the tenant's SMs.
    sched_cycles_scoreboard,
    /// 1 where the duration was not measured: a known latency was spread evenly over the launches.
    duration_assumed,
}
