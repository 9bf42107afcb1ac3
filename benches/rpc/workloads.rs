//! Two workloads of 500 operators, 100 of them distinct, made from the operators of the bundled catalog.

use anyhow::ensure;
use futures::stream;
use pairsight::proto::{
    ImportSignaturesRequest, ListSignaturesRequest, ListWorkloadsRequest, PredictPairRequest, PredictPairView, SharingMode,
    Signature, SoloLatency, Tenant, TraceEntry,
    catalog_service_client::CatalogServiceClient,
    tenant::{Share, Source},
};
use tonic::transport::Channel;

/// The device of the bundled catalog: it has a fitted predictor, which costs more than the generic one.
const DEVICE: &str = "sim-qv100-eighth";
const DISTINCT: usize = 100;
const REPEATS: usize = 5;
/// Shares at which the workloads have signatures; between them they are interpolated.
const SHARES: [f64; 2] = [0.3, 0.5];

/// Asks for the two workloads, each on `sm_share`.
pub(crate) fn pair(sm_share: f64, view: PredictPairView) -> PredictPairRequest {
    let tenant = |name: &str| Tenant {
        source: Some(Source::Workload(name.to_owned())),
        share: Some(Share::SmShare(sm_share)),
        ..Tenant::default()
    };
    PredictPairRequest {
        device: DEVICE.to_owned(),
        sharing_mode: SharingMode::SmPartition.into(),
        tenants: vec![tenant("bench/a"), tenant("bench/b")],
        view: view.into(),
        ..PredictPairRequest::default()
    }
}

/// Imports both in one request.
pub(crate) async fn import(channel: Channel) -> anyhow::Result<()> {
    let mut catalog = CatalogServiceClient::new(channel);
    let templates = bundled_signatures(&mut catalog).await?;
    ensure!(!templates.is_empty(), "the bundled catalog has no operators");
    let mut request = ImportSignaturesRequest { request_id: "bench".to_owned(), device: DEVICE.to_owned(), ..Default::default() };
    for (seed, workload) in [(0, "bench/a"), (1, "bench/b")] {
        add(&mut request, workload, seed, &templates);
    }
    let signatures = u64::try_from(request.signatures.len())?;
    let answer = catalog.import_signatures(stream::iter([request])).await?.into_inner();
    ensure!(answer.signatures == signatures, "stored {} of {signatures} signatures", answer.signatures);
    Ok(())
}

async fn bundled_signatures(catalog: &mut CatalogServiceClient<Channel>) -> anyhow::Result<Vec<Signature>> {
    let request = ListWorkloadsRequest { filter: format!("device = \"{DEVICE}\""), page_size: 1000, ..Default::default() };
    let mut signatures = Vec::new();
    for workload in catalog.list_workloads(request).await?.into_inner().workloads {
        let request = ListSignaturesRequest {
            device: DEVICE.to_owned(),
            workload: workload.workload,
            page_size: 1000,
            ..Default::default()
        };
        signatures.extend(catalog.list_signatures(request).await?.into_inner().signatures);
    }
    Ok(signatures)
}

fn add(request: &mut ImportSignaturesRequest, workload: &str, seed: usize, templates: &[Signature]) {
    for sm_share in SHARES {
        let signatures: Vec<_> = (0..DISTINCT).map(|i| operator(workload, sm_share, seed, i, templates)).collect();
        let latency_us = signatures.iter().map(|s| s.launches * s.duration_us).sum();
        request.solo_latencies.push(SoloLatency {
            workload: workload.to_owned(),
            sm_share,
            latency_us,
            provenance: signatures[0].provenance,
            ..Default::default()
        });
        request.signatures.extend(signatures);
    }
    request.trace_entries.extend((0..).zip(0..DISTINCT * REPEATS).map(|(position, i)| TraceEntry {
        workload: workload.to_owned(),
        position,
        operator: name(i % DISTINCT),
        gap_before_us: 0.0,
    }));
}

/// The operator `i` of a workload: one of the templates, a little longer or shorter, so that no two are equal.
fn operator(workload: &str, sm_share: f64, seed: usize, i: usize, templates: &[Signature]) -> Signature {
    let at_share: Vec<_> = templates.iter().filter(|s| (s.sm_share - sm_share).abs() < 1e-6).collect();
    let template = at_share[(i * 7 + seed * 3) % at_share.len()];
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let scale = 1.0 + (i * 2 + seed) as f64 / (4 * DISTINCT) as f64;
    Signature {
        workload: workload.to_owned(),
        operator: name(i),
        sm_share,
        launches: REPEATS as f64,
        duration_us: template.duration_us * scale,
        counters: template.counters.iter().map(|(name, value)| (name.clone(), value * scale)).collect(),
        family: String::new(),
        ..template.clone()
    }
}

fn name(i: usize) -> String {
    format!("bench_operator_{i}")
}
