//! `predict`, offline and by a daemon.

use std::process::Stdio;

use serde_json::Value;

use crate::cli_support::{BUNDLED_DEVICE, Home, stderr, stdout};

const PAIR: [&str; 7] = ["predict", "--a", "decode_a@0.5", "--b", "mixed_b@0.5", "--device", BUNDLED_DEVICE];

fn offline(more: &[&'static str]) -> Vec<&'static str> {
    [&PAIR[..], &["--offline"], more].concat()
}

#[test]
fn the_bundled_catalog_answers_at_once() {
    let home = Home::new();
    let answer = home.json(&offline(&[]));
    let tenants = answer["tenants"].as_array().unwrap();
    assert_eq!([&tenants[0]["workload"], &tenants[1]["workload"]], ["decode_a", "mixed_b"]);
    for tenant in tenants {
        let figure = |name: &str| tenant[name].as_f64().unwrap();
        assert_eq!(tenant["sm_count"], 5, "{tenant}");
        assert!(figure("slowdown_ratio") > 1.0, "{tenant}");
        assert!(figure("upper_latency_us") >= figure("predicted_latency_us"), "{tenant}");
        let parts: f64 =
            tenant["contributions"].as_array().unwrap().iter().map(|part| part["excess_ratio"].as_f64().unwrap()).sum();
        assert!((parts - (figure("slowdown_ratio") - 1.0)).abs() < 1e-9, "{tenant}");
    }
    assert!(answer["catalog_version"].is_i64(), "64-bit counts are numbers: {answer}");
    assert!(codes(&answer).contains(&"SIMULATED_DATA"), "{answer}");
}

fn codes(answer: &Value) -> Vec<&str> {
    answer["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str().unwrap()).collect()
}

#[test]
fn the_text_is_short_and_says_who_how_much_why_and_how_sure() {
    let text = Home::new().text(&offline(&[]));
    for part in ["decode_a", "mixed_b", "alone", "together", "slower by", "mainly because of", "How sure:", "simulated"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(text.lines().count() <= 16, "{text}");
    assert!(text.lines().nth(3).unwrap().contains('+'), "{text}");
}

#[test]
fn shares_may_be_written_in_three_ways() {
    let home = Home::new();
    let mut answers = ["0.5", "50%", "5sm"].map(|share| {
        let (a, b) = (format!("decode_a@{share}"), format!("mixed_b@{share}"));
        home.json(&["predict", "--a", &a, "--b", &b, "--device", BUNDLED_DEVICE, "--offline"])
    });
    for answer in &mut answers {
        answer["catalog_version"] = 0.into();
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0], answers[2]);
}

#[test]
fn a_given_solo_latency_and_activity_count() {
    let home = Home::new();
    let usual = home.json(&offline(&[]));
    let idle = home.json(&offline(&["--b-activity", "0.1", "--a-solo-us", "1000"]));
    assert_eq!(idle["tenants"][0]["solo_latency_us"], 1000.0);
    let slowdown = |answer: &Value| answer["tenants"][0]["slowdown_ratio"].as_f64().unwrap();
    assert!(slowdown(&idle) < slowdown(&usual), "{idle}");
}

#[test]
fn unknown_names_are_answered_with_close_ones() {
    let home = Home::new();
    let args = ["predict", "--a", "decod_a@0.5", "--b", "mixed_b@0.5", "--device", BUNDLED_DEVICE, "--offline"];
    let said = home.error(1, &args);
    assert!(said.contains("WORKLOAD_UNKNOWN") && said.contains("decode_a"), "{said}");

    let args = ["predict", "--a", "decode_a@0.5", "--b", "mixed_b@0.5", "--device", "sim-qv100", "--offline"];
    let said = home.error(1, &[&args[..], &["--format", "json"]].concat());
    assert!(said.contains("DEVICE_UNKNOWN") && said.contains(BUNDLED_DEVICE), "{said}");
}

#[test]
fn shares_that_exceed_the_device_are_refused() {
    let args = ["predict", "--a", "decode_a@0.7", "--b", "mixed_b@0.7", "--device", BUNDLED_DEVICE, "--offline"];
    let said = Home::new().error(1, &args);
    assert!(said.contains("SHARES_EXCEED_DEVICE"), "{said}");
}

#[test]
fn a_daemon_answers_as_the_store_does() {
    let home = Home::new();
    let daemon = home.serve(&[]);
    daemon.until_serving();
    let by_daemon = home.json(&[&PAIR[..], &["--server", &daemon.url()]].concat());
    assert_eq!(by_daemon, home.json(&offline(&[])));
    // Without a scheme, and with an error of the daemon's.
    let args = ["predict", "--a", "decod_a@0.5", "--b", "mixed_b@0.5", "--device", BUNDLED_DEVICE, "--server", &daemon.grpc];
    let said = home.error(1, &args);
    assert!(said.contains("WORKLOAD_UNKNOWN") && said.contains("decode_a"), "{said}");
}

#[test]
fn without_being_told_whom_to_ask_the_daemon_comes_first_and_the_store_second() {
    let home = Home::new();
    let daemon = home.serve(&[]);
    daemon.until_serving();
    // The store is named by the environment: a flag would mean that very store.
    let ask = |listen: &str| {
        let mut command = crate::cli_support::bare();
        command.args(PAIR).env("PAIRSIGHT__DATA_DIR", home.path("store")).env("PAIRSIGHT__SERVER__GRPC_LISTEN", listen);
        command.output().unwrap()
    };
    let answered = ask(&daemon.grpc);
    assert!(answered.status.success() && stderr(&answered).contains("asking the daemon"), "{}", stderr(&answered));
    let address = daemon.grpc.clone();
    drop(daemon);
    let answered = ask(&address);
    assert!(answered.status.success() && stderr(&answered).contains("reading the store"), "{}", stderr(&answered));
    assert!(stdout(&answered).contains("How sure:"));
}

#[test]
fn a_daemon_that_is_not_there_is_an_error_with_advice() {
    let said = Home::empty().error(1, &[&PAIR[..], &["--server", "http://127.0.0.1:1"]].concat());
    assert!(said.contains("127.0.0.1:1") && said.contains("pairsight serve"), "{said}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let home = Home::new();
    home.json(&offline(&[]));
    for format in ["text", "json"] {
        let mut command = home.command(&offline(&[]));
        let mut child = command.args(["--format", format]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    }
}
