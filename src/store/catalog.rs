//! The immutable snapshot that every answer reads.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use crate::{
    domain::{Device, DeviceId, Provenance, SharingMode},
    interference::{Predictor, WorkloadProfile},
};

/// What lists say of a stored predictor.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictorInfo {
    /// Version, as answers name it.
    pub version: String,
    /// SHA-256 of the artefact, hexadecimal.
    pub content_sha256: String,
    /// Device it was fitted for.
    pub device: DeviceId,
    /// Mode it was fitted for.
    pub sharing_mode: SharingMode,
    /// It answers now.
    pub active: bool,
    /// When it was stored.
    pub created_at: SystemTime,
    /// Timed directions that it was fitted on.
    pub samples: u32,
    /// Weakest provenance of those.
    pub provenance: Provenance,
    /// Mean error on held-out pairs, per cent.
    pub held_out_mean_error_pct: f64,
}

/// The catalog at one version.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Version; grows by one with every write.
    pub version: i64,
    /// Devices.
    pub devices: BTreeMap<DeviceId, Arc<Device>>,
    /// Workloads by device and name.
    pub workloads: BTreeMap<DeviceId, BTreeMap<Arc<str>, Arc<WorkloadProfile>>>,
    /// Active predictors.
    pub active: BTreeMap<(DeviceId, SharingMode), Arc<Predictor>>,
    /// All stored predictors, newest first.
    pub predictors: Vec<PredictorInfo>,
}
