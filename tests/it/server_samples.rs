//! `SuggestSamples` and `AddSamples` over gRPC, on both stores.

use std::{collections::BTreeSet, sync::Arc};

use futures::future::join_all;
use pairsight::{
    bundled,
    domain::{DeviceId, SharingMode},
    proto::{
        self, AddSamplesRequest, AddSamplesResponse, CoRun, GetPredictorRequest, ImportSignaturesRequest, ListPredictorsRequest,
        PairSample, Provenance, SampleFindingKind, Signature, SuggestSamplesRequest, SuggestSamplesResponse,
    },
    store::Store,
};
use tonic::{Code, Status};
use tonic_health::pb::health_check_response::ServingStatus;

use crate::{
    store_backend::{Backend, on_both_stores},
    support::{App, assert_invalid, assert_refused, spawn_unready},
};

const DEVICE: &str = "sim-qv100-eighth";

on_both_stores! {
    samples_are_added_once,
    what_is_not_better_is_not_published,
    only_checking_stores_nothing,
    additions_at_once_lose_nothing,
    bad_samples_are_refused_with_their_place,
    samples_that_cannot_be_believed_are_stored_and_not_learnt_from,
    what_lacks_a_fit_or_signatures_is_refused,
    suggestions_are_of_what_is_not_measured,
    bad_questions_are_refused_with_their_place,
}

/// A server on a store with the bundled catalog.
async fn app(backend: &Backend) -> App {
    let store = backend.open().await;
    bundled::install(store.as_ref()).await.unwrap();
    store.close().await;
    let (database, file) = (backend.config(), backend.file());
    let app = spawn_unready(|config| {
        config.database = database;
        file.parent().unwrap().clone_into(&mut config.data_dir);
    })
    .await;
    app.becomes(ServingStatus::Serving).await;
    app
}

/// A co-run that the bundled catalog does not have; alone each takes 10 microseconds.
fn sample(pair_id: &str, workloads: [&str; 2], slowdowns: [f64; 2]) -> PairSample {
    PairSample {
        pair_id: pair_id.to_owned(),
        a_workload: workloads[0].to_owned(),
        b_workload: workloads[1].to_owned(),
        a_sm_share: 0.3,
        b_sm_share: 0.7,
        a_solo_us: 10.0,
        b_solo_us: 10.0,
        a_corun_us: Some(10.0 * slowdowns[0]),
        b_corun_us: Some(10.0 * slowdowns[1]),
        provenance: Provenance::Measured.into(),
        ..PairSample::default()
    }
}

fn samples(prefix: &str, count: usize) -> Vec<PairSample> {
    let partners = ["gemm_s", "elem_m", "ptr_l", "l2bw_s", "softmax_m", "gather_l"];
    let row = |i: usize| sample(&format!("{prefix}{i}"), ["fma_s", partners[i]], [1.1 + 0.05 * i as f64, 1.2]);
    (0..count).map(row).collect()
}

fn add(request_id: &str, pair_samples: Vec<PairSample>) -> AddSamplesRequest {
    AddSamplesRequest {
        request_id: request_id.to_owned(),
        device: DEVICE.to_owned(),
        pair_samples,
        ..AddSamplesRequest::default()
    }
}

async fn send(app: &App, request: AddSamplesRequest) -> Result<AddSamplesResponse, Status> {
    app.catalog().add_samples(request).await.map(tonic::Response::into_inner)
}

async fn suggest(app: &App, request: SuggestSamplesRequest) -> Result<SuggestSamplesResponse, Status> {
    app.catalog().suggest_samples(request).await.map(tonic::Response::into_inner)
}

fn about(workload: &str) -> SuggestSamplesRequest {
    SuggestSamplesRequest { device: DEVICE.to_owned(), workload: workload.to_owned(), ..SuggestSamplesRequest::default() }
}

async fn stored(app: &App) -> Vec<String> {
    let device = DeviceId::new("device", DEVICE).unwrap();
    let samples = app.store.pair_samples(&device, SharingMode::SmPartition).await.unwrap();
    samples.into_iter().map(|sample| sample.pair_id).collect()
}

