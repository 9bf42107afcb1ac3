//! Composition: from operator pairs to two workloads. Rates average, slowdowns do not: beside a partner that cycles through its
//! operators j with time shares `w_j`, a victim's operator i runs at the rate `r_i = sum_j w_j / S_ij`, and the workload's
//! slowdown is the time-weighted mean of `1 / r_i`. One rule for the fit and for the answer.

use std::sync::Arc;

use super::{
    pressure::Pressure,
    tenant::{Slice, Tenant},
    terms::TermSpec,
};

/// Operators of a tenant that are looked at for the worst pairs; those beyond run too short to be among them.
const HEAVIEST: usize = 32;

/// Slices that one pair of operators can have: each operator has one for each of the two measured shares around the tenant's.
const SLICES_OF_A_PAIR: usize = 4;

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

/// A partner laid out for the inner loop.
struct Partner {
    pressures: Vec<Pressure>,
    weights: Vec<f64>,
}

impl Partner {
    fn new(tenant: &Tenant) -> Self {
        Self {
            pressures: tenant.slices.iter().map(|s| s.pressure).collect(),
            weights: tenant.slices.iter().map(|s| tenant.activity * s.weight).collect(),
        }
    }
}

/// The slowdown of `victim` beside `partner`.
///
/// The excess of an operator, `1/r_i - 1`, is `1/r_i * sum_j w_j (S_ij - 1) / S_ij`, so it splits by term without a rest.
pub(super) fn compose(terms: &[WeightedTerm], victim: &Tenant, partner: &Tenant) -> Composed {
    let partner = Partner::new(partner);
    let columns = partner.weights.len();
    let mut phi = vec![0.0; terms.len() * columns];
    let mut slowdowns = vec![0.0; columns];
    let mut composed = Composed { slowdown: 0.0, by_term: vec![0.0; terms.len()] };
    for v in &victim.slices {
        slowdowns.fill(1.0);
        for (term, row) in terms.iter().zip(phi.chunks_mut(columns)) {
            (term.spec.phi_row)(&v.pressure, &partner.pressures, row);
            add_scaled(&mut slowdowns, term.coefficient, row);
        }
        let (rate, lost) = rate_beside(&mut slowdowns, &partner.weights);
        composed.slowdown += v.weight / rate;
        for ((term, row), sum) in terms.iter().zip(phi.chunks(columns)).zip(&mut composed.by_term) {
            *sum += v.weight / rate * term.coefficient * dot(row, lost);
        }
    }
    composed
}

/// Below this rate its complement has lost too many digits.
const CANCELLED: f64 = 1e-6;

/// The rate `sum_j w_j / S_ij`, with 1 for the time in which the partner is idle; leaves `w_j / S_ij` in place of `S_ij`. Taken as 1
/// minus what is lost, so that an undisturbed victim's rate is 1 to the last digit.
fn rate_beside<'s>(slowdowns: &'s mut [f64], weights: &[f64]) -> (f64, &'s [f64]) {
    let mut rate = 1.0;
    for (s, w) in slowdowns.iter_mut().zip(weights) {
        let quotient = w / *s;
        rate -= quotient * (*s - 1.0);
        *s = quotient;
    }
    if rate < CANCELLED {
        let idle = (1.0 - weights.iter().sum::<f64>()).max(0.0);
        rate = idle + slowdowns.iter().sum::<f64>();
    }
    (rate, slowdowns)
}

fn add_scaled<T: Copy + Into<f64>>(sum: &mut [f64], factor: f64, row: &[T]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * (*x).into());
}

fn dot<T: Copy + Into<f64>>(row: &[T], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(x, w)| (*x).into() * w).sum()
}

/// The features of every pair of slices of a victim and a partner: what a fit needs of a sample.
pub(super) struct PairFeatures {
    victim_weights: Vec<f64>,
    partner_weights: Vec<f64>,
    /// By victim slice, term, partner slice. Single precision: a fit of thousands of samples holds hundreds of millions.
    phi: Vec<f32>,
}

