//! Composition: from operator pairs to two workloads. Rates average, slowdowns do not: beside a partner that cycles through its
//! operators j with time shares `w_j`, a victim's operator i runs at the rate `r_i = sum_j w_j / S_ij`, and the workload's
//! slowdown is the time-weighted mean of `1 / r_i`. One rule for the fit and for the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    pressure::Pressure,
    tenant::{OperatorSlice, Tenant},
    terms::{Feature, JOINT, PARTNER_FACTORS, PARTNERS, TermSpec, VICTIM_FACTORS, VICTIMS},
};
use crate::domain::Channel;

/// Parts that one pair of operators can have: each operator has one for each of the two measured shares around the tenant's.
const SLICES_OF_A_PAIR: usize = 4;

/// Channels that terms belong to, in the order of [`ByChannel`].
pub(super) const CHANNELS: [Channel; 5] =
    [Channel::DramBandwidth, Channel::L2Bandwidth, Channel::L2Capacity, Channel::LaunchPath, Channel::Presence];

/// A figure a channel of [`CHANNELS`].
pub(super) type ByChannel = [f64; CHANNELS.len()];

/// The place of a channel in [`CHANNELS`].
fn place_of(channel: Channel) -> usize {
    CHANNELS.iter().position(|known| *known == channel).unwrap_or(0)
}

/// A victim's slowdown with its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Composed {
    /// Co-run latency over solo latency.
    pub slowdown: f64,
    /// What each channel adds; the sum is `slowdown - 1`.
    pub by_channel: ByChannel,
}

/// One operator of the victim beside one of the partner.
#[derive(Debug, Clone)]
pub(super) struct OperatorCost {
    pub operator: Arc<str>,
    pub partner_operator: Arc<str>,
    pub slowdown: f64,
    pub time_fraction: f64,
}

/// A joint term with its coefficient.
#[derive(Debug, Clone, Copy)]
struct WeightedJoint {
    joint: usize,
    channel: usize,
    coefficient: f64,
}

/// Pressures up to which coefficients were fitted: what presses harder is taken to press so hard, since a coefficient says
/// nothing of what lies beyond its data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Range {
    victim: Pressure,
    partner: Pressure,
}

/// How far beyond the data a pressure still counts.
const REACH: f64 = 2.0;

impl Range {
    /// Nothing is in it.
    pub(super) fn nothing() -> Self {
        Self { victim: Pressure::default(), partner: Pressure::default() }
    }

    /// Everything is.
    pub(super) fn everything() -> Self {
        Self { victim: Pressure::unbounded(), partner: Pressure::unbounded() }
    }

    pub(super) fn take_in(&mut self, victim: &Tenant, partner: &Tenant) {
        for (most, tenant) in [(&mut self.victim, victim), (&mut self.partner, partner)] {
            tenant.parts.iter().for_each(|part| *most = most.at_least(&part.pressure, REACH));
        }
    }
}

/// The channel part of a predictor, laid out for composition.
#[derive(Debug, Clone)]
pub(super) struct Law {
    range: Range,
    /// Coefficients of the products, by victim factor and partner factor.
    products: [[f64; PARTNERS]; VICTIMS],
    partner_channels: [usize; PARTNERS],
    joint: Vec<WeightedJoint>,
}

