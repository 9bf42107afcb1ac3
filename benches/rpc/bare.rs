//! The bare service: the same messages through the same generated code, and no prediction.

use std::{net::Ipv4Addr, path::PathBuf};

use pairsight::proto::{
    PredictPairRequest, PredictPairResponse, PredictPairResult, PredictPairsRequest, PredictPairsResponse,
    StreamPredictPairsRequest, StreamPredictPairsResponse,
    predict_pair_result::Result as PairResult,
    prediction_service_server::{PredictionService, PredictionServiceServer},
};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio_stream::Empty;
use tonic::{
    Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

/// What makes this program the bare service: the flag, then the file of the answer that it gives.
pub(crate) const FLAG: &str = "--bare-service";

/// The file of the answer, when the arguments ask for the bare service.
pub(crate) fn asked_for(arguments: &[String]) -> Option<PathBuf> {
    let flag = arguments.iter().position(|argument| argument == FLAG)?;
    arguments.get(flag + 1).map(PathBuf::from)
}

/// Serves until it is killed; prints its address in the form of the daemon.
pub(crate) async fn serve(canned: PathBuf) -> anyhow::Result<()> {
    let answer = PredictPairResponse::decode(std::fs::read(canned)?.as_slice())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", serde_json::json!({ "grpc": listener.local_addr()?.to_string() }));
    let service = PredictionServiceServer::new(Bare { answer });
    // As the daemon does; without it small answers wait for acknowledgements. The builder's option does not reach these streams.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder().add_service(service).serve_with_incoming(incoming).await?;
    Ok(())
}

struct Bare {
    answer: PredictPairResponse,
}

#[tonic::async_trait]
impl PredictionService for Bare {
    type StreamPredictPairsStream = Empty<Result<StreamPredictPairsResponse, Status>>;

    async fn predict_pair(&self, _: Request<PredictPairRequest>) -> Result<Response<PredictPairResponse>, Status> {
        Ok(Response::new(self.answer.clone()))
    }

    async fn predict_pairs(&self, request: Request<PredictPairsRequest>) -> Result<Response<PredictPairsResponse>, Status> {
        let result = PredictPairResult { result: Some(PairResult::Response(self.answer.clone())) };
        Ok(Response::new(PredictPairsResponse { results: vec![result; request.get_ref().requests.len()] }))
    }

    async fn stream_predict_pairs(
        &self,
        _: Request<StreamPredictPairsRequest>,
    ) -> Result<Response<Self::StreamPredictPairsStream>, Status> {
        Err(Status::unimplemented("not measured"))
    }
}
