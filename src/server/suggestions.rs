//! `SuggestSamples`: the co-runs of a workload that are worth measuring next.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    domain::{Device, DeviceId, Invalid, PairSample, SharingMode, SmShare, validate_workload},
    interference::{CoRun, Predictor, Suggestion, WorkloadProfile, suggest},
    proto,
    store::Catalog,
};

use super::{
    ServiceError, devices,
    predict::{check_total, default_mode, no_profile},
    state::Shared,
    wire::{corun_from_wire, count, sharing_mode, suggestion_to_wire},
};

/// Co-runs named when the request does not say how many.
const DEFAULT_COUNT: usize = 4;
const MAX_COUNT: usize = 100;
const MAX_CANDIDATES: usize = 10_000;

/// A request, checked as far as it can be without the catalog.
struct Asked {
    device: DeviceId,
    sharing_mode: Option<SharingMode>,
    workload: Arc<str>,
    count: usize,
    candidates: Vec<CoRun>,
}

/// All that a suggestion is made from.
struct Question {
    device: Device,
    predictor: Arc<Predictor>,
    profiles: HashMap<Arc<str>, Arc<WorkloadProfile>>,
    candidates: Vec<CoRun>,
    count: usize,
}

/// Answers a request from the newest snapshot.
pub(super) async fn answer(
    shared: &Shared,
    request: proto::SuggestSamplesRequest,
) -> Result<proto::SuggestSamplesResponse, ServiceError> {
    let asked = Asked::read(request)?;
    let catalog = shared.view()?.catalog;
    let mode = asked.sharing_mode.unwrap_or_else(|| default_mode(&catalog, &asked.device));
    devices::find(&catalog, &asked.device)?;
    asked.check(&catalog, mode)?;
    let measured = if asked.candidates.is_empty() { shared.store.pair_samples(&asked.device, mode).await? } else { vec![] };
    let question = asked.question(&catalog, mode, &measured)?;
    let (version, catalog_version) = (question.predictor.version.clone(), catalog.version);
    let (candidates, suggestions) = shared.compute(move |_| question.answer()).await?;
    Ok(proto::SuggestSamplesResponse {
        suggestions: suggestions.iter().map(|s| suggestion_to_wire(&candidates[s.candidate], s)).collect(),
        candidates: count(candidates.len()),
        predictor_version: version,
        catalog_version,
    })
}

impl Asked {
    fn read(request: proto::SuggestSamplesRequest) -> Result<Self, ServiceError> {
        let device = DeviceId::new("device", request.device)?;
        let mode = sharing_mode("sharing_mode", request.sharing_mode)?;
        let workload: Arc<str> = validate_workload("workload", &request.workload)?.into();
        let count = match usize::try_from(request.count).unwrap_or(usize::MAX) {
            0 => DEFAULT_COUNT,
            count if count <= MAX_COUNT => count,
            _ => return Err(ServiceError::field("count", format_args!("must lie in 0..={MAX_COUNT}, is {}", request.count))),
        };
        if request.candidates.len() > MAX_CANDIDATES {
            return Err(ServiceError::TooManyPairs(format!("candidates are more than {MAX_CANDIDATES}")));
        }
        let read = |(i, candidate): (usize, &proto::CoRun)| {
            let corun = corun_from_wire(candidate).and_then(|corun| {
                if corun.workloads.contains(&workload) {
                    Ok(corun)
                } else {
                    Err(Invalid::new("workloads", "must have the workload that is asked about as one of the two"))
                }
            });
            corun.map_err(|e| e.within(format_args!("candidates[{i}]")))
        };
        let candidates = request.candidates.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        Ok(Self { device, sharing_mode: mode, workload, count, candidates })
    }

    /// Every workload that is named has a signature, and every candidate fits the device.
    fn check(&self, catalog: &Catalog, mode: SharingMode) -> Result<(), ServiceError> {
        has_signature(catalog, &self.device, &self.workload)?;
        for candidate in &self.candidates {
            check_total(mode, candidate.sm_shares[0].get() + candidate.sm_shares[1].get())?;
            candidate.workloads.iter().try_for_each(|workload| has_signature(catalog, &self.device, workload))?;
        }
        Ok(())
    }

