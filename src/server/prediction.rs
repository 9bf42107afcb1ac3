//! `PredictionService`.

use std::{
    pin::{Pin, pin},
    sync::Arc,
};

use futures::{Stream, StreamExt, stream};
use prost::Message;
use tonic::{Request, Response, Status};

use crate::proto::{
    self, PredictPairRequest, PredictPairResponse, PredictPairResult, PredictPairView, PredictPairsRequest, PredictPairsResponse,
    StreamPredictPairsRequest, StreamPredictPairsResponse, predict_pair_result, prediction_service_server::PredictionService,
    stream_predict_pairs_response, tenant,
};

use super::{
    ServiceError,
    batch::{Answered, Batch, Placements},
    metrics,
    state::{Shared, View, batch_timeout},
};

/// Most pairs of one call.
pub(super) const MAX_PAIRS: usize = 10_000;
/// Largest answer, which is what clients take unless told otherwise.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// Pairs of operators up to which a pair is worth less than handing it over to another thread.
const SHORT_WORK: usize = 60_000;
/// Pairs of a stream that are computed together; a reader has at most as many such chunks ahead as there are cores.
const STREAM_CHUNK: usize = 32;
/// Pairs of a batch that are computed together: enough to be worth handing over, few enough to keep the cores equally busy.
const BATCH_CHUNK: usize = 64;

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
            view.predict(&request, PredictPairView::Full, &Placements::forgetful())
        } else {
            let answer = move |_: &_| view.predict(&request, PredictPairView::Full, &Placements::forgetful());
            self.shared.compute(answer).await?
        }?;
        metrics::predicted(metrics::class_label(answer.confidence_class));
        Ok(Response::new(answer))
    }

    async fn predict_pairs(&self, request: Request<PredictPairsRequest>) -> Result<Response<PredictPairsResponse>, Status> {
        let requests = request.into_inner().requests;
        check_count(requests.len())?;
        let limit = batch_timeout(self.shared.request_timeout, requests.len());
        let answers =
            answers(self.shared.clone(), Batch::new(self.shared.view()?, PredictPairView::Basic), requests, BATCH_CHUNK);
        let answer = tokio::time::timeout(limit, gather(answers)).await.map_err(|_| ServiceError::DeadlineExceeded)??;
        Ok(Response::new(answer))
    }

    type StreamPredictPairsStream = Pin<Box<dyn Stream<Item = Result<StreamPredictPairsResponse, Status>> + Send>>;

    async fn stream_predict_pairs(
        &self,
        request: Request<StreamPredictPairsRequest>,
    ) -> Result<Response<Self::StreamPredictPairsStream>, Status> {
        let requests = request.into_inner().requests;
        check_count(requests.len())?;
        let batch = Batch::new(self.shared.view()?, PredictPairView::Full);
        let answers = answers(self.shared.clone(), batch, requests, STREAM_CHUNK);
        Ok(Response::new(Box::pin(answers.flat_map(|answers| match answers {
            Ok(answers) => stream::iter(answers.into_iter().map(|answer| Ok(stream_message(answer))).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(Status::from(error))]),
        }))))
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

/// The answers in the order of `requests`, `chunk` at a time. As many chunks are worked on at once as there are cores, and a
/// chunk is begun only when one before it was taken, so that the work stops when the reader does.
fn answers(
    shared: Arc<Shared>,
    batch: Batch,
    requests: Vec<PredictPairRequest>,
    chunk: usize,
) -> impl Stream<Item = Result<Vec<Answered>, ServiceError>> + Send {
    let (at_once, requests, batch) = (shared.cores, Arc::new(requests), Arc::new(batch));
    let chunks = stream::iter((0..requests.len()).step_by(chunk)).map(move |from| {
        let (shared, requests, batch) = (shared.clone(), requests.clone(), batch.clone());
        async move {
            let chunk = from..requests.len().min(from + chunk);
            shared.compute(move |gone| batch.answer(&requests[chunk], gone)).await?
        }
    });
    chunks.buffered(at_once)
}

async fn gather(answers: impl Stream<Item = Result<Vec<Answered>, ServiceError>>) -> Result<PredictPairsResponse, ServiceError> {
    let mut answers = pin!(answers);
    let (mut results, mut bytes) = (vec![], 0);
    while let Some(chunk) = answers.next().await {
        for answer in chunk? {
            let result = match answer {
                Ok(response) => predict_pair_result::Result::Response(response),
                Err(error) => predict_pair_result::Result::Error(error),
            };
            let result = PredictPairResult { result: Some(result) };
            // A tag of one byte and a length of up to four stand before each result.
            bytes += result.encoded_len() + 5;
            if bytes > MAX_ANSWER_BYTES {
                return Err(too_large(results.len()));
            }
            results.push(result);
        }
    }
    Ok(PredictPairsResponse { results })
}

fn too_large(fitting: usize) -> ServiceError {
    ServiceError::TooManyPairs(format!(
        "the answer is larger than 4 MiB, {fitting} pairs of it fit; use StreamPredictPairs, the BASIC view or fewer pairs"
    ))
}

fn stream_message(answer: Answered) -> StreamPredictPairsResponse {
    let result = match answer {
        Ok(response) => stream_predict_pairs_response::Result::Response(response),
        Err(error) => stream_predict_pairs_response::Result::Error(error),
    };
    StreamPredictPairsResponse { result: Some(result) }
}
