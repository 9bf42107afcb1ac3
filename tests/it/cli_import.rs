//! `import` into the embedded store.

use std::{fs, process::Stdio, time::Duration};

use serde_json::json;

use crate::cli_support::{Home, eventually, signal, stderr, write_dataset};

/// Two launches as `ncu --csv --page raw` prints them.
const NCU: &str = "==PROF== Connected to process 1\n\
\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\
\"dram__bytes_read.sum\",\"dram__bytes_write.sum\",\"gpu__time_duration.sum\"\n\
\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"byte\",\"nsecond\"\n\
\"0\",\"1\",\"python\",\"h\",\"gemm\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, 1)\",\"0\",\"7.5\",\"1000000\",\"500000\",\"20000\"\n\
\"1\",\"1\",\"python\",\"h\",\"relu\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, 1)\",\"0\",\"7.5\",\"200000\",\"200000\",\"5000\"\n";

fn dataset(home: &Home, workloads: usize, operators: usize) -> String {
    let dir = home.path("set");
    write_dataset(&dir, workloads, operators);
    dir.to_str().unwrap().to_owned()
}

#[test]
fn a_dataset_is_imported_once() {
    let home = Home::empty();
    let dir = dataset(&home, 2, 3);
    let first = home.json(&["import", "dataset", &dir]);
    assert_eq!(first["signatures"], 12, "{first}");
    assert_eq!(first["workloads"], 2, "{first}");
    assert_eq!(first["solo_latencies"], 4, "{first}");
    assert_eq!(first["pair_samples"], 2, "{first}");
    assert_eq!((&first["launches"], &first["operators"], &first["iterations"]), (&json!(24), &json!(6), &json!(1)), "{first}");
    assert!(first["duration_us"].as_f64().unwrap() > 0.0, "{first}");
    assert_eq!(first["already_imported"], false, "{first}");
    assert!(first["metrics_used"].as_array().unwrap().contains(&json!("dram_read_bytes")), "{first}");

    let again = home.json(&["import", "dataset", &dir]);
    assert_eq!(again["already_imported"], true, "{again}");
    assert_eq!(again["catalog_version"], first["catalog_version"]);
    assert!(home.text(&["import", "dataset", &dir]).contains("already imported, nothing changed"));
    assert_eq!(home.json(&["workloads", "list"])["workloads"].as_array().unwrap().len(), 2);
}