async fn predictors(app: &App) -> (String, usize) {
    let list = app.catalog().list_predictors(ListPredictorsRequest::default()).await.unwrap().into_inner().predictors;
    let active: Vec<_> = list.iter().filter(|predictor| predictor.active).collect();
    assert_eq!(active.len(), 1);
    (active[0].predictor_version.clone(), list.len())
}

async fn samples_are_added_once(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let before = stored(&app).await.len();
    let request = add("r1", samples("new", 5));
    let added = send(&app, request.clone()).await.unwrap();
    assert_eq!((added.samples, added.adapted, added.already_added), (5, true, false), "{added:?}");
    assert!(added.catalog_version > 0 && added.findings.is_empty(), "{added:?}");
    assert_eq!(stored(&app).await.len(), before + 5);

    let again = send(&app, request.clone()).await.unwrap();
    assert_eq!(again, AddSamplesResponse { already_added: true, ..added.clone() });
    assert_eq!(predictors(&app).await.0, added.predictor_version);
    // Also when what it spoke of has gone since.
    let delete = proto::DeleteWorkloadRequest { device: DEVICE.to_owned(), workload: "fma_s".to_owned() };
    app.catalog().delete_workload(delete).await.unwrap();
    assert_eq!(send(&app, request).await.unwrap(), again);

    let other = send(&app, add("r1", samples("new", 4))).await.unwrap_err();
    assert_refused(&other, Code::AlreadyExists, "REQUEST_ID_REUSED");
    let import =
        ImportSignaturesRequest { request_id: "r1".to_owned(), device: DEVICE.to_owned(), ..ImportSignaturesRequest::default() };
    let other = app.catalog().import_signatures(futures::stream::iter([import.clone()])).await.unwrap_err();
    assert_refused(&other, Code::AlreadyExists, "REQUEST_ID_REUSED");
    let import = ImportSignaturesRequest { request_id: "r2".to_owned(), ..import };
    app.catalog().import_signatures(futures::stream::iter([import])).await.unwrap();
    let other = send(&app, add("r2", samples("new", 4))).await.unwrap_err();
    assert_refused(&other, Code::AlreadyExists, "REQUEST_ID_REUSED");
}

async fn what_is_not_better_is_not_published(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let (before, count) = predictors(&app).await;
    let added = send(&app, add("r1", samples("new", 6))).await.unwrap();
    let check = added.check.unwrap();
    assert_eq!(check.samples + check.left_out, 12, "{added:?}");
    assert!(check.improves || !added.published, "{added:?}");
    assert_eq!(added.published, added.predictor_version != before, "{added:?}");
    let after = predictors(&app).await;
    assert_eq!(after, (added.predictor_version.clone(), count + usize::from(added.published)));
    let get = GetPredictorRequest { predictor_version: added.predictor_version };
    assert!(app.catalog().get_predictor(get).await.unwrap().into_inner().predictor.unwrap().active);
    // Stored either way.
    assert!(stored(&app).await.contains(&"new5".to_owned()));
}

async fn only_checking_stores_nothing(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let before = (stored(&app).await, predictors(&app).await);
    let check = AddSamplesRequest { validate_only: true, ..add("r1", samples("new", 5)) };
    let checked = send(&app, check.clone()).await.unwrap();
    assert_eq!((checked.samples, checked.published, checked.catalog_version), (5, false, 0));
    assert_eq!(checked.predictor_version, before.1.0);
    assert_eq!((stored(&app).await, predictors(&app).await), before);
    let added = send(&app, AddSamplesRequest { validate_only: false, ..check }).await.unwrap();
    assert!(!added.already_added);
    assert_eq!(added.check, checked.check, "what was checked is what is then done");
}

