//! Help, usage and configuration errors.

use std::fs;

use crate::cli_support::{Home, bare, stderr, stdout};

const VERBS: &[&[&str]] = &[
    &[],
    &["serve"],
    &["predict"],
    &["import"],
    &["import", "dataset"],
    &["import", "ncu"],
    &["fit"],
    &["evaluate"],
    &["suggest"],
    &["predictor"],
    &["predictor", "list"],
    &["predictor", "show"],
    &["predictor", "diff"],
    &["predictor", "activate"],
    &["predictor", "rollback"],
    &["devices"],
    &["devices", "list"],
    &["devices", "show"],
    &["workloads"],
    &["workloads", "list"],
    &["workloads", "show"],
    &["workloads", "delete"],
    &["export"],
    &["export", "matrix"],
    &["export", "dataset"],
    &["migrate"],
    &["healthcheck"],
];

#[test]
fn every_verb_has_help_with_examples() {
    for verb in VERBS {
        let output = bare().args(*verb).arg("--help").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb:?}");
        let help = stdout(&output);
        let (_, examples) = help.split_once("Examples:").unwrap_or_else(|| panic!("{verb:?} has no examples: {help}"));
        assert!(examples.contains("pairsight "), "{verb:?}: {help}");
    }
}

#[test]
fn the_list_of_verbs_above_is_complete() {
    for verb in VERBS {
        let help = stdout(&bare().args(*verb).arg("--help").output().unwrap());
        let Some((_, commands)) = help.split_once("Commands:\n") else { continue };
        for line in commands.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   ")) {
            let name = line.split_whitespace().next().unwrap();
            let path = [*verb, &[name]].concat();
            assert!(name == "help" || VERBS.contains(&path.as_slice()), "{path:?} is not tested");
        }
    }
}

#[test]
fn the_help_of_import_ncu_says_how_to_capture_a_report() {
    let help = stdout(&bare().args(["import", "ncu", "--help"]).output().unwrap());
    assert!(help.contains(pairsight::ingest::ncu::CAPTURE_COMMAND), "{help}");
}

#[test]
fn usage_errors_exit_with_2_and_say_nothing_on_stdout() {
    let pair = ["predict", "--device", "nvidia-t4", "--a", "x@0.5", "--b"];
    let cases: &[&[&str]] = &[
        &[],
        &["no-such-verb"],
        &["evaluate", "--dataset", "x"],
        &["evaluate", "--split", "random"],
        &["evaluate", "--dataset", "x", "--split", "unseen-planet"],
        &["evaluate", "--dataset", "x", "--split", "unseen-model", "--few-shot", "1", "--few-shot-random", "1"],
        &["predict"],
        &["predict", "--a", "x@0.5", "--b", "x@0", "--device", "nvidia-t4"],
        &["predict", "--a", "x@0.5", "--b", "x@1.5", "--device", "nvidia-t4"],
        &["predict", "--a", "x@0.5", "--b", "x@nan", "--device", "nvidia-t4"],
        &["predict", "--a", "x", "--b", "x@0.5", "--device", "nvidia-t4"],
        &["predict", "--a", "x@.5", "--b", "x@.5", "--device", "nvidia-t4", "--offline", "--server", "http://localhost:1"],
        &["predict", "--a", "x@.5", "--b", "x@.5", "--device", "nvidia-t4", "--sharing-mode", "MIG"],
        &["predict", "--a", "x@.5", "--b", "x@.5", "--device", "nvidia-t4", "--a-solo-us", "-1"],
        &["import", "ncu", "f.csv", "--device", "nvidia-t4", "--workload", "w", "--sm-share", "0.5", "--iterations", "0"],
        &["import", "ncu", "f.csv", "--device", "nvidia-t4", "--workload", "", "--sm-share", "0.5"],
        &["fit"],
        &["suggest", "--dataset", "x"],
        &["suggest", "--dataset", "x", "--workload", "w", "--count", "0"],
        &["devices", "list", "--format", "yaml"],
    ];
    let home = Home::empty();
    for args in cases {
        assert!(home.error(2, args).contains("error:") || args.is_empty(), "{args:?}");
    }
    let output = home.run(&[&pair[..], &["x@54"]].concat());
    assert!(stderr(&output).contains("54sm"), "{}", stderr(&output));
}

#[test]
fn configuration_errors_exit_with_64_and_name_the_setting() {
    let home = Home::empty();
    let file = home.path("bad.toml");
    fs::write(&file, "[server]\ngrpc_lisen = \"127.0.0.1:1\"\n").unwrap();
    let said = home.error(64, &["--config", file.to_str().unwrap(), "devices", "list"]);
    assert!(said.contains("grpc_lisen"), "{said}");

    let output = home.command(&["devices", "list"]).env("PAIRSIGHT__DATABASE__POLL_INTERVAL", "soon").output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert!(stderr(&output).contains("poll_interval"), "{}", stderr(&output));

    let said = home.error(64, &["--database-url", "mysql://me:hunter2@localhost/db", "devices", "list"]);
    assert!(said.contains("database.url") && !said.contains("hunter2"), "{said}");
    let missing = home.path("missing.toml");
    assert!(home.error(64, &["--config", missing.to_str().unwrap(), "devices", "list"]).starts_with("error: "));
    assert!(home.error(64, &["serve", "--role", "worker"]).contains("worker"));
}

#[test]
fn an_error_is_one_line_and_perhaps_a_hint() {
    let said = Home::empty().error(1, &["devices", "show", "nvidia-h20"]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains("nvidia-h20"), "{said}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains("nvidia-h200"), "{said}");
    assert_eq!(lines.len(), 2, "{said}");
}