    fn question(self, catalog: &Catalog, mode: SharingMode, measured: &[PairSample]) -> Result<Question, ServiceError> {
        let profiles = catalog.workloads.get(&self.device).into_iter().flatten();
        let profiles: HashMap<_, _> = profiles.map(|(name, profile)| (name.clone(), profile.clone())).collect();
        let candidates = if self.candidates.is_empty() {
            unmeasured_coruns(&profiles, &self.workload, mode, measured)
        } else {
            self.candidates
        };
        let predictor = fitted(catalog, &self.device, mode)?;
        let device = devices::find(catalog, &self.device)?.clone();
        Ok(Question { device, predictor, profiles, candidates, count: self.count })
    }
}

impl Question {
    fn answer(self) -> (Vec<CoRun>, Vec<Suggestion>) {
        let candidates = &self.candidates;
        let suggestions = suggest(&self.predictor, &self.device, &self.profiles, candidates, candidates, self.count);
        (self.candidates, suggestions)
    }
}

/// The predictor that answers for a device and mode, which has to be a fitted one.
pub(super) fn fitted(catalog: &Catalog, device: &DeviceId, mode: SharingMode) -> Result<Arc<Predictor>, ServiceError> {
    let active = catalog.active.get(&(device.clone(), mode));
    active.cloned().ok_or_else(|| ServiceError::PredictorNotFitted { device: device.to_string(), sharing_mode: mode })
}

/// Errors unless the workload has a signature on the device at some share.
pub(super) fn has_signature(catalog: &Catalog, device: &DeviceId, workload: &str) -> Result<(), ServiceError> {
    let profile = catalog.workloads.get(device).and_then(|workloads| workloads.get(workload));
    let profile = profile.ok_or_else(|| no_profile(catalog, device, workload))?;
    if profile.shares.is_empty() {
        return Err(ServiceError::SignatureMissing { workload: workload.to_owned(), device: device.to_string() });
    }
    Ok(())
}

/// The workload at each of its measured shares beside every other one at each of its, where both fit the device and were not
/// `measured` so; in an order that depends on names and shares alone. When that is more than 10,000, each partner comes only at the
/// largest share that fits, and of what is still too many every n-th.
pub(crate) fn unmeasured_coruns(
    profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>>,
    workload: &Arc<str>,
    mode: SharingMode,
    measured: &[PairSample],
) -> Vec<CoRun> {
    let Some(own) = profiles.get(workload) else { return vec![] };
    let mut partners: Vec<_> = profiles.values().filter(|partner| partner.workload != *workload).collect();
    partners.sort_by(|a, b| a.workload.cmp(&b.workload));
    let measured: HashSet<Measured<'_>> = measured
        .iter()
        .filter(|sample| sample.sharing_mode == mode)
        .map(|sample| configuration(&sample.workloads, sample.sm_shares))
        .collect();
    let beside = |partner: &WorkloadProfile, share: SmShare| -> Vec<CoRun> {
        let fits = |other: SmShare| !mode.shares_are_disjoint() || share.get() + other.get() <= 1.0 + SmShare::TOLERANCE;
        let shares = partner.shares.iter().map(|at| at.sm_share).filter(|other| fits(*other));
        let corun = |other| CoRun {
            workloads: [workload.clone(), partner.workload.clone()],
            sm_shares: [share, other],
            solo_us: [None, None],
            timed: [true, true],
        };
        shares.map(corun).filter(|corun| !measured.contains(&configuration(&corun.workloads, corun.sm_shares))).collect()
    };
    let places = || own.shares.iter().flat_map(|at| partners.iter().map(move |partner| (at.sm_share, *partner)));
    let all: Vec<CoRun> = places().flat_map(|(share, partner)| beside(partner, share)).collect();
    if all.len() <= MAX_CANDIDATES {
        return all;
    }
    // Shares ascend, so that the last one is the largest that fits.
    let full: Vec<CoRun> = places().filter_map(|(share, partner)| beside(partner, share).pop()).collect();
    let step = full.len().div_ceil(MAX_CANDIDATES).max(1);
    full.into_iter().step_by(step).collect()
}

/// Two workloads on shares, whichever is called the first.
type Measured<'s> = [(&'s str, i64); 2];

#[expect(clippy::cast_possible_truncation, reason = "a share lies in (0, 1]")]
fn configuration(workloads: &[Arc<str>; 2], sm_shares: [SmShare; 2]) -> Measured<'_> {
    let side = |i: usize| (workloads[i].as_ref(), (sm_shares[i].get() / SmShare::TOLERANCE).round() as i64);
    let mut sides = [side(0), side(1)];
    sides.sort_unstable();
    sides
}
