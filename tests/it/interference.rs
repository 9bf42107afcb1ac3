//! What every prediction must hold to, whatever the data.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::{Arc, LazyLock},
};

use pairsight::{
    bundled,
    domain::{
        Ceiling, CeilingBasis, Channel, ConfidenceClass, Device, DeviceId, KnownCounters, PairSample, Provenance, SmShare,
        SoloLatency, family_of,
    },
    ingest::{self, Progress, dataset::Dataset},
    interference::{
        Artefact, FitError, FitInput, OperatorRow, PairPrediction, Predictor, Source, Tenant, TenantPrediction, WorkloadProfile,
        fit, predict,
    },
};
use proptest::prelude::*;

fn share(share: f64) -> SmShare {
    SmShare::new("share", share).unwrap()
}

fn ceiling(value: f64) -> Ceiling {
    Ceiling { value, basis: CeilingBasis::Measured, source: "test".into() }
}

/// A device of 100 SMs with 1 TB/s of DRAM, 3 TB/s of L2 and 40 MB of L2, all in units of `unit`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in whole bytes")]
fn device(unit: f64) -> Device {
    Device {
        device_id: DeviceId::new("device", "test-gpu").unwrap(),
        display_name: "test".into(),
        compute_capability: None,
        sm_count: 100,
        partition_step: 2,
        l2_bytes: Some((40e6 * unit) as u64),
        memory_bytes: None,
        dram_bytes_per_s: Some(ceiling(1e12 * unit)),
        l2_bytes_per_s: Some(ceiling(3e12 * unit)),
        clock_hz: None,
        origin: "test".into(),
    }
}

#[derive(Debug, Clone)]
struct Kernel {
    launches: f64,
    duration_us: f64,
    dram: f64,
    l2: f64,
    hit_ratio: f64,
    footprint: f64,
}

fn kernel() -> impl Strategy<Value = Kernel> {
    (1.0..20.0_f64, 2.0..500.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.01..2.0_f64).prop_map(
        |(launches, duration_us, dram, l2, hit_ratio, footprint)| Kernel {
            launches: launches.round(),
            duration_us,
            dram,
            l2,
            hit_ratio,
            footprint,
        },
    )
}

fn row(kernel: &Kernel, at: f64, unit: f64) -> OperatorRow {
    let seconds = kernel.duration_us * 1e-6;
    let sectors = kernel.l2 * 3e12 * seconds * unit / 32.0;
    OperatorRow {
        sm_share: share(at),
        operator: "kernel".into(),
        launches: kernel.launches,
        duration_us: kernel.duration_us,
        counters: KnownCounters {
            dram_read_bytes: Some(kernel.dram * 0.7e12 * seconds * unit),
            dram_write_bytes: Some(kernel.dram * 0.3e12 * seconds * unit),
            l2_read_sectors: Some(sectors * 0.6),
            l2_write_sectors: Some(sectors * 0.4),
            l2_sector_hits: Some(sectors * kernel.hit_ratio),
            l2_sector_misses: Some(sectors * (1.0 - kernel.hit_ratio)),
            cold_l2_miss_bytes: Some(kernel.footprint * 40e6 * unit),
            ..KnownCounters::default()
        },
        provenance: Provenance::Imported,
        clocks_locked: false,
    }
}

fn profile(name: &str, kernels: &[Kernel], shares: &[f64], unit: f64) -> WorkloadProfile {
    let rows = shares.iter().flat_map(|at| kernels.iter().map(|k| row(k, *at, unit))).collect();
    WorkloadProfile::build(&device(unit), name.into(), name.into(), rows, vec![], 1)
}

