//! Who answers a prediction: a daemon, or the same code here on the store's catalog.

use std::{collections::BTreeSet, time::Duration};

use tonic::{
    Status,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};

use super::{context::Context, failure::Advice};
use crate::{
    ingest,
    interference::Predictor,
    proto::{
        ListDevicesRequest, ListWorkloadsRequest, PredictPairRequest, PredictPairResponse, PredictPairView,
        catalog_service_client::CatalogServiceClient, prediction_service_client::PredictionServiceClient,
    },
    server,
    store::Catalog,
};

/// How long a daemon that was named may take to accept a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one that may or may not be there gets.
pub(super) const QUICK_CONNECT_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Most names asked for to find one that was meant.
const MOST_NAMES: i32 = 1000;

/// Who answers.
pub(super) enum Source {
    /// A daemon.
    Daemon(Channel),
    /// The catalog read from the store.
    Store(Box<Catalog>),
}

impl Source {
    /// Predicts one pair.
    pub(super) async fn predict(&self, request: PredictPairRequest) -> Result<PredictPairResponse, Status> {
        match self {
            Self::Daemon(channel) => {
                PredictionServiceClient::new(channel.clone()).predict_pair(request).await.map(tonic::Response::into_inner)
            }
            Self::Store(catalog) => {
                server::predict_pair(catalog, Predictor::generic(), &request, PredictPairView::Full, false).map_err(Status::from)
            }
        }
    }

    /// Identifiers of the devices that it knows; none when it does not answer, for this only serves a hint.
    pub(super) async fn devices(&self) -> Vec<String> {
        match self {
            Self::Daemon(channel) => {
                let request = ListDevicesRequest { page_size: MOST_NAMES, ..ListDevicesRequest::default() };
                let answer = CatalogServiceClient::new(channel.clone()).list_devices(request).await;
                let devices = answer.map(|answer| answer.into_inner().devices).unwrap_or_default();
                devices.into_iter().map(|device| device.device_id).collect()
            }
            Self::Store(catalog) => {
                let known: BTreeSet<_> = catalog.devices.keys().chain(ingest::devices::built_in().keys()).collect();
                known.into_iter().map(ToString::to_string).collect()
            }
        }
    }

    /// Names of the workloads that it knows on a device; none when it does not answer.
    pub(super) async fn workloads(&self, device: &str) -> Vec<String> {
        match self {
            Self::Daemon(channel) => {
                let filter = format!("device = \"{device}\"");
                let request = ListWorkloadsRequest { page_size: MOST_NAMES, filter, ..ListWorkloadsRequest::default() };
                let answer = CatalogServiceClient::new(channel.clone()).list_workloads(request).await;
                let workloads = answer.map(|answer| answer.into_inner().workloads).unwrap_or_default();
                workloads.into_iter().map(|workload| workload.workload).collect()
            }
            Self::Store(catalog) => catalog
                .workloads
                .iter()
                .filter(|(id, _)| id.as_str() == device)
                .flat_map(|(_, workloads)| workloads.keys().map(ToString::to_string))
                .collect(),
        }
    }
}

/// Connects to the daemon at `url`, with or without its scheme.
pub(super) async fn connect(context: &Context, url: &str, timeout: Duration) -> anyhow::Result<Channel> {
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let bad = |error: tonic::transport::Error| super::failure::Misuse(format!("{url:?} is not a daemon's URL: {error}"));
    let mut endpoint = Endpoint::from_shared(url.clone()).map_err(bad)?.connect_timeout(timeout).timeout(CALL_TIMEOUT);
    if url.starts_with("https://") {
        endpoint = endpoint.tls_config(trust(context)?).map_err(bad)?;
    }
    endpoint.connect().await.map_err(|error| {
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), deepest);
        let hint = "start one with `pairsight serve`, or name another with --server";
        Advice::new(format!("no daemon answers at {url}: {cause}"), hint).into()
    })
}

/// The innermost cause: the outer ones of a transport error only say that there was one.
fn deepest(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// The certificate that the daemon is configured with is the one that its own commands trust.
fn trust(context: &Context) -> anyhow::Result<ClientTlsConfig> {
    let tls = ClientTlsConfig::new();
    let Some(path) = &context.config.server.tls_certificate else { return Ok(tls) };
    let pem =
        std::fs::read(path).map_err(|error| Advice::new(format!("{}: {error}", path.display()), "see server.tls_certificate"))?;
    Ok(tls.ca_certificate(Certificate::from_pem(pem)))
}
