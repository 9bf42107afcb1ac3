//! Solo latencies, co-runs and traces.

use std::sync::Arc;

use crate::{
    domain::{Invalid, PairSample, SoloLatency, TraceEntry},
    proto,
};

use super::{kinds, signature::share_from_wire};

/// A solo latency of an import.
pub(crate) fn solo_from_wire(wire: proto::SoloLatency) -> Result<SoloLatency, Invalid> {
    let solo = SoloLatency {
        workload: Arc::from(wire.workload),
        sm_share: share_from_wire("sm_share", wire.sm_share)?,
        latency_us: wire.latency_us,
        stdev_us: wire.stdev_us,
        samples: wire.samples,
        provenance: kinds::provenance("provenance", wire.provenance)?,
        from_kernels: wire.from_kernels,
    };
    if solo.samples.is_some_and(|samples| samples > i64::MAX.unsigned_abs()) {
        return Err(Invalid::new("samples", "is larger than any count of iterations"));
    }
    solo.validate()?;
    Ok(solo)
}

/// A solo latency of the catalog.
pub(crate) fn solo_to_wire(solo: &SoloLatency) -> proto::SoloLatency {
    proto::SoloLatency {
        workload: solo.workload.to_string(),
        sm_share: solo.sm_share.get(),
        latency_us: solo.latency_us,
        stdev_us: solo.stdev_us,
        samples: solo.samples,
        provenance: proto::Provenance::from(solo.provenance).into(),
        from_kernels: solo.from_kernels,
    }
}

/// A co-run of an import.
pub(crate) fn pair_sample_from_wire(wire: proto::PairSample) -> Result<PairSample, Invalid> {
    let sharing_mode = kinds::sharing_mode("sharing_mode", wire.sharing_mode)?;
    let sample = PairSample {
        pair_id: wire.pair_id,
        sharing_mode: sharing_mode.ok_or_else(|| Invalid::new("sharing_mode", "must be said"))?,
        workloads: [Arc::from(wire.a_workload), Arc::from(wire.b_workload)],
        sm_shares: [share_from_wire("a_sm_share", wire.a_sm_share)?, share_from_wire("b_sm_share", wire.b_sm_share)?],
        solo_us: [wire.a_solo_us, wire.b_solo_us],
        corun_us: [wire.a_corun_us, wire.b_corun_us],
        stdev_us: [wire.a_stdev_us, wire.b_stdev_us],
        campaign: wire.campaign,
        provenance: kinds::provenance("provenance", wire.provenance)?,
    };
    sample.validate()?;
    Ok(sample)
}

/// One launch of a trace of an import.
pub(crate) fn trace_from_wire(wire: proto::TraceEntry) -> Result<TraceEntry, Invalid> {
    let entry = TraceEntry {
        workload: Arc::from(wire.workload),
        position: wire.position,
        operator: Arc::from(wire.operator),
        gap_before_us: wire.gap_before_us,
    };
    if i32::try_from(entry.position).is_err() {
        return Err(Invalid::new("position", "must be below 2^31"));
    }
    entry.validate()?;
    Ok(entry)
}
