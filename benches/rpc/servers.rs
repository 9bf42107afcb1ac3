//! The two services as processes of their own.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use pairsight::proto::{PredictPairRequest, prediction_service_client::PredictionServiceClient};
use prost::Message as _;
use serde::Deserialize;
use tempfile::{NamedTempFile, TempDir};
use tonic::transport::{Channel, Endpoint};

use crate::{Client, bare};

/// A process that listens; killed when it is dropped.
struct Listening {
    child: Child,
    address: String,
}

#[derive(Deserialize)]
struct Addresses {
    grpc: String,
}

impl Listening {
    /// Starts `command` and waits for the line that tells its address.
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("starting {command:?}"))?;
        let stdout = child.stdout.take().context("standard output is not piped")?;
        let mut listening = Self { child, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let addresses: Addresses = serde_json::from_str(&line).with_context(|| format!("{command:?} printed {line:?}"))?;
        listening.address = format!("http://{}", addresses.grpc);
        Ok(listening)
    }

    async fn connect(&self) -> anyhow::Result<Channel> {
        Ok(Endpoint::from_shared(self.address.clone())?.tcp_nodelay(true).connect().await?)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The daemon with an empty data directory.
pub(crate) struct Daemon {
    listening: Listening,
    _data_dir: TempDir,
}

impl Daemon {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let data_dir = TempDir::new()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_pairsight"));
        command.arg("--data-dir").arg(data_dir.path());
        command.args(["serve", "--grpc-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        command.env("PAIRSIGHT__LOG__FILTER", "warn");
        Ok(Self { listening: Listening::start(&mut command)?, _data_dir: data_dir })
    }

    pub(crate) async fn connect(&self) -> anyhow::Result<Channel> {
        self.listening.connect().await
    }
}

/// Clients of the daemon and of a bare service that gives the daemon's answer.
pub(crate) struct Pair {
    pub(crate) real: Client,
    pub(crate) bare: Client,
    /// Encoded size of the request and of the answer, bytes.
    pub(crate) sizes: (usize, usize),
    _bare: Listening,
    _canned: NamedTempFile,
}

impl Pair {
    /// Asks the daemon once and starts a bare service with what it answers.
    pub(crate) async fn new(real: &mut Client, request: &PredictPairRequest) -> anyhow::Result<Self> {
        let answer = real.predict_pair(request.clone()).await.context("first answer")?.into_inner();
        let canned = NamedTempFile::new()?;
        std::fs::write(canned.path(), answer.encode_to_vec())?;
        let listening = Listening::start(Command::new(std::env::current_exe()?).arg(bare::FLAG).arg(canned.path()))?;
        Ok(Self {
            real: real.clone(),
            bare: PredictionServiceClient::new(listening.connect().await?),
            sizes: (request.encoded_len(), answer.encoded_len()),
            _bare: listening,
            _canned: canned,
        })
    }
}
