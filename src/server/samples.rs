//! `AddSamples`: measured co-runs stored together with what the active predictor learns from them.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use prost::Message;
use sha2::{Digest, Sha256};

use crate::{
    domain::{Device, DeviceId, Invalid, PairSample, SharingMode},
    interference::{
        AdaptError, AdaptationCheck, Predictor, Source, WorkloadProfile, adapt,
        quality::{self, Finding},
    },
    proto,
    store::{Added, AddedBefore, Catalog, SampleAddition},
};

use super::{
    ServiceError, devices,
    import::MAX_REQUEST_ID_BYTES,
    predict::default_mode,
    state::Shared,
    suggestions::{fitted, has_signature},
    wire::{added_samples_from_wire, check_to_wire, count, finding_to_wire, sharing_mode},
};

/// How often it is learnt anew when another replica publishes a predictor meanwhile.
const ATTEMPTS: usize = 8;

/// Additions of this process take turns, one for a device and mode: each learns from what the one before it published.
#[derive(Default)]
pub(super) struct Turns(Mutex<BTreeMap<(DeviceId, SharingMode), Turn>>);

type Turn = Arc<tokio::sync::Mutex<()>>;

impl Turns {
    fn of(&self, device: &DeviceId, mode: SharingMode) -> Turn {
        // Nothing that panics runs under the lock.
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry((device.clone(), mode)).or_default().clone()
    }
}

/// A request, checked as far as it can be without the catalog.
struct Addition {
    request_id: String,
    content_sha256: String,
    device: DeviceId,
    mode: SharingMode,
    samples: Arc<Vec<PairSample>>,
    validate_only: bool,
}

/// What co-runs teach.
struct Learnt {
    findings: Vec<Finding>,
    /// `None` when every co-run is kept out.
    check: Option<AdaptationCheck>,
    /// The adapted predictor, when it is another and better one.
    better: Option<Predictor>,
}

/// Stores the co-runs of a request, adapts the active predictor to them, and publishes that when it is better.
pub(super) async fn add(shared: &Shared, request: proto::AddSamplesRequest) -> Result<proto::AddSamplesResponse, ServiceError> {
    let addition = Addition::read(&shared.view()?.catalog, request)?;
    if !addition.validate_only
        && let Some(before) = shared.store.added_before(&addition.request_id, &addition.content_sha256).await?
    {
        return answered_before(&before);
    }
    let turn = shared.learning.of(&addition.device, addition.mode);
    let _turn = turn.lock().await;
    for _ in 0..ATTEMPTS {
        // What the turn before, or another replica, has just published.
        shared.snapshots.refresh().await;
        if let Some(answer) = addition.attempt(shared).await? {
            return Ok(answer);
        }
    }
    Err(ServiceError::Overloaded)
}

impl Addition {
    fn read(catalog: &Catalog, request: proto::AddSamplesRequest) -> Result<Self, ServiceError> {
        Invalid::text("request_id", &request.request_id, MAX_REQUEST_ID_BYTES)?;
        let device = DeviceId::new("device", request.device.as_str())?;
        let stated = sharing_mode("sharing_mode", request.sharing_mode)?;
        devices::find(catalog, &device)?;
        let mode = stated.unwrap_or_else(|| default_mode(catalog, &device));
        Ok(Self {
            content_sha256: content_sha256(&request),
            request_id: request.request_id,
            samples: Arc::new(added_samples_from_wire(request.pair_samples, mode)?),
            device,
            mode,
            validate_only: request.validate_only,
        })
    }

    /// Learns from the predictor that answers now; `None` when another one answers before that is stored.
    async fn attempt(&self, shared: &Shared) -> Result<Option<proto::AddSamplesResponse>, ServiceError> {
        let catalog = shared.view()?.catalog;
        let predictor = fitted(&catalog, &self.device, self.mode)?;
        let stored = shared.store.pair_samples(&self.device, self.mode).await?;
        let pupil = Pupil {
            device: devices::find(&catalog, &self.device)?.clone(),
            profiles: self.profiles(&catalog)?,
            predictor: predictor.clone(),
            stored,
            samples: self.samples.clone(),
        };
        let learnt = shared.compute(move |_| pupil.learn()).await??;
        let mut answer = self.answer(&predictor, &learnt);
        if self.validate_only {
            return Ok(Some(answer));
        }
        let added = shared.store.add_samples(SampleAddition {
            request_id: self.request_id.clone(),
            content_sha256: self.content_sha256.clone(),
            device: self.device.clone(),
            sharing_mode: self.mode,
            samples: self.samples.to_vec(),
            learnt_from: predictor.version.clone(),
            adapted: learnt.better,
            answer: STANDARD.encode(answer.encode_to_vec()),
        });
        match added.await? {
            Added::Now { catalog_version } => answer.catalog_version = catalog_version,
            Added::Before(before) => answer = answered_before(&before)?,
            Added::Overtaken => return Ok(None),
        }
        shared.snapshots.refresh().await;
        Ok(Some(answer))
    }

