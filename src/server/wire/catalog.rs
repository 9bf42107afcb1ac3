//! Workloads and predictors as the catalog tells of them.

use std::collections::BTreeSet;

use crate::{
    domain::DeviceId,
    interference::{Predictor, ShareProfile, WorkloadProfile},
    proto,
    store::PredictorInfo,
};

use super::solo_to_wire;

/// A workload on a device.
pub(crate) fn workload_to_wire(device: &DeviceId, profile: &WorkloadProfile) -> proto::Workload {
    let shares = &profile.shares;
    let operators: BTreeSet<&str> = shares.iter().flat_map(|s| &s.operators).map(|op| op.operator.as_ref()).collect();
    proto::Workload {
        device: device.to_string(),
        workload: profile.workload.to_string(),
        family: profile.family.to_string(),
        sm_shares: shares.iter().map(|share| share.sm_share.get()).collect(),
        operators: u32::try_from(operators.len()).unwrap_or(u32::MAX),
        launches: mean_launches(shares),
        solo_latencies: profile.solo.iter().map(solo_to_wire).collect(),
        provenance: profile.provenance.map_or(proto::Provenance::Unspecified, Into::into).into(),
        missing_counters: profile.missing_counters.iter().map(|name| (*name).to_owned()).collect(),
        catalog_version: profile.catalog_version,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of shares")]
fn mean_launches(shares: &[ShareProfile]) -> f64 {
    let launches: f64 = shares.iter().flat_map(|share| &share.operators).map(|op| op.launches).sum();
    launches / shares.len().max(1) as f64
}

/// A stored predictor with its terms; `artefact` where they are wanted, with its text where that is, too.
pub(crate) fn predictor_to_wire(info: &PredictorInfo, artefact: Option<&Predictor>, with_text: bool) -> proto::Predictor {
    let terms = artefact.and_then(|predictor| predictor.artefact.as_ref()).map(|artefact| artefact.terms.as_slice());
    proto::Predictor {
        predictor_version: info.version.clone(),
        device: info.device.to_string(),
        sharing_mode: proto::SharingMode::from(info.sharing_mode).into(),
        content_sha256: info.content_sha256.clone(),
        active: info.active,
        create_time: Some(info.created_at.into()),
        samples: info.samples,
        provenance: proto::Provenance::from(info.provenance).into(),
        held_out_mean_error_pct: info.held_out_mean_error_pct,
        terms: terms
            .unwrap_or_default()
            .iter()
            .map(|term| proto::PredictorTerm {
                term: term.term.clone(),
                channel: proto::Channel::from(term.channel).into(),
                coefficient: term.coefficient,
            })
            .collect(),
        artefact_json: artefact.filter(|_| with_text).map(|predictor| predictor.to_json().to_owned()).unwrap_or_default(),
    }
}
