//! `export`, `devices`, `workloads`.

use std::{collections::BTreeMap, fs};

use serde_json::Value;

use crate::cli_support::{BUNDLED_DEVICE, Home, bundled, write_dataset};

/// The catalog but for its versions.
fn catalog(home: &Home, device: &str) -> Value {
    let mut workloads = home.json(&["workloads", "list", "--device", device]);
    for workload in workloads["workloads"].as_array_mut().unwrap() {
        workload["catalog_version"] = Value::Null;
    }
    serde_json::json!([workloads, home.json(&["devices", "show", device])])
}

fn round_trip(set: &str, device: &str) {
    let (first, second) = (Home::empty(), Home::empty());
    let imported = first.json(&["import", "dataset", set]);
    let copy = first.path("copy");
    let copy = copy.to_str().unwrap();
    let said = first.json(&["export", "dataset", copy, "--device", device]);
    assert_eq!(said["signatures"], imported["signatures"], "{said}");
    assert_eq!(said["pair_samples"], imported["pair_samples"], "{said}");
    second.json(&["import", "dataset", copy]);
    assert_eq!(catalog(&first, device), catalog(&second, device));

    let again = second.path("again");
    let again = again.to_str().unwrap();
    second.json(&["export", "dataset", again, "--device", device]);
    for entry in fs::read_dir(copy).unwrap() {
        let name = entry.unwrap().file_name();
        let read = |dir: &str| fs::read_to_string(std::path::Path::new(dir).join(&name)).unwrap();
        assert_eq!(read(copy), read(again), "{}", name.display());
    }
    assert!(first.error(1, &["export", "dataset", copy, "--device", device]).contains("not empty"));
}

#[test]
fn an_exported_dataset_reads_back_to_the_same_catalog() {
    round_trip(&bundled("opsim-composed"), BUNDLED_DEVICE);
    let home = Home::empty();
    write_dataset(&home.path("set"), 3, 4);
    round_trip(home.path("set").to_str().unwrap(), "lab-gpu");
}

#[test]
fn the_only_device_of_ones_own_is_exported() {
    let home = Home::new();
    let folder = |name: &str| home.path(name).to_str().unwrap().to_owned();
    let export = |name: &str| home.json(&["export", "dataset", &folder(name)])["device"].clone();
    assert_eq!(export("bundled"), BUNDLED_DEVICE);
    write_dataset(&home.path("set"), 2, 1);
    home.json(&["import", "dataset", &folder("set")]);
    assert_eq!(export("own"), "lab-gpu");
    let manifest = home.path("set").join("dataset.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("lab-gpu", "second-gpu")).unwrap();
    home.json(&["import", "dataset", &folder("set")]);
    let said = home.error(2, &["export", "dataset", &folder("more")]);
    assert!(said.contains("lab-gpu") && said.contains("second-gpu") && said.contains("--device"), "{said}");
}

#[test]
fn the_matrix_has_every_workload_beside_every_other() {
    let home = Home::empty();
    home.json(&["import", "dataset", &bundled("opsim-composed")]);
    let args = ["export", "matrix", "--device", BUNDLED_DEVICE, "--sm-share", "0.5"];
    let matrix = home.json(&args);
    let workloads = matrix["workloads"].as_array().unwrap();
    let mut csv = csv::Reader::from_reader(std::io::Cursor::new(home.text(&[&args[..], &["--csv"]].concat())));
    assert_eq!(csv.headers().unwrap().len(), workloads.len() + 1);
    let rows: BTreeMap<String, Vec<f64>> = csv
        .records()
        .map(|row| row.unwrap())
        .map(|row| (row[0].to_owned(), row.iter().skip(1).map(|cell| cell.parse().unwrap()).collect()))
        .collect();
    for (victim, name) in workloads.iter().enumerate() {
        let row = &rows[name.as_str().unwrap()];
        for (partner, slowdown) in row.iter().enumerate() {
            assert_eq!(matrix["slowdown_ratio"][victim][partner].as_f64(), Some(*slowdown));
        }
    }
    // A cell is what `predict` says.
    let (a, b) = (format!("{}@0.5", workloads[0].as_str().unwrap()), format!("{}@0.5", workloads[1].as_str().unwrap()));
    let answer = home.json(&["predict", "--a", &a, "--b", &b, "--device", BUNDLED_DEVICE, "--offline"]);
    assert_eq!(answer["tenants"][0]["slowdown_ratio"], matrix["slowdown_ratio"][0][1]);
    assert_eq!(answer["tenants"][1]["slowdown_ratio"], matrix["slowdown_ratio"][1][0]);
    assert!(home.text(&args).contains("slower by"));
    let too_much = home.error(1, &["export", "matrix", "--device", BUNDLED_DEVICE, "--sm-share", "0.7"]);
    assert!(too_much.contains("SHARES_EXCEED_DEVICE"), "{too_much}");
}

#[test]
fn every_built_in_device_is_listed() {
    let list = Home::empty().json(&["devices", "list"]);
    let ids: Vec<&str> = list["devices"].as_array().unwrap().iter().map(|device| device["device_id"].as_str().unwrap()).collect();
    let contract = "nvidia-v100-sxm2-16gb, nvidia-t4, nvidia-a100-sxm4-40gb, nvidia-a100-sxm4-80gb, nvidia-a10, nvidia-l4, \
                    nvidia-l40s, nvidia-h100-sxm, nvidia-h100-pcie, nvidia-h200, nvidia-b200, nvidia-rtx-4090";
    for id in contract.split(", ") {
        assert!(ids.contains(&id), "{id} is not in {ids:?}");
    }
}

#[test]
fn workloads_are_listed_shown_and_deleted() {
    let home = Home::new();
    let text = home.text(&["workloads", "list", "--device", BUNDLED_DEVICE, "--filter", "decode"]);
    assert!(text.contains("decode_a") && !text.contains("mixed_b"), "{text}");
    assert!(home.text(&["workloads", "show", "decode_a", "--device", BUNDLED_DEVICE]).contains("simulated"));
    let said = home.json(&["workloads", "delete", "decode_a", "--device", BUNDLED_DEVICE]);
    assert!(said["catalog_version"].as_i64().unwrap() > 0, "{said}");
    let said = home.error(1, &["workloads", "show", "decode_a", "--device", BUNDLED_DEVICE]);
    assert!(said.contains("decode_a"), "{said}");
    home.error(1, &["workloads", "delete", "decode_a", "--device", BUNDLED_DEVICE]);
}
