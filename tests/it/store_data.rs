//! Small things to put into stores.

use std::sync::Arc;

use pairsight::{
    domain::{
        Ceiling, CeilingBasis, Counters, Device, DeviceId, ImportBatch, PairSample, Provenance, SharingMode, Signature, SmShare,
        SoloLatency, TraceEntry,
    },
    interference::Predictor,
};
use serde_json::json;

pub(crate) fn device_id() -> DeviceId {
    DeviceId::new("device_id", "test-gpu").unwrap()
}

pub(crate) fn device() -> Device {
    Device {
        device_id: device_id(),
        display_name: "Test GPU".to_owned(),
        compute_capability: Some("8.0".to_owned()),
        sm_count: 100,
        partition_step: 2,
        l2_bytes: Some(40 << 20),
        memory_bytes: None,
        dram_bytes_per_s: Some(ceiling(1.5e12, CeilingBasis::Datasheet)),
        l2_bytes_per_s: Some(ceiling(4.8e12, CeilingBasis::Estimated)),
        clock_hz: Some(ceiling(1.4e9, CeilingBasis::Datasheet)),
        origin: "import".to_owned(),
    }
}

pub(crate) fn ceiling(value: f64, basis: CeilingBasis) -> Ceiling {
    Ceiling { value, basis, source: "a test".to_owned() }
}

pub(crate) fn share(share: f64) -> SmShare {
    SmShare::new("sm_share", share).unwrap()
}

/// A signature whose figures follow from `seed`; most of them have no short decimal form.
pub(crate) fn signature(workload: &str, sm_share: f64, operator: &str, seed: u32) -> Signature {
    let value = f64::from(seed) + 1.0;
    let mut counters = Counters::default();
    counters.set("dram_bytes", value * 1e9 / 7.0);
    counters.set("l2_sectors", (value * 1e6).floor());
    counters.set("vendor_counter_that_nobody_reads", value.sqrt());
    Signature {
        workload: workload.into(),
        family: None,
        sm_share: share(sm_share),
        operator: operator.into(),
        grid: "108x1x1".into(),
        block: "256x1x1".into(),
        dtype: "f16".into(),
        launches: 1.0 / value,
        duration_us: value * 0.1,
        counters,
        provenance: Provenance::Imported,
        clocks_locked: seed.is_multiple_of(2),
    }
}

/// `operators` signatures of each workload at each share.
pub(crate) fn batch(workloads: &[&str], shares: &[f64], operators: u32) -> ImportBatch {
    let mut batch = ImportBatch::new(device());
    for workload in workloads {
        for sm_share in shares {
            let of_share = (0..operators).map(|i| signature(workload, *sm_share, &format!("kernel_{i}<float, {i}>"), i));
            batch.signatures.extend(of_share);
        }
    }
    batch
}

pub(crate) fn solo(workload: &str, sm_share: f64, latency_us: f64) -> SoloLatency {
    SoloLatency {
        workload: workload.into(),
        sm_share: share(sm_share),
        latency_us,
        stdev_us: Some(0.1),
        samples: Some(1000),
        provenance: Provenance::Measured,
        from_kernels: false,
    }
}

pub(crate) fn trace(workload: &str, position: u32, operator: &str) -> TraceEntry {
    TraceEntry { workload: workload.into(), position, operator: operator.into(), gap_before_us: f64::from(position) * 0.1 }
}

pub(crate) fn pair(pair_id: &str, workloads: [&str; 2], corun_us: f64) -> PairSample {
    PairSample {
        pair_id: pair_id.to_owned(),
        sharing_mode: SharingMode::SmPartition,
        workloads: workloads.map(Arc::from),
        sm_shares: [share(0.3), share(0.7)],
        solo_us: [10.1, 20.2],
        corun_us: [Some(corun_us), None],
        stdev_us: [None, Some(0.3)],
        campaign: String::new(),
        provenance: Provenance::Simulated,
    }
}

/// A predictor of the test device that differs from those of other seeds.
pub(crate) fn predictor(seed: u64) -> Predictor {
    let nothing = json!({
        "dram": 0.0, "l2": 0.0, "hits": 0.0, "insertion": 0.0, "writes": 0.0, "reuse": 0.0, "footprint": 0.0, "stall": 0.0,
        "warps": 0.0, "written": 0.0, "launch": 0.0, "share": 0.0, "busy": 0.0,
    });
    let artefact = json!({
        "format": 2, "device": device_id(), "sharing_mode": "SM_PARTITION", "terms": [],
        "range": { "victim": nothing, "partner": nothing },
        "residual": null,
        "calibration": {
            "level": 0.9, "near": 0.1, "few": 0.1, "far": [0.1, 0.1, 0.1], "solo_curve": 0.0, "threshold": 0.0, "reach": 1.0,
        },
        "fit": {
            "seed": seed, "samples": 58, "left_out": 0, "kept_out": 0, "provenance": "simulated", "data_sha256": "00",
            "ridge": 0.1, "held_out_mean_error_pct": 4.25, "unseen_mean_error_pct": null,
        },
    });
    Predictor::from_json(&artefact.to_string()).unwrap()
}