#[test]
fn what_was_deleted_can_be_imported_again() {
    let home = Home::empty();
    let dir = dataset(&home, 2, 1);
    home.json(&["import", "dataset", &dir]);
    home.json(&["workloads", "delete", "net0/b1", "--device", "lab-gpu"]);
    let list = home.json(&["workloads", "list"]);
    assert_eq!(list["workloads"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(home.json(&["import", "dataset", &dir])["already_imported"], false);
    assert_eq!(home.json(&["import", "dataset", &dir])["already_imported"], true);
    assert_eq!(home.json(&["workloads", "list"])["workloads"].as_array().unwrap().len(), 2);
}

#[test]
fn a_request_id_names_one_content() {
    let home = Home::empty();
    let dir = dataset(&home, 1, 1);
    home.json(&["import", "dataset", &dir, "--request-id", "night-run"]);
    write_dataset(&home.path("set"), 1, 2);
    let said = home.error(1, &["import", "dataset", &dir, "--request-id", "night-run"]);
    assert!(said.contains("night-run"), "{said}");
    assert_eq!(home.json(&["import", "dataset", &dir])["already_imported"], false);
}

#[test]
fn a_dry_run_changes_nothing() {
    let home = Home::empty();
    let dir = dataset(&home, 2, 3);
    let said = home.json(&["import", "dataset", &dir, "--dry-run"]);
    assert_eq!((&said["dry_run"], &said["signatures"]), (&json!(true), &json!(12)), "{said}");
    assert_eq!(home.json(&["workloads", "list"])["workloads"], json!([]));
}

#[test]
fn bad_input_names_file_line_and_field_and_changes_nothing() {
    let home = Home::empty();
    let dir = dataset(&home, 2, 3);
    let file = home.path("set").join("signature.csv");
    let good = fs::read_to_string(&file).unwrap();
    for bad in ["NaN", "-1", "1e308", "inf", "fast"] {
        fs::write(&file, good.replacen("10000.3", bad, 1)).unwrap();
        let said = home.error(1, &["import", "dataset", &dir]);
        assert!(said.contains("signature.csv") && said.contains("line") && said.contains("duration_ns"), "{bad}: {said}");
    }
    // Cut off in the middle of a row.
    fs::write(&file, &good[..good.rfind(",64,128").unwrap()]).unwrap();
    home.error(1, &["import", "dataset", &dir]);
    assert_eq!(home.json(&["workloads", "list"])["workloads"], json!([]));
}

#[test]
fn a_killed_import_leaves_all_or_nothing() {
    const WORKLOADS: usize = 40;
    let home = Home::empty();
    let dir = dataset(&home, WORKLOADS, 100);
    for delay_ms in [50, 200, 400, 800] {
        let mut import = home.command(&["import", "dataset", &dir]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        signal(&import, "KILL");
        import.wait().unwrap();
        let list = home.json(&["workloads", "list"]);
        let there = list["workloads"].as_array().unwrap();
        assert!(there.is_empty() || there.len() == WORKLOADS, "{} workloads after {delay_ms} ms", there.len());
        assert!(there.iter().all(|workload| workload["operators"] == 100), "{list}");
    }
    home.json(&["import", "dataset", &dir]);
    assert_eq!(home.json(&["workloads", "list"])["workloads"].as_array().unwrap().len(), WORKLOADS);
}

#[test]
fn an_ncu_report_leads_to_a_prediction_on_a_built_in_device() {
    let home = Home::empty();
    let file = home.path("report.csv");
    fs::write(&file, NCU).unwrap();
    let file = file.to_str().unwrap();
    for (workload, latency) in [("a@home/b1", "40"), ("b/b1", "30")] {
        let said = home.json(&[
            "import",
            "ncu",
            file,
            "--device",
            "nvidia-t4",
            "--workload",
            workload,
            "--sm-share",
            "20sm",
            "--latency-us",
            latency,
        ]);
        assert_eq!((&said["launches"], &said["operators"], &said["iterations"]), (&json!(2), &json!(2), &json!(1)), "{said}");
        assert_eq!(said["duration_us"], 25.0, "{said}");
        assert!(said["metrics_used"].as_array().unwrap().len() >= 3, "{said}");
        assert!(said["metrics_missing"].is_array() && said["warnings"].is_array(), "{said}");
    }
    let answer = home.json(&["predict", "--a", "a@home/b1@50%", "--b", "b/b1@0.5", "--device", "nvidia-t4", "--offline"]);
    assert_eq!(answer["tenants"][0]["workload"], "a@home/b1", "{answer}");
    assert_eq!(answer["tenants"][0]["solo_latency_us"], 40.0, "{answer}");
    assert_eq!(answer["confidence_class"], "CONFIDENCE_CLASS_PRIOR_ONLY", "{answer}");
}

#[test]
fn a_measured_latency_stays_until_another_is_measured() {
    let home = Home::empty();
    let file = home.path("report.csv");
    fs::write(&file, NCU).unwrap();
    let report = ["import", "ncu", file.to_str().unwrap(), "--device", "nvidia-t4", "--workload", "w", "--sm-share", "1"];
    let import = |latency: &[&str]| home.json(&[&report[..], latency].concat());
    let latency = || home.json(&["workloads", "show", "w", "--device", "nvidia-t4"])["solo_latencies"][0].clone();
    import(&[]);
    assert_eq!((&latency()["latency_us"], &latency()["from_kernels"]), (&json!(25.0), &json!(true)));
    import(&["--latency-us", "5000"]);
    assert_eq!((&latency()["latency_us"], &latency()["from_kernels"]), (&json!(5000.0), &json!(false)));
    // The same report as at first says nothing of the latency.
    assert_eq!(import(&[])["already_imported"], false);
    assert_eq!(latency()["latency_us"], 5000.0);
    import(&["--latency-us", "9000"]);
    assert_eq!(latency()["latency_us"], 9000.0);
    for already in [false, true] {
        assert_eq!(import(&["--latency-us", "5000"])["already_imported"], already);
        assert_eq!(latency()["latency_us"], 5000.0);
    }
}

#[test]
fn a_device_keeps_its_number_of_sms() {
    let home = Home::empty();
    let dir = dataset(&home, 2, 1);
    home.json(&["import", "dataset", &dir]);
    let manifest = home.path("set").join("dataset.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"sm_count\":100", "\"sm_count\":60")).unwrap();
    let said = home.error(1, &["import", "dataset", &dir]);
    assert!(said.contains("sm_count") && said.contains("60") && said.contains("100"), "{said}");
    assert_eq!(home.json(&["devices", "show", "lab-gpu"])["sm_count"], 100);
}

#[test]
fn an_unknown_device_is_answered_with_those_that_are_known() {
    let home = Home::empty();
    let file = home.path("report.csv");
    fs::write(&file, NCU).unwrap();
    let args = ["import", "ncu", file.to_str().unwrap(), "--workload", "w", "--sm-share", "0.5", "--device", "lab-gpu"];
    let said = home.error(1, &args);
    assert!(said.contains("lab-gpu") && said.contains("nvidia-h100-pcie"), "{said}");

    let devices = home.path("devices.toml");
    fs::write(&devices, "[[device]]\ndevice_id = \"lab-gpu\"\ndisplay_name = \"Lab GPU\"\nsm_count = 60\n").unwrap();
    let said = home.json(&[&args[..], &["--device-file", devices.to_str().unwrap()]].concat());
    assert_eq!(said["device"], "lab-gpu", "{said}");
    assert_eq!(home.json(&["devices", "show", "lab-gpu"])["sm_count"], 60);
}

#[test]
fn two_imports_at_once_both_end() {
    let home = Home::empty();
    let dir = dataset(&home, 10, 50);
    let start = || home.command(&["import", "dataset", &dir]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let imports = [start(), start()];
    for mut import in imports {
        eventually(Duration::from_secs(60), "the import ends", || import.try_wait().unwrap().is_some());
        let output = import.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(home.json(&["workloads", "list"])["workloads"].as_array().unwrap().len(), 10);
}
