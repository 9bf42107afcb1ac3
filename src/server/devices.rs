//! The devices that can be asked for: those of the catalog, else the built-in ones.

use std::collections::BTreeMap;

use crate::{
    domain::{Device, DeviceId},
    ingest,
    store::Catalog,
};

use super::{Resource, ServiceError};

/// The device of the catalog, else the built-in one.
pub(super) fn find<'c>(catalog: &'c Catalog, id: &DeviceId) -> Result<&'c Device, ServiceError> {
    let stored = catalog.devices.get(id).map(AsRef::as_ref);
    stored.or_else(|| built_in(id)).ok_or_else(|| ServiceError::unknown(Resource::Device, id.as_str()))
}

/// The built-in device.
pub(super) fn built_in(id: &DeviceId) -> Option<&'static Device> {
    ingest::devices::built_in().get(id)
}

/// All devices that [`find`] finds, by identifier.
pub(super) fn all(catalog: &Catalog) -> BTreeMap<&DeviceId, &Device> {
    let mut devices: BTreeMap<_, _> = ingest::devices::built_in().iter().collect();
    devices.extend(catalog.devices.iter().map(|(id, device)| (id, device.as_ref())));
    devices
}
