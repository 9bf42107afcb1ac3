//! A whole server on free ports with a store of its own.

mod flaky;

use std::{sync::Arc, time::Duration};

use pairsight::{
    config::Config,
    proto::{
        catalog_service_client::CatalogServiceClient, prediction_service_client::PredictionServiceClient,
        profiling_service_client::ProfilingServiceClient,
    },
    server::{self, BoundAddresses, ServeError},
    store::{self, Store},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_types::StatusExt;

pub(crate) use flaky::Flaky;

/// A running server.
pub(crate) struct App {
    pub(crate) addresses: BoundAddresses,
    pub(crate) channel: Channel,
    pub(crate) store: Arc<Flaky>,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), ServeError>>,
    _directory: TempDir,
}

/// The settings of a test server: free ports, quick polls, nothing bundled.
pub(crate) fn test_config(directory: &TempDir) -> Config {
    let mut config = Config { data_dir: directory.path().to_owned(), ..Config::default() };
    config.database.poll_interval = Duration::from_millis(50);
    config.catalog.stale_after = Duration::from_secs(10);
    config.catalog.bundled = false;
    config.server.grpc_listen = ([127, 0, 0, 1], 0).into();
    config.admin.listen = ([127, 0, 0, 1], 0).into();
    config
}

/// A server on an SQLite file with a small catalog, ready to answer.
pub(crate) async fn spawn_app() -> App {
    spawn_app_with(|_| ()).await
}

/// The same with other settings.
pub(crate) async fn spawn_app_with(change: impl FnOnce(&mut Config)) -> App {
    let app = spawn_unready(change).await;
    app.becomes(ServingStatus::Serving).await;
    app
}

/// The same without waiting until it is ready; with a database URL nothing is put into the store.
pub(crate) async fn spawn_unready(change: impl FnOnce(&mut Config)) -> App {
    let directory = tempfile::tempdir().unwrap();
    let mut config = test_config(&directory);
    change(&mut config);
    let store = store::open(&config.database, &config.data_dir).await.unwrap();
    if config.database.url.is_none() {
        store.import("fixture", &crate::store_data::batch(&["net/b1", "net/b8", "other/b1"], &[0.25, 0.5], 3)).await.unwrap();
    }
    let store = Arc::new(Flaky::new(store));
    let (shutdown, (bound, addresses)) = (CancellationToken::new(), oneshot::channel());
    let serving: Arc<dyn Store> = store.clone();
    let stop = shutdown.clone();
    let task = tokio::spawn(async move {
        server::serve(config, serving, stop, |addresses| {
            let _ = bound.send(addresses);
        })
        .await
    });
    let addresses = addresses.await.unwrap();
    let channel = Channel::from_shared(format!("http://{}", addresses.grpc)).unwrap().connect().await.unwrap();
    App { addresses, channel, store, shutdown, task, _directory: directory }
}

impl App {
    pub(crate) fn predictions(&self) -> PredictionServiceClient<Channel> {
        PredictionServiceClient::new(self.channel.clone())
    }

    pub(crate) fn catalog(&self) -> CatalogServiceClient<Channel> {
        CatalogServiceClient::new(self.channel.clone())
    }

    pub(crate) fn profiling(&self) -> ProfilingServiceClient<Channel> {
        ProfilingServiceClient::new(self.channel.clone())
    }

    pub(crate) fn health(&self) -> HealthClient<Channel> {
        HealthClient::new(self.channel.clone())
    }

    pub(crate) async fn status(&self, service: &str) -> ServingStatus {
        let request = HealthCheckRequest { service: service.to_owned() };
        self.health().check(request).await.unwrap().into_inner().status()
    }

    /// Waits until the server as a whole has this status.
    pub(crate) async fn becomes(&self, status: ServingStatus) {
        for _ in 0..400 {
            if self.status("").await == status {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("health did not become {status:?}");
    }

    /// Status code and body of a page of the admin port.
    pub(crate) async fn admin(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.addresses.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Begins the shutdown and goes on at once.
    pub(crate) fn begin_stop(&self) {
        self.shutdown.cancel();
    }

    /// Shuts down and waits for the end.
    pub(crate) async fn stop(self) -> Result<(), ServeError> {
        self.shutdown.cancel();
        self.task.await.unwrap()
    }
}

/// Asserts that `status` is an error of the service with this code and reason.
#[track_caller]
pub(crate) fn assert_refused(status: &Status, code: Code, reason: &str) {
    let info = status.get_details_error_info().unwrap_or_else(|| panic!("no ErrorInfo in {status:?}"));
    assert_eq!((status.code(), info.reason.as_str(), info.domain.as_str()), (code, reason, "pairsight"), "{status:?}");
    assert!(status.message().len() <= 1024, "a message of {} bytes", status.message().len());
}

/// Asserts that `status` is `INVALID_FIELD` and names `field`.
#[track_caller]
pub(crate) fn assert_invalid(status: &Status, field: &str) {
    assert_refused(status, Code::InvalidArgument, "INVALID_FIELD");
    let request = status.get_details_bad_request().unwrap_or_else(|| panic!("no BadRequest in {status:?}"));
    assert!(request.field_violations.len() <= 20);
    let fields: Vec<_> = request.field_violations.iter().map(|violation| violation.field.as_str()).collect();
    assert!(fields.contains(&field), "{fields:?} does not hold {field}");
}
