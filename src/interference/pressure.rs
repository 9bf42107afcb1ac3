//! What one operator asks of the shared resources while it runs, as fractions of the device's ceilings.

use serde::{Deserialize, Serialize};

use crate::domain::{Device, KnownCounters, L2_SECTOR_BYTES, SmShare};

/// Launches per second that one launch path takes: a kernel launch costs the host and the front end about 5 us
/// (NVIDIA, "CUDA C++ Best Practices Guide"; 2 to 10 us on all hosts we know of). Only the generic predictor depends on it;
/// a fit scales its coefficient to it.
pub(super) const LAUNCH_CEILING_PER_S: f64 = 200_000.0;

/// Warp schedulers of an SM on every NVIDIA GPU since Maxwell.
const SCHEDULERS_PER_SM: f64 = 4.0;
/// Warps that an SM holds at most (NVIDIA, "CUDA C++ Programming Guide", compute capabilities 7.0, 8.0 and 9.0); a scale only.
const WARPS_PER_SM: f64 = 64.0;

/// A quantity that terms are made of, and that a signature may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    Dram,
    L2,
    L2Hits,
    Footprint,
    Writes,
    Stall,
    Warps,
}

impl Need {
    pub(super) const ALL: [Self; 7] =
        [Self::Dram, Self::L2, Self::L2Hits, Self::Footprint, Self::Writes, Self::Stall, Self::Warps];

    /// The counter that is asked for when the quantity is missing.
    pub(super) fn counter(self) -> &'static str {
        match self {
            Self::Dram => "dram_read_bytes",
            Self::L2 => "l2_read_sectors",
            Self::L2Hits => "l2_sector_hits",
            Self::Footprint => "cold_l2_miss_bytes",
            Self::Writes => "l2_write_sectors",
            Self::Stall => "sched_cycles_scoreboard",
            Self::Warps => "active_warps_avg",
        }
    }
}

/// A set of [`Need`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs(u8);

impl Needs {
    pub(super) const ALL: Self = Self(0b111_1111);

    pub(super) fn of(needs: &[Need]) -> Self {
        needs.iter().fold(Self(0), |set, need| set.with(*need))
    }

    pub(super) fn has(self, need: Need) -> bool {
        self.0 & 1 << need as u8 != 0
    }

    pub(super) fn with(self, need: Need) -> Self {
        Self(self.0 | 1 << need as u8)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The counters that stand for the quantities in the set.
    pub(super) fn counters(self) -> Vec<&'static str> {
        Need::ALL.iter().filter(|need| self.has(**need)).map(|need| need.counter()).collect()
    }
}

/// Pressure of one operator; every field is dimensionless and at least 0. Missing quantities are 0 and noted in `known`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Pressure {
    /// DRAM bytes per second over the device's ceiling.
    pub dram: f64,
    /// L2 bytes per second over the device's ceiling.
    pub l2: f64,
    /// Bytes per second that hit in L2, over the DRAM ceiling: the demand on DRAM if they all missed.
    pub hits: f64,
    /// Bytes per second brought into L2, over the DRAM ceiling.
    pub insertion: f64,
    /// Bytes per second written through L2, over the L2 ceiling.
    pub writes: f64,
    /// Reuse interval (footprint / hit rate), times the DRAM ceiling, over the L2's size: how many times a full-speed stream
    /// would have replaced the whole cache before a line is used again.
    pub reuse: f64,
    /// Footprint over the L2's size, at most 1.
    pub footprint: f64,
    /// Part of the schedulers' cycles in which all warps waited for a result.
    pub stall: f64,
    /// Warps resident on an SM, over [`WARPS_PER_SM`].
    pub warps: f64,
    /// Part of the DRAM bytes that is written.
    pub written: f64,
    /// Launches per second of the workload over [`LAUNCH_CEILING_PER_S`].
    pub launch: f64,
    /// SM share.
    pub share: f64,
    /// 1 while a kernel runs, 0 in the gaps between kernels.
    pub busy: f64,
}

impl Pressure {
    /// The pressure of a gap between kernels: launching goes on, nothing else.
    pub(super) fn gap(share: f64, launch: f64) -> Self {
        Self { launch, share, ..Self::default() }
    }

