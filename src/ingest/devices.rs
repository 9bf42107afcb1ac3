//! Devices that are known without measuring: the built-in table and files of the same form.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
    sync::LazyLock,
};

use serde::Deserialize;

use super::{IngestError, Place};
use crate::domain::{Device, DeviceId};

const BUILT_IN: &str = include_str!("../../data/devices.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceFile {
    #[serde(default)]
    device: Vec<toml::Spanned<toml::Table>>,
}

/// The built-in devices.
#[must_use]
pub fn built_in() -> &'static BTreeMap<DeviceId, Device> {
    static DEVICES: LazyLock<BTreeMap<DeviceId, Device>> = LazyLock::new(|| {
        // A test holds that the table parses; were it damaged, no device would be known rather than the process end.
        let devices = parse(Path::new("devices.toml"), BUILT_IN, "built-in").unwrap_or_default();
        devices.into_iter().map(|device| (device.device_id.clone(), device)).collect()
    });
    &DEVICES
}

/// The devices of a file with `[[device]]` entries, the form of the built-in table.
pub fn read_device_file(path: &Path) -> Result<Vec<Device>, IngestError> {
    let text = std::fs::read_to_string(path).map_err(|source| IngestError::Open { place: Place::file(path), source })?;
    parse(path, &text, "device file")
}

fn parse(path: &Path, text: &str, origin: &str) -> Result<Vec<Device>, IngestError> {
    let file: DeviceFile = toml::from_str(text).map_err(|error| at(path, text, "", &error))?;
    if file.device.is_empty() {
        return Err(IngestError::invalid(Place::file(path), "has no [[device]] entry"));
    }
    let mut seen = HashSet::new();
    let mut devices = Vec::with_capacity(file.device.len());
    for entry in file.device {
        let line = line_of(text, entry.span().start);
        let place = Place::line(path, line);
        let device = parse_device(place.clone(), entry.into_inner(), origin)?;
        if !seen.insert(device.device_id.clone()) {
            return Err(IngestError::invalid(place.field("device_id"), format_args!("{} stands twice", device.device_id)));
        }
        devices.push(device);
    }
    Ok(devices)
}

fn parse_device(place: Place, entry: toml::Table, origin: &str) -> Result<Device, IngestError> {
    let name =
        entry.get("device_id").and_then(toml::Value::as_str).map_or_else(|| "device".to_owned(), |id| format!("device {id:?}"));
    let mut device: Device =
        entry.try_into().map_err(|error: toml::de::Error| IngestError::invalid(place.clone().field(&name), describe(&error)))?;
    device.validate().map_err(|invalid| IngestError::of(place, invalid.within(name)))?;
    origin.clone_into(&mut device.origin);
    Ok(device)
}

fn at(path: &Path, text: &str, field: &str, error: &toml::de::Error) -> IngestError {
    let mut place = Place::file(path);
    place.line = error.span().map(|span| line_of(text, span.start));
    if !field.is_empty() {
        place = place.field(field);
    }
    IngestError::invalid(place, describe(error))
}

/// The message on one line: with the key that holds the value, where the parser knows it.
fn describe(error: &toml::de::Error) -> String {
    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn line_of(text: &str, offset: usize) -> u64 {
    let upto = text.len().min(offset);
    // Not `lines()`: the line that the offset stands on is wanted, even when it is empty.
    text.as_bytes()[..upto].split(|byte| *byte == b'\n').count() as u64
}
