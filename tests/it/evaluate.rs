//! `evaluate`, from the command line.

use std::{collections::BTreeSet, fmt::Write as _, fs};

use serde_json::Value;

use crate::cli_support::{Home, bundled, write_dataset};

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// A small set: 8 workloads, each pair of them once, half and half.
fn lab(home: &Home) -> String {
    let dir = home.path("lab");
    write_dataset(&dir, 8, 2);
    let signatures = fs::read_to_string(dir.join("signature.csv")).unwrap();
    fs::write(dir.join("signature.csv"), signatures.replace("l2_read_sectors", "l2_sectors")).unwrap();
    let mut pairs =
        String::from("pair_id,a_workload,a_sm_share,b_workload,b_sm_share,a_solo_us,b_solo_us,a_corun_us,b_corun_us,campaign\n");
    for (a, b) in (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))) {
        let corun = |v: usize, p: usize| 100.0 * (1.0 + 0.01 * ((v + 1) * (p + 1)) as f64 + 0.02 * ((3 * v + p) % 4) as f64);
        writeln!(pairs, "{a}-{b},net{a}/b1,0.5,net{b}/b1,0.5,100,100,{},{},one", corun(a, b), corun(b, a)).unwrap();
    }
    fs::write(dir.join("pair.csv"), pairs).unwrap();
    dir.to_str().unwrap().to_owned()
}

fn without_time(mut result: Value) -> Value {
    result["wall_s"] = 0.into();
    result
}