    /// The pressure of an operator whose launch takes `duration_us`, and which quantities its counters gave.
    ///
    /// Rates are raw sums over the duration; a percentage of the whole device's peak is used where the sums are missing.
    pub(super) fn new(device: &Device, share: SmShare, duration_us: f64, counters: &KnownCounters) -> (Self, Needs) {
        let seconds = duration_us * 1e-6;
        let dram_ceiling = device.dram_bytes_per_s.as_ref().map(|c| c.value);
        let l2_ceiling = device.l2_bytes_per_s.as_ref().map(|c| c.value);
        let over = |bytes: Option<f64>, ceiling: Option<f64>| Some(bytes? / seconds / ceiling?);

        let dram = over(dram_bytes(counters), dram_ceiling).or(counters.dram_pct.map(|p| p / 100.0));
        let l2 = over(l2_bytes(counters), l2_ceiling).or(counters.l2_pct.map(|p| p / 100.0));
        let hit_bytes = l2_hit_bytes(counters);
        let hits = over(hit_bytes, dram_ceiling);
        let insertion = over(counters.l2_sector_misses.map(|s| s * L2_SECTOR_BYTES), dram_ceiling).or(dram);
        let writes = over(counters.l2_write_sectors.map(|s| s * L2_SECTOR_BYTES), l2_ceiling);
        let l2_size = device.l2_bytes.map(|bytes| bytes as f64);
        let footprint = counters.cold_l2_miss_bytes.zip(l2_size).map(|(bytes, size)| bytes / size);
        let reuse = reuse_us(counters.cold_l2_miss_bytes, hit_bytes, duration_us)
            .and_then(|us| Some(us * 1e-6 * dram_ceiling? / l2_size?))
            .filter(|reuse| reuse.is_finite());

        let scheduler_cycles =
            device.clock_hz.as_ref().map(|hz| seconds * hz.value * f64::from(device.sm_count) * share.get() * SCHEDULERS_PER_SM);
        let stall = counters.sched_cycles_scoreboard.zip(scheduler_cycles).map(|(waited, all)| (waited / all).min(1.0));
        let warps = counters.active_warps_avg.map(|warps| warps / WARPS_PER_SM);
        let written = counters.dram_write_bytes.zip(dram_bytes(counters).filter(|bytes| *bytes > 0.0)).map(|(w, all)| w / all);

        let known = [
            (Need::Stall, stall.is_some()),
            (Need::Warps, warps.is_some()),
            (Need::Dram, dram.is_some()),
            (Need::L2, l2.is_some()),
            (Need::L2Hits, hits.is_some()),
            (Need::Footprint, footprint.is_some()),
            (Need::Writes, writes.is_some()),
        ]
        .into_iter()
        .filter_map(|(need, known)| known.then_some(need))
        .fold(Needs::default(), Needs::with);

        let pressure = Self {
            dram: dram.unwrap_or(0.0),
            l2: l2.unwrap_or(0.0),
            hits: hits.unwrap_or(0.0),
            insertion: insertion.unwrap_or(0.0),
            writes: writes.unwrap_or(0.0),
            reuse: reuse.unwrap_or(0.0),
            footprint: footprint.unwrap_or(0.0).min(1.0),
            stall: stall.unwrap_or(0.0),
            warps: warps.unwrap_or(0.0),
            written: written.unwrap_or(0.0),
            launch: 0.0,
            share: share.get(),
            busy: 1.0,
        };
        (pressure, known)
    }

    /// A pressure that nothing passes.
    pub(super) fn unbounded() -> Self {
        Self::default().combined(&Self::default(), |_, _| f64::MAX)
    }

    /// Field by field this, or `factor` times the other, whichever is more.
    pub(super) fn at_least(&self, other: &Self, factor: f64) -> Self {
        self.combined(other, |mine, theirs| mine.max(factor * theirs))
    }

    /// Field by field this, or the other, whichever is less; share and busy fraction are this one's.
    pub(super) fn at_most(&self, other: &Self) -> Self {
        Self { share: self.share, busy: self.busy, ..self.combined(other, f64::min) }
    }

    fn combined(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            dram: f(self.dram, other.dram),
            l2: f(self.l2, other.l2),
            hits: f(self.hits, other.hits),
            insertion: f(self.insertion, other.insertion),
            writes: f(self.writes, other.writes),
            reuse: f(self.reuse, other.reuse),
            footprint: f(self.footprint, other.footprint),
            stall: f(self.stall, other.stall),
            warps: f(self.warps, other.warps),
            written: f(self.written, other.written),
            launch: f(self.launch, other.launch),
            share: f(self.share, other.share),
            busy: f(self.busy, other.busy),
        }
    }

    /// The mean of two pressures, `part` of it the other's.
    pub(super) fn mixed_with(&self, other: &Self, part: f64) -> Self {
        self.combined(other, |mine, theirs| mine + part * (theirs - mine))
    }

    /// The pressure of the same work done `factor` times as fast.
    pub(super) fn sped_up(&self, factor: f64) -> Self {
        Self {
            dram: self.dram * factor,
            l2: self.l2 * factor,
            hits: self.hits * factor,
            insertion: self.insertion * factor,
            writes: self.writes * factor,
            reuse: self.reuse / factor,
            ..*self
        }
    }
}

fn dram_bytes(counters: &KnownCounters) -> Option<f64> {
    match (counters.dram_read_bytes, counters.dram_write_bytes) {
        (Some(read), Some(write)) => Some(read + write),
        (read, write) => counters.dram_bytes.or(read).or(write),
    }
}

fn l2_bytes(counters: &KnownCounters) -> Option<f64> {
    let sectors = match (counters.l2_read_sectors, counters.l2_write_sectors) {
        (Some(read), Some(write)) => Some(read + write),
        _ => None,
    };
    let looked_up = || Some(counters.l2_sector_hits? + counters.l2_sector_misses?);
    Some(counters.l2_sectors.or(sectors).or_else(looked_up)? * L2_SECTOR_BYTES)
}

fn l2_hit_bytes(counters: &KnownCounters) -> Option<f64> {
    let by_rate = || Some(l2_bytes(counters)? * counters.l2_hit_pct? / 100.0);
    counters.l2_sector_hits.map(|sectors| sectors * L2_SECTOR_BYTES).or_else(by_rate)
}

/// Mean time between two uses of a byte of the footprint: footprint over hit bytes per time.
fn reuse_us(footprint_bytes: Option<f64>, hit_bytes: Option<f64>, duration_us: f64) -> Option<f64> {
    Some(footprint_bytes? / hit_bytes? * duration_us)
}
