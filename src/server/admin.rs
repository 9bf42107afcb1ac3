//! The admin port: probes and metrics over plain HTTP.

use std::sync::Arc;

use axum::{Router, extract::State, http::StatusCode, http::header::CONTENT_TYPE, response::IntoResponse, routing::get};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

use super::{metrics, snapshot::Snapshots};

/// What the admin port tells about.
#[derive(Clone)]
pub(super) struct Admin {
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) metrics: PrometheusHandle,
    pub(super) stop: CancellationToken,
}

/// `/livez`: the process answers. `/readyz`: it can answer calls, from a catalog that may be stale: a store that goes away must not
/// take every replica out of service at once. `/metrics`: Prometheus.
pub(super) fn router(admin: Admin) -> Router {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(render))
        .with_state(admin)
}

async fn readyz(State(admin): State<Admin>) -> impl IntoResponse {
    match why_not_ready(&admin) {
        None => (StatusCode::OK, format!("{}\n", how_fresh(&admin.snapshots))),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

fn why_not_ready(admin: &Admin) -> Option<String> {
    let snapshots = &admin.snapshots;
    if admin.stop.is_cancelled() {
        return Some("shutting down".to_owned());
    }
    if snapshots.current().is_err() {
        return Some("the catalog has not been read yet; the log says why".to_owned());
    }
    None
}

fn how_fresh(snapshots: &Snapshots) -> String {
    match snapshots.age() {
        Some(age) if snapshots.is_stale() => format!("ok, but no contact with the store for {} s", age.as_secs()),
        _ => "ok".to_owned(),
    }
}

async fn render(State(admin): State<Admin>) -> impl IntoResponse {
    metrics::describe_snapshot(&admin.snapshots);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], admin.metrics.render())
}
