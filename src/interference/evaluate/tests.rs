//! What holds whatever the data: nothing leaks into training, halves stay, names mean nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proptest::prelude::*;

use super::{
    few_shot::Halves,
    samples::{Direction, Samples},
    splits::folds,
    *,
};
use crate::domain::{
    Ceiling, CeilingBasis, Counters, Device, DeviceId, PairSample, Provenance, SharingMode, Signature, SmShare, SoloLatency,
};

const SHARES: [f64; 3] = [0.25, 0.5, 0.75];
/// Inputs of each model.
const INPUTS: usize = 2;

fn share(share: f64) -> SmShare {
    SmShare::new("share", share).expect("lies in (0, 1]")
}

fn device() -> Device {
    let ceiling = |value: f64| Some(Ceiling { value, basis: CeilingBasis::Measured, source: "test".into() });
    Device {
        device_id: DeviceId::new("device", "test-gpu").expect("a valid name"),
        display_name: "test".into(),
        compute_capability: None,
        sm_count: 100,
        partition_step: 1,
        l2_bytes: Some(40_000_000),
        memory_bytes: None,
        dram_bytes_per_s: ceiling(1e12),
        l2_bytes_per_s: ceiling(3e12),
        clock_hz: None,
        origin: "test".into(),
    }
}

/// A co-run before it has names: workloads, the first one's share, which sides are timed, the campaign.
type Plan = (usize, usize, usize, [bool; 2], bool);

fn plan(workloads: usize) -> impl Strategy<Value = Plan> {
    (0..workloads, 0..workloads, 0..SHARES.len(), (any::<bool>(), any::<bool>()), any::<bool>())
        .prop_map(|(a, b, share, (first, second), later)| (a, b, share, [first, second || !first], later))
}

/// A set, owned.
struct World {
    device: Device,
    signatures: Vec<Signature>,
    solo: Vec<SoloLatency>,
    pairs: Vec<PairSample>,
    batches: BTreeMap<Arc<str>, u32>,
}

impl World {
    /// `workloads` workloads, [`INPUTS`] of a model each, called by `name`, and the co-runs of `plans`.
    fn new(workloads: usize, plans: &[Plan], name: impl Fn(usize) -> String) -> Self {
        let names: Vec<Arc<str>> = (0..workloads).map(|w| format!("{}/b{}", name(w / INPUTS), w % INPUTS).into()).collect();
        let solo_us = |w: usize, at: f64| 100.0 * (1.0 + w as f64) * at.powf(-0.5);
        let mut world = Self { device: device(), signatures: vec![], solo: vec![], pairs: vec![], batches: BTreeMap::new() };
        for (w, workload) in names.iter().enumerate() {
            for at in SHARES {
                let duration_us = 0.9 * solo_us(w, at);
                let bytes = (0.1 + 0.8 * (w as f64 * 0.37).fract()) * at * 1e12 * duration_us * 1e-6;
                let counters = [("dram_bytes", bytes), ("l2_sectors", bytes * (1.5 + (w as f64 * 0.23).fract()) / 32.0)];
                world.signatures.push(Signature {
                    workload: workload.clone(),
                    family: None,
                    sm_share: share(at),
                    operator: "kernel".into(),
                    grid: "".into(),
                    block: "".into(),
                    dtype: "".into(),
                    launches: 1.0,
                    duration_us,
                    counters: counters.iter().map(|(name, value)| (Arc::from(*name), *value)).collect::<Counters>(),
                    provenance: Provenance::Imported,
                    clocks_locked: false,
                });
                world.solo.push(SoloLatency {
                    workload: workload.clone(),
                    sm_share: share(at),
                    latency_us: solo_us(w, at),
                    stdev_us: None,
                    samples: None,
                    provenance: Provenance::Imported,
                    from_kernels: false,
                });
            }
        }
        for (row, (a, b, at, timed, later)) in plans.iter().enumerate() {
            let at = [SHARES[*at], 1.0 - SHARES[*at]];
            let alone = [solo_us(*a, at[0]), solo_us(*b, at[1])];
            let slower = [1.0 + 0.05 * (1 + (a * 7 + b * 3) % 5) as f64, 1.0 + 0.05 * (1 + (b * 7 + a * 3) % 5) as f64];
            world.pairs.push(PairSample {
                pair_id: row.to_string(),
                sharing_mode: SharingMode::SmPartition,
                workloads: [names[*a].clone(), names[*b].clone()],
                sm_shares: at.map(share),
                solo_us: alone,
                corun_us: [0, 1].map(|side| timed[side].then_some(alone[side] * slower[side])),
                stdev_us: [None, None],
                campaign: if *later { "later".into() } else { String::new() },
                provenance: Provenance::Imported,
            });
        }
        world
    }

