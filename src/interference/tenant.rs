//! A workload placed on a share: what composition works on.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

use super::{
    ShareProfile, WorkloadProfile,
    pressure::{LAUNCH_CEILING_PER_S, Needs, Pressure},
    profile::OperatorRow,
    reason::Reason,
    solo_curve::{Bracket, Reach, bracket, solo_latency_us},
};
use crate::domain::{Device, Provenance, Signature, SmShare, SoloLatency};

/// Why a tenant cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TenantError {
    /// The workload has no signature at any share.
    #[error("workload {workload:?} has no signature on device {device} at any share")]
    SignatureMissing {
        /// The workload.
        workload: String,
        /// The device.
        device: String,
    },
}

/// A slice of a tenant's time.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    /// The operator that runs; `None` in the gaps between kernels.
    pub operator: Option<Arc<str>>,
    /// Fraction of the tenant's solo time, (0, 1].
    pub weight: f64,
    /// What it asks of the shared resources.
    pub pressure: Pressure,
}

/// A workload placed on a share of a device's SMs.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// The share.
    pub sm_share: SmShare,
    /// Latency of one iteration alone on the share, microseconds.
    pub solo_latency_us: f64,
    /// Fraction of time in which it is busy, (0, 1].
    pub activity: f64,
    /// Weakest provenance of the figures used.
    pub provenance: Provenance,
    /// What a reader has to know of it.
    pub reasons: Vec<Reason>,
    /// Its solo time, cut by operator; the weights add up to 1.
    pub(super) slices: Vec<Slice>,
    /// Quantities that every operator's counters gave.
    pub(super) known: Needs,
    /// Name for people.
    pub(super) label: String,
}

impl Tenant {
    /// Places a workload of the catalog: at a measured share the measured values; between, interpolated; outside,
    /// extrapolated, with reasons. `activity` in (0, 1]; `solo_latency_us` overrides the catalog's.
    pub fn place(
        device: &Device,
        profile: &WorkloadProfile,
        sm_share: SmShare,
        activity: f64,
        solo_latency_us: Option<f64>,
    ) -> Result<Self, TenantError> {
        let (false, Some(provenance)) = (profile.shares.is_empty(), profile.provenance) else {
            return Err(TenantError::SignatureMissing {
                workload: profile.workload.to_string(),
                device: device.device_id.to_string(),
            });
        };
        let measured: Vec<SmShare> = profile.shares.iter().map(|s| s.sm_share).collect();
        let at = bracket(&measured, sm_share);
        let curve = SoloCurve { solo: &profile.solo, floor_ratio: memory_ratio(&profile.shares[at.low]) };
        let (curve_us, curve_reach) = curve.at(sm_share);
        let solo_us = solo_latency_us.unwrap_or(curve_us);
        let latencies = profile.solo.iter().map(|solo| solo.provenance).filter(|_| solo_latency_us.is_none());
        let provenance = latencies.fold(provenance, Provenance::max);
        let mut tenant = Self {
            sm_share,
            solo_latency_us: solo_us,
            activity,
            provenance,
            reasons: vec![],
            slices: slices(profile, at, &curve, sm_share, solo_us / curve_us),
            known: profile.known,
            label: profile.workload.to_string(),
        };
        let reach = if solo_latency_us.is_some() { at.reach } else { weaker(at.reach, curve_reach) };
        tenant.reasons = reasons(&tenant, profile, at, reach, solo_latency_us.is_none());
        Ok(tenant)
    }

    /// Places operators given with the request; their counters are those at `sm_share`. At least one operator.
    pub fn of_operators(
        device: &Device,
        operators: &[Signature],
        sm_share: SmShare,
        activity: f64,
        solo_latency_us: Option<f64>,
    ) -> Result<Self, TenantError> {
        let label: Arc<str> = "the operators given".into();
        let rows = operators.iter().map(|s| OperatorRow { sm_share, ..OperatorRow::from(s) }).collect();
        let profile = WorkloadProfile::build(device, label.clone(), label, rows, vec![], 0);
        Self::place(device, &profile, sm_share, activity, solo_latency_us)
    }
}

struct SoloCurve<'a> {
    solo: &'a [SoloLatency],
    floor_ratio: f64,
}

impl SoloCurve<'_> {
    fn at(&self, share: SmShare) -> (f64, Reach) {
        solo_latency_us(self.solo, share, self.floor_ratio)
    }
}

fn weaker(a: Reach, b: Reach) -> Reach {
    match (a, b) {
        (Reach::Extrapolated, _) | (_, Reach::Extrapolated) => Reach::Extrapolated,
        (Reach::Interpolated, _) | (_, Reach::Interpolated) => Reach::Interpolated,
        (Reach::Measured, Reach::Measured) => Reach::Measured,
    }
}

