//! The gRPC server: services, layers, limits, TLS.

use std::{sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::{
    codec::CompressionEncoding::Gzip,
    service::Routes,
    transport::{Identity, Server, ServerTlsConfig},
};
use tonic_health::{ServingStatus, server::HealthReporter};

use crate::{
    config::{Config, ServerConfig},
    proto::{
        catalog_service_server::{CatalogServiceServer, SERVICE_NAME as CATALOG},
        prediction_service_server::{PredictionServiceServer, SERVICE_NAME as PREDICTION},
        profiling_service_server::{ProfilingServiceServer, SERVICE_NAME as PROFILING},
    },
};

use super::{
    ServeError,
    catalog::CatalogCalls,
    connection, json,
    layers::{DrainLayer, LimitLayer, ObserveLayer, TimeoutLayer},
    prediction::Predictions,
    profiling::Profiling,
    state::Shared,
};

/// Largest message that is read.
const MAX_DECODING_BYTES: usize = 4 << 20;
/// Quiet time after which the other end is asked whether it is still there, and how long it may take to answer.
const KEEPALIVE: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(20));
/// Time that calls get to end on a connection that has reached its age: a long batch or import began in good faith.
const AGE_GRACE: Duration = Duration::from_mins(5);
/// Longest TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sets the health of the server as a whole and of each service.
pub(super) async fn set_health(reporter: &HealthReporter, serving: bool) {
    let status = if serving { ServingStatus::Serving } else { ServingStatus::NotServing };
    for service in ["", PREDICTION, CATALOG, PROFILING] {
        reporter.set_service_status(service, status).await;
    }
}

/// All services. Health begins as `NOT_SERVING`.
pub(super) async fn services(shared: Arc<Shared>) -> Result<(Routes, HealthReporter), ServeError> {
    let (reporter, health) = tonic_health::server::health_reporter();
    set_health(&reporter, false).await;
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(json::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let broken = |error: tonic_reflection::server::Error| ServeError::Reflection(error.to_string());
    let mut routes = Routes::builder();
    routes
        .add_service(health)
        .add_service(reflection().build_v1().map_err(broken)?)
        .add_service(reflection().build_v1alpha().map_err(broken)?)
        .add_service(
            PredictionServiceServer::new(Predictions::new(shared.clone()))
                .accept_compressed(Gzip)
                .send_compressed(Gzip)
                .max_decoding_message_size(MAX_DECODING_BYTES),
        )
        .add_service(
            CatalogServiceServer::new(CatalogCalls::new(shared))
                .accept_compressed(Gzip)
                .send_compressed(Gzip)
                .max_decoding_message_size(MAX_DECODING_BYTES),
        )
        .add_service(
            ProfilingServiceServer::new(Profiling).accept_compressed(Gzip).max_decoding_message_size(MAX_DECODING_BYTES),
        );
    Ok((routes.routes(), reporter))
}

/// Serves until `stop`, then until every connection has ended.
pub(super) async fn serve(
    config: Config,
    listener: TcpListener,
    routes: Routes,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    let server = &config.server;
    let streams = u32::try_from(server.max_concurrent_requests_per_connection).unwrap_or(u32::MAX);
    let mut builder = Server::builder()
        .http2_keepalive_interval(Some(KEEPALIVE.0))
        .http2_keepalive_timeout(Some(KEEPALIVE.1))
        .max_connection_age(server.max_connection_age)
        .max_connection_age_grace(AGE_GRACE.max(server.drain_timeout))
        // Above the limit of calls, so that a call too many is answered and does not wait at the client; bounded all the same.
        .max_concurrent_streams(streams.saturating_mul(2))
        .layer(ObserveLayer)
        .layer(DrainLayer::new(stop.clone()))
        .layer(LimitLayer::new(server.max_concurrent_requests))
        .layer(TimeoutLayer::new(server.request_timeout));
    if let Some(tls) = tls(server).await? {
        builder = builder.tls_config(tls)?;
    }
    let incoming = connection::accept(listener, server.max_concurrent_requests_per_connection);
    Ok(builder.add_routes(routes).serve_with_incoming_shutdown(incoming, stop.cancelled_owned()).await?)
}

async fn tls(server: &ServerConfig) -> Result<Option<ServerTlsConfig>, ServeError> {
    let (Some(certificate), Some(key)) = (&server.tls_certificate, &server.tls_key) else { return Ok(None) };
    let read = async |path: &std::path::Path| {
        tokio::fs::read(path).await.map_err(|source| ServeError::Tls { path: path.to_owned(), source })
    };
    let identity = Identity::from_pem(read(certificate).await?, read(key).await?);
    Ok(Some(ServerTlsConfig::new().identity(identity).timeout(HANDSHAKE_TIMEOUT)))
}
