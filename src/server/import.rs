//! `ImportSignatures`: the messages of a stream gathered into one batch, checked, and stored as a whole.

use prost::Message;
use tokio::{runtime::Handle, sync::OwnedSemaphorePermit, task::spawn_blocking};
use tokio_util::sync::CancellationToken;
use tonic::{Status, Streaming};

use crate::{
    domain::{DeviceId, ImportBatch, ImportReceipt, Invalid},
    proto::{ImportSignaturesRequest, ImportSignaturesResponse},
    store::{Catalog, Store},
};

use super::{
    Resource, ServiceError, devices,
    state::Shared,
    wire::{device_from_wire, pair_sample_from_wire, signature_from_wire, solo_from_wire, trace_from_wire},
};

/// Longest identifier of an import.
pub(super) const MAX_REQUEST_ID_BYTES: usize = 128;

/// An import under way.
struct Import {
    request_id: String,
    batch: ImportBatch,
    validate_only: bool,
    bytes: u64,
    /// Its place among the imports at once, for as long as it is in memory.
    _place: OwnedSemaphorePermit,
}

/// Receives an import, stores it and answers it. Whatever goes wrong on the way, nothing has been stored.
pub(super) async fn receive(
    shared: &Shared,
    mut messages: Streaming<ImportSignaturesRequest>,
) -> Result<ImportSignaturesResponse, Status> {
    let place = shared.admit_import()?;
    let first = next(shared, &mut messages).await?.unwrap_or_default();
    let mut import = Import::begin(&shared.view()?.catalog, &first, place)?;
    import.take(first, shared.max_import_bytes)?;
    while let Some(message) = next(shared, &mut messages).await? {
        import.take(message, shared.max_import_bytes)?;
    }
    Ok(import.finish(shared).await?)
}

async fn next(
    shared: &Shared,
    messages: &mut Streaming<ImportSignaturesRequest>,
) -> Result<Option<ImportSignaturesRequest>, Status> {
    match tokio::time::timeout(shared.request_timeout, messages.message()).await {
        Ok(message) => message,
        Err(_) => Err(ServiceError::DeadlineExceeded.into()),
    }
}

impl Import {
    fn begin(catalog: &Catalog, first: &ImportSignaturesRequest, place: OwnedSemaphorePermit) -> Result<Self, ServiceError> {
        Invalid::text("request_id", &first.request_id, MAX_REQUEST_ID_BYTES)?;
        let batch = batch(catalog, first)?;
        Ok(Self { request_id: first.request_id.clone(), batch, validate_only: false, bytes: 0, _place: place })
    }

    /// Takes over what a message brings. Places in error paths count over all messages.
    fn take(&mut self, message: ImportSignaturesRequest, max_bytes: u64) -> Result<(), ServiceError> {
        self.bytes = self.bytes.saturating_add(message.encoded_len() as u64);
        if self.bytes > max_bytes {
            return Err(ServiceError::field("signatures", format_args!("the import is larger than {max_bytes} bytes")));
        }
        self.check_same("request_id", &message.request_id, &self.request_id)?;
        self.check_same("device", &message.device, self.batch.device.device_id.as_str())?;
        self.validate_only |= message.validate_only;
        extend("signatures", &mut self.batch.signatures, message.signatures, signature_from_wire)?;
        extend("solo_latencies", &mut self.batch.solo_latencies, message.solo_latencies, solo_from_wire)?;
        extend("pair_samples", &mut self.batch.pair_samples, message.pair_samples, pair_sample_from_wire)?;
        extend("trace_entries", &mut self.batch.trace, message.trace_entries, trace_from_wire)?;
        Ok(())
    }

    /// Later messages may leave out what the first one said, but not contradict it.
    #[expect(clippy::unused_self, reason = "reads as a check of the import")]
    fn check_same(&self, field: &str, said: &str, first: &str) -> Result<(), Invalid> {
        if said.is_empty() || said == first { Ok(()) } else { Err(Invalid::new(field, "differs from the first message's")) }
    }

    /// Checks and stores it, off the tasks that serve calls: to check, hash and sort out a large one takes seconds of a core.
    async fn finish(self, shared: &Shared) -> Result<ImportSignaturesResponse, ServiceError> {
        let (store, runtime, validate_only) = (shared.store.clone(), Handle::current(), self.validate_only);
        // A client that goes away takes its import with it, as long as nothing has been stored.
        let gone = CancellationToken::new();
        let _tell = gone.clone().drop_guard();
        let storing = spawn_blocking(move || runtime.block_on(gone.run_until_cancelled(self.store(store.as_ref()))));
        let stored = storing.await.map_err(|error| ServiceError::Internal(error.to_string()))?;
        let receipt = stored.unwrap_or(Err(ServiceError::ShuttingDown))?;
        if !validate_only {
            shared.snapshots.refresh().await;
        }
        Ok(receipt_to_wire(&receipt))
    }

    async fn store(self, store: &dyn Store) -> Result<ImportReceipt, ServiceError> {
        self.batch.validate()?;
        if self.validate_only {
            return Ok(self.batch.receipt());
        }
        Ok(store.import(&self.request_id, &self.batch).await?)
    }
}

fn extend<W, T>(
    field: &str,
    items: &mut Vec<T>,
    messages: Vec<W>,
    convert: impl Fn(W) -> Result<T, Invalid>,
) -> Result<(), Invalid> {
    items.reserve(messages.len());
    for message in messages {
        let item = convert(message).map_err(|e| e.within(format_args!("{field}[{}]", items.len())))?;
        items.push(item);
    }
    Ok(())
}

/// The empty batch of an import. It depends on the request alone, so that the same import sent again has the same content
/// whatever the catalog has learnt of the device since: one that the request does not describe is built in, or only named.
fn batch(catalog: &Catalog, first: &ImportSignaturesRequest) -> Result<ImportBatch, ServiceError> {
    let id = DeviceId::new("device", first.device.as_str())?;
    let known = catalog.devices.get(&id).map(AsRef::as_ref);
    if let Some(new_device) = &first.new_device {
        let described = device_from_wire(new_device.clone(), &id).map_err(|e| e.within("new_device"))?;
        if known.or_else(|| devices::built_in(&id)).is_some_and(|known| known.sm_count != described.sm_count) {
            return Err(ServiceError::field("new_device.sm_count", "is not that of the device that is known by this identifier"));
        }
        return Ok(ImportBatch::new(described));
    }
    if let Some(built_in) = devices::built_in(&id) {
        return Ok(ImportBatch::new(built_in.clone()));
    }
    known.cloned().map(ImportBatch::on_known).ok_or_else(|| ServiceError::unknown(Resource::Device, id.as_str()))
}

fn receipt_to_wire(receipt: &ImportReceipt) -> ImportSignaturesResponse {
    ImportSignaturesResponse {
        signatures: receipt.signatures,
        workloads: receipt.workloads,
        solo_latencies: receipt.solo_latencies,
        pair_samples: receipt.pair_samples,
        catalog_version: receipt.catalog_version,
        already_imported: receipt.already_imported,
    }
}
