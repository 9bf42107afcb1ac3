//! `serve --example`: the first prediction of a new user, and how to ask the next.

use std::{env, path::PathBuf, time::Duration};

use anyhow::bail;
use tokio::time::{Instant, sleep};
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::{
    context::Context,
    failure::Refused,
    output::note,
    source::{CONNECT_TIMEOUT, Source, connect},
    table::printable,
    verdict::verdict,
};
use crate::proto::{
    self, ListWorkloadsRequest, PredictPairRequest, PredictPairView, Workload, catalog_service_client::CatalogServiceClient,
    tenant,
};

/// The device of the bundled catalog.
const DEVICE: &str = "sim-qv100-eighth";
/// Workloads preferred for the example, and their share: a measured one.
const PREFERRED: [&str; 2] = ["decode_a", "mixed_b"];
const SHARE: f64 = 0.5;
/// How long the daemon may take to read its catalog.
const READY_TIMEOUT: Duration = Duration::from_mins(1);
const READY_POLL: Duration = Duration::from_millis(50);

/// Asks the daemon at `url` for one prediction and shows it on stderr. A failure is only noted: the daemon serves all the same.
pub(super) async fn show(context: &Context, url: &str) {
    match ask(context, url).await {
        Ok(text) => note(text),
        Err(error) => note(format_args!("the example failed: {error:#}")),
    }
}

async fn ask(context: &Context, url: &str) -> anyhow::Result<String> {
    let channel = connect(context, url, CONNECT_TIMEOUT).await?;
    until_serving(&channel).await?;
    let mut workloads = composed(&channel).await?;
    let deadline = Instant::now() + READY_TIMEOUT;
    while workloads.len() < 2 && Instant::now() < deadline {
        // Another process may still be putting the bundled catalog into the database.
        sleep(READY_POLL).await;
        workloads = composed(&channel).await?;
    }
    let names: Vec<&str> = workloads.iter().map(|workload| workload.workload.as_str()).collect();
    let Some([a, b]) = pick(&names) else { bail!("the catalog has no two workloads of {DEVICE}") };
    let answer = Source::Daemon(channel).predict(request(a, b)).await.map_err(Refused::from)?;
    // The next question: two that this answer was not about, where there are.
    let others: Vec<&str> = names.iter().copied().filter(|name| *name != a && *name != b).collect();
    let [next_a, next_b] = pick(&others).unwrap_or([b, a]);
    let program = program();
    Ok(format!(
        "\n{}\n\nAsk the next one from another terminal:\n\n  {program} predict --a {next_a}@{SHARE} --b {next_b}@{SHARE} --device {DEVICE} \
         --server {url}\n\nWorkloads to choose from: {}. Ctrl-C stops the daemon.\n",
        verdict(DEVICE, &answer),
        printable(names.join(", ")),
    ))
}

async fn until_serving(channel: &Channel) -> anyhow::Result<()> {
    let deadline = Instant::now() + READY_TIMEOUT;
    let mut health = HealthClient::new(channel.clone());
    while Instant::now() < deadline {
        let answer = health.check(HealthCheckRequest::default()).await;
        if answer.is_ok_and(|answer| answer.get_ref().status() == ServingStatus::Serving) {
            return Ok(());
        }
        sleep(READY_POLL).await;
    }
    bail!("the daemon was not ready within {READY_TIMEOUT:?}")
}

/// The workloads of the bundled device that are made of several operators, else all of them.
async fn composed(channel: &Channel) -> anyhow::Result<Vec<Workload>> {
    let filter = format!("device = \"{DEVICE}\"");
    let request = ListWorkloadsRequest { page_size: 1000, filter, ..ListWorkloadsRequest::default() };
    let answer = CatalogServiceClient::new(channel.clone()).list_workloads(request).await.map_err(Refused::from)?;
    let all = answer.into_inner().workloads;
    let composed: Vec<Workload> = all.iter().filter(|workload| workload.operators > 1).cloned().collect();
    Ok(if composed.len() >= 2 { composed } else { all })
}

/// The preferred two where both are there, else the first and the last.
fn pick<'n>(names: &[&'n str]) -> Option<[&'n str; 2]> {
    let preferred = PREFERRED.map(|wanted| names.iter().copied().find(|name| *name == wanted));
    match (preferred, names) {
        ([Some(a), Some(b)], _) => Some([a, b]),
        (_, [a, .., b]) => Some([*a, *b]),
        _ => None,
    }
}

fn request(a: &str, b: &str) -> PredictPairRequest {
    let tenant = |workload: &str| proto::Tenant {
        source: Some(tenant::Source::Workload(workload.to_owned())),
        share: Some(tenant::Share::SmShare(SHARE)),
        ..proto::Tenant::default()
    };
    PredictPairRequest {
        device: DEVICE.to_owned(),
        tenants: vec![tenant(a), tenant(b)],
        view: PredictPairView::Full.into(),
        ..PredictPairRequest::default()
    }
}

/// This program as a shell would start it from here.
fn program() -> String {
    let here = env::current_dir().unwrap_or_default();
    let path = env::current_exe().unwrap_or_else(|_| PathBuf::from("pairsight"));
    let path = match path.strip_prefix(&here) {
        // A bare name would be looked up in PATH.
        Ok(below) => PathBuf::from(".").join(below),
        Err(_) => path,
    };
    let path = path.display().to_string();
    if path.contains(|c: char| c.is_whitespace() || "'\"$\\".contains(c)) {
        format!("'{}'", path.replace('\'', "'\\''"))
    } else {
        path
    }
}