impl PairFeatures {
    pub(super) fn new(terms: &[&TermSpec], victim: &Tenant, partner: &Tenant) -> Self {
        let partner = Partner::new(partner);
        let mut row = vec![0.0; partner.weights.len()];
        let mut phi = Vec::with_capacity(victim.slices.len() * terms.len() * row.len());
        for v in &victim.slices {
            for term in terms {
                (term.phi_row)(&v.pressure, &partner.pressures, &mut row);
                #[expect(clippy::cast_possible_truncation, reason = "seven digits are more than any counter has")]
                phi.extend(row.iter().map(|phi| *phi as f32));
            }
        }
        Self { victim_weights: victim.slices.iter().map(|s| s.weight).collect(), partner_weights: partner.weights, phi }
    }

    /// The slowdown at `coefficients`; leaves its derivative by each of them in `gradient`.
    pub(super) fn slowdown(&self, coefficients: &[f64], gradient: &mut [f64]) -> f64 {
        let columns = self.partner_weights.len();
        let mut slowdowns = vec![0.0; columns];
        let mut slowdown = 0.0;
        gradient.fill(0.0);
        for (v, phi) in self.victim_weights.iter().zip(self.phi.chunks(coefficients.len() * columns)) {
            slowdowns.fill(1.0);
            for (coefficient, row) in coefficients.iter().zip(phi.chunks(columns)) {
                if *coefficient > 0.0 {
                    add_scaled(&mut slowdowns, *coefficient, row);
                }
            }
            // d(1/r)/d theta = 1/r^2 sum_j w_j phi_j / S_j^2.
            let squares: Vec<f64> = slowdowns.iter().zip(&self.partner_weights).map(|(s, w)| w / (s * s)).collect();
            let (rate, _) = rate_beside(&mut slowdowns, &self.partner_weights);
            slowdown += v / rate;
            for (g, row) in gradient.iter_mut().zip(phi.chunks(columns)) {
                *g += v / (rate * rate) * dot(row, &squares);
            }
        }
        slowdown
    }
}

/// The `count` pairs of operators that add most to the victim's slowdown, worst first, among the [`HEAVIEST`] of each tenant.
pub(super) fn worst_pairs(terms: &[WeightedTerm], victim: &Tenant, partner: &Tenant, count: usize) -> Vec<OperatorCost> {
    let mut costs = vec![];
    let partners = heaviest(partner);
    for (v, operator) in heaviest(victim) {
        for (p, partner_operator) in &partners {
            let excess = terms.iter().map(|term| term.coefficient * (term.spec.phi)(&v.pressure, &p.pressure)).sum::<f64>();
            let time_fraction = v.weight * p.weight * partner.activity;
            if excess > 0.0 {
                costs.push((time_fraction * excess, time_fraction, operator, *partner_operator));
            }
        }
    }
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    costs.truncate(count * SLICES_OF_A_PAIR);
    merged(&costs).into_iter().take(count).collect()
}

/// One entry a pair of operators, in the order in which they come.
fn merged(costs: &[(f64, f64, &Arc<str>, &Arc<str>)]) -> Vec<OperatorCost> {
    let mut pairs: Vec<OperatorCost> = vec![];
    for (cost, time_fraction, operator, partner_operator) in costs {
        let known = pairs.iter_mut().find(|p| p.operator == **operator && p.partner_operator == **partner_operator);
        if let Some(pair) = known {
            let total = pair.time_fraction + time_fraction;
            pair.slowdown = 1.0 + ((pair.slowdown - 1.0) * pair.time_fraction + cost) / total;
            pair.time_fraction = total;
        } else {
            pairs.push(OperatorCost {
                operator: (*operator).clone(),
                partner_operator: (*partner_operator).clone(),
                slowdown: 1.0 + cost / time_fraction,
                time_fraction: *time_fraction,
            });
        }
    }
    pairs
}

/// The operators in which the tenant spends most of its time.
fn heaviest(tenant: &Tenant) -> Vec<(&Slice, &Arc<str>)> {
    let mut slices: Vec<_> = tenant.slices.iter().filter_map(|s| Some((s, s.operator.as_ref()?))).collect();
    slices.sort_by(|a, b| b.0.weight.total_cmp(&a.0.weight));
    slices.truncate(HEAVIEST);
    slices
}
