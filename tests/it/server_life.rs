//! Start, health, reflection, the admin port, limits, trouble with the store, the end.

use std::time::Duration;

use futures::stream;
use pairsight::proto::{
    DeleteWorkloadRequest, ImportSignaturesRequest, PredictPairRequest, StreamPredictPairsRequest, Tenant, tenant,
};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tonic::{Code, Request};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};
use tonic_types::StatusExt;

use crate::support::{App, assert_refused, spawn_app, spawn_app_with, spawn_unready};

fn pair() -> PredictPairRequest {
    let tenant = |workload: &str| Tenant {
        source: Some(tenant::Source::Workload(workload.to_owned())),
        share: Some(tenant::Share::SmShare(0.5)),
        ..Tenant::default()
    };
    PredictPairRequest {
        device: "test-gpu".to_owned(),
        tenants: vec![tenant("net/b1"), tenant("net/b8")],
        ..PredictPairRequest::default()
    }
}

/// Begins an import that never ends by itself.
async fn hold_a_call(app: &App) -> tokio::task::JoinHandle<tonic::Status> {
    let first = ImportSignaturesRequest {
        request_id: "held".to_owned(),
        device: "test-gpu".to_owned(),
        ..ImportSignaturesRequest::default()
    };
    let mut catalog = app.catalog();
    let messages = stream::iter([first]).chain(stream::pending());
    let call = tokio::spawn(async move { catalog.import_signatures(messages).await.unwrap_err() });
    for _ in 0..200 {
        let (_, metrics) = app.admin("/metrics").await;
        let held = |line: &str| {
            line.starts_with("pairsight_grpc_requests_in_flight") && line.contains("ImportSignatures") && line.ends_with(" 1")
        };
        if metrics.lines().any(held) {
            return call;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the import did not arrive");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_the_server_stays_up_and_says_that_it_is_not_ready() {
    let app = spawn_unready(|config| {
        config.database.url = Some("postgres://nobody@127.0.0.1:1/none".into());
        config.database.acquire_timeout = Duration::from_millis(200);
    })
    .await;
    assert_eq!(app.status("").await, ServingStatus::NotServing);
    assert_eq!(app.status("pairsight.v1.PredictionService").await, ServingStatus::NotServing);
    assert_eq!(app.admin("/livez").await.0, 200);
    assert_eq!(app.admin("/readyz").await.0, 503);
    let error = app.predictions().predict_pair(pair()).await.unwrap_err();
    assert_refused(&error, Code::Unavailable, "STORE_UNAVAILABLE");
    assert!(error.get_details_retry_info().is_some());
    app.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn health_follows_the_life_of_the_server() {
    let app = spawn_app().await;
    for service in ["PredictionService", "CatalogService", "ProfilingService"] {
        assert_eq!(app.status(&format!("pairsight.v1.{service}")).await, ServingStatus::Serving);
    }
    let mut watch = app.health().watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let began = Instant::now();
    app.begin_stop();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    assert_refused(&watch.message().await.unwrap_err(), Code::Unavailable, "SHUTTING_DOWN");
    app.stop().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "a watcher of health must not hold up the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn reflection_lists_the_services_in_both_versions() {
    let app = spawn_app().await;
    macro_rules! services {
        ($version:ident) => {{
            use tonic_reflection::pb::$version::{
                ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
            };
            let request = |message| ServerReflectionRequest { host: String::new(), message_request: Some(message) };
            let requests = stream::iter([
                request(MessageRequest::ListServices(String::new())),
                request(MessageRequest::FileContainingSymbol("pairsight.v1.PredictPairRequest".to_owned())),
            ]);
            let mut client = ServerReflectionClient::new(app.channel.clone());
            let mut answers = client.server_reflection_info(requests).await.unwrap().into_inner();
            let listed = answers.message().await.unwrap().unwrap().message_response.unwrap();
            let MessageResponse::ListServicesResponse(list) = listed else { panic!("{listed:?}") };
            let file = answers.message().await.unwrap().unwrap().message_response.unwrap();
            assert!(matches!(file, MessageResponse::FileDescriptorResponse(_)), "{file:?}");
            list.service.into_iter().map(|service| service.name).collect::<Vec<_>>()
        }};
    }
    for services in [services!(v1), services!(v1alpha)] {
        for service in ["PredictionService", "CatalogService", "ProfilingService"] {
            assert!(services.contains(&format!("pairsight.v1.{service}")), "{services:?}");
        }
        assert!(services.contains(&"grpc.health.v1.Health".to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_port_tells_about_the_server() {
    let app = spawn_app().await;
    app.predictions().predict_pair(pair()).await.unwrap();
    assert_eq!(app.admin("/readyz").await, (200, "ok\n".to_owned()));
    assert_eq!(app.admin("/nothing").await.0, 404);
    let (code, metrics) = app.admin("/metrics").await;
    assert_eq!(code, 200);
    for expected in [
        "pairsight_grpc_requests_total{method=\"pairsight.v1.PredictionService/PredictPair\",code=\"OK\"}",
        "pairsight_grpc_request_duration_seconds_bucket{method=\"pairsight.v1.PredictionService/PredictPair\"",
        "pairsight_predictions_total{confidence_class=\"CONFIDENCE_CLASS_PRIOR_ONLY\"}",
        "pairsight_catalog_version",
        "pairsight_catalog_workloads 3",
        "pairsight_catalog_signatures 18",
        "pairsight_snapshot_age_seconds",
    ] {
        assert!(metrics.contains(expected), "{expected} is not in {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_methods_make_no_labels() {
    let app = spawn_app().await;
    let mut client = tonic::client::Grpc::new(app.channel.clone());
    client.ready().await.unwrap();
    let path = "/pairsight.v1.PredictionService/MadeUp".parse().unwrap();
    let codec = tonic_prost::ProstCodec::<PredictPairRequest, PredictPairRequest>::default();
    let error = client.unary(Request::new(pair()), path, codec).await.unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    let (_, metrics) = app.admin("/metrics").await;
    assert!(metrics.contains("method=\"unknown\"") && !metrics.contains("MadeUp"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn request_ids_come_back_or_are_made() {
    let app = spawn_app().await;
    let call = async |id: Option<&'static str>| {
        let mut request = Request::new(pair());
        if let Some(id) = id {
            request.metadata_mut().insert("x-request-id", id.parse().unwrap());
        }
        let answer = app.predictions().predict_pair(request).await.unwrap();
        answer.metadata().get("x-request-id").unwrap().to_str().unwrap().to_owned()
    };
    assert_eq!(call(Some("abc-1")).await, "abc-1");
    assert_eq!(call(None).await.len(), 36);
    assert_eq!(call(Some("with spaces")).await.len(), 36);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_above_either_limit_are_refused_and_health_is_not() {
    for per_connection in [false, true] {
        let app = spawn_app_with(|config| {
            if per_connection {
                config.server.max_concurrent_requests_per_connection = 1;
            } else {
                config.server.max_concurrent_requests = 1;
            }
            config.server.drain_timeout = Duration::from_millis(300);
        })
        .await;
        let held = hold_a_call(&app).await;
        let error = app.predictions().predict_pair(pair()).await.unwrap_err();
        assert_refused(&error, Code::ResourceExhausted, "OVERLOADED");
        assert!(error.get_details_retry_info().unwrap().retry_delay.is_some());
        assert_eq!(app.status("").await, ServingStatus::Serving);
        held.abort();
        let _ = held.await;
        let mut answer = app.predictions().predict_pair(pair()).await;
        for _ in 0..100 {
            if answer.is_ok() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            answer = app.predictions().predict_pair(pair()).await;
        }
        answer.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_waits_for_calls_but_not_for_ever() {
    let app = spawn_app_with(|config| config.server.drain_timeout = Duration::from_millis(400)).await;
    let _held = hold_a_call(&app).await;
    let began = Instant::now();
    app.stop().await.unwrap();
    let took = began.elapsed();
    assert!((Duration::from_millis(390)..Duration::from_secs(4)).contains(&took), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_predictions_is_finished_before_the_end() {
    let app = spawn_app_with(|config| config.server.drain_timeout = Duration::from_secs(60)).await;
    let requests = vec![pair(); 5_000];
    let mut answers = app.predictions().stream_predict_pairs(StreamPredictPairsRequest { requests }).await.unwrap().into_inner();
    answers.message().await.unwrap().unwrap();
    app.begin_stop();
    // The windows of the connection are full long before the last answer, so that the stream is still under way.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut count = 1;
    while answers.message().await.unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 5_000);
    drop(answers);
    app.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_falls_silent_is_ended() {
    let app = spawn_app_with(|config| config.server.request_timeout = Duration::from_millis(200)).await;
    let error = hold_a_call(&app).await.await.unwrap();
    assert_refused(&error, Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_store_is_away_predictions_go_on_and_writes_do_not() {
    let app = spawn_app_with(|config| config.catalog.stale_after = Duration::from_millis(300)).await;
    app.store.cut_off(true);
    let delete = || DeleteWorkloadRequest { device: "test-gpu".to_owned(), workload: "other/b1".to_owned() };
    let error = app.catalog().delete_workload(delete()).await.unwrap_err();
    assert_refused(&error, Code::Unavailable, "STORE_UNAVAILABLE");
    assert!(error.get_details_retry_info().is_some());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let is_stale = async || {
        let answer = app.predictions().predict_pair(pair()).await.unwrap().into_inner();
        answer.reasons.iter().any(|reason| reason.code == "SNAPSHOT_STALE")
    };
    assert!(is_stale().await);
    let (code, how) = app.admin("/readyz").await;
    assert_eq!(code, 200, "predictions go on");
    assert!(how.contains("no contact with the store"), "{how}");
    app.store.cut_off(false);
    tokio::time::sleep(Duration::from_millis(2000)).await;
    assert!(!is_stale().await);
    app.catalog().delete_workload(delete()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_an_error_that_names_the_setting() {
    let app = spawn_app().await;
    let directory = tempfile::tempdir().unwrap();
    let mut config = crate::support::test_config(&directory);
    config.server.grpc_listen = app.addresses.grpc;
    let store = pairsight::store::open(&config.database, &config.data_dir).await.unwrap();
    let error = pairsight::server::serve(config, store, tokio_util::sync::CancellationToken::new(), |_| ()).await.unwrap_err();
    assert!(error.to_string().starts_with("server.grpc_listen: "), "{error}");
}