    fn set(&self) -> EvaluationSet<'_> {
        EvaluationSet {
            name: "world",
            device: &self.device,
            sharing_mode: SharingMode::SmPartition,
            signatures: &self.signatures,
            solo_latencies: &self.solo,
            pair_samples: &self.pairs,
            batch_sizes: &self.batches,
        }
    }
}

/// Whether `trained` may be learnt from while `tested` is tested.
fn is_allowed(split: Split, tested: &Direction, trained: &Direction) -> bool {
    let has = |model: usize| trained.models().contains(&model);
    match split {
        Split::Random => trained.configuration != tested.configuration,
        Split::UnseenPair => {
            let sorted = |d: &Direction| BTreeSet::from(d.workloads());
            sorted(trained) != sorted(tested)
        }
        Split::UnseenInput => !trained.workloads().contains(&tested.victim.workload),
        Split::UnseenPartner => trained.partner.model != tested.partner.model,
        Split::UnseenTarget => trained.victim.model != tested.victim.model,
        Split::UnseenModel => !has(tested.victim.model),
        Split::UnseenBoth => !has(tested.victim.model) && !has(tested.partner.model),
        Split::UnseenPartition => ![trained.victim.share, trained.partner.share].contains(&tested.victim.share),
        Split::UnseenDevice => trained.set != tested.set,
        Split::CrossCampaign => trained.campaign != tested.campaign,
    }
}

const SPLITS: [Split; 9] = [
    Split::Random,
    Split::UnseenPair,
    Split::UnseenInput,
    Split::UnseenPartner,
    Split::UnseenTarget,
    Split::UnseenModel,
    Split::UnseenBoth,
    Split::UnseenPartition,
    Split::CrossCampaign,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_training_row_breaks_the_rule_and_every_row_is_tested_once(
        plans in prop::collection::vec(plan(8), 1..60), seed in 0..4_u64,
    ) {
        let world = World::new(8, &plans, |model| format!("net{model}"));
        let sets = [world.set()];
        let samples = Samples::new(&sets, None);
        for split in SPLITS {
            let (folds, _) = folds(split, &sets, &samples, seed);
            let mut tested: Vec<usize> = vec![];
            for fold in &folds {
                let beyond = fold.withheld.iter().flat_map(|withheld| withheld.extrapolated.iter());
                let of_fold: Vec<usize> = fold.test.iter().chain(beyond).copied().collect();
                for (test, train) in of_fold.iter().flat_map(|test| fold.train.iter().map(move |train| (test, train))) {
                    let (test, train) = (&samples.directions[*test], &samples.directions[*train]);
                    prop_assert!(is_allowed(split, test, train), "{} {:?}: {:?} {:?}", split, fold.held_out, test, train);
                }
                tested.extend(of_fold);
            }
            tested.sort_unstable();
            prop_assert_eq!(tested, (0..samples.directions.len()).collect::<Vec<_>>(), "{}", split);
        }
    }

    #[test]
    fn pool_and_test_set_share_no_configuration_and_are_halves(plans in prop::collection::vec(plan(8), 1..60), seed in 0..4_u64) {
        let world = World::new(8, &plans, |model| format!("net{model}"));
        let sets = [world.set()];
        let samples = Samples::new(&sets, None);
        for split in [Split::UnseenTarget, Split::UnseenModel, Split::UnseenPartner, Split::UnseenInput, Split::UnseenDevice] {
            for fold in folds(split, &sets, &samples, seed).0 {
                let halves = Halves::new(split, &fold, &samples, seed);
                prop_assert!(halves.pool.iter().all(|configuration| !halves.test.contains(configuration)));
                let all: BTreeSet<usize> = fold.test.iter().map(|i| samples.directions[*i].configuration).collect();
                prop_assert_eq!(halves.pool.len() + halves.test.len(), all.len());
                prop_assert!(halves.pool.len() <= halves.test.len());
                prop_assert_eq!(&halves, &Halves::new(split, &fold, &samples, seed));
            }
        }
    }
}

