//! `fit` and `predictor`.

use std::fs;

use serde_json::{Value, json};

use crate::cli_support::{BUNDLED_DEVICE, Home, bundled};

#[test]
fn a_fit_is_published_activated_and_rolled_back() {
    let home = Home::empty();
    let set = bundled("opsim-sm-partition");
    let fit = ["fit", "--dataset", &set];
    let dry = home.json(&fit);
    assert_eq!((&dry["published"], &dry["device"]), (&json!(false), &json!(BUNDLED_DEVICE)), "{dry}");
    assert_eq!((&dry["samples"], &dry["kept_out"]), (&json!(380), &json!(2)), "{dry}");
    assert!(dry["held_out_mean_error_pct"].as_f64() <= dry["unseen_mean_error_pct"].as_f64(), "{dry}");
    assert!(!dry["terms"].as_array().unwrap().is_empty(), "{dry}");
    assert!(dry["terms"][0]["channel"].as_str().unwrap().starts_with("CHANNEL_"), "{dry}");
    assert_eq!(dry["provenance"], "PROVENANCE_SIMULATED", "{dry}");
    assert_eq!(home.json(&["predictor", "list"])["predictors"], json!([]));

    let publish = [&fit[..], &["--publish"]].concat();
    assert!(home.error(1, &publish).contains("import dataset"));
    home.json(&["import", "dataset", &set]);
    let first = home.json(&publish);
    assert_eq!(first["predictor_version"], dry["predictor_version"], "the same data and seed give the same predictor");
    let version = first["predictor_version"].as_str().unwrap();
    let answer = || {
        let pair = ["predict", "--a", "gemm_s@0.5", "--b", "elem_m@0.5", "--device", BUNDLED_DEVICE, "--offline"];
        home.json(&pair)["predictor_version"].clone()
    };
    let pairs = fs::read_to_string(format!("{set}/pair.csv")).unwrap();
    assert!(pairs.contains("gemm_s"));
    assert_eq!(answer(), first["predictor_version"]);

    let second = home.json(&[&publish[..], &["--seed", "7"]].concat());
    assert_ne!(second["predictor_version"], first["predictor_version"]);
    assert_eq!(answer(), second["predictor_version"]);
    assert_eq!(home.json(&["predictor", "list"])["predictors"].as_array().unwrap().len(), 2);

    let diff = home.json(&["predictor", "diff", version, second["predictor_version"].as_str().unwrap()]);
    assert_eq!(diff["predictors"][0]["predictor_version"], first["predictor_version"], "{diff}");
    assert_eq!(diff["predictors"][1]["held_out_mean_error_pct"], second["held_out_mean_error_pct"], "{diff}");
    let of_first =
        |term: &Value| {
            diff["terms"].as_array().unwrap().iter().any(|d| {
                d["term"] == term["term"] && d["channel"] == term["channel"] && d["coefficients"][0] == term["coefficient"]
            })
        };
    assert!(first["terms"].as_array().unwrap().iter().all(of_first), "{diff}");
    assert!(home.text(&["predictor", "diff", version, version]).contains("held-out error"));

    home.json(&["predictor", "rollback", "--device", BUNDLED_DEVICE]);
    assert_eq!(answer(), first["predictor_version"]);
    home.json(&["predictor", "activate", second["predictor_version"].as_str().unwrap()]);
    assert_eq!(answer(), second["predictor_version"]);
    let shown = home.json(&["predictor", "show", version]);
    assert_eq!(shown["active"], false, "{shown}");
    assert!(shown["artefact_json"].as_str().unwrap().contains(BUNDLED_DEVICE), "{shown}");
    assert!(home.text(&["predictor", "show", version]).contains("coefficient"));
    assert!(home.error(1, &["predictor", "show", "ffffffffffffffff"]).contains("ffffffffffffffff"));
}

#[test]
fn simulated_and_measured_sets_are_not_mixed_unless_asked() {
    let home = Home::empty();
    let set = bundled("opsim-composed");
    let real = home.path("real");
    fs::create_dir(&real).unwrap();
    for file in fs::read_dir(&set).unwrap() {
        let file = file.unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let text = text.replace("\"provenance\": \"simulated\"", "\"provenance\": \"measured\"");
        fs::write(real.join(file.file_name()), text).unwrap();
    }
    let fit = ["fit", "--dataset", &set, "--dataset", real.to_str().unwrap()];
    assert!(home.error(1, &fit).contains("--allow-mixed-provenance"));
    let mixed = home.json(&[&fit[..], &["--allow-mixed-provenance"]].concat());
    // The second set says what the first does, so its rows are kept out.
    let counts = (&mixed["samples"], &mixed["kept_out"], &mixed["provenance"]);
    assert_eq!(counts, (&json!(58), &json!(58), &json!("PROVENANCE_SIMULATED")), "{mixed}");
}
