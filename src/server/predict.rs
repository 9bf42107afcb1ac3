//! `PredictPair` as a function of the snapshot and the request: no store, no clock, no lock.

use std::sync::Arc;

use crate::{
    domain::{Device, DeviceId, Invalid, SharingMode, SmShare},
    interference::{PairPrediction, Predictor, Reason, Tenant, WorkloadProfile, predict},
    proto,
    store::Catalog,
};

use super::{
    batch::Placements,
    devices,
    error::{Resource, ServiceError},
    wire::{Answer, Pair, Source, TenantAnswer, TenantRequest, put_on_share},
};

/// Answers for one pair from `catalog`; `generic` answers where the catalog has no fitted predictor. `stale` says that the
/// catalog may have been overtaken by the store.
///
/// Errors come in this order: a malformed request, an unknown device, shares that exceed it, an unknown workload, a workload
/// without a signature.
pub fn predict_pair(
    catalog: &Catalog,
    generic: &Predictor,
    request: &proto::PredictPairRequest,
    default_view: proto::PredictPairView,
    stale: bool,
) -> Result<proto::PredictPairResponse, ServiceError> {
    predict_placed(catalog, generic, request, default_view, stale, &Placements::forgetful())
}

/// The same, for one of many requests on `catalog`, which share their `placements`.
pub(super) fn predict_placed(
    catalog: &Catalog,
    generic: &Predictor,
    request: &proto::PredictPairRequest,
    default_view: proto::PredictPairView,
    stale: bool,
    placements: &Placements,
) -> Result<proto::PredictPairResponse, ServiceError> {
    let mut pair = Pair::read(request, default_view)?;
    if let (Some(mode), Some(total)) = (pair.sharing_mode, pair.stated_total()) {
        check_total(mode, total)?;
    }
    let device = devices::find(catalog, &pair.device)?;
    let mode = pair.sharing_mode.unwrap_or_else(|| default_mode(catalog, &pair.device));
    let shares = shares(&mut pair, device)?;
    check_total(mode, shares[0].get() + shares[1].get())?;
    let profiles = profiles(catalog, &pair, request.profile_if_missing)?;
    let tenants = [0, 1].map(|i| place(device, &pair.tenants[i], profiles[i], shares[i], placements));
    let tenants = both(tenants).map_err(|error| without_signature(error, request.profile_if_missing))?;
    let predictor = catalog.active.get(&(pair.device.clone(), mode)).map_or(generic, Arc::as_ref);
    let explain = pair.view != proto::PredictPairView::Basic;
    let prediction = predict(predictor, [tenants[0].as_ref(), tenants[1].as_ref()], explain);
    check_finite(&prediction, &tenants)?;
    let answer = Answer {
        device,
        sharing_mode: mode,
        tenants: [0, 1]
            .map(|i| TenantAnswer { workload: pair.tenants[i].workload().unwrap_or_default(), tenant: tenants[i].as_ref() }),
        prediction: &prediction,
        more_reasons: more_reasons(device, mode, &pair, shares, stale),
        predictor_version: &predictor.version,
        catalog_version: catalog.version,
        view: pair.view,
    };
    Ok(answer.to_wire())
}

/// The only mode for which the device has a fitted predictor, else `SM_PARTITION`.
pub(super) fn default_mode(catalog: &Catalog, device: &DeviceId) -> SharingMode {
    let mut fitted = catalog.active.keys().filter(|(fitted, _)| fitted == device).map(|(_, mode)| *mode);
    match (fitted.next(), fitted.next()) {
        (Some(only), None) => only,
        (None | Some(_), _) => SharingMode::SmPartition,
    }
}

/// The tenants' shares of the device. Operators given with the request are put on them.
fn shares(pair: &mut Pair<'_>, device: &Device) -> Result<[SmShare; 2], ServiceError> {
    let mut share = |i: usize| -> Result<SmShare, Invalid> {
        let tenant = &mut pair.tenants[i];
        let share = tenant.share.on(device.sm_count)?;
        if let Source::Operators { wire, operators } = &mut tenant.source {
            put_on_share(wire, operators, share).map_err(|e| e.within("operators"))?;
        }
        Ok(share)
    };
    let shares = [0, 1].map(|i| share(i).map_err(|e| ServiceError::from(e.within(format_args!("tenants[{i}]")))));
    both(shares)
}

pub(super) fn check_total(mode: SharingMode, total: f64) -> Result<(), ServiceError> {
    if mode.shares_are_disjoint() && total > 1.0 + SmShare::TOLERANCE {
        return Err(ServiceError::SharesExceedDevice { total });
    }
    Ok(())
}

