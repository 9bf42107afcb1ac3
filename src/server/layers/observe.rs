//! One span, one line and one set of metrics for each call.

use std::{
    collections::HashSet,
    sync::LazyLock,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use tokio::time::Instant;
use tonic::{Code, body::Body, codegen::http};
use tower::{Layer, Service};
use tracing::{Instrument, Span};

use super::{
    super::{json, metrics as names},
    body::{Watched, Watcher, code_of},
};

/// Header by which a caller names its request; made up where it is missing, and sent back.
const REQUEST_ID: &str = "x-request-id";
/// Longest request identifier that is taken over.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Identifies, traces and counts calls.
#[derive(Clone)]
pub(crate) struct ObserveLayer;

impl<S> Layer<S> for ObserveLayer {
    type Service = Observe<S>;

    fn layer(&self, inner: S) -> Observe<S> {
        Observe { inner }
    }
}

#[derive(Clone)]
pub(crate) struct Observe<S> {
    inner: S,
}

impl<S> Service<http::Request<Body>> for Observe<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let id = request_id(request.headers());
        let mut call = Call::start(method(request.uri().path()), &id);
        let span = call.span.clone();
        let response = span.in_scope(|| self.inner.call(request));
        let answer = async move {
            let mut response = response.await?;
            response.headers_mut().insert(REQUEST_ID, id);
            if let Some(code) = code_of(response.headers()) {
                call.ended(code);
            }
            Ok(response.map(|body| Watched::wrap(body, call)))
        };
        Box::pin(answer.instrument(span))
    }
}

fn request_id(headers: &http::HeaderMap) -> http::HeaderValue {
    let usable = |value: &&http::HeaderValue| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    headers.get(REQUEST_ID).filter(usable).cloned().unwrap_or_else(|| {
        let id = uuid::Uuid::new_v4().to_string();
        http::HeaderValue::try_from(id).unwrap_or(http::HeaderValue::from_static("none"))
    })
}

/// The method as a label: only what this server has, so that no caller makes up labels.
fn method(path: &str) -> &'static str {
    static METHODS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let foreign = [
            "/grpc.health.v1.Health/Check",
            "/grpc.health.v1.Health/Watch",
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        ];
        foreign.map(str::to_owned).into_iter().chain(json::methods()).collect()
    });
    METHODS.get(path).map_or("unknown", |path| path.trim_start_matches('/'))
}

/// A call under way; its end is recorded when it is dropped.
struct Call {
    method: &'static str,
    started: Instant,
    span: Span,
    code: Option<Code>,
}

impl Call {
    fn start(method: &'static str, id: &http::HeaderValue) -> Self {
        let id = id.to_str().unwrap_or_default();
        let span = tracing::info_span!("call", method, request_id = id);
        metrics::gauge!(names::IN_FLIGHT, "method" => method).increment(1.0);
        Self { method, started: Instant::now(), span, code: None }
    }
}

impl Watcher for Call {
    fn ended(&mut self, code: Code) {
        self.code = Some(code);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Without a code the client went away before the end.
        let code = self.code.unwrap_or(Code::Cancelled);
        let (status, elapsed) = (name(code), self.started.elapsed());
        metrics::gauge!(names::IN_FLIGHT, "method" => self.method).decrement(1.0);
        metrics::counter!(names::REQUESTS, "method" => self.method, "code" => status).increment(1);
        metrics::histogram!(names::DURATION, "method" => self.method).record(elapsed.as_secs_f64());
        let latency_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.span.in_scope(|| match code {
            Code::Internal | Code::Unknown | Code::DataLoss => tracing::error!(status, latency_us, "call failed"),
            Code::Ok => tracing::debug!(status, latency_us, "call"),
            _ => tracing::info!(status, latency_us, "call refused"),
        });
    }
}

fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
