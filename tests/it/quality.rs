//! Data quality of co-runs: what is found, with which weight, and that neither order nor names matter.

use std::collections::{BTreeMap, HashMap};

use pairsight::{
    domain::PairSample,
    interference::quality::{Finding, FindingKind, examine, examine_added, weights},
};
use proptest::prelude::*;

use crate::store_data::{pair, share};

/// A co-run of `w` at 0.3 beside `v` at 0.7 with these slowdowns.
fn corun(pair_id: &str, slowdowns: [f64; 2]) -> PairSample {
    let sample = pair(pair_id, ["w", "v"], 1.0);
    let corun_us = [0, 1].map(|side| Some(slowdowns[side] * sample.solo_us[side]));
    PairSample { corun_us, stdev_us: [None, None], ..sample }
}

fn found(findings: &[Finding]) -> Vec<(&str, usize, FindingKind)> {
    findings.iter().map(|finding| (finding.pair_id.as_str(), finding.side, finding.kind)).collect()
}

#[test]
fn sound_samples_have_no_finding() {
    let apart = PairSample { campaign: "later".to_owned(), ..corun("c", [1.6, 1.1]) };
    let elsewhere = PairSample { sm_shares: [share(0.3), share(0.5)], ..corun("d", [1.9, 1.4]) };
    let one_side = PairSample { corun_us: [Some(12.0), None], ..corun("e", [1.0, 1.0]) };
    let samples = [corun("a", [1.2, 0.96]), corun("b", [1.21, 0.98]), apart, elsewhere, one_side];
    assert_eq!(examine(&samples), []);
    assert_eq!(weights(&samples), [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0]]);
    assert!(examine(&[]).is_empty());
}

#[test]
fn equal_rows_count_once_however_their_tenants_are_called() {
    let swapped = PairSample {
        workloads: ["v".into(), "w".into()],
        sm_shares: [share(0.7), share(0.3)],
        solo_us: [20.2, 10.1],
        ..corun("b", [1.0, 1.0])
    };
    let first = corun("a", [1.2, 1.1]);
    let swapped = PairSample { corun_us: [first.corun_us[1], first.corun_us[0]], ..swapped };
    let findings = examine(&[swapped.clone(), first.clone()]);
    assert_eq!(found(&findings), [("b", 0, FindingKind::Duplicate), ("b", 1, FindingKind::Duplicate)]);
    assert!(findings[0].detail.contains("row a"), "{findings:?}");
    assert_eq!(weights(&[swapped.clone(), first.clone()]), [[0.0, 0.0], [1.0, 1.0]]);
    // One that was there before counts, whatever it is called.
    let beside = examine_added(&[swapped], &[first]);
    assert_eq!(found(&beside), [("a", 0, FindingKind::Duplicate), ("a", 1, FindingKind::Duplicate)]);
}

#[test]
fn faster_than_solo_is_kept_out_beyond_noise_alone() {
    let fast = corun("fast", [0.9, 1.2]);
    assert_eq!(found(&examine(std::slice::from_ref(&fast))), [("fast", 0, FindingKind::FasterThanSolo)]);
    assert_eq!(weights(std::slice::from_ref(&fast)), [[0.0, 1.0]]);
    // A standard error of 4 per cent makes 10 per cent noise.
    let noisy = PairSample { stdev_us: [Some(0.04 * fast.solo_us[0]), None], ..fast };
    assert_eq!(examine(&[noisy]), []);
}

#[test]
fn slowdowns_over_twenty_are_questioned_and_never_clipped() {
    let samples = [corun("slow", [40.0, 19.0])];
    let findings = examine(&samples);
    assert_eq!(found(&findings), [("slow", 0, FindingKind::Implausible)]);
    assert!((findings[0].weight - 0.25).abs() < 1e-12 && findings[0].detail.contains("40.0"), "{findings:?}");
    assert!((samples[0].corun_us[0].unwrap() - 404.0).abs() < 1e-9);
}

#[test]
fn two_repeats_that_differ_lose_weight_both() {
    let findings = examine(&[corun("a", [1.0, 1.0]), corun("b", [1.5, 1.0])]);
    assert_eq!(found(&findings), [("a", 0, FindingKind::Contradictory), ("b", 0, FindingKind::Contradictory)]);
    // The limit is 5 per cent of 1.25, the difference 0.5.
    assert!(findings.iter().all(|finding| (finding.weight - 0.015_625).abs() < 1e-9), "{findings:?}");
    let noisy = |sample: PairSample| PairSample { stdev_us: [Some(0.2 * sample.solo_us[0]), None], ..sample };
    assert_eq!(examine(&[noisy(corun("a", [1.0, 1.0])), noisy(corun("b", [1.5, 1.0]))]), []);
}

