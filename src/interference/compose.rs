//! Composition: from operator pairs to two workloads. Rates average, slowdowns do not: beside a partner that cycles through its
//! operators j with time shares `w_j`, a victim's operator i runs at the rate `r_i = sum_j w_j / S_ij`, and the workload's
//! slowdown is the time-weighted mean of `1 / r_i`. One rule for the fit and for the answer.

use std::sync::Arc;

use super::{
    tenant::{Slice, Tenant},
    terms::TermSpec,
};

/// A term with its coefficient.
#[derive(Clone, Copy)]
pub(super) struct WeightedTerm {
    pub spec: &'static TermSpec,
    pub coefficient: f64,
}

/// A victim's slowdown with its parts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composed {
    /// Co-run latency over solo latency.
    pub slowdown: f64,
    /// What each term adds; the sum is `slowdown - 1`.
    pub by_term: Vec<f64>,
}

/// One operator of the victim beside one of the partner.
#[derive(Debug, Clone)]
pub(super) struct OperatorCost {
    pub operator: Arc<str>,
    pub partner_operator: Arc<str>,
    pub slowdown: f64,
    pub time_fraction: f64,
}

/// The slowdown of `victim` beside `partner`.
///
/// The excess of an operator, `1/r_i - 1`, is `1/r_i * sum_j w_j (S_ij - 1) / S_ij`, so it splits by term without a rest.
pub(super) fn compose(terms: &[WeightedTerm], victim: &Tenant, partner: &Tenant) -> Composed {
    let mut slowdown = 0.0;
    let mut by_term = vec![0.0; terms.len()];
    let mut lost = vec![0.0; terms.len()];
    let mut phi = vec![0.0; terms.len()];
    for v in &victim.slices {
        let mut rate = 1.0;
        lost.fill(0.0);
        for p in &partner.slices {
            let s = pair_slowdown(terms, v, p, &mut phi);
            let weight = partner.activity * p.weight / s;
            rate -= weight * (s - 1.0);
            lost.iter_mut().zip(&phi).for_each(|(lost, phi)| *lost += weight * phi);
        }
        slowdown += v.weight / rate;
        by_term.iter_mut().zip(&lost).for_each(|(sum, lost)| *sum += v.weight * lost / rate);
    }
    Composed { slowdown, by_term }
}

/// `S_ij`, and in `phi` each term's part of its excess.
fn pair_slowdown(terms: &[WeightedTerm], victim: &Slice, partner: &Slice, phi: &mut [f64]) -> f64 {
    let mut slowdown = 1.0;
    for (term, phi) in terms.iter().zip(phi) {
        *phi = term.coefficient * (term.spec.phi)(&victim.pressure, &partner.pressure);
        slowdown += *phi;
    }
    slowdown
}

/// The slowdown at `coefficients` and its derivative by each of them, from the features of every pair of slices.
pub(super) fn slowdown_and_gradient(features: &PairFeatures, coefficients: &[f64], gradient: &mut [f64]) -> f64 {
    let terms = coefficients.len();
    let mut lost = vec![0.0; terms];
    gradient.fill(0.0);
    let mut slowdown = 0.0;
    for (v, row) in features.victim_weights.iter().zip(features.phi.chunks(features.partner_weights.len() * terms)) {
        let mut rate = 1.0;
        lost.fill(0.0);
        for (w, phi) in features.partner_weights.iter().zip(row.chunks(terms)) {
            let s = 1.0 + dot(phi, coefficients);
            rate -= w * (s - 1.0) / s;
            let scale = w / (s * s);
            lost.iter_mut().zip(phi).for_each(|(lost, phi)| *lost += scale * f64::from(*phi));
        }
        slowdown += v / rate;
        let scale = v / (rate * rate);
        gradient.iter_mut().zip(&lost).for_each(|(g, lost)| *g += scale * lost);
    }
    slowdown
}

fn dot(phi: &[f32], coefficients: &[f64]) -> f64 {
    phi.iter().zip(coefficients).map(|(phi, c)| f64::from(*phi) * c).sum()
}

/// The features of every pair of slices of a victim and a partner: what a fit needs of a sample.
pub(super) struct PairFeatures {
    victim_weights: Vec<f64>,
    partner_weights: Vec<f64>,
    /// By victim slice, partner slice, term. Single precision: a fit of thousands of samples holds hundreds of millions.
    phi: Vec<f32>,
}

impl PairFeatures {
    pub(super) fn new(terms: &[&TermSpec], victim: &Tenant, partner: &Tenant) -> Self {
        let mut phi = Vec::with_capacity(victim.slices.len() * partner.slices.len() * terms.len());
        for v in &victim.slices {
            for p in &partner.slices {
                #[expect(clippy::cast_possible_truncation, reason = "seven digits are more than any counter has")]
                phi.extend(terms.iter().map(|term| (term.phi)(&v.pressure, &p.pressure) as f32));
            }
        }
        Self {
            victim_weights: victim.slices.iter().map(|s| s.weight).collect(),
            partner_weights: partner.slices.iter().map(|s| partner.activity * s.weight).collect(),
            phi,
        }
    }
}

/// The `count` pairs of operators that add most to the victim's slowdown, worst first.
pub(super) fn worst_pairs(terms: &[WeightedTerm], victim: &Tenant, partner: &Tenant, count: usize) -> Vec<OperatorCost> {
    let mut phi = vec![0.0; terms.len()];
    let mut costs = vec![];
    for v in &victim.slices {
        for p in &partner.slices {
            let (Some(operator), Some(partner_operator)) = (&v.operator, &p.operator) else { continue };
            let slowdown = pair_slowdown(terms, v, p, &mut phi);
            let time_fraction = v.weight * p.weight * partner.activity;
            if slowdown > 1.0 {
                costs.push((time_fraction * (slowdown - 1.0), slowdown, time_fraction, operator, partner_operator));
            }
        }
    }
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    costs
        .into_iter()
        .take(count)
        .map(|(_, slowdown, time_fraction, operator, partner_operator)| OperatorCost {
            operator: operator.clone(),
            partner_operator: partner_operator.clone(),
            slowdown,
            time_fraction,
        })
        .collect()
}
