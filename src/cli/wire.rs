//! What verbs print of the catalog, as the messages of the wire.

use crate::{
    domain::{self, DeviceId},
    interference::{Term, WorkloadProfile},
    proto,
    store::{Catalog, PredictorInfo},
};

pub(super) fn device(device: &domain::Device, catalog: &Catalog) -> proto::Device {
    let _ = catalog;
    proto::Device { device_id: device.device_id.to_string(), ..Default::default() }
}

pub(super) fn workload(device: &DeviceId, profile: &WorkloadProfile) -> proto::Workload {
    proto::Workload { device: device.to_string(), workload: profile.workload.to_string(), ..Default::default() }
}

pub(super) fn predictor(info: &PredictorInfo) -> proto::Predictor {
    proto::Predictor { predictor_version: info.version.clone(), ..Default::default() }
}

pub(super) fn term(term: &Term) -> proto::PredictorTerm {
    proto::PredictorTerm {
        term: term.term.clone(),
        channel: proto::Channel::from(term.channel).into(),
        coefficient: term.coefficient,
    }
}
