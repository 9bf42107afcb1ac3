//! What the channels leave: how far a workload's sensitivity departs from what its counters say, and a smooth rest. A Gaussian
//! process on the logarithm of measured over channel part, so that a few samples change it in closed form.
//!
//! The covariance of two directions, with v and p their victims and partners, d the distance of [`Metric`], and c the
//! channels' relative contributions `g_c / S_0`:
//!
//! ```text
//! smooth * exp(-(d(v, v')^2 + d(p, p')^2) / (2 length^2))
//!   + ([model v = model v'] + 1/2 [model p = model p'] + 1/2 [workload v = workload v'] + 1/4 [workload p = workload p'])
//!     * (intercept + slope * sum_c c c')
//! ```
//!
//! On a device that the fit has not seen, all its victims and all its partners depart together as well.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};

use super::{
    cholesky::Factor,
    compose::{ByChannel, CHANNELS},
    place::{Metric, Place},
    tenant::Tenant,
};
use crate::domain::{DeviceId, SmShare};

/// Prior variances, of the logarithm of the slowdown unless said otherwise, and the length over which the smooth part changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Priors {
    /// Of the smooth part.
    pub smooth: f64,
    /// In root-mean-square standard deviations of the places' coordinates.
    pub length: f64,
    /// Of a model's intercept as a victim.
    pub intercept: f64,
    /// Of a model's relative sensitivity to a channel as a victim, dimensionless.
    pub slope: f64,
    /// Of a measurement.
    pub noise: f64,
}

/// How much of a model's variance as a victim falls to each: victim's model, partner's model, victim's workload, partner's
/// workload, and, of a device that the fit has not seen, all its victims and all its partners.
const ROLES: [f64; 6] = [1.0, 0.5, 0.5, 0.25, 1.0, 0.5];

/// A tenant of the data: a workload on a share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Subject {
    pub workload: Arc<str>,
    pub family: Arc<str>,
    pub device: DeviceId,
    pub sm_share: SmShare,
    pub place: Place,
}

impl Subject {
    pub(super) fn of(tenant: &Tenant) -> Self {
        Self {
            workload: tenant.workload.clone(),
            family: tenant.family.clone(),
            device: tenant.device.clone(),
            sm_share: tenant.sm_share,
            place: tenant.place,
        }
    }
}

/// One timed direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Observation {
    /// Places among the subjects.
    pub victim: usize,
    pub partner: usize,
    /// Relative contributions of the channels, `g_c / S_0`.
    pub by_channel: ByChannel,
    /// log(measured / channel part).
    pub log_ratio: f64,
    /// How much it counts, (0, 1].
    pub weight: f64,
}

/// Names as numbers, so that they compare quickly.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Key {
    workload: usize,
    family: usize,
    /// A device that the fit has not seen: all its workloads depart together.
    foreign: Option<usize>,
}

fn keys(subjects: &[Subject], is_home: &dyn Fn(&DeviceId) -> bool) -> Vec<Key> {
    let mut workloads: HashMap<&str, usize> = HashMap::new();
    let mut families: HashMap<&str, usize> = HashMap::new();
    let mut keys = Vec::with_capacity(subjects.len());
    let mut devices: HashMap<&DeviceId, usize> = HashMap::new();
    for Subject { workload, family, device, .. } in subjects {
        let (w, f, d) = (workloads.len(), families.len(), devices.len());
        keys.push(Key {
            workload: *workloads.entry(workload).or_insert(w),
            family: *families.entry(family).or_insert(f),
            foreign: (!is_home(device)).then(|| *devices.entry(device).or_insert(d)),
        });
    }
    keys
}

/// Subjects with the distances between them.
#[derive(Debug, Clone)]
pub(super) struct Cast {
    keys: Vec<Key>,
    /// Squared distances.
    squared: DMatrix<f64>,
}

impl Cast {
    /// `is_home` says which devices the fit has seen.
    pub(super) fn new(subjects: &[Subject], metric: &Metric, is_home: &dyn Fn(&DeviceId) -> bool) -> Self {
        let n = subjects.len();
        let mut squared = DMatrix::zeros(n, n);
        for i in 0..n {
            for j in 0..i {
                let distance = metric.squared(&subjects[i].place, &subjects[j].place);
                squared[(i, j)] = distance;
                squared[(j, i)] = distance;
            }
        }
        Self { keys: keys(subjects, is_home), squared }
    }

