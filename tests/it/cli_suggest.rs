//! `suggest`, findings of bad data, and the refusal to activate a worse predictor.

use std::{fmt::Write, fs, path::Path};

use serde_json::{Value, json};

use crate::cli_support::{BUNDLED_DEVICE, Home, bundled, write_dataset};

#[test]
fn the_next_co_runs_of_a_workload_are_named() {
    let home = Home::empty();
    let set = bundled("opsim-sm-partition");
    let suggest = ["suggest", "--dataset", &set, "--workload", "fma_m"];
    let said = home.json(&suggest);
    assert_eq!((&said["workload"], &said["device"]), (&json!("fma_m"), &json!(BUNDLED_DEVICE)), "{said}");
    assert_eq!(said["sharing_mode"], "SHARING_MODE_SM_PARTITION", "{said}");
    let suggestions = said["suggestions"].as_array().unwrap();
    assert_eq!(suggestions.len(), 4, "{said}");
    let measured = fs::read_to_string(format!("{set}/pair.csv")).unwrap();
    for suggestion in suggestions {
        let side = |i: usize| format!("{},{}", suggestion["workloads"][i].as_str().unwrap(), suggestion["sm_shares"][i]);
        assert!(side(0).starts_with("fma_m,") && !side(1).starts_with("fma_m,"), "{suggestion}");
        for row in [format!(",{},{},", side(0), side(1)), format!(",{},{},", side(1), side(0))] {
            assert!(!measured.contains(&row), "{suggestion} is measured");
        }
        for error in ["expected_error_before_pct", "expected_error_after_pct"] {
            assert!(suggestion[error].as_f64().unwrap() >= 0.0, "{suggestion}");
        }
        let after = suggestion["expected_error_after_pct"].as_f64().unwrap();
        assert!(after <= suggestion["expected_error_before_pct"].as_f64().unwrap() + 1e-9, "{suggestion}");
    }
    let two = home.json(&[&suggest[..], &["--count", "2"]].concat());
    assert_eq!(two["suggestions"], json!(suggestions[..2]), "the best come first, and are the same each time");
    let text = home.text(&suggest);
    assert!(text.contains("fma_m@0.") && text.contains("expected error"), "{text}");

    let said = home.error(1, &["suggest", "--dataset", &set, "--workload", "fma_n"]);
    assert!(said.contains("fma_n") && said.contains("fma_m"), "{said}");
}

/// A set of three workloads with enough co-runs for a fit.
fn dataset(dir: &Path, more: &str) {
    write_dataset(dir, 3, 2);
    let mut pairs =
        String::from("pair_id,a_workload,a_sm_share,b_workload,b_sm_share,a_solo_us,b_solo_us,a_corun_us,b_corun_us,campaign\n");
    for (i, (a, b)) in [(0, 1), (0, 2), (1, 2), (0, 0), (1, 1), (2, 2)].into_iter().enumerate() {
        writeln!(pairs, "p{i},net{a}/b1,0.5,net{b}/b1,0.5,50,50,{},{},one", 52 + i, 55 + i).unwrap();
    }
    pairs.push_str(more);
    fs::write(dir.join("pair.csv"), pairs).unwrap();
}

#[test]
fn nothing_is_left_to_be_measured() {
    let home = Home::empty();
    let dir = home.path("set");
    dataset(&dir, "");
    let suggest = ["suggest", "--dataset", dir.to_str().unwrap(), "--workload", "net0/b1"];
    let said = home.json(&suggest);
    assert_eq!((&said["candidates"], &said["suggestions"]), (&json!(0), &json!([])), "{said}");
    assert!(home.text(&suggest).contains("is left"));
}

