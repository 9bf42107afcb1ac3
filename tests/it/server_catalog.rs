//! The catalog over gRPC: pages, filters, imports, deletion.

use pairsight::proto::{
    Ceiling, CeilingBasis, DeleteWorkloadRequest, Device, GetDeviceRequest, GetPredictorRequest, GetSignatureRequest,
    GetWorkloadRequest, ImportSignaturesRequest, ListDevicesRequest, ListPredictorsRequest, ListSignaturesRequest,
    ListWorkloadsRequest, Provenance, Signature, SoloLatency,
};
use tonic::Code;

use crate::support::{App, assert_invalid, assert_refused, spawn_app, spawn_app_with};

const DEVICE: &str = "test-gpu";

fn signature(workload: &str, operator: &str) -> Signature {
    Signature {
        workload: workload.to_owned(),
        sm_share: 0.5,
        operator: operator.to_owned(),
        launches: 1.0,
        duration_us: 10.0,
        counters: [("dram_bytes".to_owned(), 1e6)].into(),
        provenance: Provenance::Imported.into(),
        ..Signature::default()
    }
}

fn import(request_id: &str, signatures: Vec<Signature>) -> ImportSignaturesRequest {
    ImportSignaturesRequest {
        request_id: request_id.to_owned(),
        device: DEVICE.to_owned(),
        signatures,
        ..ImportSignaturesRequest::default()
    }
}

async fn send(
    app: &App,
    messages: Vec<ImportSignaturesRequest>,
) -> Result<pairsight::proto::ImportSignaturesResponse, tonic::Status> {
    app.catalog().import_signatures(futures::stream::iter(messages)).await.map(tonic::Response::into_inner)
}