/// The part of a share's kernel time that is spent at the DRAM or L2 ceiling, which more SMs cannot shorten.
fn memory_ratio(share: &ShareProfile) -> f64 {
    let bound: f64 =
        share.operators.iter().map(|op| op.launches * op.duration_us * op.pressure.dram.max(op.pressure.l2).min(1.0)).sum();
    bound / share.kernel_time_us()
}

/// Cuts the solo time by operator. Between two measured shares it is a mixture of both, weighted by the logarithm of the share;
/// outside, the nearest share's operators at the rate at which the extrapolated latency lets them run. `scale` is the tenant's
/// solo latency over the curve's.
fn slices(profile: &WorkloadProfile, at: Bracket, curve: &SoloCurve<'_>, share: SmShare, scale: f64) -> Vec<Slice> {
    let mut slices = vec![];
    for (index, mixture) in [(at.low, 1.0 - at.fraction), (at.high, at.fraction)] {
        if mixture > 0.0 {
            let measured = &profile.shares[index];
            let solo_us = curve.at(measured.sm_share).0 * scale;
            let speed = if at.reach == Reach::Extrapolated { solo_us / (curve.at(share).0 * scale) } else { 1.0 };
            push_slices(&mut slices, measured, share, mixture, solo_us, speed);
        }
    }
    slices
}

/// Adds the slices of one measured share. Where the kernels take longer than the solo latency, they were timed under slower
/// clocks than it was: they are taken to run faster in proportion. Where they take less, the rest of the time is gaps.
fn push_slices(slices: &mut Vec<Slice>, measured: &ShareProfile, share: SmShare, mixture: f64, solo_us: f64, speed: f64) {
    let kernels_us = measured.kernel_time_us();
    let faster = (kernels_us / solo_us).max(1.0) * speed;
    let launch = measured.launches() / (solo_us * 1e-6) * speed / LAUNCH_CEILING_PER_S;
    let total_us = kernels_us.max(solo_us);
    for op in &measured.operators {
        let pressure = Pressure { launch, share: share.get(), ..op.pressure.sped_up(faster) };
        let weight = mixture * op.launches * op.duration_us / total_us;
        slices.push(Slice { operator: Some(op.operator.clone()), weight, pressure });
    }
    let gap = 1.0 - kernels_us / total_us;
    if gap > 1e-9 {
        slices.push(Slice { operator: None, weight: mixture * gap, pressure: Pressure::gap(share.get(), launch) });
    }
}

fn reasons(tenant: &Tenant, profile: &WorkloadProfile, at: Bracket, reach: Reach, catalog_latency: bool) -> Vec<Reason> {
    let mut reasons = vec![];
    match reach {
        Reach::Measured => {}
        Reach::Interpolated => reasons.push(Reason::share_interpolated(&tenant.label, tenant.sm_share)),
        Reach::Extrapolated => reasons.push(Reason::share_extrapolated(&tenant.label, tenant.sm_share)),
    }
    reasons.extend(Reason::of_provenance(&tenant.label, tenant.provenance));
    if catalog_latency && profile.solo.iter().any(|s| s.from_kernels) {
        reasons.push(Reason::solo_latency_from_kernels(&tenant.label));
    }
    if [at.low, at.high].iter().any(|i| profile.shares[*i].clocks_locked) {
        reasons.push(Reason::clocks_locked(&tenant.label));
    }
    if [at.low, at.high].iter().any(|i| profile.shares[*i].durations_assumed) {
        reasons.push(Reason::durations_assumed(&tenant.label));
    }
    reasons
}

/// Slices up to which a tenant is composed as it is.
const FEW_SLICES: usize = 32;

impl Tenant {
    /// What composition works on: the tenant itself, or condensed as for a fit when it has many slices, since the cost grows with
    /// the product of both tenants'.
    pub(super) fn light(&self) -> Cow<'_, Self> {
        if self.slices.len() > FEW_SLICES { Cow::Owned(self.condensed()) } else { Cow::Borrowed(self) }
    }

    /// The same tenant with slices of much the same pressure made one, so that a fit over thousands of samples holds tens of
    /// slices a tenant and not hundreds. Pressures are averaged by time; cells are a twentieth of a ceiling wide.
    pub(super) fn condensed(&self) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "pressures are far below the range of an i64")]
        fn cell(value: f64) -> i64 {
            (value * 20.0).round() as i64
        }
        let mut cells: BTreeMap<[i64; 8], Slice> = BTreeMap::new();
        for slice in &self.slices {
            let p = &slice.pressure;
            let key = [p.dram, p.l2, p.hits, p.insertion, p.writes, p.reuse.min(1.0).sqrt(), p.footprint, p.busy].map(cell);
            match cells.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(slice.clone());
                }
                Entry::Occupied(mut entry) => entry.get_mut().absorb(slice),
            }
        }
        Self { slices: cells.into_values().collect(), ..self.clone() }
    }
}

impl Slice {
    fn absorb(&mut self, other: &Self) {
        self.pressure = self.pressure.mixed_with(&other.pressure, other.weight / (self.weight + other.weight));
        self.weight += other.weight;
    }
}
