//! From tested directions to figures.

use std::collections::BTreeMap;

use super::{
    bench::{METHODS, Outcome, Tested},
    report::{ClassErrors, Coverage, CurvePoint, Errors, Extrapolated, FoldReport, Methods, Point, quantile},
};

/// Errors by method; `None` where a method could not say everywhere.
pub(super) fn methods(tested: &[&Tested]) -> Methods<Option<Errors>> {
    Methods::new(by_method(tested).map(|errors| errors.and_then(Errors::of)))
}

/// The mean of each, per cent.
fn means(tested: &[&Tested]) -> Methods<Option<f64>> {
    Methods::new(by_method(tested).map(|errors| mean_pct(errors?)))
}

fn by_method(tested: &[&Tested]) -> [Option<Vec<f64>>; METHODS] {
    std::array::from_fn(|method| {
        tested.iter().map(|t| Some((t.predicted_us[method]? / t.measured_us - 1.0).abs())).collect::<Option<Vec<f64>>>()
    })
}

fn mean_pct(errors: Vec<f64>) -> Option<f64> {
    Errors::of(errors).map(|errors| errors.mean_pct)
}

fn is_covered(tested: &Tested) -> bool {
    tested.measured_us <= tested.upper_us
}

fn covered(tested: &[&Tested]) -> f64 {
    tested.iter().filter(|t| is_covered(t)).count() as f64 / tested.len().max(1) as f64
}

fn ours(tested: &Tested) -> f64 {
    tested.predicted_us[0].unwrap_or(f64::NAN)
}

/// How often our bound held, and how wide it is.
pub(super) fn coverage(tested: &[&Tested]) -> Coverage {
    let mut widths: Vec<f64> = tested.iter().map(|t| t.upper_us / ours(t)).collect();
    widths.sort_by(f64::total_cmp);
    Coverage {
        level: tested.first().map_or(0.0, |t| t.level),
        measured: covered(tested),
        median_width_ratio: quantile(&widths, 0.5).unwrap_or(1.0),
    }
}

/// Our errors by confidence class, under the names of the wire.
pub(super) fn classes(tested: &[&Tested]) -> BTreeMap<String, ClassErrors> {
    let mut classes: BTreeMap<String, Vec<&Tested>> = BTreeMap::new();
    for t in tested {
        classes.entry(format!("CONFIDENCE_CLASS_{}", t.class)).or_default().push(t);
    }
    let figures = |tested: Vec<&Tested>| ClassErrors {
        count: tested.len(),
        mean_pct: means(&tested).pairsight.unwrap_or_default(),
        coverage: covered(&tested),
    };
    classes.into_iter().map(|(class, tested)| (class, figures(tested))).collect()
}

/// Error of the solo latencies that came from the curve.
pub(super) fn solo_curve(tested: &[&Tested]) -> Option<Errors> {
    Errors::of(tested.iter().filter_map(|t| t.solo_error).collect())
}

/// Points of a figure.
pub(super) fn points(tested: &[&Tested]) -> Vec<Point> {
    tested.iter().map(|t| Point { measured_us: t.measured_us, predicted_us: ours(t), upper_us: t.upper_us }).collect()
}

/// The tested directions of all folds that count, at the number of samples that was asked for.
pub(super) fn last(outcomes: &[Outcome]) -> Vec<&Tested> {
    counted(outcomes).filter_map(|outcome| outcome.steps.last()).flat_map(|step| &step.tested).collect()
}

fn counted(outcomes: &[Outcome]) -> impl Iterator<Item = &Outcome> {
    outcomes.iter().filter(|outcome| outcome.skipped.is_none())
}

/// Mean errors at every number of samples.
pub(super) fn curve(outcomes: &[Outcome]) -> Vec<CurvePoint> {
    let mut steps: BTreeMap<usize, Vec<&Tested>> = BTreeMap::new();
    for step in counted(outcomes).flat_map(|outcome| &outcome.steps) {
        steps.entry(step.count).or_default().extend(&step.tested);
    }
    steps.into_iter().map(|(few_shot, tested)| CurvePoint { few_shot, mean_pct: means(&tested) }).collect()
}

/// One fold's line.
pub(super) fn fold(outcome: &Outcome) -> FoldReport {
    let tested: Vec<&Tested> = outcome.steps.last().into_iter().flat_map(|step| &step.tested).collect();
    let counts = outcome.skipped.is_none();
    FoldReport {
        held_out: outcome.held_out.clone(),
        train: outcome.train,
        test: outcome.test,
        train_groups: outcome.train_groups,
        mean_pct: counts.then(|| means(&tested)),
        coverage: counts.then(|| covered(&tested)),
        skipped: outcome.skipped.clone(),
        extrapolated: extrapolated(&outcome.extrapolated),
        suggested: outcome.suggested.clone(),
    }
}

fn extrapolated(tested: &[Tested]) -> Option<Extrapolated> {
    let tested: Vec<&Tested> = tested.iter().collect();
    let solo = solo_curve(&tested)?;
    Some(Extrapolated { count: tested.len(), mean_pct: means(&tested), solo_mean_pct: solo.mean_pct })
}
