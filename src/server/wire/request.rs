//! A request for one pair, checked as far as it can be without the catalog.

use crate::{
    domain::{DeviceId, Invalid, SharingMode, Signature, SmShare, validate_workload},
    proto::{self, tenant},
    server::ServiceError,
};

use super::{kinds, operators_from_wire, share_from_wire};

/// A pair as asked for.
pub(crate) struct Pair<'r> {
    /// The device.
    pub(crate) device: DeviceId,
    /// The mode, when it is said.
    pub(crate) sharing_mode: Option<SharingMode>,
    /// The two, in the order asked.
    pub(crate) tenants: [TenantRequest<'r>; 2],
    /// How much of the answer is wanted.
    pub(crate) view: proto::PredictPairView,
}

/// One tenant as asked for.
pub(crate) struct TenantRequest<'r> {
    /// What runs.
    pub(crate) source: Source<'r>,
    /// On which share.
    pub(crate) share: Share,
    /// Fraction of time in which it is busy, (0, 1].
    pub(crate) activity: f64,
    /// Latency alone, when the request states it.
    pub(crate) solo_latency_us: Option<f64>,
}

/// What a tenant runs.
pub(crate) enum Source<'r> {
    /// A workload of the catalog.
    Workload(&'r str),
    /// Operators given with the request.
    Operators {
        /// As they came.
        wire: &'r proto::OperatorList,
        /// As they are used.
        operators: Vec<Signature>,
    },
}

/// A share before the device is known.
#[derive(Clone, Copy)]
pub(crate) enum Share {
    /// As a fraction.
    Fraction(SmShare),
    /// As a number of SMs, above 0.
    Sms(u32),
}

impl Share {
    /// The share on a device with `device_sm_count` SMs.
    pub(crate) fn on(self, device_sm_count: u32) -> Result<SmShare, Invalid> {
        match self {
            Self::Fraction(share) => Ok(share),
            Self::Sms(count) => SmShare::of_sms("sm_count", count, device_sm_count),
        }
    }
}

impl<'r> TenantRequest<'r> {
    /// The workload's name; `None` for operators given with the request.
    pub(crate) fn workload(&self) -> Option<&'r str> {
        match self.source {
            Source::Workload(name) => Some(name),
            Source::Operators { .. } => None,
        }
    }
}

impl<'r> Pair<'r> {
    /// Reads a request. The error names every field that cannot be used, at most one a tenant.
    pub(crate) fn read(
        request: &'r proto::PredictPairRequest,
        default_view: proto::PredictPairView,
    ) -> Result<Self, ServiceError> {
        let mut invalid = Vec::new();
        let mut note = |error: Invalid| invalid.push(error);
        let device = DeviceId::new("device", request.device.as_str()).map_err(&mut note).ok();
        let sharing_mode = kinds::sharing_mode("sharing_mode", request.sharing_mode).map_err(&mut note).ok();
        let view = kinds::view("view", request.view, default_view).map_err(&mut note).ok();
        let tenants = tenants(&request.tenants, &mut note);
        match (device, sharing_mode, view, tenants) {
            (Some(device), Some(sharing_mode), Some(view), Some(tenants)) => Ok(Self { device, sharing_mode, tenants, view }),
            _ => Err(ServiceError::Invalid(invalid)),
        }
    }

    /// Sum of the shares, where both are given as fractions.
    pub(crate) fn stated_total(&self) -> Option<f64> {
        match [self.tenants[0].share, self.tenants[1].share] {
            [Share::Fraction(a), Share::Fraction(b)] => Some(a.get() + b.get()),
            [Share::Sms(_), _] | [_, Share::Sms(_)] => None,
        }
    }
}

fn tenants<'r>(wire: &'r [proto::Tenant], note: &mut impl FnMut(Invalid)) -> Option<[TenantRequest<'r>; 2]> {
    let [a, b] = wire else {
        note(Invalid::new("tenants", format_args!("must be exactly 2, are {}", wire.len())));
        return None;
    };
    let mut read = |i: usize, wire| tenant(wire).map_err(|e| note(e.within(format_args!("tenants[{i}]")))).ok();
    let (a, b) = (read(0, a), read(1, b));
    Some([a?, b?])
}

fn tenant(wire: &proto::Tenant) -> Result<TenantRequest<'_>, Invalid> {
    let source = match &wire.source {
        None => return Err(Invalid::new("source", "one of workload and operators must be given")),
        Some(tenant::Source::Workload(name)) => Source::Workload(validate_workload("workload", name)?),
        Some(tenant::Source::Operators(wire)) => {
            Source::Operators { wire, operators: operators_from_wire(wire).map_err(|e| e.within("operators"))? }
        }
    };
    let share = match wire.share {
        None => return Err(Invalid::new("share", "one of sm_share and sm_count must be given")),
        Some(tenant::Share::SmShare(share)) => Share::Fraction(share_from_wire("sm_share", share)?),
        Some(tenant::Share::SmCount(0)) => return Err(Invalid::new("sm_count", "must be above 0")),
        Some(tenant::Share::SmCount(count)) => Share::Sms(count),
    };
    Ok(TenantRequest { source, share, activity: activity(wire.activity_ratio)?, solo_latency_us: solo(wire.solo_latency_us)? })
}

/// 0 means a closed loop.
fn activity(ratio: f64) -> Result<f64, Invalid> {
    if !(0.0..=1.0).contains(&ratio) {
        return Err(Invalid::new("activity_ratio", format_args!("must lie in [0, 1], is {ratio}")));
    }
    Ok(if ratio > 0.0 { ratio } else { 1.0 })
}

/// 0 means the catalog's.
fn solo(latency_us: f64) -> Result<Option<f64>, Invalid> {
    let latency = Invalid::not_negative("solo_latency_us", latency_us)?;
    if latency > 0.0 { Invalid::positive("solo_latency_us", latency).map(Some) } else { Ok(None) }
}