/// Every model beside every other.
fn full() -> Vec<Plan> {
    let pairs = (0..8).flat_map(|a| (0..8).map(move |b| (a, b)));
    pairs.map(|(a, b)| (a, b, (a + b) % SHARES.len(), [true, (a + b) % 3 != 0], a % 2 == 0)).collect()
}

fn run(world: &World, options: &Options) -> Evaluation {
    evaluate(&[world.set()], options, &|_, _| {}).expect("there is something to evaluate")
}

fn options(split: Split) -> Options {
    Options { split, few_shot: None, curve: false, min_batch: None, seed: 0 }
}

fn few(count: usize, chooser: Chooser) -> Options {
    Options { few_shot: Some(FewShot { count, chooser }), ..options(Split::UnseenModel) }
}

#[test]
fn the_test_half_is_the_same_for_every_number_of_samples() {
    let world = World::new(8, &full(), |model| format!("net{model}"));
    let results =
        [(0, Chooser::Suggest), (0, Chooser::Random), (1, Chooser::Suggest), (3, Chooser::Suggest), (3, Chooser::Random)]
            .map(|(count, chooser)| run(&world, &few(count, chooser)));
    let first = &results[0];
    assert!(first.tested < run(&world, &options(Split::UnseenModel)).tested);
    for result in &results {
        assert_eq!((result.tested, result.samples), (first.tested, first.samples));
        let mean = |result: &Evaluation| result.methods.no_interference.expect("it always answers").mean_pct;
        assert!((mean(result) - mean(first)).abs() < 1e-9, "the rows are the same");
    }
    assert_eq!(results[0].methods, results[1].methods, "without samples nobody chooses");
    assert_eq!(results[3].folds[0].suggested.len(), 3);
}

