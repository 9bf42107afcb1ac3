//! One pair: latencies, bounds, causes, confidence.

use std::sync::Arc;

use crate::domain::{Channel, ConfidenceClass};

use super::{Predictor, Reason, Tenant};

/// One channel's part of a slowdown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// The channel.
    pub channel: Channel,
    /// What it adds to the slowdown of 1.
    pub excess_ratio: f64,
}

/// One operator of a tenant beside one of its partner.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorPairCost {
    /// Operator of the tenant.
    pub operator: Arc<str>,
    /// Operator of the partner.
    pub partner_operator: Arc<str>,
    /// Slowdown while the two run side by side.
    pub slowdown_ratio: f64,
    /// Fraction of the tenant's solo time in which they meet.
    pub time_fraction: f64,
}

/// What happens to one tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantPrediction {
    /// Co-run latency over solo latency.
    pub slowdown_ratio: f64,
    /// Upper bound of that ratio at [`PairPrediction::upper_level`].
    pub upper_ratio: f64,
    /// Parts of the slowdown; their sum is `slowdown_ratio - 1`.
    pub contributions: Vec<Contribution>,
    /// Channel of the largest part; `None` when nothing is contended.
    pub binding_channel: Option<Channel>,
    /// Operator pairs that cost most, at most 5; empty when not asked for.
    pub worst_operator_pairs: Vec<OperatorPairCost>,
}

/// What happens to a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct PairPrediction {
    /// In the order asked.
    pub tenants: [TenantPrediction; 2],
    /// Level of the upper bounds.
    pub upper_level: f64,
    /// How far to trust it: the weaker of the two.
    pub confidence_class: ConfidenceClass,
    /// Why, and what else to know; without repeats.
    pub reasons: Vec<Reason>,
}

/// Predicts what `tenants` do to each other. `explain` adds the worst operator pairs.
#[must_use]
pub fn predict(predictor: &Predictor, tenants: [&Tenant; 2], explain: bool) -> PairPrediction {
    let _ = (predictor, tenants, explain);
    todo!()
}
