//! A workload placed on a share: what composition works on.

use std::sync::Arc;

use super::{
    ShareProfile, WorkloadProfile,
    condense::Part,
    place::Place,
    pressure::{LAUNCH_CEILING_PER_S, Needs, Pressure},
    profile::OperatorRow,
    reason::Reason,
    solo_curve::{Bracket, Reach, bracket, elasticity, solo_latency_us},
};
use crate::domain::{Device, DeviceId, Provenance, Signature, SmShare, SoloLatency};

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

/// An operator's slice of a tenant's time.
#[derive(Debug, Clone)]
pub(super) struct OperatorSlice {
    /// The operator.
    pub operator: Arc<str>,
    /// Fraction of the tenant's solo time and what it asks of the shared resources.
    pub part: Part,
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
    /// Its solo time, cut by pressure, the gaps between kernels included; the weights add up to 1.
    pub(super) parts: Vec<Part>,
    /// The operators that take most of it.
    pub(super) heaviest: Vec<OperatorSlice>,
    /// Where it lies among others.
    pub(super) place: Place,
    /// It stands between two measured shares.
    pub(super) interpolated: bool,
    /// The workload, by whose name a predictor knows it.
    pub(super) workload: Arc<str>,
    /// The model that it is an input of.
    pub(super) family: Arc<str>,
    pub(super) device: DeviceId,
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
        let scale = solo_us / curve_us;
        let speed = |measured: &ShareProfile| {
            let solo_us = curve.at(measured.sm_share).0 * scale;
            (solo_us, if at.reach == Reach::Extrapolated { solo_us / (curve_us * scale) } else { 1.0 })
        };
        let (mut parts, mut heaviest) = (vec![], vec![]);
        for (index, mixture) in [(at.low, 1.0 - at.fraction), (at.high, at.fraction)] {
            if mixture > 0.0 {
                let measured = &profile.shares[index];
                let (solo_us, speed) = speed(measured);
                Slicing::new(measured, sm_share, mixture, solo_us, speed).slice(&mut parts, &mut heaviest);
            }
        }
        let elasticity = elasticity(&profile.solo, sm_share);
        let mut tenant = Self {
            sm_share,
            solo_latency_us: solo_us,
            activity,
            provenance,
            reasons: vec![],
            place: Place::of(&parts, solo_us, elasticity, profile.known),
            parts,
            heaviest,
            interpolated: at.reach == Reach::Interpolated || curve_reach == Reach::Interpolated && solo_latency_us.is_none(),
            workload: profile.workload.clone(),
            family: profile.family.clone(),
            device: device.device_id.clone(),
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

/// How the operators of one measured share fill a tenant's time. Between two measured shares a tenant is a mixture of both,
/// weighted by the logarithm of the share; outside, it is the nearest share's operators at the rate at which the extrapolated
/// latency lets them run.
///
/// Where the kernels take longer than the solo latency, they were timed under slower clocks than it was: they are taken to run
/// faster in proportion. Where they take less, the rest of the time is gaps.
struct Slicing<'a> {
    measured: &'a ShareProfile,
    share: f64,
    mixture: f64,
    kernels_us: f64,
    total_us: f64,
    faster: f64,
    launch: f64,
}

impl<'a> Slicing<'a> {
    fn new(measured: &'a ShareProfile, share: SmShare, mixture: f64, solo_us: f64, speed: f64) -> Self {
        let kernels_us = measured.kernel_time_us();
        Self {
            measured,
            share: share.get(),
            mixture,
            kernels_us,
            total_us: kernels_us.max(solo_us),
            faster: (kernels_us / solo_us).max(1.0) * speed,
            launch: measured.launches() / (solo_us * 1e-6) * speed / LAUNCH_CEILING_PER_S,
        }
    }

    fn part(&self, time_us: f64, pressure: &Pressure) -> Part {
        let pressure = Pressure { launch: self.launch, share: self.share, ..pressure.sped_up(self.faster) };
        Part { weight: self.mixture * time_us / self.total_us, pressure }
    }

    fn slice(&self, parts: &mut Vec<Part>, heaviest: &mut Vec<OperatorSlice>) {
        parts.extend(self.measured.parts.iter().map(|part| self.part(part.weight, &part.pressure)));
        let gap = 1.0 - self.kernels_us / self.total_us;
        if gap > 1e-9 {
            parts.push(Part { weight: self.mixture * gap, pressure: Pressure::gap(self.share, self.launch) });
        }
        heaviest.extend(self.measured.heaviest.iter().map(|index| {
            let op = &self.measured.operators[*index];
            OperatorSlice { operator: op.operator.clone(), part: self.part(op.launches * op.duration_us, &op.pressure) }
        }));
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
