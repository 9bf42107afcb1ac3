//! `PredictionService`.

use std::{pin::Pin, sync::Arc};

use futures::{Stream, StreamExt, stream};
use prost::Message;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::proto::{
    self, PredictPairRequest, PredictPairResponse, PredictPairResult, PredictPairView, PredictPairsRequest, PredictPairsResponse,
    StreamPredictPairsRequest, StreamPredictPairsResponse, predict_pair_result, prediction_service_server::PredictionService,
    stream_predict_pairs_response, tenant,
};

use super::{
    ServiceError,
    error::to_message,
    state::{Shared, View},
};

/// Most pairs of one call.
const MAX_PAIRS: usize = 10_000;
/// Largest answer, which is what clients take unless told otherwise.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// Pairs of operators up to which a pair is worth less than handing it over to another thread.
const SHORT_WORK: usize = 60_000;
/// Pairs that a stream computes ahead of its reader.
const CHUNK: usize = 32;

/// Answers from the snapshot.
pub(super) struct Predictions {
    shared: Arc<Shared>,
}

impl Predictions {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }
}

#[tonic::async_trait]
impl PredictionService for Predictions {
    async fn predict_pair(&self, request: Request<PredictPairRequest>) -> Result<Response<PredictPairResponse>, Status> {
        let (view, request) = (self.shared.view()?, request.into_inner());
        let answer = if operator_pairs(&view, &request) <= SHORT_WORK {
            view.predict(&request, PredictPairView::Full)
        } else {
            self.shared.compute(move |_| view.predict(&request, PredictPairView::Full)).await?
        };
        Ok(Response::new(answer?))
    }

    async fn predict_pairs(&self, request: Request<PredictPairsRequest>) -> Result<Response<PredictPairsResponse>, Status> {
        let requests = request.into_inner().requests;
        check_count(requests.len())?;
        let view = self.shared.view()?;
        let answer = self.shared.compute(move |gone| answer_all(&view, &requests, gone)).await??;
        Ok(Response::new(answer))
    }

    type StreamPredictPairsStream = Pin<Box<dyn Stream<Item = Result<StreamPredictPairsResponse, Status>> + Send>>;

    async fn stream_predict_pairs(
        &self,
        request: Request<StreamPredictPairsRequest>,
    ) -> Result<Response<Self::StreamPredictPairsStream>, Status> {
        let requests = request.into_inner().requests;
        check_count(requests.len())?;
        Ok(Response::new(answer_lazily(self.shared.clone(), self.shared.view()?, requests)))
    }
}

fn check_count(pairs: usize) -> Result<(), ServiceError> {
    if pairs <= MAX_PAIRS {
        return Ok(());
    }
    Err(ServiceError::TooManyPairs(format!("{pairs} pairs were sent, at most {MAX_PAIRS} are taken at once")))
}

/// How many pairs of operators a request comes to, at most.
fn operator_pairs(view: &View, request: &PredictPairRequest) -> usize {
    let workloads = view.catalog.workloads.iter().find(|(device, _)| device.as_str() == request.device);
    let operators = |tenant: &proto::Tenant| match &tenant.source {
        Some(tenant::Source::Operators(list)) => list.operators.len(),
        Some(tenant::Source::Workload(name)) => workloads
            .and_then(|(_, workloads)| workloads.get(name.as_str()))
            .map_or(0, |profile| profile.shares.iter().map(|share| share.operators.len()).max().unwrap_or(0)),
        None => 0,
    };
    request.tenants.iter().map(operators).fold(1, usize::saturating_mul)
}

fn answer_all(
    view: &View,
    requests: &[PredictPairRequest],
    gone: &CancellationToken,
) -> Result<PredictPairsResponse, ServiceError> {
    let mut results = Vec::with_capacity(requests.len());
    let mut bytes = 0;
    for request in requests {
        if gone.is_cancelled() {
            return Err(ServiceError::DeadlineExceeded);
        }
        let result = match view.predict(request, PredictPairView::Basic) {
            Ok(response) => predict_pair_result::Result::Response(response),
            Err(error) => predict_pair_result::Result::Error(to_message(error)),
        };
        let result = PredictPairResult { result: Some(result) };
        // A tag of one byte and a length of up to four stand before each result.
        bytes += result.encoded_len() + 5;
        if bytes > MAX_ANSWER_BYTES {
            return Err(too_large(results.len()));
        }
        results.push(result);
    }
    Ok(PredictPairsResponse { results })
}

fn too_large(fitting: usize) -> ServiceError {
    ServiceError::TooManyPairs(format!(
        "the answer is larger than 4 MiB, {fitting} pairs of it fit; use StreamPredictPairs, the BASIC view or fewer pairs"
    ))
}

/// Computes a chunk whenever its reader has taken the one before, so that it stops when the reader does.
fn answer_lazily(
    shared: Arc<Shared>,
    view: View,
    requests: Vec<PredictPairRequest>,
) -> Pin<Box<dyn Stream<Item = Result<StreamPredictPairsResponse, Status>> + Send>> {
    let chunks = stream::unfold(requests.into_iter(), |mut rest| async move {
        let chunk: Vec<_> = rest.by_ref().take(CHUNK).collect();
        if chunk.is_empty() { None } else { Some((chunk, rest)) }
    });
    let answers = chunks.then(move |chunk| {
        let (shared, view) = (shared.clone(), view.clone());
        async move { shared.compute(move |gone| answer_chunk(&view, &chunk, gone)).await }
    });
    Box::pin(answers.flat_map(|answers| match answers {
        Ok(answers) => stream::iter(answers.into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => stream::iter(vec![Err(Status::from(error))]),
    }))
}

fn answer_chunk(view: &View, requests: &[PredictPairRequest], gone: &CancellationToken) -> Vec<StreamPredictPairsResponse> {
    let wanted = requests.iter().take_while(|_| !gone.is_cancelled());
    wanted
        .map(|request| {
            let result = match view.predict(request, PredictPairView::Full) {
                Ok(response) => stream_predict_pairs_response::Result::Response(response),
                Err(error) => stream_predict_pairs_response::Result::Error(to_message(error)),
            };
            StreamPredictPairsResponse { result: Some(result) }
        })
        .collect()
}
