//! One pair: slowdowns, bounds, causes, confidence.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Predictor,
    compose::{Composed, compose, worst_pairs},
    reason::Reason,
    tenant::Tenant,
};
use crate::domain::{Channel, ConfidenceClass, Provenance};

/// Most operator pairs that an answer names.
const WORST_PAIRS: usize = 5;

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
    /// Parts of the slowdown, by channel; their sum is `slowdown_ratio - 1`.
    pub contributions: Vec<Contribution>,
    /// Channel of the largest part; `None` when nothing is contended.
    pub binding_channel: Option<Channel>,
    /// Operator pairs that cost most, at most 5; empty when not asked for.
    pub worst_operator_pairs: Vec<OperatorPairCost>,
    /// Counters that the predictor needs and that the tenant's signatures lack.
    pub missing_counters: Vec<&'static str>,
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
    let [a, b] = tenants;
    let mut reasons = vec![];
    let sides = [judge(predictor, a), judge(predictor, b)];
    // Either side's data bears on both latencies, so the wider bound holds for both.
    let widening = sides[0].widening.max(sides[1].widening);
    let light = [a.light(), b.light()];
    let predictions = [0, 1].map(|i| {
        let composed = compose(&predictor.terms, &light[i], &light[1 - i]);
        predict_one(predictor, [tenants[i], tenants[1 - i]], &composed, widening, explain)
    });
    if predictor.artefact.is_none() {
        reasons.push(Reason::generic_predictor());
    }
    if predictor.artefact.as_ref().is_some_and(|artefact| artefact.fit.provenance == Provenance::Simulated) {
        reasons.push(Reason::simulated_data());
    }
    reasons.extend(a.reasons.iter().chain(&b.reasons).cloned());
    reasons.extend(sides.into_iter().flat_map(|side| side.reasons));
    without_repeats(&mut reasons);
    PairPrediction {
        tenants: predictions,
        upper_level: predictor.calibration.level,
        confidence_class: reasons.iter().map(|r| r.class).max().unwrap_or(ConfidenceClass::Calibrated),
        reasons,
    }
}

fn without_repeats(reasons: &mut Vec<Reason>) {
    let mut seen: Vec<Reason> = vec![];
    reasons.retain(|reason| {
        let new = !seen.contains(reason);
        if new {
            seen.push(reason.clone());
        }
        new
    });
}

/// How well a predictor knows a tenant.
struct Judgement {
    reasons: Vec<Reason>,
    /// Factor on the logarithmic width of the bound, at least 1.
    widening: f64,
}

/// Outside the data the bound widens in proportion to the distance, up to five-fold; a missing counter doubles it.
fn judge(predictor: &Predictor, tenant: &Tenant) -> Judgement {
    let mut judgement = Judgement { reasons: vec![], widening: 1.0 };
    let missing = predictor.needs.without(tenant.known).counters();
    if !missing.is_empty() {
        judgement.reasons.push(Reason::counters_missing(&tenant.label, &missing));
        judgement.widening = 2.0;
    }
    if let Some(artefact) = &predictor.artefact {
        let distance = artefact.neighbourhood.distance(tenant);
        if distance > 1.0 {
            judgement.reasons.push(Reason::signature_far_from_data(&tenant.label, distance));
            judgement.widening *= distance.min(5.0);
        }
    }
    judgement
}

fn predict_one(
    predictor: &Predictor,
    [victim, partner]: [&Tenant; 2],
    composed: &Composed,
    widening: f64,
    explain: bool,
) -> TenantPrediction {
    let mut by_channel: BTreeMap<Channel, f64> = BTreeMap::new();
    for (term, excess) in predictor.terms.iter().zip(&composed.by_term) {
        *by_channel.entry(term.spec.channel).or_default() += excess;
    }
    let contributions: Vec<Contribution> =
        by_channel.into_iter().map(|(channel, excess_ratio)| Contribution { channel, excess_ratio }).collect();
    let binding = contributions.iter().filter(|c| c.excess_ratio > 0.0).max_by(|a, b| a.excess_ratio.total_cmp(&b.excess_ratio));
    let pairs = if explain { worst_pairs(&predictor.terms, victim, partner, WORST_PAIRS) } else { vec![] };
    TenantPrediction {
        slowdown_ratio: composed.slowdown,
        upper_ratio: composed.slowdown * (predictor.calibration.upper_log_ratio * widening).exp(),
        binding_channel: binding.map(|c| c.channel),
        contributions,
        worst_operator_pairs: pairs
            .into_iter()
            .map(|cost| OperatorPairCost {
                operator: cost.operator,
                partner_operator: cost.partner_operator,
                slowdown_ratio: cost.slowdown,
                time_fraction: cost.time_fraction,
            })
            .collect(),
        missing_counters: predictor.needs.without(victim.known).counters(),
    }
}