    /// The model of a subject, as a number.
    pub(super) fn family(&self, subject: usize) -> usize {
        self.keys[subject].family
    }

    /// Distance from a subject to the nearest of `others`.
    pub(super) fn distance(&self, subject: usize, others: &[usize]) -> f64 {
        others.iter().map(|other| self.squared[(subject, *other)]).fold(f64::INFINITY, f64::min).sqrt()
    }

    /// The covariance of pairs of subjects under `priors`.
    pub(super) fn kernel(&self, priors: Priors) -> Kernel<'_> {
        let factor = -0.5 / priors.length.powi(2);
        Kernel { cast: self, priors, alike: self.squared.map(|squared| (factor * squared).exp()) }
    }
}

/// The covariance of pairs of subjects.
pub(super) struct Kernel<'c> {
    cast: &'c Cast,
    priors: Priors,
    alike: DMatrix<f64>,
}

impl Kernel<'_> {
    fn between(&self, a: &Observation, b: &Observation) -> f64 {
        let smooth = self.priors.smooth * self.alike[(a.victim, b.victim)] * self.alike[(a.partner, b.partner)];
        let keys = &self.cast.keys;
        let [victims, partners] = [(keys[a.victim], keys[b.victim]), (keys[a.partner], keys[b.partner])];
        let same = [
            victims.0.family == victims.1.family,
            partners.0.family == partners.1.family,
            victims.0.workload == victims.1.workload,
            partners.0.workload == partners.1.workload,
            victims.0.foreign.is_some() && victims.0.foreign == victims.1.foreign,
            partners.0.foreign.is_some() && partners.0.foreign == partners.1.foreign,
        ];
        let shared: f64 = ROLES.iter().zip(same).map(|(role, same)| if same { *role } else { 0.0 }).sum();
        if shared > 0.0 {
            let slopes: f64 = a.by_channel.iter().zip(&b.by_channel).map(|(a, b)| a * b).sum();
            smooth + shared * (self.priors.intercept + self.priors.slope * slopes)
        } else {
            smooth
        }
    }

    /// The covariances between `rows` and `columns`.
    pub(super) fn matrix(&self, rows: &[&Observation], columns: &[&Observation]) -> DMatrix<f64> {
        DMatrix::from_fn(rows.len(), columns.len(), |i, j| self.between(rows[i], columns[j]))
    }

    /// The factor of the covariance of measured `rows`; only its lower triangle is made. `None` when it has none, which rounding
    /// can bring about when the noise is next to nothing.
    pub(super) fn factor(&self, rows: &[&Observation]) -> Option<Factor> {
        let n = rows.len();
        let mut matrix = DMatrix::zeros(n, n);
        for j in 0..n {
            for i in j..n {
                matrix[(i, j)] = self.between(rows[i], rows[j]);
            }
            matrix[(j, j)] += self.noise(rows[j]);
        }
        Factor::new(matrix)
    }

    /// The variance of a measurement.
    pub(super) fn noise(&self, row: &Observation) -> f64 {
        self.priors.noise / row.weight
    }
}

/// The log ratios of `rows`.
pub(super) fn log_ratios(rows: &[&Observation]) -> DVector<f64> {
    DVector::from_iterator(rows.len(), rows.iter().map(|row| row.log_ratio))
}

/// The residual part of a predictor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Residual {
    pub priors: Priors,
    pub metric: Metric,
    pub subjects: Vec<Subject>,
    pub observations: Vec<Observation>,
    /// Observations, from this place on, that a few samples brought.
    pub adapted_from: usize,
    /// The solution of (covariance + noise) alpha = log ratios.
    pub alpha: Vec<f64>,
}

impl Residual {
    /// Whether the fit has seen a device.
    pub(super) fn is_home(&self, device: &DeviceId) -> bool {
        let fitted = &self.observations[..self.adapted_from];
        fitted.iter().any(|o| [o.victim, o.partner].iter().any(|s| self.subjects[*s].device == *device))
    }

