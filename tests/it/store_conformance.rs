//! What every store must do, whatever it is made of: each test runs on SQLite and on Postgres.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use pairsight::{
    domain::{CeilingBasis, DeviceId, ImportBatch, SharingMode, SmShare, SoloLatency},
    interference::WorkloadProfile,
    store::{Added, AddedBefore, Catalog, CatalogHandle, PlacedSignature, SampleAddition, SignatureCursor, Store, StoreError},
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    store_backend::{Backend, on_both_stores},
    store_data::{batch, ceiling, device, device_id, pair, predictor, share, signature, solo, trace},
};

const MODE: SharingMode = SharingMode::SmPartition;

on_both_stores! {
    an_import_shows_in_the_catalog,
    signatures_come_back_as_they_were,
    an_equal_share_is_replaced_and_others_stay,
    the_same_request_is_served_once,
    latencies_traces_and_samples_are_replaced,
    a_workload_is_deleted_with_all_of_it,
    pages_follow_one_another,
    a_reload_takes_over_what_has_not_changed,
    a_new_ceiling_reloads_the_workloads,
    a_weaker_ceiling_changes_nothing,
    a_newer_ceiling_of_the_same_basis_counts,
    another_number_of_sms_is_refused,
    a_sum_of_kernels_does_not_replace_a_measured_latency,
    a_large_batch_is_stored_whole,
    a_batch_that_fails_leaves_nothing,
    an_import_given_up_leaves_nothing,
    imports_at_once_are_put_in_order,
    a_commit_shows_on_another_handle,
    predictors_are_published_activated_and_rolled_back,
    an_active_predictor_is_taken_over,
    samples_are_added_with_what_was_learnt,
    what_was_learnt_from_another_predictor_is_not_stored,
    an_addition_that_fails_leaves_nothing,
    of_additions_at_once_one_is_first,
}

async fn load(store: &Arc<dyn Store>) -> Catalog {
    store.load_catalog(None).await.unwrap()
}

fn profile<'c>(catalog: &'c Catalog, workload: &str) -> &'c Arc<WorkloadProfile> {
    &catalog.workloads[&device_id()][workload]
}

fn shares(profile: &WorkloadProfile) -> Vec<(f64, usize)> {
    profile.shares.iter().map(|s| (s.sm_share.get(), s.operators.len())).collect()
}

async fn all_signatures(store: &Arc<dyn Store>, workload: &str) -> Vec<PlacedSignature> {
    store.signatures(&device_id(), workload, "", None, 1000).await.unwrap()
}

async fn an_import_shows_in_the_catalog(backend: Arc<Backend>) {
    let store = backend.open().await;
    assert_eq!(store.catalog_version().await.unwrap(), 0);
    assert!(load(&store).await.devices.is_empty());

    let mut batch = batch(&["bert/b16", "vgg"], &[0.3, 1.0], 3);
    batch.solo_latencies = vec![solo("bert/b16", 1.0, 100.5), solo("lonely", 0.5, 7.0)];
    batch.pair_samples = vec![pair("p1", ["bert/b16", "never imported"], 12.0)];
    let receipt = store.import("r1", &batch).await.unwrap();
    let found = (receipt.signatures, receipt.workloads, receipt.solo_latencies, receipt.pair_samples);
    assert_eq!(found, (12, 3, 2, 1));
    assert_eq!((receipt.catalog_version, receipt.already_imported), (1, false));

    let catalog = load(&store).await;
    assert_eq!(catalog.version, 1);
    assert_eq!(*catalog.devices[&device_id()], device());
    let bert = profile(&catalog, "bert/b16");
    assert_eq!(shares(bert), [(0.3, 3), (1.0, 3)]);
    assert_eq!((&*bert.family, bert.catalog_version), ("bert", 1));
    assert_eq!(bert.solo, [solo("bert/b16", 1.0, 100.5)]);
    assert_eq!(&*bert.shares[0].operators[1].operator, "kernel_1<float, 1>");
    assert!(profile(&catalog, "lonely").shares.is_empty());
}

