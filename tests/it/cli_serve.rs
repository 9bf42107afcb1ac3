//! `serve`: the daemon as a process.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Stdio,
    time::Duration,
};

use crate::cli_support::{BUNDLED_DEVICE, Home, bare, eventually, stderr, write_dataset};

/// How soon a write of a command shows in a running daemon.
const SHOWS_WITHIN: Duration = Duration::from_secs(2);

/// The daemon's answer for the pair of `write_dataset`.
fn answers(home: &Home, url: &str) -> bool {
    let pair = ["predict", "--a", "net0/b1@0.5", "--b", "net1/b1@0.5", "--device", "lab-gpu", "--server", url];
    home.run(&pair).status.success()
}

#[test]
fn an_import_shows_in_two_running_daemons_on_one_file() {
    let home = Home::new();
    let daemons = [home.serve(&[]), home.serve(&[])];
    for daemon in &daemons {
        daemon.until_serving();
    }
    write_dataset(&home.path("set"), 2, 3);
    home.json(&["import", "dataset", home.path("set").to_str().unwrap()]);
    for daemon in &daemons {
        eventually(SHOWS_WITHIN, "the import shows", || answers(&home, &daemon.url()));
    }
    home.json(&["workloads", "delete", "net1/b1", "--device", "lab-gpu"]);
    for daemon in &daemons {
        eventually(SHOWS_WITHIN, "the deletion shows", || !answers(&home, &daemon.url()));
    }
}

#[test]
fn sigterm_and_sigint_end_it_in_good_order() {
    let home = Home::new();
    for name in ["TERM", "INT"] {
        let daemon = home.serve(&[]);
        daemon.until_serving();
        let url = daemon.url();
        daemon.signal(name);
        let (code, said) = daemon.ended(Duration::from_secs(15));
        assert_eq!(code, Some(0), "SIG{name}: {said}");
        assert_eq!(bare().args(["healthcheck", "--server", &url]).output().unwrap().status.code(), Some(1));
    }
}

#[test]
fn the_admin_port_that_is_printed_answers() {
    let daemon = Home::new().serve(&[]);
    daemon.until_serving();
    let mut stream = TcpStream::connect(&daemon.admin).unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn logs_are_json_when_asked() {
    let daemon = Home::new().serve(&["--log-format", "json"]);
    daemon.until_serving();
    daemon.signal("TERM");
    let (_, said) = daemon.ended(Duration::from_secs(15));
    assert!(said.lines().count() > 0);
    for line in said.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

#[test]
fn the_example_shows_a_prediction_and_the_next_question() {
    let home = Home::new();
    let daemon = home.serve(&["--example"]);
    let url = daemon.url();
    daemon.until_serving();
    // It is on stderr before the daemon is asked to stop; a prediction takes far less.
    std::thread::sleep(Duration::from_secs(2));
    daemon.signal("TERM");
    let (code, said) = daemon.ended(Duration::from_secs(15));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("How sure:") && said.contains(BUNDLED_DEVICE), "{said}");
    let next = said.lines().find(|line| line.contains(" predict --a ")).unwrap_or_else(|| panic!("{said}"));
    assert!(next.contains(&format!("--server {url}")), "{next}");
    // The line is a command of this program: with another daemon at its end it answers.
    let daemon = home.serve(&[]);
    daemon.until_serving();
    let next = next.replace(&url, &daemon.url());
    let output = std::process::Command::new("sh").args(["-c", next.trim()]).output().unwrap();
    assert!(output.status.success(), "{next}: {}", stderr(&output));
}

#[test]
fn a_port_in_use_is_an_error_that_names_the_setting() {
    let home = Home::new();
    let daemon = home.serve(&[]);
    let said = home.error(1, &["serve", "--grpc-listen", &daemon.grpc, "--admin-listen", "127.0.0.1:0"]);
    assert!(said.contains("server.grpc_listen") && said.contains(&daemon.grpc), "{said}");
}

#[test]
fn it_serves_although_nobody_reads_its_stdout() {
    let home = Home::new();
    let listen = ["serve", "--grpc-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let mut child = home.command(&listen).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "the daemon ended");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn migrate_and_healthcheck_say_what_they_found() {
    let home = Home::empty();
    assert!(home.json(&["migrate"])["catalog_version"].is_i64());
    let said = home.error(1, &["healthcheck", "--server", "127.0.0.1:1"]);
    assert!(said.contains("127.0.0.1:1"), "{said}");
    let daemon = home.serve(&[]);
    daemon.until_serving();
    assert_eq!(home.json(&["healthcheck", "--server", &daemon.url()])["status"], "SERVING");
}
