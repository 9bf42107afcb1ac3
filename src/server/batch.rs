//! The pairs of one call: what they have in common is worked out once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use prost::Message as _;
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{DeviceId, SmShare},
    interference::Tenant,
    proto::{PredictPairRequest, PredictPairResponse, PredictPairView},
};

use super::{ServiceError, error::to_message, metrics, state::View};

/// Most placed tenants that a call keeps; one of a thousand operators takes some hundred kilobytes.
const MAX_TENANTS: usize = 256;
/// Most answers that a call keeps.
const MAX_ANSWERS: usize = 1024;

/// An answer or, for an item of a batch, why there is none.
pub(super) type Answered = Result<PredictPairResponse, tonic_types::Status>;

/// What was worked out once and may be wanted again, up to a number of things.
struct Kept<K, V> {
    known: Mutex<HashMap<K, V>>,
    room: usize,
}

impl<K: std::hash::Hash + Eq, V: Clone> Kept<K, V> {
    fn new(room: usize) -> Self {
        Self { known: Mutex::default(), room }
    }

    /// The value of `key`, made by `make` unless it is known. Two threads may make the same at once; that only costs time.
    fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = lock().get(&key) {
            return Ok(value.clone());
        }
        let value = make()?;
        let mut known = lock();
        if known.len() < self.room {
            known.insert(key, value.clone());
        }
        Ok(value)
    }
}

/// A workload on a share, as one request asks for it.
#[derive(PartialEq, Eq, Hash)]
struct Placement {
    device: DeviceId,
    workload: Arc<str>,
    sm_share: u64,
    activity: u64,
    solo_latency_us: Option<u64>,
}

/// The placed tenants of the requests on one snapshot.
pub(super) struct Placements {
    tenants: Option<Kept<Placement, Arc<Tenant>>>,
}

impl Placements {
    /// For a single request, which places nothing twice.
    pub(super) fn forgetful() -> Self {
        Self { tenants: None }
    }

    fn of_a_batch() -> Self {
        Self { tenants: Some(Kept::new(MAX_TENANTS)) }
    }

    /// The tenant as it was placed before for an equal request, else as `place` does it now.
    pub(super) fn place(
        &self,
        (device, workload): (&DeviceId, &Arc<str>),
        sm_share: SmShare,
        (activity, solo_latency_us): (f64, Option<f64>),
        place: impl FnOnce() -> Result<Tenant, ServiceError>,
    ) -> Result<Arc<Tenant>, ServiceError> {
        let Some(tenants) = &self.tenants else { return place().map(Arc::new) };
        let key = Placement {
            device: device.clone(),
            workload: workload.clone(),
            sm_share: sm_share.get().to_bits(),
            activity: activity.to_bits(),
            solo_latency_us: solo_latency_us.map(f64::to_bits),
        };
        tenants.get(key, || place().map(Arc::new))
    }
}

/// The pairs of one call, all answered from one snapshot, in pieces and on as many threads as there are.
pub(super) struct Batch {
    view: View,
    default_view: PredictPairView,
    placements: Placements,
    /// By request, as it is written.
    answers: Kept<Vec<u8>, Answered>,
}

impl Batch {
    pub(super) fn new(view: View, default_view: PredictPairView) -> Self {
        Self { view, default_view, placements: Placements::of_a_batch(), answers: Kept::new(MAX_ANSWERS) }
    }

    /// Answers in order and counts the answers; ends early when nobody waits for them any more.
    pub(super) fn answer(
        &self,
        requests: &[PredictPairRequest],
        gone: &CancellationToken,
    ) -> Result<Vec<Answered>, ServiceError> {
        let answer =
            |request| if gone.is_cancelled() { Err(ServiceError::DeadlineExceeded) } else { Ok(self.answer_one(request)) };
        requests.iter().map(answer).collect()
    }

    fn answer_one(&self, request: &PredictPairRequest) -> Answered {
        let make = || Ok(self.view.predict(request, self.default_view, &self.placements).map_err(to_message));
        let answered: Result<Answered, std::convert::Infallible> = self.answers.get(request.encode_to_vec(), make);
        let Ok(answered) = answered;
        if let Ok(response) = &answered {
            metrics::predicted(metrics::class_label(response.confidence_class));
        }
        answered
    }
}