fn tenant(name: &str, kernels: &[Kernel], at: f64, activity: f64) -> Tenant {
    Tenant::place(&device(1.0), &profile(name, kernels, &[at], 1.0), share(at), activity, None).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

fn assert_sound(prediction: &PairPrediction) {
    for side in &prediction.tenants {
        assert!(side.slowdown_ratio >= 1.0 - 1e-12 && side.slowdown_ratio.is_finite(), "{side:?}");
        assert!(side.upper_ratio >= side.slowdown_ratio, "{side:?}");
        let sum: f64 = side.contributions.iter().map(|c| c.excess_ratio).sum();
        assert!(close(sum, side.slowdown_ratio - 1.0), "contributions add up to {sum}: {side:?}");
        let named = || side.contributions.iter().filter(|c| c.channel != Channel::Residual);
        assert!(named().all(|c| c.excess_ratio >= 0.0), "{side:?}");
        assert!(side.channel_ratio >= 1.0 - 1e-12 && side.channel_ratio.is_finite(), "{side:?}");
        assert!(side.worst_operator_pairs.len() <= 5);
    }
}

fn predictors() -> [Predictor; 2] {
    [bundled::predictor().unwrap(), Predictor::generic().clone()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn predictions_are_sound_and_swap_with_the_tenants(
        a in prop::collection::vec(kernel(), 1..6), b in prop::collection::vec(kernel(), 1..6), at in 0.1..0.9_f64,
    ) {
        let (a, b) = (tenant("a", &a, at, 1.0), tenant("b", &b, 1.0 - at, 1.0));
        for predictor in predictors() {
            let (straight, swapped) = (predict(&predictor, [&a, &b], true), predict(&predictor, [&b, &a], true));
            assert_sound(&straight);
            prop_assert_eq!(&straight.tenants[0], &swapped.tenants[1]);
            prop_assert_eq!(&straight.tenants[1], &swapped.tenants[0]);
            prop_assert_eq!(straight.confidence_class, swapped.confidence_class);
        }
    }

    #[test]
    fn less_activity_of_the_partner_never_hurts_more_and_none_hurts_nothing(
        a in prop::collection::vec(kernel(), 1..4), b in prop::collection::vec(kernel(), 1..4), activity in 0.01..1.0_f64,
    ) {
        let victim = tenant("a", &a, 0.5, 1.0);
        for predictor in predictors() {
            let beside = |activity| predict(&predictor, [&victim, &tenant("b", &b, 0.5, activity)], false).tenants[0].clone();
            prop_assert!(beside(activity).channel_ratio <= beside(1.0).channel_ratio + 1e-12);
            prop_assert!((beside(1e-12).slowdown_ratio - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_channels_never_fall_when_the_partner_presses_harder(a in kernel(), b in kernel(), more in 1.0..3.0_f64) {
        let victim = tenant("a", &[a], 0.5, 1.0);
        let harder = Kernel { dram: b.dram * more, l2: b.l2 * more, ..b.clone() };
        for predictor in predictors() {
            let beside = |partner: &Kernel| {
                let partner = tenant("b", std::slice::from_ref(partner), 0.5, 1.0);
                predict(&predictor, [&victim, &partner], false).tenants[0].channel_ratio
            };
            prop_assert!(beside(&harder) >= beside(&b) - 1e-12, "{} {}", beside(&harder), beside(&b));
        }
    }

    #[test]
    fn units_do_not_matter(a in prop::collection::vec(kernel(), 1..4), b in prop::collection::vec(kernel(), 1..4)) {
        let place = |name: &str, kernels: &[Kernel], unit| {
            Tenant::place(&device(unit), &profile(name, kernels, &[0.5], unit), share(0.5), 1.0, None).unwrap()
        };
        for predictor in predictors() {
            let [bytes, kilobytes] = [1.0, 1e-3].map(|unit| predict(&predictor, [&place("a", &a, unit), &place("b", &b, unit)], false));
            for side in 0..2 {
                prop_assert!((bytes.tenants[side].slowdown_ratio - kilobytes.tenants[side].slowdown_ratio).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_workload_is_answered_at_every_share(kernels in prop::collection::vec(kernel(), 1..4), at in 0.01..1.0_f64) {
        let profile = profile("a", &kernels, &[0.3, 0.6], 1.0);
        let placed = Tenant::place(&device(1.0), &profile, share(at), 1.0, None).unwrap();
        prop_assert!(placed.solo_latency_us.is_finite() && placed.solo_latency_us > 0.0);
        assert_sound(&predict(Predictor::generic(), [&placed, &placed], true));
        let code = |code: &str| placed.reasons.iter().any(|r| r.code == code);
        prop_assert_eq!(code("SHARE_EXTRAPOLATED"), !(0.3 - 1e-6..=0.6 + 1e-6).contains(&at));
    }
}

fn solo(at: f64, latency_us: f64) -> SoloLatency {
    SoloLatency {
        workload: "a".into(),
        sm_share: share(at),
        latency_us,
        stdev_us: None,
        samples: None,
        provenance: Provenance::Imported,
        from_kernels: false,
    }
}

#[test]
fn the_solo_curve_is_measured_then_log_log_then_held() {
    let kernel = Kernel { launches: 1.0, duration_us: 90.0, dram: 0.4, l2: 0.2, hit_ratio: 0.5, footprint: 0.1 };
    let rows = vec![row(&kernel, 0.2, 1.0), row(&kernel, 0.8, 1.0)];
    let profile = WorkloadProfile::build(&device(1.0), "a".into(), "a".into(), rows, vec![solo(0.8, 100.0), solo(0.2, 400.0)], 1);
    let latency = |at: f64| Tenant::place(&device(1.0), &profile, share(at), 1.0, None).unwrap().solo_latency_us;
    assert!(close(latency(0.2), 400.0) && close(latency(0.8), 100.0));
    assert!(close(latency(0.4), 200.0), "{}", latency(0.4));
    assert!(close(latency(0.1), 800.0) && close(latency(1.0), 80.0));
    // The mixture of two measured shares meets each of them at its end.
    let partner = tenant("b", &[Kernel { dram: 0.9, ..kernel }], 0.2, 1.0);
    let slowdown = |at: f64| {
        let victim = Tenant::place(&device(1.0), &profile, share(at), 1.0, None).unwrap();
        predict(Predictor::generic(), [&victim, &partner], false).tenants[0].slowdown_ratio
    };
    assert!((slowdown(0.8) - slowdown(0.799_99)).abs() < 1e-3, "{} {}", slowdown(0.8), slowdown(0.799_99));
    assert!((slowdown(0.2) - slowdown(0.200_01)).abs() < 1e-3);
}

#[test]
fn missing_counters_are_said_and_not_guessed() {
    let kernel = Kernel { launches: 1.0, duration_us: 50.0, dram: 0.8, l2: 0.5, hit_ratio: 0.5, footprint: 0.5 };
    let mut bare = row(&kernel, 0.5, 1.0);
    bare.counters = KnownCounters { l2_pct: Some(40.0), ..KnownCounters::default() };
    let profile = WorkloadProfile::build(&device(1.0), "a".into(), "a".into(), vec![bare], vec![], 1);
    assert!(profile.missing_counters.contains(&"dram_read_bytes"), "{:?}", profile.missing_counters);
    let bare = Tenant::place(&device(1.0), &profile, share(0.5), 1.0, None).unwrap();
    let prediction = predict(Predictor::generic(), [&bare, &tenant("b", &[kernel], 0.5, 1.0)], false);
    assert!(prediction.reasons.iter().any(|r| r.code == "COUNTERS_MISSING" && r.detail.contains("dram_read_bytes")));
    assert!(prediction.tenants[0].missing_counters.contains(&"dram_read_bytes"));
    assert!(!prediction.tenants[1].missing_counters.contains(&"dram_read_bytes"));
}

fn bundled_dataset(name: &str) -> Dataset {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    ingest::dataset::read(&dir, &BTreeMap::new(), &Progress::hidden()).unwrap()
}

/// Operators, solo latencies and family of a workload.
type Parts = (Vec<OperatorRow>, Vec<SoloLatency>, Arc<str>);

struct Bundle {
    device: Device,
    profiles: HashMap<Arc<str>, Arc<WorkloadProfile>>,
    samples: Vec<PairSample>,
}

static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
    let sets = [bundled_dataset("opsim-sm-partition"), bundled_dataset("opsim-composed")];
    let device = sets[0].batch.device.clone();
    let mut parts: HashMap<Arc<str>, Parts> = HashMap::new();
    for batch in sets.iter().map(|set| &set.batch) {
        for signature in &batch.signatures {
            let (rows, _, family) = parts.entry(signature.workload.clone()).or_default();
            rows.push(signature.into());
            *family = signature.family.clone().unwrap_or_else(|| family_of(&signature.workload).into());
        }
        for solo in &batch.solo_latencies {
            parts.entry(solo.workload.clone()).or_default().1.push(solo.clone());
        }
    }
    let build = |(name, (rows, solo, family)): (Arc<str>, Parts)| {
        let profile = WorkloadProfile::build(&device, name.clone(), family, rows, solo, 1);
        (name, Arc::new(profile))
    };
    Bundle {
        profiles: parts.into_iter().map(build).collect(),
        samples: sets.iter().flat_map(|set| set.batch.pair_samples.clone()).collect(),
        device,
    }
});

fn fit_bundle(profiles: &HashMap<Arc<str>, Arc<WorkloadProfile>>, samples: &[PairSample]) -> Result<Artefact, FitError> {
    let sharing_mode = BUNDLE.samples[0].sharing_mode;
    let sources = [Source { device: &BUNDLE.device, profiles, samples }];
    fit(&FitInput { device: &BUNDLE.device, sharing_mode, sources: &sources, seed: 0 })
}

/// Log(measured / predicted) of every timed direction of the bundled co-runs.
fn log_ratios(predictor: &Predictor) -> Vec<f64> {
    let mut ratios = vec![];
    for sample in &BUNDLE.samples {
        let place = |side: usize| {
            let profile = &BUNDLE.profiles[&sample.workloads[side]];
            Tenant::place(&BUNDLE.device, profile, sample.sm_shares[side], 1.0, Some(sample.solo_us[side])).unwrap()
        };
        let prediction = predict(predictor, [&place(0), &place(1)], false);
        assert_sound(&prediction);
        for side in 0..2 {
            let measured = sample.corun_us[side].unwrap() / sample.solo_us[side];
            ratios.push((measured / prediction.tenants[side].slowdown_ratio).ln());
        }
    }
    ratios
}

fn mean_error(log_ratios: &[f64]) -> f64 {
    log_ratios.iter().map(|r| ((-r).exp() - 1.0).abs()).sum::<f64>() / log_ratios.len() as f64
}

#[test]
fn the_bundled_predictor_is_what_a_fit_of_the_bundled_data_gives() {
    let fitted = fit_bundle(&BUNDLE.profiles, &BUNDLE.samples).unwrap();
    let bundled = bundled::predictor().unwrap().artefact.unwrap();
    let names = |artefact: &Artefact| artefact.terms.iter().map(|t| t.term.clone()).collect::<Vec<_>>();
    assert_eq!(names(&fitted), names(&bundled));
    for (fitted, bundled) in fitted.terms.iter().zip(&bundled.terms) {
        assert!((fitted.coefficient - bundled.coefficient).abs() < 1e-3, "{fitted:?} {bundled:?}");
    }
    assert!((fitted.fit.held_out_mean_error_pct - bundled.fit.held_out_mean_error_pct).abs() < 0.01);
    assert_eq!(fitted.fit.data_sha256, bundled.fit.data_sha256);
    assert_eq!((fitted.fit.samples, fitted.fit.kept_out), (438, 2));
}

#[test]
fn a_fit_beats_first_principles_and_both_beat_no_interference() {
    let none: Vec<f64> = log_ratios_of_none().collect();
    let (fitted, generic) =
        (mean_error(&log_ratios(&bundled::predictor().unwrap())), mean_error(&log_ratios(Predictor::generic())));
    assert!(fitted < generic && generic < mean_error(&none), "{fitted} {generic} {}", mean_error(&none));
}

fn log_ratios_of_none() -> impl Iterator<Item = f64> {
    BUNDLE.samples.iter().flat_map(|s| (0..2).map(|side| (s.corun_us[side].unwrap() / s.solo_us[side]).ln()))
}

#[test]
fn the_bound_of_the_generic_predictor_is_measured() {
    let mut ratios = log_ratios(Predictor::generic());
    ratios.sort_by(f64::total_cmp);
    let rank = ratios.len() * 9 / 10;
    let side = predict(Predictor::generic(), [&any_tenant(), &any_tenant()], false).tenants[0].clone();
    let bound = (side.upper_ratio / side.slowdown_ratio).ln();
    assert!((ratios[rank] - bound).abs() < 0.03, "measured {}, built in {bound}", ratios[rank]);
}

fn any_tenant() -> Tenant {
    tenant("a", &[Kernel { launches: 1.0, duration_us: 50.0, dram: 0.2, l2: 0.2, hit_ratio: 0.5, footprint: 0.5 }], 0.5, 1.0)
}

#[test]
fn order_and_names_of_the_samples_do_not_matter() {
    let fitted = fit_bundle(&BUNDLE.profiles, &BUNDLE.samples).unwrap();
    let mut reversed = BUNDLE.samples.clone();
    reversed.reverse();
    assert_eq!(fitted, fit_bundle(&BUNDLE.profiles, &reversed).unwrap());

    let renamed = |name: &Arc<str>| -> Arc<str> { format!("{name}-renamed").into() };
    let profiles = BUNDLE.profiles.iter().map(|(name, profile)| (renamed(name), profile.clone())).collect();
    let mut samples = BUNDLE.samples.clone();
    samples.iter_mut().for_each(|s| s.workloads = [renamed(&s.workloads[0]), renamed(&s.workloads[1])]);
    assert_eq!(fitted.terms, fit_bundle(&profiles, &samples).unwrap().terms);
}

#[test]
fn too_little_data_is_an_error() {
    let error = fit_bundle(&BUNDLE.profiles, &BUNDLE.samples[..2]).unwrap_err();
    assert!(error.to_string().contains("4 of 4"), "{error}");
    let error = fit_bundle(&HashMap::new(), &BUNDLE.samples).unwrap_err();
    assert!(error.to_string().contains("0 of 440"), "{error}");
}

#[test]
fn what_is_far_from_the_data_says_so_and_gets_a_wider_bound() {
    let predictor = bundled::predictor().unwrap();
    let sample = &BUNDLE.samples[0];
    let place = |side: usize| {
        let profile = &BUNDLE.profiles[&sample.workloads[side]];
        Tenant::place(&BUNDLE.device, profile, sample.sm_shares[side], 1.0, Some(sample.solo_us[side])).unwrap()
    };
    let near = predict(&predictor, [&place(0), &place(1)], false);
    assert_eq!(near.confidence_class, ConfidenceClass::Calibrated);
    let far = tenant(
        "far",
        &[Kernel { launches: 9.0, duration_us: 2.0, dram: 8.0, l2: 9.0, hit_ratio: 0.5, footprint: 0.5 }],
        0.5,
        1.0,
    );
    let far = predict(&predictor, [&far, &place(1)], false);
    assert_eq!(far.confidence_class, ConfidenceClass::Extrapolating);
    assert!(far.reasons.iter().any(|r| r.code == "SIGNATURE_FAR_FROM_DATA"));
    let width = |p: &PairPrediction| p.tenants[1].upper_ratio / p.tenants[1].slowdown_ratio;
    assert!(width(&far) > width(&near));
}

#[test]
fn absurd_pressure_stays_finite_and_above_one() {
    let kernel = Kernel { launches: 1.0, duration_us: 50.0, dram: 0.8, l2: 0.8, hit_ratio: 0.5, footprint: 0.5 };
    let profile = profile("a", &[kernel.clone(), kernel], &[0.5], 1.0);
    let placed = Tenant::place(&device(1.0), &profile, share(0.5), 1.0, Some(1e-12)).unwrap();
    for predictor in predictors() {
        let prediction = predict(&predictor, [&placed, &placed], true);
        for side in &prediction.tenants {
            assert!(side.slowdown_ratio >= 1.0 && side.slowdown_ratio.is_finite(), "{side:?}");
        }
    }
}

#[test]
fn a_workload_that_was_never_timed_is_not_calibrated_as_a_victim() {
    let mut samples = BUNDLE.samples.clone();
    samples.retain(|s| s.workloads[0] != s.workloads[1]);
    let unseen: Arc<str> = samples[0].workloads[1].clone();
    for sample in &mut samples {
        for side in (0..2).filter(|side| sample.workloads[*side] == unseen) {
            sample.corun_us[side] = None;
        }
    }
    let predictor = Predictor::new(&fit_bundle(&BUNDLE.profiles, &samples).unwrap()).unwrap();
    let known = Predictor::new(&fit_bundle(&BUNDLE.profiles, &BUNDLE.samples).unwrap()).unwrap();
    let sample = BUNDLE.samples.iter().find(|s| s.workloads.contains(&unseen) && s.workloads[0] != s.workloads[1]).unwrap();
    let victim = sample.workloads.iter().position(|w| *w == unseen).unwrap();
    let places = [0, 1].map(|side| {
        let profile = &BUNDLE.profiles[&sample.workloads[side]];
        Tenant::place(&BUNDLE.device, profile, sample.sm_shares[side], 1.0, Some(sample.solo_us[side])).unwrap()
    });
    let side = |predictor: &Predictor| predict(predictor, places.each_ref(), false).tenants[victim].clone();
    assert_eq!(side(&known).confidence_class, ConfidenceClass::Calibrated);
    let width = |side: &TenantPrediction| side.upper_ratio / side.slowdown_ratio;
    assert!(width(&side(&predictor)) >= width(&side(&known)));
}

#[test]
fn a_broken_artefact_is_refused() {
    let good = bundled::predictor().unwrap().to_json().to_owned();
    for (from, to, expected) in [
        ("\"format\":2", "\"format\":7", "format 7"),
        ("any*dram_share", "any*unheard_of", "unknown term \"any*unheard_of\""),
        ("\"coefficient\":0.", "\"coefficient\":-0.", "at least 0"),
        ("\"terms\"", "\"trems\"", "terms"),
    ] {
        let error = Predictor::from_json(&good.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
