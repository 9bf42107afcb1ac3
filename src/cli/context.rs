//! What every verb works with: the configuration, the store, the catalog.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use super::failure::Advice;
use crate::{
    bundled,
    config::{Config, ConfigError, LogFormat, Overrides},
    domain::{Device, DeviceId},
    ingest,
    store::{self, Catalog, Store},
};
use clap::Args;
use secrecy::ExposeSecret;

/// What holds for every verb; stronger than the environment, which is stronger than the file.
#[derive(Debug, Clone, Default, Args)]
pub struct GlobalArgs {
    /// TOML file of settings.
    #[arg(long, global = true, help_heading = "Global options", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory of all that the embedded default keeps [default: the platform's data directory].
    #[arg(long, global = true, help_heading = "Global options", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Store to use instead: postgres://... or sqlite://...
    #[arg(long, global = true, help_heading = "Global options", value_name = "URL")]
    pub database_url: Option<String>,
    /// Form of the log lines on stderr.
    #[arg(long, global = true, help_heading = "Global options", value_enum, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// Where the flags of `serve` say to listen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Listen {
    /// The gRPC port.
    pub(super) grpc: Option<SocketAddr>,
    /// The admin port.
    pub(super) admin: Option<SocketAddr>,
}

/// What every verb works with.
#[derive(Clone)]
pub(super) struct Context {
    /// The settings.
    pub(super) config: Config,
    /// A flag named the store, so that a daemon at the default address may well serve another one.
    pub(super) store_named: bool,
}

impl Context {
    /// Reads the configuration, with the flags on top.
    pub(super) fn new(args: GlobalArgs, listen: Listen) -> Result<Self, ConfigError> {
        let store_named = args.data_dir.is_some() || args.database_url.is_some();
        let overrides = Overrides {
            data_dir: args.data_dir,
            database_url: args.database_url.map(Into::into),
            grpc_listen: listen.grpc,
            admin_listen: listen.admin,
            log_format: args.log_format,
        };
        Ok(Self { config: Config::load(args.config.as_deref(), overrides)?, store_named })
    }

    /// Opens the store as it is.
    pub(super) async fn raw_store(&self) -> anyhow::Result<Arc<dyn Store>> {
        Ok(store::open(&self.config.database, &self.config.data_dir).await?)
    }

    /// Opens the store ready for use: the bundled catalog is in it unless it is configured off.
    pub(super) async fn store(&self) -> anyhow::Result<Arc<dyn Store>> {
        let store = self.raw_store().await?;
        self.install_bundled(store.as_ref()).await?;
        Ok(store)
    }

    /// Puts the bundled catalog into a store that never had it, unless it is configured off.
    pub(super) async fn install_bundled(&self, store: &dyn Store) -> anyhow::Result<()> {
        if self.config.catalog.bundled {
            bundled::install(store).await?;
        }
        Ok(())
    }

    /// The store is a file of this machine.
    pub(super) fn is_embedded(&self) -> bool {
        self.config.database.url.as_ref().is_none_or(|url| url.expose_secret().starts_with("sqlite"))
    }

    /// Reads the catalog, with the devices of `device_files` that it lacks.
    pub(super) async fn catalog(&self, device_files: &[PathBuf]) -> anyhow::Result<Catalog> {
        let store = self.store().await?;
        let catalog = store.load_catalog(None).await;
        store.close().await;
        let mut catalog = catalog?;
        for device in read_device_files(device_files)? {
            catalog.devices.entry(device.device_id.clone()).or_insert_with(|| Arc::new(device));
        }
        Ok(catalog)
    }

    /// Where a daemon with this configuration listens.
    pub(super) fn daemon_url(&self) -> String {
        self.url_of(self.config.server.grpc_listen)
    }

    /// How to reach what listens on `address` from this machine.
    pub(super) fn url_of(&self, mut address: SocketAddr) -> String {
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        let scheme = if self.config.server.tls_certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }
}

/// The built-in devices and those of `files`, which win.
pub(super) fn known_devices(files: &[PathBuf]) -> anyhow::Result<BTreeMap<DeviceId, Device>> {
    let mut devices = ingest::devices::built_in().clone();
    devices.extend(read_device_files(files)?.into_iter().map(|device| (device.device_id.clone(), device)));
    Ok(devices)
}

/// The devices of `files`, in order.
pub(super) fn read_device_files(files: &[PathBuf]) -> anyhow::Result<Vec<Device>> {
    let mut devices = vec![];
    for file in files {
        devices.extend(ingest::devices::read_device_file(file)?);
    }
    Ok(devices)
}

/// Finds a device: in `files`, else in the catalog, else in the built-in table.
pub(super) fn find_device(id: &str, files: &[PathBuf], catalog: &Catalog) -> anyhow::Result<Device> {
    let given = read_device_files(files)?;
    let wanted = DeviceId::new("device", id).ok();
    let found = given.iter().find(|device| Some(&device.device_id) == wanted.as_ref()).or_else(|| {
        let wanted = wanted.as_ref()?;
        catalog.devices.get(wanted).map(Arc::as_ref).or_else(|| ingest::devices::built_in().get(wanted))
    });
    found.cloned().ok_or_else(|| {
        let mut known: Vec<String> = given.iter().map(|device| device.device_id.to_string()).collect();
        known.extend(catalog.devices.keys().chain(ingest::devices::built_in().keys()).map(ToString::to_string));
        known.sort();
        known.dedup();
        let hint = format!("known devices: {}; --device-file FILE adds others", known.join(", "));
        Advice::new(format!("device {id:?} is not known"), hint).into()
    })
}
