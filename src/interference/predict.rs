//! One pair: slowdowns, bounds, causes, confidence.

use std::sync::Arc;

use super::{
    Predictor,
    calibration::Stratum,
    compose::{CHANNELS, Composed},
    fit::relative,
    reason::{FAR, Reason},
    residual::{Known, Reached, Rest},
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
    /// The slowdown of the channels alone, without the departures of the workloads and the residual: it never falls when the
    /// partner presses harder.
    pub channel_ratio: f64,
    /// Upper bound of `slowdown_ratio` at [`PairPrediction::upper_level`].
    pub upper_ratio: f64,
    /// How far to trust it: what is known of the tenant as a victim and of its partner as a partner.
    pub confidence_class: ConfidenceClass,
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
    predict_known(predictor, [&Acquaintance::new(predictor, tenants[0]), &Acquaintance::new(predictor, tenants[1])], explain)
}

/// A tenant with what a predictor knows of it, whatever it is put beside: worth keeping where one tenant is put beside many.
#[derive(Debug, Clone)]
pub struct Acquaintance<'t> {
    tenant: &'t Tenant,
    reached: Option<Reached>,
    reasons: Vec<Reason>,
    /// Factor on the logarithmic width of the bound, at least 1.
    widening: f64,
}

impl<'t> Acquaintance<'t> {
    /// What `predictor` knows of `tenant`. A missing counter doubles the width of the bound.
    #[must_use]
    pub fn new(predictor: &Predictor, tenant: &'t Tenant) -> Self {
        let residual = predictor.artefact.as_ref().and_then(|artefact| artefact.residual.as_ref());
        let reached =
            predictor.departures.as_ref().zip(residual).map(|(departures, residual)| departures.reach(residual, tenant));
        let mut known = Self { tenant, reached, reasons: vec![], widening: 1.0 };
        let missing = predictor.needs.without(tenant.known).counters();
        if !missing.is_empty() {
            known.reasons.push(Reason::counters_missing(&tenant.label, &missing));
            known.widening = 2.0;
        }
        let threshold = predictor.calibration.threshold;
        if known.is_unknown(0, threshold) || known.is_unknown(1, threshold) {
            known.reasons.push(Reason::signature_far_from_data(&tenant.label, known.distance()));
            known.widening *= (known.distance() / predictor.calibration.reach).clamp(1.0, 5.0);
        }
        known
    }

    /// Nothing was measured of it in this role (0 victim, 1 partner), and nothing near enough to stand for it.
    fn is_unknown(&self, role: usize, threshold: f64) -> bool {
        self.reached.as_ref().is_some_and(|r| r.known[role] == Known::Unseen && r.distances[role] > threshold)
    }

    fn has_few_samples(&self, role: usize) -> bool {
        self.reached.as_ref().is_some_and(|r| r.known[role] == Known::FewSamples)
    }

    fn distance(&self) -> f64 {
        self.reached.as_ref().map_or(0.0, |r| r.distances[0].max(r.distances[1]))
    }
}

/// What is known of a victim beside a partner.
fn stratum(predictor: &Predictor, victim: &Acquaintance<'_>, partner: &Acquaintance<'_>) -> Stratum {
    let threshold = predictor.calibration.threshold;
    match Stratum::of([victim.is_unknown(0, threshold), partner.is_unknown(1, threshold)]) {
        Stratum::Near if victim.has_few_samples(0) || partner.has_few_samples(1) => Stratum::Few,
        stratum => stratum,
    }
}

