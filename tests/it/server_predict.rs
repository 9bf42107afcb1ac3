//! PredictPair and its batches over gRPC: answers, views, each error, hostile input.

use std::time::Duration;

use pairsight::proto::{
    OperatorList, PredictPairRequest, PredictPairView, PredictPairsRequest, Provenance, SharingMode, Signature,
    StreamPredictPairsRequest, Tenant, predict_pair_result, stream_predict_pairs_response,
    tenant::{Share, Source},
};
use tonic::Code;
use tonic_types::StatusExt;

use crate::support::{App, assert_invalid, assert_refused, spawn_app, spawn_app_with};

const DEVICE: &str = "test-gpu";

fn tenant(workload: &str, sm_share: f64) -> Tenant {
    Tenant { source: Some(Source::Workload(workload.to_owned())), share: Some(Share::SmShare(sm_share)), ..Tenant::default() }
}

fn pair() -> PredictPairRequest {
    PredictPairRequest {
        device: DEVICE.to_owned(),
        tenants: vec![tenant("net/b1", 0.5), tenant("other/b1", 0.5)],
        ..PredictPairRequest::default()
    }
}

fn operator() -> Signature {
    Signature {
        operator: "gemm".to_owned(),
        launches: 2.0,
        duration_us: 50.0,
        counters: [("dram_bytes".to_owned(), 1e7), ("l2_sectors".to_owned(), 1e6)].into(),
        provenance: Provenance::Imported.into(),
        ..Signature::default()
    }
}

fn inline(operators: Vec<Signature>) -> Tenant {
    let source = Some(Source::Operators(OperatorList { operators }));
    Tenant { source, share: Some(Share::SmCount(40)), ..Tenant::default() }
}