#[test]
fn a_curve_ends_in_the_result() {
    let world = World::new(8, &full(), |model| format!("net{model}"));
    let result = run(&world, &Options { curve: true, ..few(3, Chooser::Random) });
    assert_eq!(result.few_shot_curve.iter().map(|point| point.few_shot).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let last = result.few_shot_curve.last().expect("four points").mean_pct.train_median;
    assert_eq!(last, result.methods.train_median.map(|errors| errors.mean_pct));
}

fn json(result: &Evaluation) -> serde_json::Value {
    let mut json = serde_json::to_value(result).expect("it is plain data");
    for fold in json["folds"].as_array_mut().into_iter().flatten() {
        fold["held_out"] = "".into();
    }
    json
}

#[test]
fn names_change_nothing_and_neither_does_a_second_run() {
    let world = World::new(8, &full(), |model| format!("net{model}"));
    let renamed = World::new(8, &full(), |model| format!("zoo-{model}"));
    let reversed = World::new(8, &full(), |model| format!("net{}", 9 - model));
    for split in [Split::Random, Split::UnseenTarget, Split::UnseenPartition] {
        let result = run(&world, &options(split));
        assert_eq!(json(&result), json(&run(&world, &options(split))));
        assert_eq!(json(&result), json(&run(&renamed, &options(split))));
        let other = run(&reversed, &options(split));
        assert_eq!(result.methods.binary_rule, other.methods.binary_rule);
        assert_eq!(result.methods.model_linear, other.methods.model_linear);
        assert_eq!(result.methods.train_median, other.methods.train_median);
    }
}

#[test]
fn an_unseen_share_is_predicted_end_to_end() {
    let world = World::new(8, &full(), |model| format!("net{model}"));
    let result = run(&world, &options(Split::UnseenPartition));
    // Solo latencies are a power of the share: the curve between is exact, and only the middle share has others on both sides.
    let solo = result.solo_curve.expect("latencies came from the curve");
    assert!(solo.max_pct < 1e-6, "{solo:?}");
    let middle = |fold: &&FoldReport| fold.skipped.is_none();
    assert_eq!(result.folds.iter().filter(middle).map(|fold| fold.held_out.as_str()).collect::<Vec<_>>(), ["share 0.5"]);
    assert_eq!(result.folds.iter().filter(|fold| fold.extrapolated.is_some()).count(), 2);
    let rows = world.pairs.iter().filter(|pair| pair.sm_shares[0] == share(0.5));
    assert_eq!(result.tested, rows.flat_map(|pair| pair.corun_us).flatten().count());
}

#[test]
fn rows_without_signature_or_of_small_batches_are_left_out() {
    let mut world = World::new(8, &full(), |model| format!("net{model}"));
    let all = run(&world, &options(Split::Random));
    let large = run(&world, &Options { min_batch: Some(1), ..options(Split::Random) });
    assert!(large.samples < all.samples && large.samples > 0);
    world.signatures.retain(|signature| signature.workload.as_ref() != "net3/b1");
    let fewer = run(&world, &options(Split::Random));
    assert!(fewer.samples < all.samples);
    assert!(fewer.warnings.iter().any(|warning| warning.contains("15 co-runs")), "{:?}", fewer.warnings);
}

#[test]
fn without_a_counter_the_methods_that_need_it_are_null() {
    let mut world = World::new(8, &full(), |model| format!("net{model}"));
    for signature in &mut world.signatures {
        let kept = signature.counters.get("dram_bytes").into_iter().map(|bytes| (Arc::from("dram_bytes"), bytes));
        signature.counters = kept.collect();
    }
    let result = run(&world, &options(Split::Random));
    assert_eq!((result.methods.binary_rule, result.methods.model_linear), (None, None));
    assert!(result.methods.train_median.is_some());
}

#[test]
fn repeated_rows_give_the_noise() {
    let once: Vec<Plan> = full().into_iter().filter(|(a, b, ..)| a < b).collect();
    let mut world = World::new(8, &once, |model| format!("net{model}"));
    assert_eq!(run(&world, &options(Split::Random)).noise_floor_pct, None);
    let again = world.pairs[0].clone();
    let slower = again.corun_us.map(|corun| corun.map(|us| us * 1.02));
    world.pairs.push(PairSample { pair_id: "again".into(), corun_us: slower, ..again });
    let result = run(&world, &options(Split::Random));
    let noise = result.noise_floor_pct.expect("one row is repeated");
    assert!((noise - 100.0 * 0.02 / 2.0_f64.sqrt() / 1.01).abs() < 1e-9, "{noise}");
    assert_eq!(result.noise_floor_from, Some(NoiseBasis::Repeats));
}

#[test]
fn what_cannot_be_evaluated_says_why() {
    let world = World::new(8, &full()[..1], |model| format!("net{model}"));
    let error = evaluate(&[world.set()], &options(Split::Random), &|_, _| {}).expect_err("one configuration has no fold");
    assert!(error.to_string().contains("SPLIT_EMPTY"), "{error}");
    let world = World::new(8, &full(), |model| format!("net{model}"));
    let error = evaluate(&[world.set()], &few(1000, Chooser::Random), &|_, _| {}).expect_err("the pool is smaller");
    assert!(matches!(error, EvaluateError::PoolTooSmall { count: 1000, .. }), "{error}");
    let wrong = Options { split: Split::UnseenPair, ..few(1, Chooser::Random) };
    let error = evaluate(&[world.set()], &wrong, &|_, _| {}).expect_err("nothing is unseen");
    assert!(matches!(error, EvaluateError::NoFewShot(Split::UnseenPair)), "{error}");
    let error = evaluate(&[world.set()], &options(Split::UnseenDevice), &|_, _| {}).expect_err("one set");
    assert!(matches!(error, EvaluateError::SetCount), "{error}");
    let other = EvaluationSet { sharing_mode: SharingMode::MpsLimit, ..world.set() };
    let error = evaluate(&[world.set(), other], &options(Split::UnseenDevice), &|_, _| {}).expect_err("two modes");
    assert!(error.to_string().contains("sharing mode"), "{error}");
}
