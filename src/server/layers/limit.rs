//! Limits on calls at once: over all connections, and on each.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use futures::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{body::Body, codegen::http, transport::server::TlsConnectInfo};
use tower::{Layer, Service};

use super::{super::ServiceError, body::Watched, is_health, refusal};

/// The calls that one connection may still make; every request of the connection carries it.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(pub(crate) Arc<Semaphore>);

/// Refuses calls above the limits with OVERLOADED, at once: a queue would only make late answers later.
#[derive(Clone)]
pub(crate) struct LimitLayer {
    slots: Arc<Semaphore>,
}

impl LimitLayer {
    pub(crate) fn new(max_concurrent_requests: usize) -> Self {
        Self { slots: Arc::new(Semaphore::new(max_concurrent_requests)) }
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = Limit<S>;

    fn layer(&self, inner: S) -> Limit<S> {
        Limit { inner, slots: self.slots.clone() }
    }
}

#[derive(Clone)]
pub(crate) struct Limit<S> {
    inner: S,
    slots: Arc<Semaphore>,
}

impl<S> Limit<S> {
    /// Permits for a call, or `None` when there are none left.
    fn admit(&self, request: &http::Request<Body>) -> Option<Vec<OwnedSemaphorePermit>> {
        if is_health(request.uri().path()) {
            return Some(vec![]);
        }
        let mut permits = vec![self.slots.clone().try_acquire_owned().ok()?];
        if let Some(ConnectionSlots(slots)) = connection_slots(request.extensions()) {
            permits.push(slots.clone().try_acquire_owned().ok()?);
        }
        Some(permits)
    }
}

fn connection_slots(extensions: &http::Extensions) -> Option<&ConnectionSlots> {
    let plain = extensions.get::<ConnectionSlots>();
    plain.or_else(|| extensions.get::<TlsConnectInfo<ConnectionSlots>>().map(TlsConnectInfo::get_ref))
}

impl<S> Service<http::Request<Body>> for Limit<S>
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
        let Some(permits) = self.admit(&request) else {
            return Box::pin(async { Ok(refusal(ServiceError::Overloaded)) });
        };
        let call = self.inner.call(request);
        Box::pin(async move { Ok(call.await?.map(|body| Watched::wrap(body, permits))) })
    }
}
