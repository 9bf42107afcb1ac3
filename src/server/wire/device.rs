//! Devices.

use crate::{
    domain::{Ceiling, Device, DeviceId, Invalid, SharingMode},
    proto,
};

use super::kinds;

/// Longest free text of a device, bytes.
const MAX_TEXT_BYTES: usize = 1024;

/// A device as a client describes it; `device_id` stands in where the description leaves its own out.
pub(crate) fn device_from_wire(wire: proto::Device, device_id: &DeviceId) -> Result<Device, Invalid> {
    if !wire.device_id.is_empty() && wire.device_id != device_id.as_str() {
        return Err(Invalid::new("device_id", format_args!("is not the device of the import, {device_id}")));
    }
    let display_name = if wire.display_name.is_empty() { device_id.to_string() } else { wire.display_name };
    let device = Device {
        device_id: device_id.clone(),
        display_name,
        compute_capability: optional_text("compute_capability", wire.compute_capability)?,
        sm_count: wire.sm_count,
        partition_step: wire.partition_step,
        l2_bytes: Some(wire.l2_bytes).filter(|bytes| *bytes > 0),
        memory_bytes: Some(wire.memory_bytes).filter(|bytes| *bytes > 0),
        dram_bytes_per_s: ceiling("dram_bytes_per_s", wire.dram_bytes_per_s)?,
        l2_bytes_per_s: ceiling("l2_bytes_per_s", wire.l2_bytes_per_s)?,
        clock_hz: ceiling("clock_hz", wire.clock_hz)?,
        origin: "import".to_owned(),
    };
    device.validate()?;
    Ok(device)
}

fn optional_text(field: &str, text: String) -> Result<Option<String>, Invalid> {
    if text.is_empty() {
        return Ok(None);
    }
    Invalid::text(field, &text, 16)?;
    Ok(Some(text))
}

fn ceiling(field: &str, wire: Option<proto::Ceiling>) -> Result<Option<Ceiling>, Invalid> {
    let Some(wire) = wire else { return Ok(None) };
    if !wire.source.is_empty() {
        Invalid::text("source", &wire.source, MAX_TEXT_BYTES).map_err(|e| e.within(field))?;
    }
    let value = Invalid::positive("value", wire.value).map_err(|e| e.within(field))?;
    let basis = kinds::ceiling_basis("basis", wire.basis).map_err(|e| e.within(field))?;
    Ok(Some(Ceiling { value, basis, source: wire.source }))
}

/// A device with the modes for which a fitted predictor is active.
pub(crate) fn device_to_wire(device: &Device, fitted: impl IntoIterator<Item = SharingMode>) -> proto::Device {
    let ceiling = |ceiling: &Option<Ceiling>| {
        ceiling.as_ref().map(|ceiling| proto::Ceiling {
            value: ceiling.value,
            basis: proto::CeilingBasis::from(ceiling.basis).into(),
            source: ceiling.source.clone(),
        })
    };
    proto::Device {
        device_id: device.device_id.to_string(),
        display_name: device.display_name.clone(),
        compute_capability: device.compute_capability.clone().unwrap_or_default(),
        sm_count: device.sm_count,
        partition_step: device.partition_step,
        l2_bytes: device.l2_bytes.unwrap_or_default(),
        memory_bytes: device.memory_bytes.unwrap_or_default(),
        dram_bytes_per_s: ceiling(&device.dram_bytes_per_s),
        l2_bytes_per_s: ceiling(&device.l2_bytes_per_s),
        clock_hz: ceiling(&device.clock_hz),
        origin: device.origin.clone(),
        fitted_sharing_modes: fitted.into_iter().map(|mode| proto::SharingMode::from(mode).into()).collect(),
    }
}