    /// Profiles of the workloads of the co-runs. Co-runs are worth keeping before the signatures of their workloads come, but there
    /// has to be one to learn from.
    fn profiles(&self, catalog: &Catalog) -> Result<HashMap<Arc<str>, Arc<WorkloadProfile>>, ServiceError> {
        let mut first_missing = None;
        let mut can_be_learnt = false;
        for sample in self.samples.iter() {
            let missing = sample.workloads.iter().find_map(|workload| has_signature(catalog, &self.device, workload).err());
            can_be_learnt |= missing.is_none();
            first_missing = first_missing.or(missing);
        }
        if let (Some(missing), false) = (first_missing, can_be_learnt) {
            return Err(missing);
        }
        let profile = |name: &Arc<str>| Some((name.clone(), catalog.workloads.get(&self.device)?.get(name)?.clone()));
        Ok(self.samples.iter().flat_map(|sample| &sample.workloads).filter_map(profile).collect())
    }

    fn answer(&self, predictor: &Predictor, learnt: &Learnt) -> proto::AddSamplesResponse {
        let published = learnt.better.as_ref().filter(|_| !self.validate_only);
        proto::AddSamplesResponse {
            samples: count(self.samples.len()),
            adapted: learnt.check.is_some(),
            published: published.is_some(),
            predictor_version: published.unwrap_or(predictor).version.clone(),
            catalog_version: 0,
            check: learnt.check.as_ref().map(check_to_wire),
            findings: learnt.findings.iter().map(finding_to_wire).collect(),
            already_added: false,
        }
    }
}

/// What learns, and from what.
struct Pupil {
    device: Device,
    profiles: HashMap<Arc<str>, Arc<WorkloadProfile>>,
    predictor: Arc<Predictor>,
    stored: Vec<PairSample>,
    samples: Arc<Vec<PairSample>>,
}

impl Pupil {
    fn learn(self) -> Result<Learnt, ServiceError> {
        let findings = quality::examine_added(&self.kept(), &self.samples);
        let believed = believed(&self.samples, &findings);
        if believed.is_empty() {
            return Ok(Learnt { findings, check: None, better: None });
        }
        let source = Source { device: &self.device, profiles: &self.profiles, samples: &believed };
        let adaptation = adapt(&self.predictor, &source).map_err(|error| self.refused(&error))?;
        let better = if adaptation.check.improves {
            let adapted = Predictor::new(&adaptation.artefact).map_err(|error| ServiceError::Internal(error.to_string()))?;
            Some(adapted).filter(|adapted| adapted.version != self.predictor.version)
        } else {
            None
        };
        Ok(Learnt { findings, check: Some(adaptation.check), better })
    }

    /// The stored co-runs that the new ones do not replace with other figures. One that stays the same was learnt from before, if
    /// only by a fit: the new one is its duplicate.
    fn kept(&self) -> Vec<PairSample> {
        let new: HashMap<&str, &PairSample> = self.samples.iter().map(|sample| (sample.pair_id.as_str(), sample)).collect();
        let stays = |stored: &&PairSample| new.get(stored.pair_id.as_str()).is_none_or(|new| *new == *stored);
        self.stored.iter().filter(stays).cloned().collect()
    }

    fn refused(&self, error: &AdaptError) -> ServiceError {
        match error {
            AdaptError::Generic => {
                let mode = self.predictor.artefact.as_ref().map(|artefact| artefact.sharing_mode);
                let sharing_mode = mode.or_else(|| self.samples.first().map(|sample| sample.sharing_mode));
                ServiceError::PredictorNotFitted {
                    device: self.device.device_id.to_string(),
                    sharing_mode: sharing_mode.unwrap_or(SharingMode::SmPartition),
                }
            }
            AdaptError::NoSamples { .. } => ServiceError::NoUsableSample(error.to_string()),
        }
    }
}

/// The co-runs without the sides that are kept out.
fn believed(samples: &[PairSample], findings: &[Finding]) -> Vec<PairSample> {
    let weights = quality::weights_of(samples, findings);
    let believed = samples.iter().zip(weights).map(|(sample, weights)| {
        let corun_us = [0, 1].map(|side| sample.corun_us[side].filter(|_| weights[side] > 0.0));
        PairSample { corun_us, ..sample.clone() }
    });
    believed.filter(|sample| sample.corun_us != [None, None]).collect()
}

/// Of the request alone, so that it is the same however the catalog has changed since.
fn content_sha256(request: &proto::AddSamplesRequest) -> String {
    let content = proto::AddSamplesRequest { request_id: String::new(), validate_only: false, ..request.clone() };
    // An import of any content has another hash.
    let hash = Sha256::new().chain_update("AddSamples").chain_update(content.encode_to_vec());
    format!("{:x}", hash.finalize())
}

fn answered_before(before: &AddedBefore) -> Result<proto::AddSamplesResponse, ServiceError> {
    let unreadable = |error: &dyn std::fmt::Display| ServiceError::Internal(format!("an answer that is kept: {error}"));
    let bytes = STANDARD.decode(&before.answer).map_err(|error| unreadable(&error))?;
    let answer = proto::AddSamplesResponse::decode(bytes.as_slice()).map_err(|error| unreadable(&error))?;
    Ok(proto::AddSamplesResponse { catalog_version: before.catalog_version, already_added: true, ..answer })
}