async fn error_of(app: &App, change: impl FnOnce(&mut PredictPairRequest)) -> tonic::Status {
    let mut request = pair();
    change(&mut request);
    app.predictions().predict_pair(request).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_from_the_generic_predictor_and_says_so() {
    let app = spawn_app().await;
    let answer = app.predictions().predict_pair(pair()).await.unwrap().into_inner();
    let codes: Vec<_> = answer.reasons.iter().map(|reason| reason.code.as_str()).collect();
    assert!(codes.contains(&"GENERIC_PREDICTOR"), "{codes:?}");
    assert_eq!(answer.confidence_class().as_str_name(), "CONFIDENCE_CLASS_PRIOR_ONLY");
    assert_eq!((answer.predictor_version.as_str(), answer.sharing_mode()), ("generic-1", SharingMode::SmPartition));
    assert!(answer.catalog_version > 0);
    for (tenant, workload) in answer.tenants.iter().zip(["net/b1", "other/b1"]) {
        assert_eq!((tenant.workload.as_str(), tenant.sm_count), (workload, 50));
        let excess: f64 = tenant.contributions.iter().map(|part| part.excess_ratio).sum();
        assert!((excess - (tenant.slowdown_ratio - 1.0)).abs() < 1e-9);
        assert!((tenant.predicted_latency_us / tenant.solo_latency_us - tenant.slowdown_ratio).abs() < 1e-9);
        assert!(tenant.upper_latency_us >= tenant.predicted_latency_us);
    }
    assert_eq!(app.stop().await.map_err(|e| e.to_string()), Ok(()));
}

#[tokio::test(flavor = "multi_thread")]
async fn uses_the_only_fitted_mode_and_its_predictor() {
    use pairsight::store::Store;
    let app = spawn_app().await;
    let predictor = crate::store_data::predictor(1);
    app.store.publish_predictor(&predictor, true).await.unwrap();
    let mut version = String::new();
    for _ in 0..100 {
        version = app.predictions().predict_pair(pair()).await.unwrap().into_inner().predictor_version;
        if version == predictor.version {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("still answered by {version}");
}

#[tokio::test(flavor = "multi_thread")]
async fn takes_operators_on_a_built_in_device_and_sm_counts() {
    let app = spawn_app().await;
    let mut request = pair();
    request.device = "nvidia-a100-sxm4-40gb".to_owned();
    request.tenants = vec![inline(vec![operator()]), inline(vec![operator(), operator()])];
    let answer = app.predictions().predict_pair(request).await.unwrap().into_inner();
    assert_eq!(answer.tenants[0].workload, "");
    assert_eq!(answer.tenants[0].sm_count, 40);
    assert!(answer.tenants[1].solo_latency_us > answer.tenants[0].solo_latency_us);
}

#[tokio::test(flavor = "multi_thread")]
async fn says_when_no_partition_has_the_share() {
    let app = spawn_app().await;
    let mut request = pair();
    request.tenants[0].share = Some(Share::SmShare(0.33));
    let codes = |answer: pairsight::proto::PredictPairResponse| answer.reasons.into_iter().map(|r| r.code).collect::<Vec<_>>();
    let answer = app.predictions().predict_pair(request.clone()).await.unwrap().into_inner();
    assert!(codes(answer).contains(&"SHARE_ROUNDED".to_owned()), "33 SMs are no multiple of the step of 2");
    request.sharing_mode = SharingMode::MpsLimit.into();
    let answer = app.predictions().predict_pair(request).await.unwrap().into_inner();
    assert!(!codes(answer).contains(&"SHARE_ROUNDED".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_what_is_unknown_in_order_of_precedence() {
    let app = spawn_app().await;
    let unknown_device = error_of(&app, |r| {
        r.device = "no-such-gpu".to_owned();
        r.tenants[0] = tenant("no/such", 0.5);
    })
    .await;
    assert_refused(&unknown_device, Code::NotFound, "DEVICE_UNKNOWN");
    let resource = unknown_device.get_details_resource_info().unwrap();
    assert_eq!((resource.resource_type.as_str(), resource.resource_name.as_str()), ("pairsight.v1.Device", "no-such-gpu"));

    let malformed = error_of(&app, |r| {
        r.device = "no-such-gpu".to_owned();
        r.tenants[1].activity_ratio = f64::NAN;
    })
    .await;
    assert_invalid(&malformed, "tenants[1].activity_ratio");

    assert_refused(&error_of(&app, |r| r.tenants[1] = tenant("no/such", 0.5)).await, Code::NotFound, "WORKLOAD_UNKNOWN");
    let profile = error_of(&app, |r| {
        r.tenants[1] = tenant("no/such", 0.5);
        r.profile_if_missing = true;
    })
    .await;
    assert_refused(&profile, Code::Unimplemented, "NOT_BUILT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_without_signature_is_a_failed_precondition() {
    use pairsight::store::Store;
    let app = spawn_app().await;
    let mut batch = pairsight::domain::ImportBatch::new(crate::store_data::device());
    batch.solo_latencies.push(crate::store_data::solo("solo-only", 0.5, 10.0));
    app.store.import("solo", &batch).await.unwrap();
    for _ in 0..100 {
        let error = error_of(&app, |r| r.tenants[0] = tenant("solo-only", 0.5)).await;
        if error.code() == Code::FailedPrecondition {
            return assert_refused(&error, Code::FailedPrecondition, "SIGNATURE_MISSING");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the import did not show");
}

#[tokio::test(flavor = "multi_thread")]
async fn shares_exceed_the_device_only_where_they_are_disjoint() {
    let app = spawn_app().await;
    let exceed = |r: &mut PredictPairRequest| r.tenants[0].share = Some(Share::SmShare(0.51));
    assert_refused(&error_of(&app, exceed).await, Code::InvalidArgument, "SHARES_EXCEED_DEVICE");
    assert_refused(
        &error_of(&app, |r| r.tenants[0].share = Some(Share::SmCount(51))).await,
        Code::InvalidArgument,
        "SHARES_EXCEED_DEVICE",
    );
    let mut request = pair();
    exceed(&mut request);
    request.sharing_mode = SharingMode::MpsLimit.into();
    app.predictions().predict_pair(request).await.unwrap();
    let mut request = pair();
    request.tenants[0].share = Some(Share::SmShare(0.5 + 5e-7));
    app.predictions().predict_pair(request).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_numbers_and_texts_that_cannot_be() {
    let app = spawn_app().await;
    for share in [f64::NAN, f64::INFINITY, -0.1, 0.0, 1.5, 1e308, 1e-300] {
        assert_invalid(&error_of(&app, |r| r.tenants[1].share = Some(Share::SmShare(share))).await, "tenants[1].sm_share");
    }
    for number in [f64::NAN, -1.0, f64::INFINITY, 1e308, 1e-308] {
        assert_invalid(&error_of(&app, |r| r.tenants[0].solo_latency_us = number).await, "tenants[0].solo_latency_us");
    }
    for number in [f64::NAN, -1.0, 1.5] {
        assert_invalid(&error_of(&app, |r| r.tenants[0].activity_ratio = number).await, "tenants[0].activity_ratio");
    }
    for count in [0, 101, u32::MAX] {
        assert_invalid(&error_of(&app, |r| r.tenants[0].share = Some(Share::SmCount(count))).await, "tenants[0].sm_count");
    }
    assert_invalid(&error_of(&app, |r| r.sharing_mode = 99).await, "sharing_mode");
    assert_invalid(&error_of(&app, |r| r.view = -1).await, "view");
    assert_invalid(&error_of(&app, |r| r.device.clear()).await, "device");
    assert_invalid(&error_of(&app, |r| r.device = "Up/Case".to_owned()).await, "device");
    assert_invalid(&error_of(&app, |r| r.tenants[0].source = None).await, "tenants[0].source");
    assert_invalid(&error_of(&app, |r| r.tenants[0].share = None).await, "tenants[0].share");
    assert_invalid(&error_of(&app, |r| r.tenants[0] = tenant("", 0.5)).await, "tenants[0].workload");
    assert_invalid(&error_of(&app, |r| r.tenants[0] = tenant(&"x".repeat(3 << 20), 0.5)).await, "tenants[0].workload");
    for count in [0, 1, 3, 1000] {
        assert_invalid(&error_of(&app, |r| r.tenants = vec![tenant("net/b1", 0.5); count]).await, "tenants");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_operators_that_cannot_be() {
    let app = spawn_app().await;
    let error = async |operators: Vec<Signature>| error_of(&app, |r| r.tenants[0] = inline(operators)).await;
    let with = |change: fn(&mut Signature)| {
        let mut operator = operator();
        change(&mut operator);
        vec![self::operator(), operator]
    };
    assert_invalid(&error(vec![]).await, "tenants[0].operators.operators");
    assert_invalid(&error(vec![operator(); 2_001]).await, "tenants[0].operators.operators");
    let field = |name: &str| format!("tenants[0].operators.operators[1].{name}");
    assert_invalid(&error(with(|o| o.duration_us = f64::NAN)).await, &field("duration_us"));
    assert_invalid(&error(with(|o| o.duration_us = 1e308)).await, &field("duration_us"));
    assert_invalid(&error(with(|o| o.launches = -1.0)).await, &field("launches"));
    assert_invalid(&error(with(|o| o.operator = "k".repeat(20_000))).await, &field("operator"));
    assert_invalid(&error(with(|o| o.provenance = 0)).await, &field("provenance"));
    assert_invalid(&error(with(|o| o.provenance = 77)).await, &field("provenance"));
    assert_invalid(&error(with(|o| o.sm_share = 0.9)).await, &field("sm_share"));
    let negative = error(with(|o| _ = o.counters.insert("dram_bytes".to_owned(), -1.0))).await;
    assert_refused(&negative, Code::InvalidArgument, "INVALID_FIELD");
    let huge_name = error(with(|o| _ = o.counters.insert("c".repeat(100_000), 1.0))).await;
    assert_refused(&huge_name, Code::InvalidArgument, "INVALID_FIELD");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_above_the_limit_is_refused_by_the_transport() {
    let app = spawn_app().await;
    let error = error_of(&app, |r| r.tenants[0] = tenant(&"x".repeat(10 << 20), 0.5)).await;
    assert!(matches!(error.code(), Code::OutOfRange | Code::ResourceExhausted), "{error:?}");
    app.predictions().predict_pair(pair()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_hold_answers_and_errors_in_order() {
    let app = spawn_app().await;
    let mut bad = pair();
    bad.tenants[1] = tenant("no/such", 0.5);
    let requests = vec![pair(), bad, pair()];
    let answer = app.predictions().predict_pairs(PredictPairsRequest { requests: requests.clone() }).await.unwrap().into_inner();
    let results: Vec<_> = answer.results.into_iter().map(|result| result.result.unwrap()).collect();
    let predict_pair_result::Result::Error(error) = &results[1] else { panic!("{:?}", results[1]) };
    assert_eq!((error.code, error.details.len()), (Code::NotFound as i32, 2));
    assert_eq!(error.details[0].type_url, "type.googleapis.com/google.rpc.ErrorInfo");
    for i in [0, 2] {
        let predict_pair_result::Result::Response(basic) = &results[i] else { panic!("{:?}", results[i]) };
        assert!(basic.tenants[0].contributions.is_empty(), "BASIC by default");
        assert!(basic.reasons.iter().all(|reason| reason.detail.is_empty() && !reason.code.is_empty()));
        assert!(basic.tenants[0].predicted_latency_us > 0.0);
    }

    let mut stream = app.predictions().stream_predict_pairs(StreamPredictPairsRequest { requests }).await.unwrap().into_inner();
    let mut streamed = vec![];
    while let Some(message) = stream.message().await.unwrap() {
        streamed.push(message.result.unwrap());
    }
    let kinds: Vec<_> = streamed.iter().map(|r| matches!(r, stream_predict_pairs_response::Result::Response(_))).collect();
    assert_eq!(kinds, [true, false, true]);
    let stream_predict_pairs_response::Result::Response(full) = &streamed[0] else { unreachable!() };
    assert!(full.reasons.iter().all(|reason| !reason.detail.is_empty()), "FULL by default");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_pairs_are_answered_and_one_more_is_not() {
    let app = spawn_app().await;
    let requests = |count| PredictPairsRequest { requests: vec![pair(); count] };
    let error = app.predictions().predict_pairs(requests(10_001)).await.unwrap_err();
    assert_refused(&error, Code::InvalidArgument, "TOO_MANY_PAIRS");
    let error = app.predictions().stream_predict_pairs(StreamPredictPairsRequest { requests: vec![pair(); 10_001] }).await;
    assert_refused(&error.unwrap_err(), Code::InvalidArgument, "TOO_MANY_PAIRS");
    let answer = app.predictions().predict_pairs(requests(10_000)).await.unwrap().into_inner();
    assert_eq!(answer.results.len(), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_different_pairs_get_the_answers_that_each_gets_alone() {
    let app = spawn_app().await;
    // Interpolated shares, no two pairs alike; more than any cache of a batch holds.
    let share = |i: u32| 0.26 + f64::from(i) * 2e-5;
    let request = |i: u32| PredictPairRequest {
        tenants: vec![tenant("net/b1", share(i)), tenant("net/b8", 0.3)],
        view: PredictPairView::Basic.into(),
        ..pair()
    };
    let answer = app.predictions().predict_pairs(PredictPairsRequest { requests: (0..10_000).map(request).collect() }).await;
    let results = answer.unwrap().into_inner().results;
    assert_eq!(results.len(), 10_000);
    for (i, result) in (0..).zip(&results) {
        let Some(predict_pair_result::Result::Response(answer)) = &result.result else { panic!("{result:?}") };
        assert!((answer.tenants[0].sm_share - share(i)).abs() < 1e-12, "{i}: {answer:?}");
        if i % 1000 == 0 {
            assert_eq!(*answer, app.predictions().predict_pair(request(i)).await.unwrap().into_inner());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_a_limit_that_grows_with_its_pairs() {
    // Ten milliseconds and ten more a thousand pairs: no honest computer answers these within ten.
    let app = spawn_app_with(|config| config.server.request_timeout = Duration::from_millis(10)).await;
    let operators = || inline((0..300).map(|i| Signature { duration_us: 50.0 + f64::from(i), ..operator() }).collect());
    let heavy = |i: u32| PredictPairRequest {
        tenants: vec![Tenant { solo_latency_us: 1e5 + f64::from(i), ..operators() }, operators()],
        ..pair()
    };
    let error = app.predictions().predict_pairs(PredictPairsRequest { requests: (0..50).map(heavy).collect() }).await;
    assert_refused(&error.unwrap_err(), Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_of_another_device_lacks_its_signature_here() {
    let app = spawn_app().await;
    let elsewhere = error_of(&app, |r| r.device = "nvidia-t4".to_owned()).await;
    assert_refused(&elsewhere, Code::FailedPrecondition, "SIGNATURE_MISSING");
    assert!(elsewhere.message().contains("nvidia-t4"), "{}", elsewhere.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_basic_view_says_each_code_once() {
    let app = spawn_app().await;
    let mut request = pair();
    request.tenants = vec![tenant("net/b1", 0.4), tenant("net/b8", 0.4)];
    let codes = async |view: PredictPairView| {
        let request = PredictPairRequest { view: view.into(), ..request.clone() };
        let answer = app.predictions().predict_pair(request).await.unwrap().into_inner();
        answer.reasons.into_iter().map(|reason| reason.code).collect::<Vec<_>>()
    };
    let interpolated = |codes: &[String]| codes.iter().filter(|code| *code == "SHARE_INTERPOLATED").count();
    assert_eq!(interpolated(&codes(PredictPairView::Full).await), 2, "one a tenant");
    let basic = codes(PredictPairView::Basic).await;
    assert_eq!(basic.iter().collect::<std::collections::HashSet<_>>().len(), basic.len(), "{basic:?}");
    assert_eq!(interpolated(&basic), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_above_four_mebibytes_is_refused_with_advice() {
    let app = spawn_app_with(|config| config.server.request_timeout = Duration::from_secs(120)).await;
    let full = PredictPairRequest { view: PredictPairView::Full.into(), ..pair() };
    let error = app.predictions().predict_pairs(PredictPairsRequest { requests: vec![full; 10_000] }).await.unwrap_err();
    assert_refused(&error, Code::InvalidArgument, "TOO_MANY_PAIRS");
    assert!(error.message().contains("StreamPredictPairs"), "{}", error.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn profiling_is_not_built() {
    let app = spawn_app().await;
    let error = app.profiling().profile_model(pairsight::proto::ProfileModelRequest::default()).await.unwrap_err();
    assert_refused(&error, Code::Unimplemented, "NOT_BUILT");
    let error = app.profiling().watch_profile_job(pairsight::proto::WatchProfileJobRequest::default()).await.unwrap_err();
    assert_refused(&error, Code::Unimplemented, "NOT_BUILT");
}