impl Law {
    pub(super) fn new<'t>(terms: impl Iterator<Item = (&'t TermSpec, f64)>, range: Range) -> Self {
        let partner_channels = std::array::from_fn(|p| place_of(PARTNER_FACTORS[p].channel));
        let mut law = Self { range, products: [[0.0; PARTNERS]; VICTIMS], partner_channels, joint: vec![] };
        for (term, coefficient) in terms.filter(|(_, coefficient)| *coefficient > 0.0) {
            match term.feature {
                Feature::Product(victim, partner) => law.products[victim][partner] = coefficient,
                Feature::Joint(joint) => law.joint.push(WeightedJoint { joint, channel: place_of(term.channel), coefficient }),
            }
        }
        law
    }

    pub(super) fn range(&self) -> &Range {
        &self.range
    }

    /// What `victim` minds of each factor of a partner.
    fn sensitivity(&self, victim: &Pressure) -> [f64; PARTNERS] {
        let mut sensitivity = [0.0; PARTNERS];
        for (factor, coefficients) in VICTIM_FACTORS.iter().zip(&self.products) {
            let factor = (factor.of)(victim);
            for (sum, coefficient) in sensitivity.iter_mut().zip(coefficients) {
                *sum += factor * coefficient;
            }
        }
        sensitivity
    }

    /// `S_ij - 1` of one operator beside one other.
    fn excess(&self, sensitivity: &[f64; PARTNERS], victim: &Pressure, partner: &Pressure) -> f64 {
        let products: f64 = sensitivity.iter().zip(factors(partner)).map(|(s, factor)| s * factor).sum();
        products + self.joint.iter().map(|term| term.coefficient * (JOINT[term.joint].phi)(victim, partner)).sum::<f64>()
    }

    /// The slowdown of `victim` beside `partner`.
    ///
    /// The excess of an operator, `1/r_i - 1`, is `1/r_i * sum_j w_j (S_ij - 1) / S_ij`, so it splits by term without a rest.
    pub(super) fn compose(&self, victim: &Tenant, partner: &Tenant) -> Composed {
        let columns = partner.parts.len();
        let pressures: Vec<Pressure> = partner.parts.iter().map(|part| part.pressure.at_most(&self.range.partner)).collect();
        let factors: Vec<[f64; PARTNERS]> = pressures.iter().map(factors).collect();
        let mut phi = vec![0.0; self.joint.len() * columns];
        let mut lost = vec![0.0; columns];
        let mut composed = Composed { slowdown: 0.0, by_channel: ByChannel::default() };
        for v in &victim.parts {
            let victim = v.pressure.at_most(&self.range.victim);
            let sensitivity = self.sensitivity(&victim);
            for (excess, factors) in lost.iter_mut().zip(&factors) {
                *excess = sensitivity.iter().zip(factors).map(|(s, factor)| s * factor).sum();
            }
            for (term, row) in self.joint.iter().zip(phi.chunks_mut(columns)) {
                (JOINT[term.joint].phi_row)(&victim, &pressures, row);
                lost.iter_mut().zip(row).for_each(|(excess, phi)| *excess += term.coefficient * *phi);
            }
            let rate = rate_beside(&mut lost, partner);
            composed.slowdown += v.weight / rate;
            let scale = v.weight / rate;
            let mut pressed = [0.0; PARTNERS];
            for (lost, factors) in lost.iter().zip(&factors) {
                pressed.iter_mut().zip(factors).for_each(|(sum, factor)| *sum += lost * factor);
            }
            for ((pressed, sensitivity), channel) in pressed.iter().zip(&sensitivity).zip(&self.partner_channels) {
                composed.by_channel[*channel] += scale * pressed * sensitivity;
            }
            for (term, row) in self.joint.iter().zip(phi.chunks(columns)) {
                composed.by_channel[term.channel] += scale * term.coefficient * dot(row, &lost);
            }
        }
        composed
    }

    /// The `count` pairs of operators that add most to the victim's slowdown, worst first, among the heaviest of each tenant.
    pub(super) fn worst_pairs(&self, victim: &Tenant, partner: &Tenant, count: usize) -> Vec<OperatorCost> {
        let mut costs = vec![];
        for v in &victim.heaviest {
            let pressure = v.part.pressure.at_most(&self.range.victim);
            let sensitivity = self.sensitivity(&pressure);
            for p in &partner.heaviest {
                let excess = self.excess(&sensitivity, &pressure, &p.part.pressure.at_most(&self.range.partner));
                let time_fraction = v.part.weight * p.part.weight * partner.activity;
                if excess > 0.0 {
                    costs.push(Cost { excess_time: time_fraction * excess, time_fraction, pair: [v, p] });
                }
            }
        }
        costs.sort_by(|a, b| b.excess_time.total_cmp(&a.excess_time));
        costs.truncate(count * SLICES_OF_A_PAIR);
        merged(&costs).into_iter().take(count).collect()
    }
}

/// What a partner presses with.
fn factors(partner: &Pressure) -> [f64; PARTNERS] {
    std::array::from_fn(|p| (PARTNER_FACTORS[p].of)(partner))
}

/// Below this rate its complement has lost too many digits.
const CANCELLED: f64 = 1e-6;