    /// The covariances that belong to it, with `subjects` in place of its own.
    pub(super) fn cast(&self, subjects: &[Subject]) -> Cast {
        let home: HashSet<&DeviceId> = self.subjects.iter().map(|s| &s.device).filter(|device| self.is_home(device)).collect();
        Cast::new(subjects, &self.metric, &|device| home.contains(device))
    }

    /// Checks what came from outside; an error says what does not fit.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        let subjects = self.subjects.len();
        if self.observations.iter().any(|o| o.victim >= subjects || o.partner >= subjects) {
            return Err("an observation is of a subject that is not there");
        }
        if self.alpha.len() != self.observations.len() || self.adapted_from > self.observations.len() {
            return Err("its lists are not equally long");
        }
        let figures = self.observations.iter().flat_map(|o| o.by_channel.iter().chain([&o.log_ratio, &o.weight]));
        let Priors { smooth, length, intercept, slope, noise } = self.priors;
        if figures.chain(&self.alpha).any(|figure| !figure.is_finite())
            || [smooth, intercept, slope].iter().any(|prior| !prior.is_finite() || *prior < 0.0)
            || [length, noise].iter().any(|prior| !prior.is_finite() || *prior <= 0.0)
            || self.observations.iter().any(|o| o.weight <= 0.0)
        {
            return Err("a figure of it is none that a fit makes");
        }
        Ok(())
    }
}

/// Departures of a workload or a model in one role.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Departure {
    /// Of the logarithm of the slowdown.
    pub intercept: f64,
    /// Relative sensitivity to each channel: 0.3 is 1.3 times as sensitive as its counters say.
    pub slopes: ByChannel,
}

impl Departure {
    fn add(&mut self, factor: f64, priors: Priors, observation: &Observation) {
        self.intercept += factor * priors.intercept;
        for (slope, c) in self.slopes.iter_mut().zip(&observation.by_channel) {
            *slope += factor * priors.slope * c;
        }
    }

    fn plus(mut self, other: Option<&Self>) -> Self {
        if let Some(other) = other {
            self.intercept += other.intercept;
            self.slopes.iter_mut().zip(&other.slopes).for_each(|(a, b)| *a += b);
        }
        self
    }
}

/// The residual part laid out for answers.
#[derive(Debug, Clone)]
pub(super) struct Departures {
    /// By workload and by model, each as a victim and as a partner.
    workloads: HashMap<Arc<str>, [Departure; 2]>,
    families: HashMap<Arc<str>, [Departure; 2]>,
    /// Of devices that the fit has not seen.
    foreign: HashMap<DeviceId, [Departure; 2]>,
    /// Subjects that are victims, and for each of them its partners with the weights of the smooth part.
    victims: Vec<usize>,
    partners: Vec<Vec<(usize, f64)>>,
    /// Subjects that are partners.
    partner_subjects: Vec<usize>,
    /// Workloads that the fit has seen as a victim and as a partner, and models of which there are a few samples.
    seen: [HashSet<Arc<str>>; 2],
    adapted: HashSet<Arc<str>>,
}

impl Departures {
    pub(super) fn new(residual: &Residual) -> Self {
        let mut workloads: HashMap<Arc<str>, [Departure; 2]> = HashMap::new();
        let mut families: HashMap<Arc<str>, [Departure; 2]> = HashMap::new();
        let mut foreign: HashMap<DeviceId, [Departure; 2]> = HashMap::new();
        let keys = residual.cast(&residual.subjects).keys;
        let mut victims: Vec<usize> = vec![];
        let mut place: HashMap<usize, usize> = HashMap::new();
        let mut partners: Vec<Vec<(usize, f64)>> = vec![];
        for (observation, alpha) in residual.observations.iter().zip(&residual.alpha) {
            for (role, subject) in [observation.victim, observation.partner].into_iter().enumerate() {
                let is_foreign = keys[subject].foreign.is_some();
                let subject = &residual.subjects[subject];
                let add = |departure: &mut [Departure; 2], part: f64| {
                    departure[role].add(part * alpha, residual.priors, observation);
                };
                add(families.entry(subject.family.clone()).or_default(), ROLES[role]);
                add(workloads.entry(subject.workload.clone()).or_default(), ROLES[2 + role]);
                if is_foreign {
                    add(foreign.entry(subject.device.clone()).or_default(), ROLES[4 + role]);
                }
            }
            let at = *place.entry(observation.victim).or_insert_with(|| {
                victims.push(observation.victim);
                partners.push(vec![]);
                victims.len() - 1
            });
            partners[at].push((observation.partner, residual.priors.smooth * alpha));
        }
        let mut seen: [HashSet<Arc<str>>; 2] = Default::default();
        let mut adapted: HashSet<Arc<str>> = HashSet::new();
        for (at, observation) in residual.observations.iter().enumerate() {
            for (role, subject) in [observation.victim, observation.partner].into_iter().enumerate() {
                let subject = &residual.subjects[subject];
                if at < residual.adapted_from {
                    seen[role].insert(subject.workload.clone());
                } else {
                    adapted.insert(subject.family.clone());
                }
            }
        }
        let mut partner_subjects: Vec<usize> = residual.observations.iter().map(|o| o.partner).collect();
        partner_subjects.sort_unstable();
        partner_subjects.dedup();
        Self { workloads, families, foreign, victims, partners, partner_subjects, seen, adapted }
    }