async fn additions_at_once_lose_nothing(backend: Arc<Backend>) {
    let apps = [app(&backend).await, app(&backend).await];
    let (before, count) = (stored(&apps[0]).await.len(), predictors(&apps[0]).await.1);
    let calls = (0..6).map(|i| {
        let app = &apps[i % 2];
        async move { send(app, add(&format!("r{i}"), samples(&format!("s{i}-"), 1 + i % 3))).await.unwrap() }
    });
    let answers = join_all(calls).await;
    let twice =
        join_all((0..6).map(|i| send(&apps[1 - i % 2], add(&format!("r{i}"), samples(&format!("s{i}-"), 1 + i % 3))))).await;
    for (answer, again) in answers.iter().zip(twice) {
        assert_eq!(again.unwrap(), AddSamplesResponse { already_added: true, ..answer.clone() });
    }
    let versions: BTreeSet<i64> = answers.iter().map(|answer| answer.catalog_version).collect();
    assert_eq!(versions.len(), 6, "each is a commit of its own");
    let total: u32 = answers.iter().map(|answer| answer.samples).sum();
    assert_eq!(stored(&apps[0]).await.len(), before + usize::try_from(total).unwrap());
    // Every published adaptation comes from the one before it, and the last one answers.
    let published: BTreeSet<_> =
        answers.iter().filter(|answer| answer.published).map(|answer| &answer.predictor_version).collect();
    let last = answers.iter().max_by_key(|answer| answer.catalog_version).unwrap();
    let store = backend.open().await;
    let catalog = store.load_catalog(None).await.unwrap();
    assert_eq!(catalog.predictors.len(), count + published.len());
    let active: Vec<_> = catalog.predictors.iter().filter(|info| info.active).map(|info| info.version.as_str()).collect();
    assert_eq!(active, [last.predictor_version.as_str()]);
}

async fn bad_samples_are_refused_with_their_place(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let before = stored(&app).await;
    let bad = async |change: fn(&mut PairSample)| {
        let mut rows = samples("new", 2);
        change(&mut rows[1]);
        send(&app, add("bad", rows)).await.unwrap_err()
    };
    assert_invalid(&bad(|s| s.a_corun_us = Some(0.0)).await, "pair_samples[1].a_corun_us");
    assert_invalid(&bad(|s| s.b_corun_us = Some(-1.0)).await, "pair_samples[1].b_corun_us");
    assert_invalid(&bad(|s| s.a_solo_us = f64::NAN).await, "pair_samples[1].a_solo_us");
    assert_invalid(&bad(|s| s.a_sm_share = 1.5).await, "pair_samples[1].a_sm_share");
    assert_invalid(&bad(|s| s.a_sm_share = 0.8).await, "pair_samples[1].b_sm_share");
    assert_invalid(&bad(|s| s.provenance = 0).await, "pair_samples[1].provenance");
    assert_invalid(&bad(|s| s.pair_id = String::from("new0")).await, "pair_samples[1].pair_id");
    assert_invalid(&bad(|s| s.sharing_mode = proto::SharingMode::MpsLimit.into()).await, "pair_samples[1].sharing_mode");
    assert_invalid(&bad(|s| s.sharing_mode = 77).await, "pair_samples[1].sharing_mode");
    assert_invalid(&bad(|s| (s.a_corun_us, s.b_corun_us) = (None, None)).await, "pair_samples[1].a_corun_us");
    assert_invalid(&send(&app, add("bad", vec![])).await.unwrap_err(), "pair_samples");
    assert_invalid(&send(&app, add("", samples("new", 1))).await.unwrap_err(), "request_id");
    assert_invalid(&send(&app, add(&"r".repeat(129), samples("new", 1))).await.unwrap_err(), "request_id");
    let mode = AddSamplesRequest { sharing_mode: 99, ..add("bad", samples("new", 1)) };
    assert_invalid(&send(&app, mode).await.unwrap_err(), "sharing_mode");
    assert_eq!(stored(&app).await, before);
}

