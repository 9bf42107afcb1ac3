//! Latencies and throughputs of the daemon and of the bare service, in turns.

use std::{fmt, time::Duration};

use anyhow::{Context, ensure};
use hdrhistogram::Histogram;
use pairsight::proto::{
    PredictPairRequest, PredictPairsRequest, PredictPairsResponse, predict_pair_result::Result as PairResult,
};
use tokio::{task::JoinSet, time::Instant};

use crate::{Client, servers::Pair};

/// Calls of `PredictPairs` that are under way at once.
pub(crate) const CALLS_UNDER_WAY: usize = 4;

const ROUNDS: usize = 10;
const CALLS_A_ROUND: usize = 1000;
const ROUND: Duration = Duration::from_millis(500);

/// Latencies of single calls, nanoseconds.
pub(crate) struct Latency {
    name: &'static str,
    sizes: (usize, usize),
    real: Histogram<u64>,
    bare: Histogram<u64>,
}

impl Latency {
    pub(crate) const HEADER: &str = "\
| call | request, answer (bytes) | | p50 | p90 | p99 | max |\n\
|---|---|---|---|---|---|---|";

    pub(crate) async fn measure(name: &'static str, pair: &Pair, request: &PredictPairRequest) -> anyhow::Result<Self> {
        let (mut real, mut bare) = (pair.real.clone(), pair.bare.clone());
        let mut latency = Self { name, sizes: pair.sizes, real: Histogram::new(3)?, bare: Histogram::new(3)? };
        // The first round warms both up.
        for round in 0..=ROUNDS {
            calls(&mut real, request, &mut latency.real).await?;
            calls(&mut bare, request, &mut latency.bare).await?;
            if round == 0 {
                latency.real.reset();
                latency.bare.reset();
            }
        }
        Ok(latency)
    }
}

async fn calls(client: &mut Client, request: &PredictPairRequest, latencies: &mut Histogram<u64>) -> anyhow::Result<()> {
    for _ in 0..CALLS_A_ROUND {
        let request = request.clone();
        let start = Instant::now();
        let answer = client.predict_pair(request).await?;
        latencies.record(u64::try_from(start.elapsed().as_nanos())?)?;
        ensure!(answer.get_ref().tenants.len() == 2, "an answer without two tenants");
    }
    Ok(())
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asked, answered) = self.sizes;
        let quantiles = [0.5, 0.9, 0.99, 1.0];
        for (who, histogram) in [("pairsight", &self.real), ("bare tonic", &self.bare)] {
            write!(f, "| {} | {asked}, {answered} | {who} |", self.name)?;
            for q in quantiles {
                write!(f, " {:.0} |", micros(histogram.value_at_quantile(q)))?;
            }
            writeln!(f)?;
        }
        write!(f, "| {} | | ratio |", self.name)?;
        for q in quantiles {
            write!(f, " {:.2} |", micros(self.real.value_at_quantile(q)) / micros(self.bare.value_at_quantile(q)))?;
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of one call are far below 2^52")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// Pairs answered per second at one batch size.
pub(crate) struct Throughput {
    batch: usize,
    real: f64,
    bare: f64,
}

impl Throughput {
    pub(crate) const HEADER: &str = "| pairs a call | pairsight | bare tonic | ratio |\n|---|---|---|---|";

    pub(crate) async fn measure(pair: &Pair, request: &PredictPairsRequest) -> anyhow::Result<Self> {
        let (mut real, mut bare) = (Rate::default(), Rate::default());
        // The first round warms both up.
        for round in 0..=ROUNDS {
            let rates = (pairs(&pair.real, request).await?, pairs(&pair.bare, request).await?);
            if round > 0 {
                real.add(rates.0);
                bare.add(rates.1);
            }
        }
        Ok(Self { batch: request.requests.len(), real: real.per_second(), bare: bare.per_second() })
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {:.0} | {:.0} | {:.2} |", self.batch, self.real, self.bare, self.real / self.bare)
    }
}

/// Pairs and the time they took.
#[derive(Default, Clone, Copy)]
struct Rate {
    pairs: u32,
    time: Duration,
}

impl Rate {
    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.time += other.time;
    }

    fn per_second(self) -> f64 {
        f64::from(self.pairs) / self.time.as_secs_f64()
    }
}

/// Calls for one round, several at once; ends when the last call has been answered.
async fn pairs(client: &Client, request: &PredictPairsRequest) -> anyhow::Result<Rate> {
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLS_UNDER_WAY {
        let (mut client, request) = (client.clone(), request.clone());
        callers.spawn(async move {
            let mut answered = 0;
            while start.elapsed() < ROUND {
                answered += check(&client.predict_pairs(request.clone()).await?.into_inner(), request.requests.len())?;
            }
            anyhow::Ok(answered)
        });
    }
    let mut pairs = 0;
    while let Some(answered) = callers.join_next().await {
        pairs += answered??;
    }
    Ok(Rate { pairs, time: start.elapsed() })
}

/// The number of answers; an error when one is missing or is an error itself.
fn check(answer: &PredictPairsResponse, expected: usize) -> anyhow::Result<u32> {
    ensure!(answer.results.len() == expected, "{} results for {expected} pairs", answer.results.len());
    let good = answer.results.iter().all(|result| matches!(result.result, Some(PairResult::Response(_))));
    ensure!(good, "an item was answered with an error");
    u32::try_from(expected).context("too many pairs")
}
