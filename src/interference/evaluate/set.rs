//! A data set as the evaluation takes it, and what is derived from its signatures.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    domain::{Device, PairSample, SharingMode, Signature, SmShare, SoloLatency, family_of},
    interference::{OperatorRow, WorkloadProfile},
};

/// Profiles of workloads by name.
pub(super) type Profiles = HashMap<Arc<str>, Arc<WorkloadProfile>>;

/// A data set: what was measured on one device in one sharing mode.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationSet<'a> {
    /// Its name, for the report.
    pub name: &'a str,
    /// The device.
    pub device: &'a Device,
    /// How the device was shared in the co-runs.
    pub sharing_mode: SharingMode,
    /// Signatures of the workloads.
    pub signatures: &'a [Signature],
    /// Their latencies alone.
    pub solo_latencies: &'a [SoloLatency],
    /// The co-runs; their order is that of the groups.
    pub pair_samples: &'a [PairSample],
    /// Batch sizes that the set states, by workload; else they are read off the name.
    pub batch_sizes: &'a BTreeMap<Arc<str>, u32>,
}

impl<'a> EvaluationSet<'a> {
    /// The signatures that are not at the `withheld` share.
    pub(super) fn signatures_without(&self, withheld: Option<SmShare>) -> impl Iterator<Item = &'a Signature> + use<'a> {
        self.signatures.iter().filter(move |signature| withheld.is_none_or(|share| signature.sm_share != share))
    }

    /// What the predictor knows of each workload when nothing measured alone at the `withheld` share is known.
    pub(super) fn profiles(&self, withheld: Option<SmShare>) -> Profiles {
        let families = self.families();
        let mut parts: HashMap<Arc<str>, (Vec<OperatorRow>, Vec<SoloLatency>)> = HashMap::new();
        for signature in self.signatures_without(withheld) {
            parts.entry(signature.workload.clone()).or_default().0.push(OperatorRow::from(signature));
        }
        for solo in self.solo_latencies.iter().filter(|solo| withheld.is_none_or(|share| solo.sm_share != share)) {
            parts.entry(solo.workload.clone()).or_default().1.push(solo.clone());
        }
        let profile = |(workload, (rows, solo)): (Arc<str>, _)| {
            let family = families.get(&workload).cloned().unwrap_or_else(|| family_of(&workload).into());
            (workload.clone(), Arc::new(WorkloadProfile::build(self.device, workload, family, rows, solo, 0)))
        };
        parts.into_iter().map(profile).collect()
    }

    /// The model of each workload with a signature: its family where one is stated, else its name before the first `/`.
    pub(super) fn families(&self) -> HashMap<Arc<str>, Arc<str>> {
        let mut families: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        for signature in self.signatures {
            if let Some(family) = &signature.family {
                families.entry(signature.workload.clone()).or_insert_with(|| family.clone());
            }
        }
        for signature in self.signatures {
            families.entry(signature.workload.clone()).or_insert_with(|| family_of(&signature.workload).into());
        }
        families
    }

    /// Batch size of `workload`: as stated, else the digits after `/b` in its name.
    pub(super) fn batch(&self, workload: &str) -> Option<u32> {
        self.batch_sizes.get(workload).copied().or_else(|| batch_of_name(workload))
    }
}

fn batch_of_name(workload: &str) -> Option<u32> {
    workload.split("/b").skip(1).find_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_the_digits_after_the_mark() {
        assert_eq!(batch_of_name("resnet50/b16"), Some(16));
        assert_eq!(batch_of_name("bert/base/b8x128"), Some(8));
        assert_eq!(batch_of_name("bert/b/b4"), Some(4));
        assert_eq!(batch_of_name("b16"), None);
    }
}
