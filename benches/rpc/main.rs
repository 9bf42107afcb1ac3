//! `cargo bench --bench rpc`: what a call costs over loopback, beside a bare tonic service with the same messages.
//!
//! Two workloads of 500 operators (100 distinct each) are imported over gRPC into a daemon with a data directory of its own.
//! The daemon and the bare service are processes of their own and are measured in turns, so that what else the machine does
//! hits both. The bare service answers with the daemon's own first answer and computes nothing.
#![expect(clippy::print_stdout, reason = "the tables are the output of a benchmark")]

mod bare;
mod measure;
mod servers;
mod workloads;

use anyhow::Context;
use pairsight::proto::{
    PredictPairRequest, PredictPairView, PredictPairsRequest, prediction_service_client::PredictionServiceClient,
};
use tonic::transport::Channel;

use crate::{
    measure::{Latency, Throughput},
    servers::{Daemon, Pair},
};

/// Pairs in one call of `PredictPairs`.
const BATCHES: [usize; 3] = [1, 100, 1000];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(canned) = bare::asked_for(&arguments) {
        return runtime.block_on(bare::serve(canned));
    }
    runtime.block_on(run())
}

async fn run() -> anyhow::Result<()> {
    let daemon = Daemon::start()?;
    let mut real = PredictionServiceClient::new(daemon.connect().await?);
    workloads::import(daemon.connect().await?).await.context("importing the two workloads")?;

    println!("PredictPair, one call at a time, microseconds:\n");
    println!("{}", Latency::HEADER);
    let requests = [
        ("full view, measured shares", workloads::pair(0.5, PredictPairView::Full)),
        ("basic view, measured shares", workloads::pair(0.5, PredictPairView::Basic)),
        ("full view, interpolated shares", workloads::pair(0.4, PredictPairView::Full)),
    ];
    for (name, request) in requests {
        let pair = Pair::new(&mut real, &request).await?;
        println!("{}", Latency::measure(name, &pair, &request).await?);
    }

    println!("\nPredictPairs, basic view, {} calls under way, pairs per second:\n", measure::CALLS_UNDER_WAY);
    println!("{}", Throughput::HEADER);
    let request = workloads::pair(0.5, PredictPairView::Basic);
    let pair = Pair::new(&mut real, &request).await?;
    for batch in BATCHES {
        println!("{}", Throughput::measure(&pair, &many(&request, batch)).await?);
    }
    Ok(())
}

fn many(request: &PredictPairRequest, batch: usize) -> PredictPairsRequest {
    PredictPairsRequest { requests: vec![request.clone(); batch] }
}

/// A client of one of the two services.
type Client = PredictionServiceClient<Channel>;
