//! A response body that tells its owner how the call ended.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use http_body::{Frame, SizeHint};
use tonic::{
    Code, Status,
    body::Body,
    codegen::{Body as HttpBody, Bytes, http::HeaderMap},
};

/// What wants to know how a call ended. Dropped when it has, or when the client has gone.
pub(super) trait Watcher: Send + Unpin + 'static {
    /// The call ended with `code`.
    fn ended(&mut self, code: Code);
}

/// Permits only want to be dropped.
impl Watcher for Vec<tokio::sync::OwnedSemaphorePermit> {
    fn ended(&mut self, _: Code) {}
}

/// A body with its watcher.
pub(super) struct Watched<W> {
    inner: Body,
    watcher: W,
}

impl<W: Watcher> Watched<W> {
    pub(super) fn wrap(inner: Body, watcher: W) -> Body {
        Body::new(Self { inner, watcher })
    }
}

impl<W: Watcher> HttpBody for Watched<W> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(code) = frame.trailers_ref().and_then(code_of) {
                    self.watcher.ended(code);
                }
            }
            Some(Err(status)) => self.watcher.ended(status.code()),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The code that headers or trailers carry.
pub(super) fn code_of(headers: &HeaderMap) -> Option<Code> {
    headers.get("grpc-status").map(|code| Code::from_bytes(code.as_bytes()))
}
