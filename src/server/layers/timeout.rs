//! The time limit of calls up to their response, or to the first message of a stream.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use tonic::{body::Body, codegen::http};
use tower::{Layer, Service};

use super::{
    super::{ServiceError, prediction::MAX_PAIRS, state::batch_timeout},
    is_health, refusal,
};

/// Imports are as long as what they bring; their handler limits the wait for each message instead.
const UNTIMED: &str = "/pairsight.v1.CatalogService/ImportSignatures";
/// A batch has a limit that grows with its pairs, which its handler keeps; here it gets that of the largest.
const BATCH: &str = "/pairsight.v1.PredictionService/PredictPairs";
/// How much earlier than the client's own limit the answer goes out, so that it still arrives.
const HEAD_START: Duration = Duration::from_millis(5);

/// Ends calls after the server's limit or the client's `grpc-timeout`, whichever is shorter, with `DEADLINE_EXCEEDED`.
#[derive(Clone)]
pub(crate) struct TimeoutLayer {
    limit: Duration,
}

impl TimeoutLayer {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit }
    }
}

#[derive(Clone)]
pub(crate) struct Timeout<S> {
    inner: S,
    limit: Duration,
}

impl<S> Timeout<S> {
    fn limit_of(&self, request: &http::Request<Body>) -> Option<Duration> {
        let path = request.uri().path();
        let ours = match path {
            UNTIMED => None,
            BATCH => Some(batch_timeout(self.limit, MAX_PAIRS)),
            path => (!is_health(path)).then_some(self.limit),
        };
        let theirs = request.headers().get("grpc-timeout").and_then(|value| parse(value.to_str().ok()?));
        let theirs = theirs.map(|limit| limit.saturating_sub(HEAD_START.min(limit / 4)));
        ours.into_iter().chain(theirs).min()
    }
}

/// `grpc-timeout`: up to 8 digits and a unit.
fn parse(value: &str) -> Option<Duration> {
    let (amount, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if amount.len() > 8 || !amount.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = amount.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

impl<S> Service<http::Request<Body>> for Timeout<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let limit = self.limit_of(&request);
        let call = self.inner.call(request);
        let Some(limit) = limit else { return Box::pin(call) };
        Box::pin(async move {
            match tokio::time::timeout(limit, call).await {
                Ok(response) => response,
                Err(_) => Ok(refusal(ServiceError::DeadlineExceeded)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_grpc_timeouts() {
        assert_eq!(parse("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parse("99999999H"), Some(Duration::from_hours(99_999_999)));
        for bad in ["", "S", "-1S", "123456789S", "1x", "é"] {
            assert_eq!(parse(bad).filter(|limit| !limit.is_zero()), None, "{bad}");
        }
    }

    /// What a service that never answers is answered with, and after how long.
    async fn answer(path: &str, limit: Duration, header: Option<&'static str>) -> (Option<tonic::Code>, Duration) {
        let never = tower::service_fn(|_| futures::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>());
        let mut request = http::Request::new(Body::empty());
        *request.uri_mut() = path.parse().unwrap();
        if let Some(header) = header {
            request.headers_mut().insert("grpc-timeout", http::HeaderValue::from_static(header));
        }
        let began = tokio::time::Instant::now();
        let response = TimeoutLayer::new(limit).layer(never).call(request).await.unwrap();
        (super::super::body::code_of(response.headers()), began.elapsed())
    }

    #[tokio::test]
    async fn the_shorter_limit_counts_and_imports_have_only_the_clients() {
        let (long, exceeded) = (Duration::from_mins(1), Some(tonic::Code::DeadlineExceeded));
        for (path, limit, header) in [
            ("/a/B", Duration::from_millis(30), None),
            ("/a/B", long, Some("30m")),
            (UNTIMED, Duration::from_millis(1), Some("30m")),
        ] {
            let (code, took) = answer(path, limit, header).await;
            assert_eq!(code, exceeded);
            assert!((Duration::from_millis(20)..Duration::from_secs(20)).contains(&took), "{path}: {took:?}");
        }
    }
}