#[test]
fn bad_rows_are_reported_with_their_line() {
    let home = Home::empty();
    let dir = home.path("set");
    let bad = "repeat,net0/b1,0.5,net1/b1,0.5,50,50,52,55,one\n\
               fast,net0/b1,0.5,net2/b1,0.5,50,50,30,55.01,two\n\
               slow,net1/b1,0.5,net2/b1,0.5,50,50,2000,57.01,two\n";
    dataset(&dir, bad);
    let path = dir.to_str().unwrap();
    let found = |said: &Value| -> Vec<(String, u64, u64, String)> {
        let rows = said["findings"].as_array().unwrap().iter();
        rows.map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("pair_id"), row["line"].as_u64().unwrap(), row["side"].as_u64().unwrap(), text("kind"))
        })
        .collect()
    };
    let row = |id: &str, line, side, kind: &str| (id.to_owned(), line, side, kind.to_owned());
    let expected = [
        row("repeat", 8, 0, "duplicate"),
        row("repeat", 8, 1, "duplicate"),
        row("fast", 9, 0, "faster_than_solo"),
        row("slow", 10, 0, "implausible"),
    ];
    assert_eq!(found(&home.json(&["import", "dataset", path])), expected);
    let text = home.text(&["import", "dataset", path, "--dry-run"]);
    assert!(text.contains("note: pair.csv, line 9, row fast, tenant a: faster_than_solo"), "{text}");

    let output = home.run(&["fit", "--dataset", path, "--format", "json"]);
    let fitted: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found(&fitted), expected);
    assert_eq!(fitted["findings"][0]["dataset"], "set");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("set/pair.csv, line 10, row slow, tenant a: implausible"), "{notes}");
}

#[test]
fn durations_of_nothing_are_refused_with_their_row() {
    let home = Home::empty();
    let dir = home.path("set");
    for (cell, column) in [("0,55", "a_corun_us"), ("52,-1", "b_corun_us")] {
        dataset(&dir, &format!("bad,net0/b1,0.5,net1/b1,0.5,50,50,{cell},one\n"));
        let said = home.error(1, &["import", "dataset", dir.to_str().unwrap()]);
        assert!(said.contains("pair.csv, line 8") && said.contains(column), "{said}");
    }
    dataset(&dir, "bad,net0/b1,0.5,net1/b1,0.5,0,50,52,55,one\n");
    let said = home.error(1, &["import", "dataset", dir.to_str().unwrap()]);
    assert!(said.contains("line 8") && said.contains("a_solo_us"), "{said}");
}

#[test]
fn a_worse_predictor_is_activated_only_by_force() {
    let home = Home::empty();
    let (good, bad) = (home.path("good"), home.path("bad"));
    dataset(&good, "");
    dataset(&bad, "");
    // The same co-runs, each said to be three times as slow.
    let pairs = fs::read_to_string(bad.join("pair.csv")).unwrap();
    let slower = pairs.lines().enumerate().map(|(i, line)| {
        let cells: Vec<&str> = line.split(',').collect();
        let us = |i: usize| cells[i].parse::<f64>().unwrap() * 3.0;
        if i == 0 { format!("{line}\n") } else { format!("{},{},{},{}\n", cells[..7].join(","), us(7), us(8), cells[9]) }
    });
    fs::write(bad.join("pair.csv"), slower.collect::<String>()).unwrap();
    home.json(&["import", "dataset", good.to_str().unwrap()]);

    let publish = |dir: &Path| {
        let output = home.run(&["fit", "--dataset", dir.to_str().unwrap(), "--publish", "--format", "json"]);
        assert!(output.status.success(), "{output:?}");
        let version = serde_json::from_slice::<Value>(&output.stdout).unwrap()["predictor_version"].as_str().unwrap().to_owned();
        (version, String::from_utf8(output.stderr).unwrap())
    };
    let (first, notes) = publish(&good);
    assert!(!notes.contains("mean error"), "{notes}");
    // A fit that was asked for is published, with a warning.
    let (second, notes) = publish(&bad);
    assert!(notes.contains("mean error") && notes.contains(&first), "{notes}");

    let active = || {
        let list = home.json(&["predictor", "list"]);
        let active = list["predictors"].as_array().unwrap().iter().find(|predictor| predictor["active"] == true).unwrap();
        active["predictor_version"].as_str().unwrap().to_owned()
    };
    assert_eq!(active(), second);
    home.json(&["predictor", "activate", &first]);
    let said = home.error(1, &["predictor", "activate", &second]);
    assert!(said.contains("--force") && said.contains("timed directions in the store"), "{said}");
    assert_eq!(active(), first);
    home.json(&["predictor", "activate", &second, "--force"]);
    assert_eq!(active(), second);
    // The one that answers can be named again.
    home.json(&["predictor", "activate", &second]);
}
