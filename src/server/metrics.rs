//! The metrics, their names and the recorder behind `/metrics`.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::{domain::ConfidenceClass, store::Catalog};

use super::{ServeError, snapshot::Snapshots};

/// Calls that have ended, by method and code.
pub(super) const REQUESTS: &str = "pairsight_grpc_requests_total";
/// Time from a call's first byte to the end of its answer, by method.
pub(super) const DURATION: &str = "pairsight_grpc_request_duration_seconds";
/// Calls under way, by method.
pub(super) const IN_FLIGHT: &str = "pairsight_grpc_requests_in_flight";
const PREDICTIONS: &str = "pairsight_predictions_total";
const CATALOG_VERSION: &str = "pairsight_catalog_version";
const SNAPSHOT_AGE: &str = "pairsight_snapshot_age_seconds";
const WORKLOADS: &str = "pairsight_catalog_workloads";
const SIGNATURES: &str = "pairsight_catalog_signatures";

/// From a tenth of a millisecond, where a single prediction lies, to the longest call.
const BUCKETS: [f64; 16] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Installs the recorder of this process, once; later servers of the same process share it.
pub(super) fn install() -> Result<PrometheusHandle, ServeError> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let error = |error: metrics_exporter_prometheus::BuildError| ServeError::Metrics(error.to_string());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Full(DURATION.to_owned()), &BUCKETS).map_err(error)?;
    let recorder = builder.build_recorder();
    let handle = HANDLE.get_or_init(|| recorder.handle()).clone();
    // Another server of this process may have been quicker; then its recorder counts for both.
    if metrics::set_global_recorder(recorder).is_ok() {
        describe();
    }
    Ok(handle)
}

fn describe() {
    metrics::describe_counter!(REQUESTS, "Calls that have ended, by method and code");
    metrics::describe_histogram!(DURATION, metrics::Unit::Seconds, "Time from a call's arrival to the end of its answer");
    metrics::describe_gauge!(IN_FLIGHT, "Calls under way, by method");
    metrics::describe_counter!(PREDICTIONS, "Predictions answered, by confidence class");
    metrics::describe_gauge!(CATALOG_VERSION, "Version of the catalog that answers are made from");
    metrics::describe_gauge!(SNAPSHOT_AGE, metrics::Unit::Seconds, "Time since the store was last in contact");
    metrics::describe_gauge!(WORKLOADS, "Workloads in the catalog");
    metrics::describe_gauge!(SIGNATURES, "Signatures in the catalog");
}

/// Counts an answer.
pub(super) fn predicted(class: &'static str) {
    metrics::counter!(PREDICTIONS, "confidence_class" => class).increment(1);
}

/// Label of a class on the wire.
pub(super) fn class_label(class: i32) -> &'static str {
    use crate::proto::ConfidenceClass as Wire;
    let labels = [ConfidenceClass::Calibrated, ConfidenceClass::Extrapolating, ConfidenceClass::PriorOnly];
    labels.into_iter().map(Wire::from).find(|label| i32::from(*label) == class).unwrap_or_default().as_str_name()
}

/// Sets the gauges that describe the snapshot.
pub(super) fn describe_snapshot(snapshots: &Snapshots) {
    if let Some(age) = snapshots.age() {
        metrics::gauge!(SNAPSHOT_AGE).set(age.as_secs_f64());
    }
    if let Ok(catalog) = snapshots.current() {
        describe_catalog(&catalog);
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn describe_catalog(catalog: &Catalog) {
    let workloads = || catalog.workloads.values().flat_map(|workloads| workloads.values());
    let signatures: usize = workloads().flat_map(|workload| &workload.shares).map(|share| share.operators.len()).sum();
    metrics::gauge!(CATALOG_VERSION).set(catalog.version as f64);
    metrics::gauge!(WORKLOADS).set(workloads().count() as f64);
    metrics::gauge!(SIGNATURES).set(signatures as f64);
}