async fn signatures_come_back_as_they_were(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut batch = ImportBatch::new(device());
    for seed in 0..200 {
        let mut one = signature("w", 1.0 / 3.0, "kernel", seed);
        one.duration_us = f64::from(seed + 1).sqrt() * 1e-3;
        one.launches = 1.0 + 1.0 / f64::from(seed + 3);
        one.counters.set("huge", 1e308);
        one.counters.set("tiny", 5e-324);
        one.family = Some("w".into());
        batch.signatures.push(one);
    }
    batch.signatures[0].operator = "void k<a, 'b', \"c\", \\d>(é, 文)".into();
    store.import("r1", &batch).await.unwrap();

    let found = all_signatures(&store, "w").await;
    for (i, (found, given)) in found.iter().zip(&batch.signatures).enumerate() {
        assert_eq!(usize::try_from(found.position), Ok(i));
        assert_eq!(found.signature, *given);
        assert_eq!(found.signature.sm_share.get().to_bits(), given.sm_share.get().to_bits());
    }
    assert_eq!(found.len(), 200);
    let cursor = SignatureCursor { sm_share: 1.0 / 3.0, position: 7 };
    assert_eq!(store.signature(&device_id(), "w", cursor).await.unwrap().as_ref(), Some(&batch.signatures[7]));
    let nowhere = SignatureCursor { sm_share: 0.5, position: 7 };
    assert_eq!(store.signature(&device_id(), "w", nowhere).await.unwrap(), None);
}

async fn an_equal_share_is_replaced_and_others_stay(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w"], &[0.3, 0.7], 5)).await.unwrap();

    let nearly = 0.3 + SmShare::TOLERANCE / 2.0;
    let mut again = batch(&["w"], &[nearly], 2);
    again.signatures[1].sm_share = share(nearly + SmShare::TOLERANCE / 4.0);
    again.signatures[0].family = Some("relatives".into());
    again.signatures[1].family = Some("relatives".into());
    again.solo_latencies = vec![solo("w", 0.3, 1.0), solo("w", nearly, 2.0)];
    assert_eq!(store.import("r2", &again).await.unwrap().solo_latencies, 1);

    let catalog = load(&store).await;
    let w = profile(&catalog, "w");
    assert_eq!(shares(w), [(nearly, 2), (0.7, 5)]);
    assert_eq!(&*w.family, "relatives");
    assert_eq!(w.solo.len(), 1);
    assert!((w.solo[0].latency_us - 2.0).abs() < f64::EPSILON);

    // What says nothing of the family leaves it.
    let mut timed = ImportBatch::new(device());
    timed.solo_latencies = vec![solo("w", 0.7, 3.0)];
    store.import("r3", &timed).await.unwrap();
    assert_eq!(&*profile(&load(&store).await, "w").family, "relatives");
}

async fn the_same_request_is_served_once(backend: Arc<Backend>) {
    let store = backend.open().await;
    let first = store.import("r1", &batch(&["w"], &[1.0], 2)).await.unwrap();
    let second = backend.open().await.import("r1", &batch(&["w"], &[1.0], 2)).await.unwrap();
    assert!(second.already_imported);
    assert_eq!((second.signatures, second.catalog_version), (first.signatures, first.catalog_version));

    let other = store.import("r1", &batch(&["other"], &[1.0], 2)).await;
    assert!(matches!(other, Err(StoreError::RequestIdReused(id)) if id == "r1"));
    assert_eq!(store.catalog_version().await.unwrap(), 1);
    assert!(!load(&store).await.workloads[&device_id()].contains_key("other"));
}

async fn latencies_traces_and_samples_are_replaced(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut first = batch(&["w"], &[1.0], 1);
    first.trace = vec![trace("w", 0, "k0"), trace("w", 1, "k1"), trace("v", 0, "k")];
    first.pair_samples = vec![pair("p2", ["w", "v"], 12.0), pair("p1", ["w", "v"], 11.0)];
    store.import("r1", &first).await.unwrap();
    let found = store.pair_samples(&device_id(), MODE).await.unwrap();
    assert_eq!(found, [first.pair_samples[1].clone(), first.pair_samples[0].clone()]);

    let mut second = ImportBatch::new(device());
    second.trace = vec![trace("w", 0, "k2")];
    second.pair_samples = vec![pair("p2", ["w", "v"], 13.0)];
    store.import("r2", &second).await.unwrap();
    assert_eq!(store.trace(&device_id(), "w").await.unwrap(), second.trace);
    assert_eq!(store.trace(&device_id(), "v").await.unwrap(), [trace("v", 0, "k")]);
    assert_eq!(store.trace(&device_id(), "unknown").await.unwrap(), []);
    let found = store.pair_samples(&device_id(), MODE).await.unwrap();
    assert_eq!(found[1], second.pair_samples[0]);
    assert_eq!(store.pair_samples(&device_id(), SharingMode::MpsLimit).await.unwrap(), []);
}

