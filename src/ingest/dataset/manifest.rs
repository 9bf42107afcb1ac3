//! `dataset.json`.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};
use strum::{Display, EnumString, VariantNames};

use crate::{
    domain::{Ceiling, CeilingBasis, Device, DeviceId, Invalid, Provenance, SharingMode},
    ingest::{IngestError, Place, number::quoted},
};

/// What the counters of a dataset's signatures are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum SignatureBasis {
    /// Sums of one launch.
    RawSums,
    /// Per cent of the peak of the whole GPU.
    PctOfPeakWholeGpu,
}

/// What `dataset.json` says.
pub(super) struct Manifest {
    pub(super) device: Device,
    pub(super) sharing_mode: SharingMode,
    pub(super) provenance: Provenance,
    pub(super) signature_basis: Option<SignatureBasis>,
    pub(super) licence: String,
    pub(super) source: String,
    pub(super) warnings: Vec<String>,
}

/// Reads and checks `path`. Keys that are not known are left alone.
pub(super) fn read(path: &Path, devices: &BTreeMap<DeviceId, Device>) -> Result<Manifest, IngestError> {
    let text = std::fs::read(path).map_err(|source| IngestError::Open { place: Place::file(path), source })?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|error| {
        IngestError::invalid(Place::line(path, error.line() as u64), format_args!("is not a JSON object: {error}"))
    })?;
    Keys(&object).manifest(devices).map_err(|invalid| IngestError::of(Place::file(path), invalid))
}

struct Keys<'j>(&'j Map<String, Value>);

impl Keys<'_> {
    fn manifest(&self, devices: &BTreeMap<DeviceId, Device>) -> Result<Manifest, Invalid> {
        self.check_format()?;
        let mut warnings = vec![];
        Ok(Manifest {
            device: self.device(devices, &mut warnings)?,
            sharing_mode: self.word("sharing_mode", "SM_PARTITION, MPS_LIMIT, SHARED_SM or TIME_SLICED")?,
            provenance: self.word("provenance", "measured, imported, simulated or analytic")?,
            signature_basis: match self.text("signature_basis")? {
                None => None,
                Some(_) => Some(self.word("signature_basis", "raw_sums or pct_of_peak_whole_gpu")?),
            },
            licence: self.text("licence")?.unwrap_or_default().to_owned(),
            source: self.text("source")?.unwrap_or_default().to_owned(),
            warnings,
        })
    }

    fn check_format(&self) -> Result<(), Invalid> {
        let format = self.required("format")?;
        if format != "pairsight-dataset" {
            return Err(Invalid::new("format", format_args!("must be \"pairsight-dataset\", is {}", quoted(format))));
        }
        match self.0.get("version") {
            Some(version) if version.as_f64() == Some(1.0) => Ok(()),
            Some(version) => Err(Invalid::new(
                "version",
                format_args!("must be 1, the only one there is, is {}", quoted(&version.to_string())),
            )),
            None => Err(missing("version")),
        }
    }

    fn device(&self, devices: &BTreeMap<DeviceId, Device>, warnings: &mut Vec<String>) -> Result<Device, Invalid> {
        let device_id = DeviceId::new("device_id", self.required("device_id")?)?;
        let sm_count = self.count("sm_count")?.ok_or_else(|| missing("sm_count"))?;
        let sm_count = u32::try_from(sm_count).unwrap_or(u32::MAX);
        let compute_capability = self.text("compute_capability")?.filter(|text| !text.is_empty()).map(str::to_owned);
        let mut device = match devices.get(&device_id) {
            Some(known) => agreeing(known, sm_count, compute_capability.as_deref(), warnings)?,
            None => Device {
                display_name: self.text("device")?.unwrap_or(device_id.as_str()).to_owned(),
                device_id,
                compute_capability,
                sm_count,
                partition_step: 1,
                l2_bytes: None,
                memory_bytes: None,
                dram_bytes_per_s: None,
                l2_bytes_per_s: None,
                clock_hz: None,
                origin: "dataset".to_owned(),
            },
        };
        self.figures(&mut device)?;
        device.validate()?;
        Ok(device)
    }

    fn figures(&self, device: &mut Device) -> Result<(), Invalid> {
        device.l2_bytes = self.count("l2_bytes")?.or(device.l2_bytes);
        device.memory_bytes = self.count("memory_bytes")?.or(device.memory_bytes);
        if let Some(step) = self.count("partition_step")? {
            device.partition_step = u32::try_from(step).unwrap_or(u32::MAX);
        }
        device.dram_bytes_per_s = self.ceiling("dram_bytes_per_s")?.or(device.dram_bytes_per_s.take());
        device.l2_bytes_per_s = self.ceiling("l2_bytes_per_s")?.or(device.l2_bytes_per_s.take());
        device.clock_hz = self.ceiling("clock_hz")?.or(device.clock_hz.take());
        Ok(())
    }

    fn text(&self, key: &str) -> Result<Option<&str>, Invalid> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Invalid::new(key, "must be text in quotes")),
        }
    }

    fn required(&self, key: &str) -> Result<&str, Invalid> {
        self.text(key)?.ok_or_else(|| missing(key))
    }

    fn word<W: std::str::FromStr>(&self, key: &str, words: &str) -> Result<W, Invalid> {
        let word = self.required(key)?;
        word.parse().map_err(|_| Invalid::new(key, format_args!("must be {words}, is {}", quoted(word))))
    }

    fn count(&self, key: &str) -> Result<Option<u64>, Invalid> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| {
                Invalid::new(key, format_args!("must be a whole number, at least 0, is {}", quoted(&value.to_string())))
            }),
        }
    }

    fn ceiling(&self, key: &str) -> Result<Option<Ceiling>, Invalid> {
        let value = match self.0.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let value = value
            .as_f64()
            .ok_or_else(|| Invalid::new(key, format_args!("must be a number, is {}", quoted(&value.to_string()))))?;
        let source = self.text("source")?.unwrap_or("dataset.json").to_owned();
        Ok(Some(Ceiling { value: Invalid::positive(key, value)?, basis: CeilingBasis::Measured, source }))
    }
}

fn missing(key: &str) -> Invalid {
    Invalid::new(key, "is missing")
}

/// The known device, when the dataset can have been made on it.
fn agreeing(known: &Device, sm_count: u32, capability: Option<&str>, warnings: &mut Vec<String>) -> Result<Device, Invalid> {
    if known.sm_count != sm_count {
        let problem = format_args!("is {sm_count}, but {} has {} SMs", known.device_id, known.sm_count);
        return Err(Invalid::new("sm_count", problem));
    }
    if let (Some(ours), Some(theirs)) = (known.compute_capability.as_deref(), capability)
        && ours != theirs
    {
        let theirs = quoted(theirs);
        warnings.push(format!("dataset.json says compute capability {theirs}, but {} has {ours}", known.device_id));
    }
    Ok(known.clone())
}
