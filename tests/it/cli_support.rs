//! Runs the built binary: a home of its own, a daemon of its own, small datasets.

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) const BUNDLED_DEVICE: &str = "sim-qv100-eighth";

/// A data directory that no other test uses.
pub(crate) struct Home {
    dir: TempDir,
    bundled: bool,
}

impl Home {
    /// With the bundled catalog.
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), bundled: true }
    }

    /// Without it.
    pub(crate) fn empty() -> Self {
        Self { bundled: false, ..Self::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The binary with this home, and nothing else of the environment's settings.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = bare();
        command.env("PAIRSIGHT__CATALOG__BUNDLED", self.bundled.to_string());
        command.arg("--data-dir").arg(self.path("store")).args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a verb that has to succeed; its stdout.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs a verb that has to succeed; its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.text(&[args, &["--format", "json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}"))
    }

    /// Runs a verb that has to fail with `code`; its stderr. Nothing may be on stdout.
    pub(crate) fn error(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{args:?}");
        stderr(&output)
    }

    pub(crate) fn serve(&self, args: &[&str]) -> Daemon {
        Daemon::start(self.command(&[&["serve", "--grpc-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"], args].concat()))
    }
}

/// The binary without any setting from outside.
pub(crate) fn bare() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pairsight"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PAIRSIGHT__")) {
        command.env_remove(name);
    }
    command
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A running `serve`; killed when dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) grpc: String,
    pub(crate) admin: String,
}

impl Daemon {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(bound) = serde_json::from_str::<Value>(&line) else {
            let _ = child.kill();
            panic!("{line:?}: {}", stderr(&child.wait_with_output().unwrap()));
        };
        let address = |key: &str| bound[key].as_str().unwrap().to_owned();
        let (grpc, admin) = (address("grpc"), address("admin"));
        Self { child, grpc, admin }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.grpc)
    }

    pub(crate) fn until_serving(&self) {
        eventually(Duration::from_secs(60), "the daemon serves", || {
            bare().args(["healthcheck", "--server", &self.url()]).output().unwrap().status.success()
        });
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the end; the exit code and stderr.
    pub(crate) fn ended(mut self, within: Duration) -> (Option<i32>, String) {
        eventually(within, "the daemon ends", || self.child.try_wait().unwrap().is_some());
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut said).unwrap();
        (status.code(), said)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap().success());
}

#[expect(clippy::disallowed_methods, reason = "a test of processes runs on the real clock")]
pub(crate) fn eventually(within: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + within;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes a dataset of `workloads` workloads with `operators` operators each, alone at the shares 0.5 and 1, on an own device.
pub(crate) fn write_dataset(dir: &Path, workloads: usize, operators: usize) {
    fs::create_dir_all(dir).unwrap();
    let manifest = r#"{"format":"pairsight-dataset","version":1,"device_id":"lab-gpu","device":"Lab GPU","licence":"none",
        "compute_capability":"8.0","sm_count":100,"sharing_mode":"SM_PARTITION","provenance":"imported",
        "signature_basis":"raw_sums","software":"test","source":"test","dram_bytes_per_s":1e12,"l2_bytes_per_s":3e12,
        "l2_bytes":40000000,"clock_hz":1.4e9}"#;
    fs::write(dir.join("dataset.json"), manifest).unwrap();
    let mut signatures = String::from(
        "workload,sm_share,operator,grid,block,launches,duration_ns,dram_read_bytes,dram_write_bytes,l2_read_sectors\n",
    );
    let mut solo = String::from("workload,sm_share,latency_us,stdev_us,samples\n");
    for w in 0..workloads {
        for (share, scale) in [(0.5, 2.0), (1.0, 1.0)] {
            for o in 0..operators {
                let (ns, bytes) = (scale * (10_000.3 + 7.1 * o as f64), 1000 * (w + 1) * (o + 1));
                writeln!(signatures, "net{w}/b1,{share},kernel_{o},64,128,2,{ns},{bytes},{bytes},{}", bytes / 8).unwrap();
            }
            writeln!(solo, "net{w}/b1,{share},{},0.5,100", scale * 25.0 * operators as f64).unwrap();
        }
    }
    fs::write(dir.join("signature.csv"), signatures).unwrap();
    fs::write(dir.join("solo.csv"), solo).unwrap();
    let pairs = "pair_id,a_workload,a_sm_share,b_workload,b_sm_share,a_solo_us,b_solo_us,a_corun_us,b_corun_us,campaign\n\
                 0,net0/b1,0.5,net1/b1,0.5,50,50,60,61.5,one\n1,net1/b1,0.5,net1/b1,0.5,50,50,65,,one\n";
    fs::write(dir.join("pair.csv"), pairs).unwrap();
}

/// The folder of a bundled data set.
pub(crate) fn bundled(name: &str) -> String {
    format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"))
}