async fn workloads(app: &App, page_size: i32, page_token: &str, filter: &str) -> Result<(Vec<String>, String), tonic::Status> {
    let request = ListWorkloadsRequest { page_size, page_token: page_token.to_owned(), filter: filter.to_owned() };
    let page = app.catalog().list_workloads(request).await?.into_inner();
    Ok((page.workloads.into_iter().map(|w| w.workload).collect(), page.next_page_token))
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_through_workloads_and_filters_them() {
    let app = spawn_app().await;
    let (first, token) = workloads(&app, 2, "", "").await.unwrap();
    assert_eq!((first, token.is_empty()), (vec!["net/b1".to_owned(), "net/b8".to_owned()], false));
    let (second, end) = workloads(&app, 2, &token, "").await.unwrap();
    assert_eq!((second, end.as_str()), (vec!["other/b1".to_owned()], ""));
    let names = async |filter: &str| workloads(&app, 0, "", filter).await.unwrap().0;
    assert_eq!(names(r#"family = "net" AND b8"#).await, ["net/b8"]);
    assert_eq!(names(r#"device = "test-gpu""#).await.len(), 3);
    assert!(names(r#"device = "nvidia-t4""#).await.is_empty());
    assert_invalid(&workloads(&app, -1, "", "").await.unwrap_err(), "page_size");
    assert_invalid(&workloads(&app, 0, "", "device = x").await.unwrap_err(), "filter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_another_filter_or_call_or_none_at_all_is_refused() {
    let app = spawn_app().await;
    let (_, token) = workloads(&app, 1, "", "").await.unwrap();
    let cut = &token[..token.len() - 1];
    for (token, filter) in [(token.as_str(), "net"), (cut, ""), ("not a token", ""), ("e30", "")] {
        let error = workloads(&app, 1, token, filter).await.unwrap_err();
        assert_refused(&error, Code::InvalidArgument, "PAGE_TOKEN_INVALID");
    }
    let devices = ListDevicesRequest { page_token: token, ..ListDevicesRequest::default() };
    let error = app.catalog().list_devices(devices).await.unwrap_err();
    assert_refused(&error, Code::InvalidArgument, "PAGE_TOKEN_INVALID");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_through_signatures() {
    let app = spawn_app().await;
    let (mut operators, mut page_token) = (vec![], String::new());
    loop {
        let request = ListSignaturesRequest {
            page_size: 4,
            page_token,
            device: DEVICE.to_owned(),
            workload: "net/b1".to_owned(),
            ..ListSignaturesRequest::default()
        };
        let page = app.catalog().list_signatures(request).await.unwrap().into_inner();
        operators.extend(page.signatures.into_iter().map(|s| (s.sm_share, s.operator)));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    let expected = |share| (0..3).map(move |i| (share, format!("kernel_{i}<float, {i}>")));
    assert_eq!(operators, expected(0.25).chain(expected(0.5)).collect::<Vec<_>>());
    let get =
        |position| GetSignatureRequest { device: DEVICE.to_owned(), workload: "net/b1".to_owned(), sm_share: 0.5, position };
    let found = app.catalog().get_signature(get(1)).await.unwrap().into_inner().signature.unwrap();
    assert_eq!(found.operator, "kernel_1<float, 1>");
    assert_eq!(app.catalog().get_signature(get(9)).await.unwrap_err().code(), Code::NotFound);
    assert_invalid(&app.catalog().get_signature(get(u32::MAX)).await.unwrap_err(), "position");
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_are_those_of_the_catalog_and_the_built_in_ones() {
    let app = spawn_app().await;
    let list = app.catalog().list_devices(ListDevicesRequest::default()).await.unwrap().into_inner().devices;
    let ids: Vec<_> = list.iter().map(|device| device.device_id.as_str()).collect();
    assert!(ids.is_sorted() && ids.contains(&DEVICE) && ids.contains(&"nvidia-h200"), "{ids:?}");
    let get = |device: &str| GetDeviceRequest { device: device.to_owned() };
    assert_eq!(app.catalog().get_device(get(DEVICE)).await.unwrap().into_inner().device.unwrap().sm_count, 100);
    let error = app.catalog().get_device(get("no-such-gpu")).await.unwrap_err();
    assert_refused(&error, Code::NotFound, "DEVICE_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn predictors_are_listed_and_shown() {
    use pairsight::store::Store;
    let app = spawn_app().await;
    let predictor = crate::store_data::predictor(7);
    app.store.publish_predictor(&predictor, true).await.unwrap();
    // A write over gRPC has the server read the catalog before it answers.
    send(&app, vec![import("after", vec![signature("late", "k")])]).await.unwrap();
    let list = app.catalog().list_predictors(ListPredictorsRequest::default()).await.unwrap().into_inner().predictors;
    assert_eq!(list.len(), 1);
    assert!(list[0].active && list[0].artefact_json.is_empty());
    let get = |version: &str| GetPredictorRequest { predictor_version: version.to_owned() };
    let shown = app.catalog().get_predictor(get(&predictor.version)).await.unwrap().into_inner().predictor.unwrap();
    assert_eq!(shown.artefact_json, predictor.to_json());
    let error = app.catalog().get_predictor(get("0123456789abcdef")).await.unwrap_err();
    assert_refused(&error, Code::NotFound, "PREDICTOR_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_whole_and_once() {
    let app = spawn_app().await;
    let second = ImportSignaturesRequest { signatures: vec![signature("new/b1", "b")], ..ImportSignaturesRequest::default() };
    let messages = vec![import("once", vec![signature("new/b1", "a")]), second];
    let receipt = send(&app, messages.clone()).await.unwrap();
    assert_eq!((receipt.signatures, receipt.workloads, receipt.already_imported), (2, 1, false));
    assert_eq!(workloads(&app, 0, "", "new").await.unwrap().0, ["new/b1"], "at once, in the next call");
    let again = send(&app, messages).await.unwrap();
    assert_eq!((again.signatures, again.catalog_version, again.already_imported), (2, receipt.catalog_version, true));
    let other = send(&app, vec![import("once", vec![signature("new/b1", "c")])]).await.unwrap_err();
    assert_refused(&other, Code::AlreadyExists, "REQUEST_ID_REUSED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_import_changes_nothing_and_says_where() {
    let app = spawn_app().await;
    let before = workloads(&app, 0, "", "").await.unwrap();
    let refused = async |messages| send(&app, messages).await.unwrap_err();
    let bad = |change: fn(&mut Signature)| {
        let mut bad = signature("bad", "k");
        change(&mut bad);
        vec![import("bad", vec![signature("bad", "a"), bad])]
    };
    assert_invalid(&refused(bad(|s| s.duration_us = f64::NAN)).await, "signatures[1].duration_us");
    assert_invalid(&refused(bad(|s| s.sm_share = 1.5)).await, "signatures[1].sm_share");
    assert_invalid(&refused(bad(|s| s.provenance = 0)).await, "signatures[1].provenance");
    assert_invalid(&refused(bad(|s| s.workload.clear())).await, "signatures[1].workload");
    assert_invalid(&refused(vec![]).await, "request_id");
    assert_invalid(&refused(vec![import("", vec![])]).await, "request_id");
    assert_invalid(&refused(vec![import(&"r".repeat(129), vec![])]).await, "request_id");
    let mut later = bad(|s| s.launches = 0.0);
    later.insert(0, import("bad", vec![signature("bad", "first")]));
    assert_invalid(&refused(later).await, "signatures[2].launches");
    let mut contradiction = import("bad", vec![]);
    contradiction.device = "nvidia-t4".to_owned();
    assert_invalid(&refused(vec![import("bad", vec![]), contradiction.clone()]).await, "device");
    contradiction.device = "no-such-gpu".to_owned();
    assert_refused(&refused(vec![contradiction]).await, Code::NotFound, "DEVICE_UNKNOWN");
    assert_eq!(workloads(&app, 0, "", "").await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_only_stores_nothing() {
    let app = spawn_app().await;
    let mut message = import("check", vec![signature("new/b1", "a")]);
    let solo = |workload: &str, latency_us| SoloLatency {
        workload: workload.to_owned(),
        sm_share: 0.5,
        latency_us,
        provenance: Provenance::Imported.into(),
        ..SoloLatency::default()
    };
    message.solo_latencies = vec![solo("new/b1", 12.0), solo("new/b1", 13.0), solo("new/b2", 12.0)];
    let checked = send(&app, vec![ImportSignaturesRequest { validate_only: true, ..message.clone() }]).await.unwrap();
    assert_eq!((checked.signatures, checked.workloads, checked.solo_latencies, checked.catalog_version), (1, 2, 2, 0));
    assert!(workloads(&app, 0, "", "new").await.unwrap().0.is_empty());
    let stored = send(&app, vec![message]).await.unwrap();
    assert_eq!(pairsight::proto::ImportSignaturesResponse { catalog_version: 0, ..stored }, checked, "what the import then does");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_can_bring_its_device_and_be_sent_again() {
    let app = spawn_app().await;
    let mut message = import("device", vec![signature("w", "k")]);
    message.device = "new-gpu".to_owned();
    message.new_device = Some(Device {
        sm_count: 10,
        partition_step: 1,
        dram_bytes_per_s: Some(Ceiling { value: 1e11, basis: CeilingBasis::Measured.into(), source: String::new() }),
        ..Device::default()
    });
    send(&app, vec![message.clone()]).await.unwrap();
    assert!(send(&app, vec![message.clone()]).await.unwrap().already_imported);
    message.request_id = "other".to_owned();
    message.new_device.as_mut().unwrap().sm_count = 11;
    assert_invalid(&send(&app, vec![message.clone()]).await.unwrap_err(), "new_device.sm_count");
    message.new_device.as_mut().unwrap().sm_count = 0;
    assert_invalid(&send(&app, vec![message]).await.unwrap_err(), "new_device.sm_count");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_is_the_same_whatever_the_catalog_learns_of_its_device() {
    let app = spawn_app().await;
    let message = import("again", vec![signature("w", "k")]);
    let first = send(&app, vec![message.clone()]).await.unwrap();
    // Another import brings other ceilings, another name and another step.
    let mut device = import("ceilings", vec![]);
    device.new_device = Some(Device {
        display_name: "Another name".to_owned(),
        sm_count: 100,
        partition_step: 4,
        dram_bytes_per_s: Some(Ceiling { value: 1.1e12, basis: CeilingBasis::Measured.into(), source: String::new() }),
        ..Device::default()
    });
    send(&app, vec![device]).await.unwrap();
    let again = send(&app, vec![message]).await.unwrap();
    assert_eq!((again.already_imported, again.catalog_version), (true, first.catalog_version));
    // One that only names the device leaves what is known of it.
    send(&app, vec![import("later", vec![signature("v", "k")])]).await.unwrap();
    let get = GetDeviceRequest { device: DEVICE.to_owned() };
    let known = app.catalog().get_device(get).await.unwrap().into_inner().device.unwrap();
    assert_eq!((known.display_name.as_str(), known.partition_step), ("Another name", 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_too_large_is_refused() {
    let app = spawn_app_with(|config| config.server.max_import_bytes = 100_000).await;
    let messages = (0..200).map(|i| import("large", vec![signature("w", &format!("{i}{}", "k".repeat(1000)))])).collect();
    assert_invalid(&send(&app, messages).await.unwrap_err(), "signatures");
}

#[tokio::test(flavor = "multi_thread")]
async fn deletes_a_workload_once() {
    let app = spawn_app().await;
    let mut with_solo = import("solo", vec![]);
    with_solo.solo_latencies.push(SoloLatency {
        workload: "net/b1".to_owned(),
        sm_share: 0.5,
        latency_us: 12.0,
        provenance: Provenance::Measured.into(),
        ..SoloLatency::default()
    });
    send(&app, vec![with_solo]).await.unwrap();
    let delete = |device: &str| DeleteWorkloadRequest { device: device.to_owned(), workload: "net/b1".to_owned() };
    app.catalog().delete_workload(delete(DEVICE)).await.unwrap();
    let get = GetWorkloadRequest { device: DEVICE.to_owned(), workload: "net/b1".to_owned() };
    assert_refused(&app.catalog().get_workload(get).await.unwrap_err(), Code::NotFound, "WORKLOAD_UNKNOWN");
    for device in [DEVICE, "nvidia-t4"] {
        let error = app.catalog().delete_workload(delete(device)).await.unwrap_err();
        assert_refused(&error, Code::NotFound, "WORKLOAD_UNKNOWN");
    }
    let error = app.catalog().delete_workload(delete("no-such-gpu")).await.unwrap_err();
    assert_refused(&error, Code::NotFound, "DEVICE_UNKNOWN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifth_import_at_once_is_refused_and_let_in_when_one_has_ended() {
    let app = spawn_app().await;
    let open = |name: String| {
        let (messages, stream) = tokio::sync::mpsc::channel(1);
        messages.try_send(import(&name, vec![signature("held", "k")])).unwrap();
        let mut catalog = app.catalog();
        let stream = tokio_stream::wrappers::ReceiverStream::new(stream);
        // Goes on only when the other end of the channel is dropped.
        let call = tokio::spawn(async move { catalog.import_signatures(stream).await });
        (messages, call)
    };
    // Which of the five comes last is chance.
    let mut held: Vec<_> = (0..5).map(|i| open(format!("held{i}"))).collect();
    let mut ended = vec![];
    for _ in 0..200 {
        ended = (0..5).filter(|i| held[*i].1.is_finished()).collect();
        if !ended.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(ended.len(), 1, "one of five is refused, the others have their places");
    let refused = held.remove(ended[0]).1.await.unwrap().unwrap_err();
    assert_refused(&refused, Code::ResourceExhausted, "OVERLOADED");
    assert!(tonic_types::StatusExt::get_details_retry_info(&refused).is_some(), "{refused:?}");
    let other = send(&app, vec![import("other", vec![signature("late", "k")])]).await.unwrap_err();
    assert_refused(&other, Code::ResourceExhausted, "OVERLOADED");

    let (messages, call) = held.pop().unwrap();
    drop(messages);
    assert!(!call.await.unwrap().unwrap().into_inner().already_imported);
    send(&app, vec![import("other", vec![signature("late", "k")])]).await.unwrap();
    for (messages, call) in held {
        drop(messages);
        call.await.unwrap().unwrap();
    }
}