    fn departure(&self, tenant: &Tenant, role: usize) -> Departure {
        let departures =
            [self.families.get(&tenant.family), self.workloads.get(&tenant.workload), self.foreign.get(&tenant.device)];
        departures.into_iter().fold(Departure::default(), |sum, roles| sum.plus(roles.map(|roles| &roles[role])))
    }

    fn known(&self, tenant: &Tenant) -> [Known; 2] {
        [0, 1].map(|role| {
            if self.seen[role].contains(&tenant.workload) {
                Known::Seen
            } else if self.adapted.contains(&tenant.family) {
                Known::FewSamples
            } else {
                Known::Unseen
            }
        })
    }

    /// What the residual has to know of a tenant, whatever it is put beside.
    pub(super) fn reach(&self, residual: &Residual, tenant: &Tenant) -> Reached {
        let squared: Vec<f64> = residual.subjects.iter().map(|s| residual.metric.squared(&s.place, &tenant.place)).collect();
        let factor = -0.5 / residual.priors.length.powi(2);
        let alike: Vec<f64> = squared.iter().map(|squared| (factor * squared).exp()).collect();
        let beside = |partners: &Vec<(usize, f64)>| partners.iter().map(|(partner, weight)| weight * alike[*partner]).sum();
        let nearest = |subjects: &[usize]| subjects.iter().map(|s| squared[*s]).fold(f64::INFINITY, f64::min).sqrt();
        Reached {
            as_victim: self.victims.iter().map(|victim| alike[*victim]).collect(),
            as_partner: self.partners.iter().map(beside).collect(),
            departures: [self.departure(tenant, 0), self.departure(tenant, 1)],
            distances: [nearest(&self.victims), nearest(&self.partner_subjects)],
            known: self.known(tenant),
        }
    }
}

/// How well a predictor knows a workload in a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is in the data of the fit.
    Seen,
    /// A few samples brought it, it or the other workloads of its model.
    FewSamples,
    Unseen,
}

/// What the residual knows of a tenant.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    /// Likeness to each victim of the data.
    as_victim: Vec<f64>,
    /// Weight that it gives to each victim of the data as that one's partner.
    as_partner: Vec<f64>,
    departures: [Departure; 2],
    /// Distance to the nearest victim and to the nearest partner of the data.
    pub distances: [f64; 2],
    /// As a victim and as a partner.
    pub known: [Known; 2],
}

/// The logarithmic departure of a victim beside a partner: of each channel's relative contribution, and the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rest {
    pub slopes: ByChannel,
    pub smooth: f64,
}

impl Reached {
    pub(super) fn beside(&self, partner: &Self) -> Rest {
        let slopes = |c: usize| self.departures[0].slopes[c] + partner.departures[1].slopes[c];
        let smooth: f64 = self.as_victim.iter().zip(&partner.as_partner).map(|(alike, weight)| alike * weight).sum();
        Rest {
            slopes: std::array::from_fn::<f64, { CHANNELS.len() }, _>(slopes),
            smooth: smooth + self.departures[0].intercept + partner.departures[1].intercept,
        }
    }
}