/// The same for tenants whose acquaintance was made.
#[must_use]
pub fn predict_known(predictor: &Predictor, tenants: [&Acquaintance<'_>; 2], explain: bool) -> PairPrediction {
    let [a, b] = tenants;
    // Either side's data bears on both latencies, so the wider bound holds for both.
    let widening = a.widening.max(b.widening);
    let mut predictions = [[a, b], [b, a]].map(|pair| predict_one(predictor, pair, widening, explain));
    let mut reasons = vec![];
    if predictor.artefact.is_none() {
        reasons.push(Reason::generic_predictor());
    }
    if predictor.artefact.as_ref().is_some_and(|artefact| artefact.fit.provenance == Provenance::Simulated) {
        reasons.push(Reason::simulated_data());
    }
    reasons.extend(a.tenant.reasons.iter().chain(&b.tenant.reasons).chain(&a.reasons).chain(&b.reasons).cloned());
    without_repeats(&mut reasons);
    // Whatever is not about a role holds for both.
    let common = reasons.iter().filter(|r| r.code != FAR).map(|r| r.class).max().unwrap_or(ConfidenceClass::Calibrated);
    predictions.iter_mut().for_each(|side| side.confidence_class = side.confidence_class.max(common));
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

fn predict_one(
    predictor: &Predictor,
    [victim, partner]: [&Acquaintance<'_>; 2],
    widening: f64,
    explain: bool,
) -> TenantPrediction {
    let composed = predictor.law.compose(victim.tenant, partner.tenant);
    let rest = victim.reached.as_ref().zip(partner.reached.as_ref()).map(|(victim, partner)| victim.beside(partner));
    let (slowdown, contributions) = with_rest(&composed, rest, partner.tenant.activity);
    let binding = contributions.iter().filter(|c| c.excess_ratio > 0.0).max_by(|a, b| a.excess_ratio.total_cmp(&b.excess_ratio));
    let pairs = if explain { predictor.law.worst_pairs(victim.tenant, partner.tenant, WORST_PAIRS) } else { vec![] };
    let solo_curve = if victim.tenant.interpolated { predictor.calibration.solo_curve } else { 0.0 };
    let stratum = stratum(predictor, victim, partner);
    let width = (widening * predictor.calibration.log_width(stratum)).hypot(solo_curve);
    TenantPrediction {
        slowdown_ratio: slowdown,
        channel_ratio: composed.slowdown,
        confidence_class: match stratum {
            Stratum::Near | Stratum::Few => ConfidenceClass::Calibrated,
            Stratum::Far(_) => ConfidenceClass::Extrapolating,
        },
        upper_ratio: slowdown * width.exp(),
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
        missing_counters: predictor.needs.without(victim.tenant.known).counters(),
    }
}

/// Largest logarithmic departure from the channels: e^2, more than seven-fold, is no longer a small rest.
const LARGEST_DEPARTURE: f64 = 2.0;

/// The slowdown with the departures from the channels, and what each channel adds to it. A channel's contribution departs by its
/// slope; what that does not account for is the residual. No prediction is below 1: a measured slowdown there is noise.
fn with_rest(composed: &Composed, rest: Option<Rest>, activity: f64) -> (f64, Vec<Contribution>) {
    let contribution = |(channel, excess_ratio): (&Channel, f64)| Contribution { channel: *channel, excess_ratio };
    let Some(rest) = rest else {
        return (composed.slowdown, CHANNELS.iter().zip(composed.by_channel).map(contribution).collect());
    };
    let relative = relative(&composed.by_channel, composed.slowdown);
    let slopes: f64 = rest.slopes.iter().zip(&relative).map(|(slope, share)| slope * share).sum();
    let departure = (slopes + activity * rest.smooth).clamp(-LARGEST_DEPARTURE, LARGEST_DEPARTURE);
    let slowdown = (composed.slowdown * departure.exp()).max(1.0);
    let departed = composed.by_channel.iter().zip(&rest.slopes).map(|(excess, slope)| (excess * (1.0 + slope)).max(0.0));
    let mut contributions: Vec<Contribution> = CHANNELS.iter().zip(departed).map(contribution).collect();
    let named: f64 = contributions.iter().map(|c| c.excess_ratio).sum();
    contributions.push(Contribution { channel: Channel::Residual, excess_ratio: slowdown - 1.0 - named });
    (slowdown, contributions)
}