#[test]
fn the_json_has_the_promised_keys_and_repeats() {
    let home = Home::empty();
    let set = lab(&home);
    let verb = ["evaluate", "--dataset", &set, "--split", "random", "--seed", "3"];
    let result = home.json(&verb);
    let promised = [
        "dataset",
        "split",
        "few_shot",
        "seed",
        "samples",
        "groups",
        "noise_floor_pct",
        "methods",
        "coverage",
        "by_confidence_class",
        "folds",
        "wall_s",
    ];
    assert!(promised.iter().all(|key| keys(&result).contains(key)), "{result}");
    let methods = ["pairsight", "no_interference", "train_median", "binary_rule", "model_linear"];
    assert_eq!(keys(&result["methods"]), BTreeSet::from(methods));
    for method in methods {
        assert_eq!(keys(&result["methods"][method]), BTreeSet::from(["mean_pct", "median_pct", "p95_pct", "max_pct"]));
    }
    assert_eq!(keys(&result["coverage"]), BTreeSet::from(["level", "measured", "median_width_ratio"]));
    assert!(keys(&result["by_confidence_class"]).iter().all(|class| class.starts_with("CONFIDENCE_CLASS_")), "{result}");
    assert_eq!((&result["dataset"], &result["split"], &result["few_shot"]), (&"lab".into(), &"random".into(), &Value::Null));
    assert_eq!((&result["samples"], &result["groups"], &result["seed"]), (&56.into(), &28.into(), &3.into()));
    assert_eq!(result["folds"].as_array().unwrap().len(), 5);
    assert_eq!(without_time(home.json(&verb)), without_time(result.clone()));

    let text = home.text(&verb);
    for said in ["pairsight", "no interference", "training median", "binary rule", "model-level linear", "Upper bound of 90%"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let none = result["methods"]["no_interference"]["mean_pct"].as_f64().unwrap();
    assert!(text.contains(&format!("{none:.2}%")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 130), "{text}");
}

#[test]
fn several_sets_are_one_result_each_but_for_a_device() {
    let home = Home::empty();
    let (composed, operators) = (bundled("opsim-composed"), bundled("opsim-sm-partition"));
    let set = lab(&home);
    let both = ["evaluate", "--dataset", &set, "--dataset", &set, "--split", "unseen-pair"];
    let results = home.json(&both);
    assert_eq!(keys(&results), BTreeSet::from(["results"]));
    assert_eq!(results["results"].as_array().unwrap().len(), 2);

    let carried = ["evaluate", "--dataset", &composed, "--dataset", &operators, "--split", "unseen-device"];
    let result = home.json(&carried);
    assert_eq!((&result["dataset"], &result["samples"], &result["groups"]), (&"opsim-composed".into(), &58.into(), &1.into()));
    assert_eq!(result["trained_on"], serde_json::json!(["opsim-sm-partition"]));
    assert!(home.error(2, &["evaluate", "--dataset", &composed, "--split", "unseen-device"]).contains("unseen-device"));
}

#[test]
fn a_share_is_left_out_with_all_that_was_measured_there() {
    let set = bundled("opsim-sm-partition");
    let result = Home::empty().json(&["evaluate", "--dataset", &set, "--split", "unseen-partition"]);
    let folds = result["folds"].as_array().unwrap();
    assert_eq!(folds.len(), 3, "{result}");
    for fold in folds {
        let middle = fold["held_out"] == "share 0.5";
        assert_eq!(fold["skipped"].is_null(), middle, "{fold}");
        assert_eq!(fold["extrapolated"].is_null(), middle, "{fold}");
    }
    assert!(result["solo_curve"]["mean_pct"].as_f64().unwrap() > 0.0, "{result}");
}

#[test]
fn a_few_samples_and_a_figure() {
    let home = Home::empty();
    let set = lab(&home);
    let verb = ["evaluate", "--dataset", &set, "--split", "unseen-model"];
    let figure = home.path("figure.svg");
    let few = [&verb[..], &["--few-shot-random", "2", "--plot", figure.to_str().unwrap()]].concat();
    let result = home.json(&few);
    assert_eq!((&result["few_shot"], &result["few_shot_chosen_by"]), (&2.into(), &"random".into()));
    assert_eq!(result["few_shot_curve"].as_array().unwrap().len(), 3, "{result}");
    let drawn = fs::read_to_string(figure).unwrap();
    for caption in ["Mean error by method", "Mean error over co-runs given", "Predicted against measured", "Coverage"] {
        assert!(drawn.contains(caption), "{caption}");
    }
    assert!(drawn.starts_with("<svg") && drawn.trim_end().ends_with("</svg>"));

    let none = home.json(&[&verb[..], &["--few-shot", "0"]].concat());
    assert_eq!(none["tested"], result["tested"]);
    let baseline = |result: &Value| result["methods"]["no_interference"]["mean_pct"].as_f64().unwrap();
    assert!((baseline(&none) - baseline(&result)).abs() < 1e-9);

    assert!(home.error(2, &[&verb[..], &["--few-shot", "1000"]].concat()).contains("1000"));
    let random = ["evaluate", "--dataset", &set, "--split", "random", "--few-shot", "1"];
    assert!(home.error(2, &random).contains("unseen-model"));
}

#[test]
fn an_empty_split_and_bad_rows_say_what_is_wrong() {
    let home = Home::empty();
    let set = lab(&home);
    let said = home.error(1, &["evaluate", "--dataset", &set, "--split", "cross-campaign"]);
    assert!(said.contains("SPLIT_EMPTY"), "{said}");
    let said = home.error(1, &["evaluate", "--dataset", &set, "--split", "random", "--min-batch", "4"]);
    assert!(said.contains("SPLIT_EMPTY"), "{said}");

    let file = format!("{set}/pair.csv");
    let pairs = fs::read_to_string(&file).unwrap();
    fs::write(&file, pairs.replace("\n0-2,net0/b1,0.5,net2/b1,0.5,100,", "\n0-2,net0/b1,0.5,net2/b1,0.5,-100,")).unwrap();
    let said = home.error(1, &["evaluate", "--dataset", &set, "--split", "random"]);
    assert!(said.contains("pair.csv") && said.contains('3') && said.contains("a_solo_us"), "{said}");
}