async fn samples_that_cannot_be_believed_are_stored_and_not_learnt_from(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let (before, _) = predictors(&app).await;
    let fast = vec![sample("fast", ["fma_s", "gemm_s"], [0.5, 0.6])];
    let added = send(&app, add("r1", fast.clone())).await.unwrap();
    assert_eq!((added.samples, added.adapted, added.published, added.check), (1, false, false, None));
    assert_eq!(added.predictor_version, before);
    let kinds: Vec<_> = added.findings.iter().map(|f| (f.sample, f.tenant, f.kind(), f.pair_id.as_str())).collect();
    let expected = |tenant| (0, tenant, SampleFindingKind::FasterThanSolo, "fast");
    assert_eq!(kinds, [expected(0), expected(1)]);
    assert!(stored(&app).await.contains(&"fast".to_owned()));

    // A row that is stored already, under its name and under another, counts once.
    send(&app, add("r2", samples("new", 1))).await.unwrap();
    for (request, rows) in [("r3", samples("new", 1)), ("r4", samples("other", 1))] {
        let again = send(&app, add(request, rows)).await.unwrap();
        assert_eq!((again.adapted, again.already_added), (false, false), "{again:?}");
        assert!(again.findings.iter().all(|f| f.kind() == SampleFindingKind::Duplicate && f.weight == 0.0), "{again:?}");
        assert_eq!(again.findings.len(), 2, "{again:?}");
    }
    // A large slowdown is in question, and learnt from.
    let slow = send(&app, add("r5", vec![sample("slow", ["fma_s", "elem_l"], [30.0, 1.2])])).await.unwrap();
    assert!(slow.adapted && slow.findings[0].kind() == SampleFindingKind::Implausible, "{slow:?}");
}

async fn what_lacks_a_fit_or_signatures_is_refused(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let elsewhere = async |change: fn(&mut AddSamplesRequest)| {
        let mut request = add("r1", samples("new", 1));
        change(&mut request);
        send(&app, request).await.unwrap_err()
    };
    assert_refused(&elsewhere(|r| r.device = String::from("no-such-gpu")).await, Code::NotFound, "DEVICE_UNKNOWN");
    let unfitted = elsewhere(|r| r.sharing_mode = proto::SharingMode::MpsLimit.into()).await;
    assert_refused(&unfitted, Code::FailedPrecondition, "PREDICTOR_NOT_FITTED");
    let nobody = elsewhere(|r| r.pair_samples[0].a_workload = String::from("nobody")).await;
    assert_refused(&nobody, Code::NotFound, "WORKLOAD_UNKNOWN");
    // Of several, those with signatures are learnt from and the others kept.
    let mut mixed = samples("new", 2);
    mixed[0].a_workload = String::from("nobody");
    let added = send(&app, add("r1", mixed)).await.unwrap();
    assert_eq!((added.samples, added.adapted), (2, true), "{added:?}");

    // A workload of another device has no signature on this one.
    let signature = Signature {
        workload: "abroad".to_owned(),
        sm_share: 0.5,
        operator: "k".to_owned(),
        launches: 1.0,
        duration_us: 1.0,
        provenance: Provenance::Imported.into(),
        ..Signature::default()
    };
    let import = ImportSignaturesRequest {
        request_id: "abroad".to_owned(),
        device: "nvidia-t4".to_owned(),
        signatures: vec![signature],
        ..ImportSignaturesRequest::default()
    };
    app.catalog().import_signatures(futures::stream::iter([import])).await.unwrap();
    let abroad = send(&app, add("r2", vec![sample("x", ["abroad", "fma_s"], [1.1, 1.1])])).await.unwrap_err();
    assert_refused(&abroad, Code::FailedPrecondition, "SIGNATURE_MISSING");
    assert_refused(&suggest(&app, about("abroad")).await.unwrap_err(), Code::FailedPrecondition, "SIGNATURE_MISSING");
}

