//! Rows as the databases return them, and what they mean. One form for both.

use std::{
    fmt,
    str::FromStr,
    time::{Duration, SystemTime},
};

use sqlx::FromRow;

use crate::domain::{Device, DeviceId, PairSample, Signature, SmShare, SoloLatency, TraceEntry};

use super::{PlacedSignature, PredictorInfo, StoreError, failure::unreadable};

/// A value of one of the closed sets of words.
pub(super) fn word<W: FromStr>(column: &str, text: &str) -> Result<W, StoreError>
where
    W::Err: fmt::Display,
{
    text.parse().map_err(|error| unreadable(&format!("{column} {text:?}"), error))
}

/// A share.
pub(super) fn share(sm_share: f64) -> Result<SmShare, StoreError> {
    SmShare::new("sm_share", sm_share).map_err(|error| unreadable("a share", error))
}

/// A device's identifier.
pub(super) fn device_id(id: String) -> Result<DeviceId, StoreError> {
    DeviceId::new("device_id", id).map_err(|error| unreadable("a device", error))
}

/// A device as it is kept.
pub(super) fn device(spec: &str) -> Result<Device, StoreError> {
    serde_json::from_str(spec).map_err(|error| unreadable("the spec of a device", error))
}

/// A device to be kept.
pub(super) fn device_json(device: &Device) -> Result<String, StoreError> {
    serde_json::to_string(device).map_err(|error| unreadable("the spec of a device", error))
}

/// All rows as what they mean.
pub(super) fn all<R, T: TryFrom<R, Error = StoreError>>(rows: Vec<R>) -> Result<Vec<T>, StoreError> {
    rows.into_iter().map(T::try_from).collect()
}

#[derive(FromRow)]
pub(super) struct WorkloadRow {
    pub(super) workload_id: i64,
    pub(super) device_id: String,
    pub(super) name: String,
    pub(super) family: String,
    pub(super) catalog_version: i64,
}

#[derive(FromRow)]
pub(super) struct SoloRow {
    pub(super) workload_id: i64,
    workload: String,
    sm_share: f64,
    latency_us: f64,
    stdev_us: Option<f64>,
    samples: Option<i64>,
    provenance: String,
    from_kernels: bool,
}

impl TryFrom<SoloRow> for SoloLatency {
    type Error = StoreError;

    fn try_from(row: SoloRow) -> Result<Self, StoreError> {
        Ok(Self {
            workload: row.workload.into(),
            sm_share: share(row.sm_share)?,
            latency_us: row.latency_us,
            stdev_us: row.stdev_us,
            samples: row.samples.and_then(|samples| u64::try_from(samples).ok()),
            provenance: word("provenance", &row.provenance)?,
            from_kernels: row.from_kernels,
        })
    }
}

#[derive(FromRow)]
pub(super) struct SignatureRow {
    workload: String,
    family: String,
    sm_share: f64,
    position: i32,
    operator: String,
    grid: String,
    block: String,
    dtype: String,
    launches: f64,
    duration_us: f64,
    counters: String,
    provenance: String,
    clocks_locked: bool,
}

impl TryFrom<SignatureRow> for PlacedSignature {
    type Error = StoreError;

    fn try_from(row: SignatureRow) -> Result<Self, StoreError> {
        let signature = Signature {
            workload: row.workload.into(),
            family: Some(row.family.into()),
            sm_share: share(row.sm_share)?,
            operator: row.operator.into(),
            grid: row.grid.into(),
            block: row.block.into(),
            dtype: row.dtype.into(),
            launches: row.launches,
            duration_us: row.duration_us,
            counters: serde_json::from_str(&row.counters)
                .map_err(|error| unreadable("the counters of a signature", error))?,
            provenance: word("provenance", &row.provenance)?,
            clocks_locked: row.clocks_locked,
        };
        Ok(Self { position: row.position, signature })
    }
}

#[derive(FromRow)]
pub(super) struct TraceRow {
    workload: String,
    position: i64,
    operator: String,
    gap_before_us: f64,
}

impl TryFrom<TraceRow> for TraceEntry {
    type Error = StoreError;

    fn try_from(row: TraceRow) -> Result<Self, StoreError> {
        Ok(Self {
            workload: row.workload.into(),
            position: row.position.try_into().map_err(|error| unreadable("the position of a trace entry", error))?,
            operator: row.operator.into(),
            gap_before_us: row.gap_before_us,
        })
    }
}

#[derive(FromRow)]
pub(super) struct PairRow {
    pair_id: String,
    sharing_mode: String,
    a_workload: String,
    b_workload: String,
    a_sm_share: f64,
    b_sm_share: f64,
    a_solo_us: f64,
    b_solo_us: f64,
    a_corun_us: Option<f64>,
    b_corun_us: Option<f64>,
    a_stdev_us: Option<f64>,
    b_stdev_us: Option<f64>,
    campaign: String,
    provenance: String,
}

impl TryFrom<PairRow> for PairSample {
    type Error = StoreError;

    fn try_from(row: PairRow) -> Result<Self, StoreError> {
        Ok(Self {
            pair_id: row.pair_id,
            sharing_mode: word("sharing_mode", &row.sharing_mode)?,
            workloads: [row.a_workload.into(), row.b_workload.into()],
            sm_shares: [share(row.a_sm_share)?, share(row.b_sm_share)?],
            solo_us: [row.a_solo_us, row.b_solo_us],
            corun_us: [row.a_corun_us, row.b_corun_us],
            stdev_us: [row.a_stdev_us, row.b_stdev_us],
            campaign: row.campaign,
            provenance: word("provenance", &row.provenance)?,
        })
    }
}

#[derive(FromRow)]
pub(super) struct PredictorRow {
    predictor_id: String,
    content_sha256: String,
    device_id: String,
    sharing_mode: String,
    samples: i64,
    provenance: String,
    held_out_mean_error_pct: f64,
    /// Milliseconds since 1970.
    created_at: i64,
    active: bool,
}

impl TryFrom<PredictorRow> for PredictorInfo {
    type Error = StoreError;

    fn try_from(row: PredictorRow) -> Result<Self, StoreError> {
        let since_1970 =
            u64::try_from(row.created_at).map_err(|error| unreadable("created_at of a predictor", error))?;
        Ok(Self {
            version: row.predictor_id,
            content_sha256: row.content_sha256,
            device: device_id(row.device_id)?,
            sharing_mode: word("sharing_mode", &row.sharing_mode)?,
            active: row.active,
            created_at: SystemTime::UNIX_EPOCH + Duration::from_millis(since_1970),
            samples: u32::try_from(row.samples).unwrap_or(u32::MAX),
            provenance: word("provenance", &row.provenance)?,
            held_out_mean_error_pct: row.held_out_mean_error_pct,
        })
    }
}
