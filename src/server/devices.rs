//! Devices that are known without being in the catalog.

use crate::domain::{Device, DeviceId};

/// The built-in device of this identifier.
pub(super) fn built_in(id: &DeviceId) -> Option<&'static Device> {
    all_built_in().iter().find(|device| device.device_id == *id)
}

/// All built-in devices.
pub(super) fn all_built_in() -> &'static [Device] {
    &[]
}