async fn a_workload_is_deleted_with_all_of_it(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut batch = batch(&["w", "v"], &[1.0], 2);
    batch.trace = vec![trace("w", 0, "k")];
    batch.solo_latencies = vec![solo("w", 1.0, 5.0)];
    batch.pair_samples = vec![pair("p1", ["v", "w"], 12.0), pair("p2", ["v", "v"], 12.0)];
    store.import("r1", &batch).await.unwrap();
    let before = load(&store).await;

    assert_eq!(store.delete_workload(&device_id(), "w").await.unwrap(), 2);
    let after = store.load_catalog(Some(&before)).await.unwrap();
    assert!(!after.workloads[&device_id()].contains_key("w"));
    assert!(Arc::ptr_eq(profile(&before, "v"), profile(&after, "v")));
    assert_eq!(all_signatures(&store, "w").await, []);
    assert_eq!(store.trace(&device_id(), "w").await.unwrap(), []);
    let samples = store.pair_samples(&device_id(), MODE).await.unwrap();
    assert_eq!(samples.iter().map(|s| s.pair_id.as_str()).collect::<Vec<_>>(), ["p2"]);

    let again = store.delete_workload(&device_id(), "w").await;
    assert!(matches!(again, Err(StoreError::WorkloadUnknown { workload, .. }) if workload == "w"));
    let elsewhere = store.delete_workload(&DeviceId::new("d", "other").unwrap(), "w").await;
    assert!(matches!(elsewhere, Err(StoreError::DeviceUnknown(device)) if device == "other"));
    assert_eq!(store.catalog_version().await.unwrap(), 2);
}