async fn suggestions_are_of_what_is_not_measured(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let answer = suggest(&app, about("fma_m")).await.unwrap();
    assert_eq!(answer.suggestions.len(), 4);
    assert_eq!(answer.predictor_version, predictors(&app).await.0);
    let all = suggest(&app, SuggestSamplesRequest { count: 100, ..about("fma_m") }).await.unwrap();
    assert_eq!(all.suggestions.len(), 100);
    let device = DeviceId::new("device", DEVICE).unwrap();
    let measured = app.store.pair_samples(&device, SharingMode::SmPartition).await.unwrap();
    for suggestion in &all.suggestions {
        let [own, other] = [suggestion.workloads[0].as_str(), suggestion.workloads[1].as_str()];
        assert!(own == "fma_m" && other != "fma_m", "{suggestion:?}");
        assert!(suggestion.sm_shares.iter().sum::<f64>() <= 1.0 + 1e-6, "{suggestion:?}");
        let same = |side: usize, name: &str, sample: &pairsight::domain::PairSample| {
            let at = usize::from(name == other);
            *sample.workloads[side] == *name && (sample.sm_shares[side].get() - suggestion.sm_shares[at]).abs() < 1e-6
        };
        let is_it =
            |s: &&pairsight::domain::PairSample| (same(0, own, s) && same(1, other, s)) || (same(1, own, s) && same(0, other, s));
        assert_eq!(measured.iter().find(is_it), None, "{suggestion:?}");
    }
    // What is measured is asked for no longer.
    let first = &answer.suggestions[0];
    let [a, b] = [first.workloads[0].as_str(), first.workloads[1].as_str()];
    let row = PairSample { a_sm_share: first.sm_shares[0], b_sm_share: first.sm_shares[1], ..sample("next", [a, b], [1.1, 1.2]) };
    send(&app, add("r1", vec![row])).await.unwrap();
    let next = suggest(&app, SuggestSamplesRequest { count: 100, ..about("fma_m") }).await.unwrap();
    assert_eq!(next.candidates, answer.candidates - 1);
    assert!(next.suggestions.iter().all(|s| (&s.workloads, &s.sm_shares) != (&first.workloads, &first.sm_shares)));
    // Candidates of one's own are taken as they are.
    let candidate = CoRun { workloads: vec!["elem_m".to_owned(), "fma_m".to_owned()], sm_shares: vec![0.5, 0.5] };
    let own = suggest(&app, SuggestSamplesRequest { candidates: vec![candidate.clone()], ..about("fma_m") }).await.unwrap();
    assert_eq!((own.candidates, own.suggestions.len()), (1, 1));
    assert_eq!((&own.suggestions[0].workloads, &own.suggestions[0].sm_shares), (&candidate.workloads, &candidate.sm_shares));
}

async fn bad_questions_are_refused_with_their_place(backend: Arc<Backend>) {
    let app = app(&backend).await;
    let bad = async |change: fn(&mut SuggestSamplesRequest)| {
        let good = CoRun { workloads: vec!["fma_m".to_owned(), "elem_m".to_owned()], sm_shares: vec![0.5, 0.5] };
        let mut request = SuggestSamplesRequest { candidates: vec![good.clone(), good], ..about("fma_m") };
        change(&mut request);
        suggest(&app, request).await.unwrap_err()
    };
    assert_invalid(&bad(|r| r.workload.clear()).await, "workload");
    assert_invalid(&bad(|r| r.device = String::from("No GPU")).await, "device");
    assert_invalid(&bad(|r| r.count = 101).await, "count");
    assert_invalid(&bad(|r| r.sharing_mode = 99).await, "sharing_mode");
    assert_invalid(&bad(|r| r.candidates[1].workloads.truncate(1)).await, "candidates[1].workloads");
    assert_invalid(&bad(|r| r.candidates[1].workloads[0] = String::from("elem_m")).await, "candidates[1].workloads");
    assert_invalid(&bad(|r| r.candidates[1].sm_shares.push(0.1)).await, "candidates[1].sm_shares");
    assert_invalid(&bad(|r| r.candidates[1].sm_shares[0] = 0.0).await, "candidates[1].sm_shares[0]");
    let too_wide = bad(|r| r.candidates[1].sm_shares[0] = 0.7).await;
    assert_refused(&too_wide, Code::InvalidArgument, "SHARES_EXCEED_DEVICE");
    let too_many = bad(|r| r.candidates = vec![r.candidates[0].clone(); 10_001]).await;
    assert_refused(&too_many, Code::InvalidArgument, "TOO_MANY_PAIRS");
    assert_refused(&bad(|r| r.device = String::from("no-such-gpu")).await, Code::NotFound, "DEVICE_UNKNOWN");
    let unknown = bad(|r| r.candidates[1].workloads[1] = String::from("nobody")).await;
    assert_refused(&unknown, Code::NotFound, "WORKLOAD_UNKNOWN");
    assert_refused(&suggest(&app, about("nobody")).await.unwrap_err(), Code::NotFound, "WORKLOAD_UNKNOWN");
    let unfitted = bad(|r| r.sharing_mode = proto::SharingMode::TimeSliced.into()).await;
    assert_refused(&unfitted, Code::FailedPrecondition, "PREDICTOR_NOT_FITTED");
}