#[test]
fn a_throttled_run_stands_out_of_its_repeats() {
    let mut samples: Vec<_> =
        [1.20, 1.21, 1.19, 1.2].iter().zip("abcd".chars()).map(|(s, id)| corun(&id.to_string(), [*s, 1.0])).collect();
    // Their second sides agree, each with a figure of its own.
    for (i, sample) in samples.iter_mut().enumerate() {
        sample.corun_us[1] = sample.corun_us[1].map(|us| us * (1.0 + 1e-4 * i as f64));
    }
    samples.push(corun("throttled", [1.8, 1.0]));
    let findings = examine(&samples);
    assert_eq!(found(&findings), [("throttled", 0, FindingKind::Outlier)]);
    assert!(findings[0].weight > 0.0 && findings[0].weight < 0.02, "{findings:?}");
}

#[test]
fn repeats_without_a_common_value_are_contradictory() {
    let ids = ["a", "b", "c", "d"];
    let samples: Vec<_> = [1.0, 1.01, 1.5, 1.51].iter().zip(ids).map(|(s, id)| corun(id, [*s, *s])).collect();
    let kinds: Vec<_> = found(&examine(&samples)).into_iter().map(|(_, _, kind)| kind).collect();
    assert_eq!(kinds, [FindingKind::Contradictory; 8]);
}

#[test]
fn equal_tenants_of_one_sample_are_no_repeats_of_each_other() {
    let timed = |id: &str, a: f64, b: f64| PairSample {
        workloads: ["w".into(), "w".into()],
        sm_shares: [share(0.5), share(0.5)],
        solo_us: [10.1, 10.1],
        corun_us: [Some(a * 10.1), Some(b * 10.1)],
        ..corun(id, [1.0, 1.0])
    };
    assert_eq!(examine(&[timed("a", 1.2, 1.6), timed("b", 1.61, 1.21)]), []);
    assert_eq!(examine(&[timed("a", 1.2, 1.6), timed("b", 1.6, 1.2)]).len(), 2, "the same figures, the tenants swapped");
}

/// Weights and findings of a row.
type RowView = ([f64; 2], Vec<(usize, FindingKind, String)>);

/// Samples of few configurations, so that they repeat, with figures that coincide now and then.
fn samples() -> impl Strategy<Value = Vec<PairSample>> {
    let one = (0..3_usize, 0..3_usize, 0..2_usize, 4..40_u32, 4..40_u32, 0..3_u32, any::<bool>());
    prop::collection::vec(one, 0..14).prop_map(|rows| {
        let name = |i: usize| ["w", "v", "u"][i];
        let rows = rows.into_iter().enumerate();
        rows.map(|(i, (a, b, campaign, left, right, noise, timed))| PairSample {
            workloads: [name(a).into(), name(b).into()],
            sm_shares: [share(0.5), share(0.5)],
            solo_us: [10.0, 10.0],
            corun_us: [Some(f64::from(left)), timed.then_some(f64::from(right) * 8.0)],
            stdev_us: [(noise > 0).then_some(f64::from(noise) * 0.1), None],
            campaign: ["", "later"][campaign].to_owned(),
            ..pair(&format!("p{i:02}"), ["w", "v"], 1.0)
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn order_does_not_matter((samples, shuffled) in samples().prop_flat_map(|s| (Just(s.clone()), Just(s).prop_shuffle()))) {
        let by_row = |samples: &[PairSample]| -> BTreeMap<String, RowView> {
            let mut rows: BTreeMap<_, _> =
                samples.iter().zip(weights(samples)).map(|(sample, weight)| (sample.pair_id.clone(), (weight, vec![]))).collect();
            for finding in examine(samples) {
                assert_eq!(finding.pair_id, samples[finding.sample].pair_id);
                rows.get_mut(&finding.pair_id).unwrap().1.push((finding.side, finding.kind, finding.detail));
            }
            rows
        };
        prop_assert_eq!(by_row(&samples), by_row(&shuffled));
    }

    #[test]
    fn consistent_renaming_does_not_matter(samples in samples(), names in Just(vec!["m/1", "a/2", "k/3"]).prop_shuffle()) {
        let new: HashMap<&str, &str> = ["w", "v", "u"].into_iter().zip(names).collect();
        let renamed: Vec<_> = samples
            .iter()
            .map(|sample| PairSample { workloads: sample.workloads.clone().map(|name| new[name.as_ref()].into()), ..sample.clone() })
            .collect();
        prop_assert_eq!(examine(&samples), examine(&renamed));
        prop_assert_eq!(weights(&samples), weights(&renamed));
    }

    #[test]
    fn weights_lie_between_nothing_and_all_of_it(samples in samples()) {
        for (sample, weights) in samples.iter().zip(weights(&samples)) {
            for (corun, weight) in sample.corun_us.iter().zip(weights) {
                prop_assert!((0.0..=1.0).contains(&weight));
                prop_assert!(corun.is_some() || weight == 0.0);
            }
        }
    }

    #[test]
    fn examining_never_fails_on_extreme_figures(a in prop::num::f64::NORMAL, b in 1e-12..1e18_f64) {
        let sample = PairSample { corun_us: [Some(a.abs().clamp(1e-12, 1e18)), Some(b)], ..corun("x", [1.0, 1.0]) };
        let twice = [sample.clone(), PairSample { pair_id: "y".into(), corun_us: [Some(b), Some(b)], ..sample }];
        prop_assert!(weights(&twice).iter().flatten().all(|weight| (0.0..=1.0).contains(weight)));
    }
}
