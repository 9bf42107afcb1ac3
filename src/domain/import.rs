use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    io::Write,
    sync::Arc,
};

use sha2::{Digest, Sha256};

use super::{Device, Invalid, PairSample, Signature, SoloLatency, TraceEntry};

/// What one import brings, from whatever reader: stored as a whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportBatch {
    /// The device of everything below. Merged with the one in the catalog by [`Device::merged_with`].
    pub device: Device,
    /// The device is only named: what the catalog knows of it stays as it is, and is no part of what the batch says.
    pub device_is_named: bool,
    /// Signatures. Those of a workload at a share replace what the catalog had of that workload at that share.
    pub signatures: Vec<Signature>,
    /// Solo latencies; each replaces the one of its workload and share.
    pub solo_latencies: Vec<SoloLatency>,
    /// Co-runs; each replaces the one of the same `pair_id` in its device and sharing mode.
    pub pair_samples: Vec<PairSample>,
    /// Traces; those of a workload replace its trace.
    pub trace: Vec<TraceEntry>,
}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportReceipt {
    /// Signatures stored.
    pub signatures: u64,
    /// Workloads touched.
    pub workloads: u64,
    /// Solo latencies stored.
    pub solo_latencies: u64,
    /// Co-runs stored.
    pub pair_samples: u64,
    /// Catalog version from which on it can be read.
    pub catalog_version: i64,
    /// The same content had been imported under the same request before.
    pub already_imported: bool,
}

impl ImportBatch {
    /// An empty batch for `device`.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self { device, device_is_named: false, signatures: vec![], solo_latencies: vec![], pair_samples: vec![], trace: vec![] }
    }

    /// An empty batch for a device of the catalog, whose description it does not touch.
    #[must_use]
    pub fn on_known(device: Device) -> Self {
        Self { device_is_named: true, ..Self::new(device) }
    }

    /// Checks every part; an error names it, for example `signatures[3].duration_us`.
    pub fn validate(&self) -> Result<(), Invalid> {
        fn each<T>(name: &str, items: &[T], check: impl Fn(&T) -> Result<(), Invalid>) -> Result<(), Invalid> {
            items.iter().enumerate().try_for_each(|(i, item)| check(item).map_err(|e| e.within(format_args!("{name}[{i}]"))))
        }
        self.device.validate().map_err(|e| e.within("device"))?;
        each("signatures", &self.signatures, Signature::validate)?;
        each("solo_latencies", &self.solo_latencies, SoloLatency::validate)?;
        each("pair_samples", &self.pair_samples, PairSample::validate)?;
        each("trace_entries", &self.trace, TraceEntry::validate)?;
        self.validate_unique()
    }

    /// What storing it does, but for the catalog version.
    #[must_use]
    pub fn receipt(&self) -> ImportReceipt {
        let signed = self.signatures.iter().map(|signature| &signature.workload);
        let timed = self.solo_latencies.iter().map(|solo| &solo.workload);
        let workloads: HashSet<_> = signed.chain(timed).chain(self.trace.iter().map(|entry| &entry.workload)).collect();
        ImportReceipt {
            signatures: self.signatures.len() as u64,
            workloads: workloads.len() as u64,
            solo_latencies: self.stored_solo_latencies().len() as u64,
            pair_samples: self.pair_samples.len() as u64,
            ..ImportReceipt::default()
        }
    }

    /// The last latency of each workload and share. Sums of kernels are not stored: they would take the place of a measured
    /// latency, and the catalog adds them up itself where nothing was measured.
    #[must_use]
    pub fn stored_solo_latencies(&self) -> Vec<&SoloLatency> {
        let mut last: BTreeMap<&Arc<str>, Vec<&SoloLatency>> = BTreeMap::new();
        for solo in self.solo_latencies.iter().filter(|solo| !solo.from_kernels) {
            let of_workload = last.entry(&solo.workload).or_default();
            of_workload.retain(|earlier| earlier.sm_share != solo.sm_share);
            of_workload.push(solo);
        }
        last.into_values().flatten().collect()
    }

    fn validate_unique(&self) -> Result<(), Invalid> {
        let mut pairs = HashSet::new();
        for (i, pair) in self.pair_samples.iter().enumerate() {
            if !pairs.insert((pair.sharing_mode, pair.pair_id.as_str())) {
                return Err(Invalid::new(format!("pair_samples[{i}].pair_id"), format_args!("{:?} stands twice", pair.pair_id)));
            }
        }
        let mut positions = HashSet::new();
        for (i, entry) in self.trace.iter().enumerate() {
            if !positions.insert((&entry.workload, entry.position)) {
                return Err(Invalid::new(
                    format!("trace_entries[{i}].position"),
                    format_args!("{} stands twice", entry.position),
                ));
            }
        }
        Ok(())
    }

    /// SHA-256 of the content, hexadecimal: equal for equal batches.
    #[must_use]
    pub fn content_sha256(&self) -> String {
        let mut hash = Sha256::new();
        // Writing into a hash cannot fail.
        let _ = write!(hash, "{:?}", Content(self));
        format!("{:x}", hash.finalize())
    }
}

/// What a batch says. Hashes of it are kept with the requests that were served, so that its form must not change.
struct Content<'b>(&'b ImportBatch);

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImportBatch { device, device_is_named, signatures, solo_latencies, pair_samples, trace } = self.0;
        let mut batch = f.debug_struct("ImportBatch");
        if *device_is_named {
            batch.field("device_id", &device.device_id);
        } else {
            batch.field("device", device);
        }
        batch.field("signatures", signatures).field("solo_latencies", solo_latencies).field("pair_samples", pair_samples);
        batch.field("trace", trace).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::DeviceId;

    fn device(name: &str) -> Device {
        let json =
            serde_json::json!({ "device_id": DeviceId::new("device", "d").unwrap(), "display_name": name, "sm_count": 10 });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_hash_of_a_batch_is_that_of_its_debug_form_in_earlier_builds() {
        let batch = ImportBatch::new(device("a"));
        let form = format!(
            "ImportBatch {{ device: {:?}, signatures: [], solo_latencies: [], pair_samples: [], trace: [] }}",
            batch.device
        );
        assert_eq!(format!("{:?}", Content(&batch)), form);
    }

    #[test]
    fn what_is_known_of_a_device_that_is_only_named_does_not_matter() {
        let hash = |batch: ImportBatch| batch.content_sha256();
        assert_eq!(hash(ImportBatch::on_known(device("a"))), hash(ImportBatch::on_known(device("b"))));
        assert_ne!(hash(ImportBatch::new(device("a"))), hash(ImportBatch::new(device("b"))));
    }
}
