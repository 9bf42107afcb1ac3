//! Ends endless streams when the server stops: a watcher of health would otherwise hold its connection open for good.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use http_body::Frame;
use tokio_util::sync::CancellationToken;
use tonic::{
    Status,
    body::Body,
    codegen::{Body as HttpBody, Bytes, http},
};
use tower::{Layer, Service};

use super::super::ServiceError;

/// Calls whose response may last as long as the client likes. A batch of predictions is not among them: it comes to an end.
const STREAMS: [&str; 4] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/pairsight.v1.ProfilingService/WatchProfileJob",
];

/// Ends endless streams with `SHUTTING_DOWN` once the server stops.
#[derive(Clone)]
pub(crate) struct DrainLayer {
    stop: CancellationToken,
}

impl DrainLayer {
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self { stop }
    }
}

impl<S> Layer<S> for DrainLayer {
    type Service = Drain<S>;

    fn layer(&self, inner: S) -> Drain<S> {
        Drain { inner, stop: self.stop.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Drain<S> {
    inner: S,
    stop: CancellationToken,
}

impl<S> Service<http::Request<Body>> for Drain<S>
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
        let is_stream = STREAMS.contains(&request.uri().path());
        let call = self.inner.call(request);
        if !is_stream {
            return Box::pin(call);
        }
        let stop = self.stop.clone();
        Box::pin(async move { Ok(call.await?.map(|body| Body::new(Stoppable::new(body, stop)))) })
    }
}

/// A body that ends when the server stops.
struct Stoppable {
    /// `None` once it has ended.
    inner: Option<Body>,
    stop: BoxFuture<'static, ()>,
}

impl Stoppable {
    fn new(inner: Body, stop: CancellationToken) -> Self {
        let inner = if inner.is_end_stream() { None } else { Some(inner) };
        Self { inner, stop: Box::pin(stop.cancelled_owned()) }
    }
}

impl HttpBody for Stoppable {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        // What is ready goes out first: a watcher of health learns that the server no longer serves.
        let frame = Pin::new(inner).poll_frame(cx);
        if frame.is_ready() {
            return frame;
        }
        match self.stop.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                self.inner = None;
                let mut trailers = http::HeaderMap::new();
                Poll::Ready(Some(
                    Status::from(ServiceError::ShuttingDown).add_header(&mut trailers).map(|()| Frame::trailers(trailers)),
                ))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_none()
    }
}