/// The rate `sum_j w_j / S_ij`, with 1 for the time in which the partner is idle; leaves `w_j / S_ij` in place of `S_ij - 1`. Taken
/// as 1 minus what is lost, so that an undisturbed victim's rate is 1 to the last digit.
fn rate_beside(excess: &mut [f64], partner: &Tenant) -> f64 {
    let mut rate = 1.0;
    for (excess, part) in excess.iter_mut().zip(&partner.parts) {
        let quotient = partner.activity * part.weight / (1.0 + *excess);
        rate -= quotient * *excess;
        *excess = quotient;
    }
    if rate < CANCELLED {
        let busy: f64 = partner.parts.iter().map(|part| partner.activity * part.weight).sum();
        rate = (1.0 - busy).max(0.0) + excess.iter().sum::<f64>();
    }
    rate
}

fn dot<T: Copy + Into<f64>>(row: &[T], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(x, w)| (*x).into() * w).sum()
}

/// The features of every pair of parts of a victim and a partner: what a fit needs of a sample.
pub(super) struct PairFeatures {
    victim_weights: Vec<f64>,
    partner_weights: Vec<f64>,
    /// By victim part, term, partner part. Single precision: a fit of thousands of samples holds tens of millions.
    phi: Vec<f32>,
}

impl PairFeatures {
    #[expect(clippy::cast_possible_truncation, reason = "seven digits are more than any counter has")]
    pub(super) fn new(terms: &[&TermSpec], victim: &Tenant, partner: &Tenant) -> Self {
        let pressures: Vec<Pressure> = partner.parts.iter().map(|part| part.pressure).collect();
        let pressed: Vec<[f64; PARTNERS]> = pressures.iter().map(factors).collect();
        let mut row = vec![0.0; pressures.len()];
        let mut phi = Vec::with_capacity(victim.parts.len() * terms.len() * row.len());
        for v in &victim.parts {
            let minded: [f64; VICTIMS] = std::array::from_fn(|i| (VICTIM_FACTORS[i].of)(&v.pressure));
            for term in terms {
                match term.feature {
                    Feature::Product(v, p) => phi.extend(pressed.iter().map(|pressed| (minded[v] * pressed[p]) as f32)),
                    Feature::Joint(joint) => {
                        (JOINT[joint].phi_row)(&v.pressure, &pressures, &mut row);
                        phi.extend(row.iter().map(|phi| *phi as f32));
                    }
                }
            }
        }
        Self {
            victim_weights: victim.parts.iter().map(|part| part.weight).collect(),
            partner_weights: partner.parts.iter().map(|part| partner.activity * part.weight).collect(),
            phi,
        }
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
                    slowdowns.iter_mut().zip(row).for_each(|(s, phi)| *s += coefficient * f64::from(*phi));
                }
            }
            // d(1/r)/d theta = 1/r^2 sum_j w_j phi_j / S_j^2.
            let squares: Vec<f64> = slowdowns.iter().zip(&self.partner_weights).map(|(s, w)| w / (s * s)).collect();
            let lost: f64 = slowdowns.iter().zip(&self.partner_weights).map(|(s, w)| w * (s - 1.0) / s).sum();
            let rate = (1.0 - lost).max(CANCELLED);
            slowdown += v / rate;
            for (g, row) in gradient.iter_mut().zip(phi.chunks(columns)) {
                *g += v / (rate * rate) * dot(row, &squares);
            }
        }
        slowdown
    }
}

/// What one slice of the victim loses to one of the partner.
struct Cost<'t> {
    excess_time: f64,
    time_fraction: f64,
    pair: [&'t OperatorSlice; 2],
}

/// One entry a pair of operators, in the order in which they come.
fn merged(costs: &[Cost<'_>]) -> Vec<OperatorCost> {
    let mut pairs: Vec<OperatorCost> = vec![];
    for Cost { excess_time, time_fraction, pair: [operator, partner] } in costs {
        let known = pairs.iter_mut().find(|p| p.operator == operator.operator && p.partner_operator == partner.operator);
        if let Some(pair) = known {
            let total = pair.time_fraction + time_fraction;
            pair.slowdown = 1.0 + ((pair.slowdown - 1.0) * pair.time_fraction + excess_time) / total;
            pair.time_fraction = total;
        } else {
            pairs.push(OperatorCost {
                operator: operator.operator.clone(),
                partner_operator: partner.operator.clone(),
                slowdown: 1.0 + excess_time / time_fraction,
                time_fraction: *time_fraction,
            });
        }
    }
    pairs
}