/// The profiles of the tenants that name a workload.
fn profiles<'c>(
    catalog: &'c Catalog,
    pair: &Pair<'_>,
    profile_if_missing: bool,
) -> Result<[Option<&'c WorkloadProfile>; 2], ServiceError> {
    let workloads = catalog.workloads.get(&pair.device);
    let profile = |tenant: &TenantRequest<'_>| {
        let Some(name) = tenant.workload() else { return Ok(None) };
        let profile = workloads.and_then(|workloads| workloads.get(name));
        let error = || without_signature(no_profile(catalog, &pair.device, name), profile_if_missing);
        profile.map(|profile| Some(profile.as_ref())).ok_or_else(error)
    };
    both([profile(&pair.tenants[0]), profile(&pair.tenants[1])])
}

/// Why there is no profile: a workload of other devices only lacks its signatures here.
pub(super) fn no_profile(catalog: &Catalog, device: &DeviceId, workload: &str) -> ServiceError {
    if catalog.workloads.values().any(|workloads| workloads.contains_key(workload)) {
        return ServiceError::SignatureMissing { workload: workload.to_owned(), device: device.to_string() };
    }
    ServiceError::unknown(Resource::Workload, workload)
}

/// Asked to profile what is missing, the answer is that this is not built.
fn without_signature(error: ServiceError, profile_if_missing: bool) -> ServiceError {
    if profile_if_missing { ServiceError::NotBuilt("profile_if_missing") } else { error }
}

fn place(
    device: &Device,
    asked: &TenantRequest<'_>,
    profile: Option<&WorkloadProfile>,
    sm_share: SmShare,
    placements: &Placements,
) -> Result<Arc<Tenant>, ServiceError> {
    let (activity, solo) = (asked.activity, asked.solo_latency_us);
    match (&asked.source, profile) {
        (Source::Operators { operators, .. }, _) => {
            Ok(Arc::new(Tenant::of_operators(device, operators, sm_share, activity, solo)?))
        }
        (Source::Workload(_), Some(profile)) => {
            let place = || Ok(Tenant::place(device, profile, sm_share, activity, solo)?);
            placements.place((&device.device_id, &profile.workload), sm_share, (activity, solo), place)
        }
        (Source::Workload(name), None) => Err(ServiceError::unknown(Resource::Workload, *name)),
    }
}

/// Numbers from outside are bounded so that this cannot fail; a fault of ours must not travel as an answer.
fn check_finite(prediction: &PairPrediction, tenants: &[Arc<Tenant>; 2]) -> Result<(), ServiceError> {
    let finite = prediction.tenants.iter().zip(tenants).all(|(prediction, tenant)| {
        let figures = [tenant.solo_latency_us, prediction.slowdown_ratio, prediction.upper_ratio];
        figures.iter().all(|figure| figure.is_finite()) && (tenant.solo_latency_us * prediction.upper_ratio).is_finite()
    });
    if finite { Ok(()) } else { Err(ServiceError::Internal("the prediction is not a finite number".to_owned())) }
}

fn more_reasons(device: &Device, mode: SharingMode, pair: &Pair<'_>, shares: [SmShare; 2], stale: bool) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if mode == SharingMode::SmPartition {
        reasons.extend([0, 1].into_iter().filter_map(|i| off_the_grid(device, &pair.tenants[i], shares[i], i)));
    }
    if stale {
        let detail = "the store cannot be reached: the answer is from the last catalog that was read";
        reasons.push(Reason::note("SNAPSHOT_STALE", detail.to_owned()));
    }
    reasons
}

/// A note when no partition of the device has this share exactly.
fn off_the_grid(device: &Device, tenant: &TenantRequest<'_>, share: SmShare, i: usize) -> Option<Reason> {
    let sms = share.get() * f64::from(device.sm_count);
    let steps = sms / f64::from(device.partition_step);
    // A share is known to 1e-6, its number of SMs to that times their number.
    let tolerance = SmShare::TOLERANCE * f64::from(device.sm_count);
    if (steps - steps.round()).abs() * f64::from(device.partition_step) <= tolerance {
        return None;
    }
    let name = tenant.workload().unwrap_or("operators");
    let detail = format!(
        "share {:.6} of {name} (tenants[{i}]) comes to {} SMs to the nearest, but {} is partitioned in steps of {}",
        share.get(),
        share.sm_count(device.sm_count),
        device.device_id,
        device.partition_step
    );
    Some(Reason::note("SHARE_ROUNDED", detail))
}

fn both<T, E>(results: [Result<T, E>; 2]) -> Result<[T; 2], E> {
    let [a, b] = results;
    Ok([a?, b?])
}