async fn pages_follow_one_another(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w", "v"], &[0.3, 0.7], 5)).await.unwrap();
    let all = all_signatures(&store, "w").await;
    assert_eq!(all.len(), 10);

    let mut paged = Vec::new();
    let mut after = None;
    loop {
        let page = store.signatures(&device_id(), "w", "", after, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(SignatureCursor { sm_share: last.signature.sm_share.get(), position: last.position });
        paged.extend(page);
    }
    assert_eq!(paged, all);

    let filtered = store.signatures(&device_id(), "w", "kernel_4<", None, 100).await.unwrap();
    assert_eq!(filtered.len(), 2);
    assert!(filtered.iter().all(|placed| placed.position == 4));
    assert_eq!(store.signatures(&device_id(), "w", "%", None, 100).await.unwrap(), []);
}

async fn a_reload_takes_over_what_has_not_changed(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w", "v"], &[1.0], 2)).await.unwrap();
    let first = load(&store).await;
    store.import("r2", &batch(&["w", "new"], &[0.5], 2)).await.unwrap();
    let second = store.load_catalog(Some(&first)).await.unwrap();

    assert_eq!(second.version, 2);
    assert!(Arc::ptr_eq(&first.devices[&device_id()], &second.devices[&device_id()]));
    assert!(Arc::ptr_eq(profile(&first, "v"), profile(&second, "v")));
    assert_eq!(shares(profile(&second, "w")), [(0.5, 2), (1.0, 2)]);
    assert_eq!(shares(profile(&second, "new")), [(0.5, 2)]);

    // A previous catalog that lacks something is not built upon.
    let mut holed = second.clone();
    holed.workloads.clear();
    let third = store.load_catalog(Some(&holed)).await.unwrap();
    assert_eq!(shares(profile(&third, "v")), [(1.0, 2)]);
    // Nor one from the future of this store.
    let ahead = Catalog { version: 99, ..Catalog::default() };
    assert_eq!(store.load_catalog(Some(&ahead)).await.unwrap().version, 2);
}

async fn a_new_ceiling_reloads_the_workloads(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w"], &[1.0], 2)).await.unwrap();
    let before = load(&store).await;

    let mut better = batch(&["v"], &[1.0], 1);
    better.device.dram_bytes_per_s = Some(ceiling(1.2e12, CeilingBasis::Measured));
    store.import("r2", &better).await.unwrap();
    let after = store.load_catalog(Some(&before)).await.unwrap();
    assert_eq!(after.devices[&device_id()].dram_bytes_per_s, better.device.dram_bytes_per_s);
    assert!(!Arc::ptr_eq(profile(&before, "w"), profile(&after, "w")));
    assert_eq!(profile(&after, "w").catalog_version, 2);
}

async fn a_weaker_ceiling_changes_nothing(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w"], &[1.0], 2)).await.unwrap();
    let before = load(&store).await;

    let mut weaker = batch(&["v"], &[1.0], 1);
    weaker.device.dram_bytes_per_s = Some(ceiling(9e12, CeilingBasis::Estimated));
    store.import("r2", &weaker).await.unwrap();
    let after = store.load_catalog(Some(&before)).await.unwrap();
    assert_eq!(*after.devices[&device_id()], device());
    assert!(Arc::ptr_eq(profile(&before, "w"), profile(&after, "w")));
}

async fn a_newer_ceiling_of_the_same_basis_counts(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut corrected = batch(&["w"], &[1.0], 1);
    for (i, value) in [1.0e12, 1.3e12].into_iter().enumerate() {
        corrected.device.dram_bytes_per_s = Some(ceiling(value, CeilingBasis::Measured));
        // Not said.
        corrected.device.partition_step = if i == 0 { 2 } else { 1 };
        store.import(&format!("r{i}"), &corrected).await.unwrap();
    }
    let stored = Arc::clone(&load(&store).await.devices[&device_id()]);
    assert_eq!((&stored.dram_bytes_per_s, stored.partition_step), (&corrected.device.dram_bytes_per_s, 2));
}

async fn another_number_of_sms_is_refused(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r1", &batch(&["w"], &[1.0], 1)).await.unwrap();
    let mut other = batch(&["v"], &[1.0], 1);
    other.device.sm_count = 60;
    let error = store.import("r2", &other).await.unwrap_err();
    assert!(matches!(error, StoreError::DeviceDiffers(_)), "{error}");
    assert!(error.to_string().contains("60") && error.to_string().contains("100"), "{error}");
    let catalog = load(&store).await;
    assert_eq!((catalog.version, catalog.devices[&device_id()].sm_count), (1, 100));
    assert!(!catalog.workloads[&device_id()].contains_key("v"));
}

async fn a_sum_of_kernels_does_not_replace_a_measured_latency(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut measured = batch(&["w"], &[1.0], 1);
    measured.solo_latencies = vec![solo("w", 1.0, 5.0)];
    store.import("r1", &measured).await.unwrap();
    let mut summed = batch(&["w", "v"], &[1.0], 2);
    summed.solo_latencies = vec![SoloLatency { from_kernels: true, ..solo("w", 1.0, 9.0) }];
    let receipt = store.import("r2", &summed).await.unwrap();
    assert_eq!((receipt.solo_latencies, receipt.workloads), (0, 2));
    let catalog = load(&store).await;
    assert_eq!(profile(&catalog, "w").solo, [solo("w", 1.0, 5.0)]);
    assert!(profile(&catalog, "v").solo[0].from_kernels);
}

async fn a_large_batch_is_stored_whole(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut batch = batch(&["w", "v"], &[0.3, 0.7], 1500);
    batch.signatures[0].operator = "k".repeat(16 * 1024).into();
    batch.pair_samples = (0..2500).map(|i| pair(&format!("p{i}"), ["w", "v"], 12.0)).collect();
    let receipt = store.import("r1", &batch).await.unwrap();
    assert_eq!((receipt.signatures, receipt.pair_samples), (6000, 2500));
    let catalog = load(&store).await;
    for workload in ["w", "v"] {
        assert_eq!(shares(profile(&catalog, workload)), [(0.3, 1500), (0.7, 1500)]);
    }
    assert_eq!(store.pair_samples(&device_id(), MODE).await.unwrap().len(), 2500);
}

async fn a_batch_that_fails_leaves_nothing(backend: Arc<Backend>) {
    let store = backend.open().await;
    let mut batch = batch(&["w"], &[1.0], 2500);
    // Breaks a constraint after everything else was written.
    batch.trace = vec![trace("w", 0, "k"), trace("w", 0, "k")];
    store.import("r1", &batch).await.unwrap_err();
    assert_eq!(store.catalog_version().await.unwrap(), 0);
    assert!(load(&store).await.devices.is_empty());
    // The request was not served, so it may still be.
    batch.trace.pop();
    assert!(!store.import("r1", &batch).await.unwrap().already_imported);
}

async fn an_import_given_up_leaves_nothing(backend: Arc<Backend>) {
    let store = backend.open().await;
    let batch = batch(&["w"], &[0.2, 0.4, 0.6, 0.8], 2500);
    for wait in [0, 1, 5, 20] {
        let given_up = timeout(Duration::from_millis(wait), store.import("r1", &batch)).await;
        assert!(given_up.is_err(), "the batch is too small to be given up");
    }
    let receipt = store.import("r1", &batch).await.unwrap();
    assert!(!receipt.already_imported);
    assert_eq!(receipt.catalog_version, 1);
}

async fn imports_at_once_are_put_in_order(backend: Arc<Backend>) {
    let stores = [backend.open().await, backend.open().await];
    let names: Vec<String> = (0..10).map(|i| format!("w{i}")).collect();
    let imports = names.iter().enumerate().map(|(i, name)| {
        let store = Arc::clone(&stores[i % 2]);
        async move { store.import(name, &batch(&[name, "shared"], &[1.0], 300)).await.unwrap().catalog_version }
    });
    let mut versions = join_all(imports).await;
    versions.sort_unstable();
    assert_eq!(versions, (1..=10).collect::<Vec<i64>>());
    for store in &stores {
        let catalog = load(store).await;
        assert!(names.iter().all(|name| shares(profile(&catalog, name)) == [(1.0, 300)]));
        assert_eq!(shares(profile(&catalog, "shared")), [(1.0, 300)]);
    }
}

async fn a_commit_shows_on_another_handle(backend: Arc<Backend>) {
    let (writer, reader) = (backend.open().await, backend.open().await);
    let handle = Arc::new(CatalogHandle::new());
    assert!(!handle.is_loaded());
    let stop = CancellationToken::new();
    let following = tokio::spawn({
        let (handle, stop) = (Arc::clone(&handle), stop.clone());
        async move { handle.follow(reader, stop).await }
    });
    for version in 1..=3 {
        let committed = writer.import(&format!("r{version}"), &batch(&["w"], &[1.0], 1)).await.unwrap();
        let since = Instant::now();
        while handle.load().version < committed.catalog_version {
            assert!(since.elapsed() < Duration::from_secs(2), "version {version} does not show");
            sleep(Duration::from_millis(10)).await;
        }
    }
    assert!(handle.last_contact().is_some());
    stop.cancel();
    following.await.unwrap();
}

async fn predictors_are_published_activated_and_rolled_back(backend: Arc<Backend>) {
    let store = backend.open().await;
    let [a, b, c] = [1, 2, 3].map(predictor);
    let active = async || load(&store).await.active.get(&(device_id(), MODE)).map(|p| p.version.clone());

    assert!(matches!(store.roll_back_predictor(&device_id(), MODE).await, Err(StoreError::NoEarlierPredictor { .. })));
    assert_eq!(store.publish_predictor(&a, false).await.unwrap(), 1);
    assert_eq!(active().await, None);
    assert_eq!(store.publish_predictor(&a, true).await.unwrap(), 2);
    assert_eq!(store.publish_predictor(&a, true).await.unwrap(), 2, "nothing changed");
    assert_eq!(active().await.as_ref(), Some(&a.version));
    store.publish_predictor(&b, true).await.unwrap();
    store.publish_predictor(&c, true).await.unwrap();
    assert_eq!(active().await.as_ref(), Some(&c.version));

    // Back and further back, never forth.
    for earlier in [&b, &a] {
        store.roll_back_predictor(&device_id(), MODE).await.unwrap();
        assert_eq!(active().await.as_ref(), Some(&earlier.version));
    }
    assert!(matches!(store.roll_back_predictor(&device_id(), MODE).await, Err(StoreError::NoEarlierPredictor { .. })));
    assert_eq!(active().await.as_ref(), Some(&a.version));
    // From where it came to, history goes on.
    store.activate_predictor(&c.version).await.unwrap();
    store.roll_back_predictor(&device_id(), MODE).await.unwrap();
    assert_eq!(active().await.as_ref(), Some(&a.version));

    assert_eq!(store.predictor_artefact(&b.version).await.unwrap(), b.to_json());
    assert!(matches!(store.predictor_artefact("none").await, Err(StoreError::PredictorUnknown(_))));
    assert!(matches!(store.activate_predictor("none").await, Err(StoreError::PredictorUnknown(_))));
    let listed = load(&store).await.predictors;
    assert_eq!(listed.len(), 3);
    assert_eq!(listed.iter().filter(|info| info.active).map(|info| &info.version).collect::<Vec<_>>(), [&a.version]);
    assert_eq!((listed[0].samples, listed[0].held_out_mean_error_pct.to_bits()), (58, 4.25_f64.to_bits()));
    assert!(listed.iter().any(|info| info.content_sha256 == b.content_sha256));
}

async fn an_active_predictor_is_taken_over(backend: Arc<Backend>) {
    let store = backend.open().await;
    let key = (device_id(), MODE);
    store.publish_predictor(&predictor(1), true).await.unwrap();
    let first = load(&store).await;
    store.import("r1", &batch(&["w"], &[1.0], 1)).await.unwrap();
    let second = store.load_catalog(Some(&first)).await.unwrap();
    assert!(Arc::ptr_eq(&first.active[&key], &second.active[&key]));
    store.publish_predictor(&predictor(2), true).await.unwrap();
    let third = store.load_catalog(Some(&second)).await.unwrap();
    assert_eq!(third.active[&key].version, predictor(2).version);
}

/// A co-run that was learnt from beside the predictor of seed `from`, with that of seed `to` as what was learnt.
fn addition(request_id: &str, pair_id: &str, from: u64, to: Option<u64>) -> SampleAddition {
    SampleAddition {
        request_id: request_id.to_owned(),
        content_sha256: format!("content of {pair_id}"),
        device: device_id(),
        sharing_mode: MODE,
        samples: vec![pair(pair_id, ["w", "v"], 12.0)],
        learnt_from: predictor(from).version,
        adapted: to.map(predictor),
        answer: format!("answer to {request_id}"),
    }
}

async fn active(store: &Arc<dyn Store>) -> String {
    load(store).await.active[&(device_id(), MODE)].version.clone()
}

async fn rows(store: &Arc<dyn Store>) -> Vec<String> {
    store.pair_samples(&device_id(), MODE).await.unwrap().into_iter().map(|sample| sample.pair_id).collect()
}

async fn samples_are_added_with_what_was_learnt(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r0", &batch(&["w", "v"], &[1.0], 1)).await.unwrap();
    store.publish_predictor(&predictor(1), true).await.unwrap();
    assert_eq!(store.added_before("r1", "content of p1").await.unwrap(), None);
    let learnt = addition("r1", "p1", 1, Some(2));
    assert_eq!(store.add_samples(learnt.clone()).await.unwrap(), Added::Now { catalog_version: 3 });
    assert_eq!((active(&store).await, rows(&store).await), (predictor(2).version, vec!["p1".to_owned()]));
    assert_eq!(store.pair_samples(&device_id(), MODE).await.unwrap(), learnt.samples);

    let before = AddedBefore { catalog_version: 3, answer: "answer to r1".to_owned() };
    let other = backend.open().await;
    assert_eq!(other.added_before("r1", "content of p1").await.unwrap(), Some(before.clone()));
    assert_eq!(other.add_samples(learnt).await.unwrap(), Added::Before(before));
    assert!(matches!(store.added_before("r1", "other").await, Err(StoreError::RequestIdReused(id)) if id == "r1"));
    assert!(matches!(store.add_samples(addition("r1", "p2", 2, None)).await, Err(StoreError::RequestIdReused(_))));
    assert!(matches!(store.add_samples(addition("r0", "p2", 2, None)).await, Err(StoreError::RequestIdReused(_))));
    assert!(matches!(store.import("r1", &batch(&["w"], &[1.0], 1)).await, Err(StoreError::RequestIdReused(_))));

    // Nothing learnt leaves the one that answers; the same row again replaces itself.
    assert_eq!(store.add_samples(addition("r2", "p1", 2, None)).await.unwrap(), Added::Now { catalog_version: 4 });
    assert_eq!((active(&store).await, rows(&store).await.len()), (predictor(2).version, 1));
    store.roll_back_predictor(&device_id(), MODE).await.unwrap();
    assert_eq!(active(&store).await, predictor(1).version);
}

async fn what_was_learnt_from_another_predictor_is_not_stored(backend: Arc<Backend>) {
    let store = backend.open().await;
    store.import("r0", &batch(&["w", "v"], &[1.0], 1)).await.unwrap();
    assert_eq!(store.add_samples(addition("r1", "p1", 1, None)).await.unwrap(), Added::Overtaken, "none answers");
    store.publish_predictor(&predictor(1), true).await.unwrap();
    store.publish_predictor(&predictor(2), true).await.unwrap();
    assert_eq!(store.add_samples(addition("r1", "p1", 1, Some(3))).await.unwrap(), Added::Overtaken);
    assert_eq!((active(&store).await, rows(&store).await), (predictor(2).version, vec![]));
    assert_eq!(store.catalog_version().await.unwrap(), 3);
    assert_eq!(store.added_before("r1", "content of p1").await.unwrap(), None);
    assert!(matches!(store.predictor_artefact(&predictor(3).version).await, Err(StoreError::PredictorUnknown(_))));
    // Learnt anew it is stored.
    assert_eq!(store.add_samples(addition("r1", "p1", 2, Some(3))).await.unwrap(), Added::Now { catalog_version: 4 });
}

async fn an_addition_that_fails_leaves_nothing(backend: Arc<Backend>) {
    let store = backend.open().await;
    // A predictor may be there before its device, a co-run may not.
    store.publish_predictor(&predictor(1), true).await.unwrap();
    store.add_samples(addition("r1", "p1", 1, Some(2))).await.unwrap_err();
    assert_eq!((active(&store).await, store.catalog_version().await.unwrap()), (predictor(1).version, 1));
    assert_eq!(store.added_before("r1", "content of p1").await.unwrap(), None);
    store.import("r0", &batch(&["w", "v"], &[1.0], 1)).await.unwrap();
    assert_eq!(store.add_samples(addition("r1", "p1", 1, Some(2))).await.unwrap(), Added::Now { catalog_version: 3 });
}

async fn of_additions_at_once_one_is_first(backend: Arc<Backend>) {
    let stores = [backend.open().await, backend.open().await];
    stores[0].import("import", &batch(&["w", "v"], &[1.0], 1)).await.unwrap();
    stores[0].publish_predictor(&predictor(1), true).await.unwrap();
    let calls = (0..6_u64).map(|i| {
        let store = Arc::clone(&stores[usize::from(i % 2 == 1)]);
        async move { store.add_samples(addition(&format!("r{i}"), &format!("p{i}"), 1, Some(10 + i))).await.unwrap() }
    });
    let added = join_all(calls).await;
    let first: Vec<usize> = (0..6).filter(|i| matches!(added[*i], Added::Now { .. })).collect();
    assert_eq!((first.len(), added.iter().filter(|added| **added == Added::Overtaken).count()), (1, 5), "{added:?}");
    assert_eq!(active(&stores[1]).await, predictor(10 + first[0] as u64).version);
    assert_eq!(rows(&stores[1]).await, [format!("p{}", first[0])]);
}
