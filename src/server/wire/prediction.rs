//! The answer for one pair.

use std::collections::HashSet;

use crate::{
    domain::{Device, SharingMode},
    interference::{Contribution, OperatorPairCost, PairPrediction, Reason, Tenant, TenantPrediction},
    proto,
};

/// A prediction with all that its answer names.
pub(crate) struct Answer<'a> {
    /// The device.
    pub(crate) device: &'a Device,
    /// The mode that was answered for.
    pub(crate) sharing_mode: SharingMode,
    /// The tenants, in the order asked.
    pub(crate) tenants: [TenantAnswer<'a>; 2],
    /// The prediction.
    pub(crate) prediction: &'a PairPrediction,
    /// Reasons that do not come from the prediction.
    pub(crate) more_reasons: Vec<Reason>,
    /// Version of the predictor.
    pub(crate) predictor_version: &'a str,
    /// Version of the snapshot.
    pub(crate) catalog_version: i64,
    /// How much is wanted.
    pub(crate) view: proto::PredictPairView,
}

/// One tenant of an answer.
pub(crate) struct TenantAnswer<'a> {
    /// Workload as asked; empty when operators were given.
    pub(crate) workload: &'a str,
    /// What was predicted with.
    pub(crate) tenant: &'a Tenant,
}

impl Answer<'_> {
    /// The message.
    pub(crate) fn to_wire(&self) -> proto::PredictPairResponse {
        let full = self.view != proto::PredictPairView::Basic;
        let tenants = self.tenants.iter().zip(&self.prediction.tenants);
        proto::PredictPairResponse {
            tenants: tenants.map(|(tenant, prediction)| self.tenant_to_wire(tenant, prediction, full)).collect(),
            confidence_class: proto::ConfidenceClass::from(self.prediction.confidence_class).into(),
            reasons: self.reasons_to_wire(full),
            predictor_version: self.predictor_version.to_owned(),
            catalog_version: self.catalog_version,
            sharing_mode: proto::SharingMode::from(self.sharing_mode).into(),
        }
    }

    /// Without their sentences, which may tell the tenants apart, reasons are told once a code.
    fn reasons_to_wire(&self, full: bool) -> Vec<proto::Reason> {
        let mut codes = HashSet::new();
        let reasons = self.prediction.reasons.iter().chain(&self.more_reasons);
        reasons.filter(|reason| full || codes.insert(reason.code)).map(|reason| reason_to_wire(reason, full)).collect()
    }

    fn tenant_to_wire(&self, asked: &TenantAnswer<'_>, prediction: &TenantPrediction, full: bool) -> proto::TenantPrediction {
        let tenant = asked.tenant;
        let basic = proto::TenantPrediction {
            workload: asked.workload.to_owned(),
            sm_share: tenant.sm_share.get(),
            sm_count: tenant.sm_share.sm_count(self.device.sm_count),
            solo_latency_us: tenant.solo_latency_us,
            predicted_latency_us: tenant.solo_latency_us * prediction.slowdown_ratio,
            upper_latency_us: tenant.solo_latency_us * prediction.upper_ratio,
            upper_level: self.prediction.upper_level,
            slowdown_ratio: prediction.slowdown_ratio,
            binding_channel: prediction.binding_channel.map_or(proto::Channel::Unspecified, Into::into).into(),
            ..proto::TenantPrediction::default()
        };
        if !full {
            return basic;
        }
        proto::TenantPrediction {
            contributions: prediction.contributions.iter().map(contribution_to_wire).collect(),
            worst_operator_pairs: prediction.worst_operator_pairs.iter().map(operator_pair_to_wire).collect(),
            provenance: proto::Provenance::from(tenant.provenance).into(),
            missing_counters: prediction.missing_counters.iter().map(|name| (*name).to_owned()).collect(),
            ..basic
        }
    }
}

fn contribution_to_wire(contribution: &Contribution) -> proto::Contribution {
    proto::Contribution { channel: proto::Channel::from(contribution.channel).into(), excess_ratio: contribution.excess_ratio }
}

fn operator_pair_to_wire(pair: &OperatorPairCost) -> proto::OperatorPair {
    proto::OperatorPair {
        operator: pair.operator.to_string(),
        partner_operator: pair.partner_operator.to_string(),
        slowdown_ratio: pair.slowdown_ratio,
        time_fraction: pair.time_fraction,
    }
}

fn reason_to_wire(reason: &Reason, full: bool) -> proto::Reason {
    proto::Reason { code: reason.code.to_owned(), detail: if full { reason.detail.clone() } else { String::new() } }
}
