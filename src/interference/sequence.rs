//! From operators looped alone to operators in their workload's sequence. Looped alone, an operator finds in L2 what it left there;
//! in its sequence the others have pushed that out. Its signature then understates what it brings from DRAM, and overstates the hits
//! that a partner can take from it.

use super::profile::OperatorRow;
use crate::domain::{Device, L2_SECTOR_BYTES};

/// Corrects the operators of one share of a workload for their sequence, where their cold counters and the latency alone,
/// `solo_us`, tell how much that is:
///
/// - Between two launches of an operator the others bring their footprints into L2. What passes the room beside its own footprint
///   pushes that out, as far as it goes.
/// - What is pushed out cannot be a hit at the next launch, whoever runs beside it: hits at risk fall by it.
/// - That takes time, at most as much as DRAM needs for it at its ceiling, and no more than the latency alone leaves beside the
///   kernels.
///
/// Nothing here is fitted; what it leaves is learnt as departures of the workloads. DRAM traffic stays what
/// it was: adding the bytes made predictions worse, because they come in a burst at the start of a launch. Without the counters, the ceilings or a measured latency the operators stay as they are.
pub(super) fn in_sequence(device: &Device, rows: &mut [OperatorRow], solo_us: Option<f64>) {
    let (Some(solo_us), Some(l2_bytes), Some(dram)) = (solo_us, device.l2_bytes, &device.dram_bytes_per_s) else { return };
    let l2_bytes = l2_bytes as f64;
    let Some(refetched) = refetched_bytes(rows, l2_bytes) else { return };
    let time_us = |bytes: f64| bytes / dram.value * 1e6;
    let kernels_us: f64 = rows.iter().map(|row| row.launches * row.duration_us).sum();
    let wanted_us: f64 = rows.iter().zip(&refetched).map(|(row, bytes)| row.launches * time_us(*bytes)).sum();
    if wanted_us <= 0.0 {
        return;
    }
    let granted = ((solo_us - kernels_us) / wanted_us).clamp(0.0, 1.0);
    for (row, bytes) in rows.iter_mut().zip(refetched) {
        let hits = &mut row.counters.l2_sector_hits;
        *hits = hits.map(|hits| (hits - bytes / L2_SECTOR_BYTES).max(0.0));
        row.duration_us += granted * time_us(bytes);
    }
}

/// Bytes that each operator has to bring again at a launch; `None` where some counter is missing or there is no sequence.
fn refetched_bytes(rows: &[OperatorRow], l2_bytes: f64) -> Option<Vec<f64>> {
    if rows.len() < 2 {
        return None;
    }
    let footprints: Option<Vec<f64>> = rows.iter().map(|row| row.counters.cold_l2_miss_bytes).collect();
    let footprints = footprints?;
    let brought: f64 = rows.iter().zip(&footprints).map(|(row, footprint)| row.launches * footprint).sum();
    let of = |(row, footprint): (&OperatorRow, &f64)| {
        let warm_bytes = row.counters.l2_sector_misses? * L2_SECTOR_BYTES;
        let hit_bytes = row.counters.l2_sector_hits? * L2_SECTOR_BYTES;
        row.counters.dram_read_bytes?;
        let between = (brought - row.launches * footprint) / row.launches;
        let pushed_out = (between - (l2_bytes - footprint).max(0.0)).clamp(0.0, *footprint);
        Some((pushed_out - warm_bytes).clamp(0.0, hit_bytes))
    };
    rows.iter().zip(&footprints).map(of).collect()
}
