//! An evaluation as a person quotes it.

use std::fmt::Write;

use crate::{
    cli::table::{printable, table},
    interference::evaluate::{Chooser, Evaluation, Methods},
};

/// Most skipped folds that are listed.
const SKIPPED_SHOWN: usize = 5;

/// What each method is called.
pub(super) fn name(method: &str) -> &'static str {
    match method {
        "pairsight" => "pairsight",
        "no_interference" => "no interference",
        "train_median" => "training median",
        "binary_rule" => "binary rule",
        _ => "model-level linear",
    }
}

/// The result in a table, and what to know of it.
pub(super) fn text(result: &Evaluation) -> String {
    let mut text = format!("{}\n\n", title(result));
    text.push_str(&methods(result));
    let _ = write!(text, "\n\n{}", bound(result));
    text.push_str("\n\n");
    text.push_str(&classes(result));
    for line in remarks(result) {
        let _ = write!(text, "\n{line}");
    }
    text
}

/// Set, split, size: one line.
pub(super) fn title(result: &Evaluation) -> String {
    let mut text = format!("{}, split {}", printable(&result.dataset), result.split);
    if let Some(least) = result.min_batch {
        let _ = write!(text, ", batch {least} and more");
    }
    if let (Some(count), Some(chooser)) = (result.few_shot, result.few_shot_chosen_by) {
        let by = match chooser {
            Chooser::Suggest => "by suggestion",
            Chooser::Random => "at random, mean of 10 draws",
        };
        let _ = write!(text, ", {count} co-runs given ({by})");
    }
    let _ = write!(
        text,
        ": {} of {} directions tested, {} groups, seed {}",
        result.tested, result.samples, result.groups, result.seed
    );
    text
}

fn pct(value: f64) -> String {
    format!("{value:.2}%")
}

fn methods(result: &Evaluation) -> String {
    let rows = result.methods.named().map(|(method, errors)| match errors {
        Some(e) => [name(method).to_owned(), pct(e.mean_pct), pct(e.median_pct), pct(e.p95_pct), pct(e.max_pct)],
        None => [name(method).to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()],
    });
    table(["error of", "mean", "median", "95% below", "worst"], rows)
}

fn bound(result: &Evaluation) -> String {
    let coverage = &result.coverage;
    format!(
        "Upper bound of {:.0}%: held for {:.1}%, median {:.3} of the prediction",
        coverage.level * 100.0,
        coverage.measured * 100.0,
        coverage.median_width_ratio
    )
}

fn classes(result: &Evaluation) -> String {
    let row = |(class, figures): (&String, &crate::interference::evaluate::ClassErrors)| {
        [
            class.trim_start_matches("CONFIDENCE_CLASS_").to_owned(),
            figures.count.to_string(),
            pct(figures.mean_pct),
            format!("{:.1}%", figures.coverage * 100.0),
        ]
    };
    table(["how sure", "answers", "mean error", "bound held"], result.by_confidence_class.iter().map(row))
}

fn remarks(result: &Evaluation) -> Vec<String> {
    let mut lines = vec![String::new()];
    if let Some(solo) = &result.solo_curve {
        lines.push(format!("Solo latency from the curve: mean error {}, worst {}", pct(solo.mean_pct), pct(solo.max_pct)));
    }
    let beyond: Vec<_> = result.folds.iter().filter_map(|fold| fold.extrapolated.as_ref()).collect();
    let count: usize = beyond.iter().map(|fold| fold.count).sum();
    if count > 0 {
        let mean = |of: fn(&Methods<Option<f64>>) -> Option<f64>| {
            let sum: Option<f64> = beyond.iter().map(|fold| Some(fold.count as f64 * of(&fold.mean_pct)?)).sum();
            sum.map_or_else(|| "-".to_owned(), |sum| pct(sum / count as f64))
        };
        lines.push(format!(
            "Beyond the measured shares, not in the table: {count} directions, mean error {}",
            mean(|m| m.pairsight)
        ));
    }
    lines.push(match result.noise_floor_pct {
        Some(noise) => format!("Noise of the measured means: {}", pct(noise)),
        None => "Noise of the measured means: the set does not tell".to_owned(),
    });
    let skipped = result.folds.iter().filter_map(|fold| Some((printable(&fold.held_out), fold.skipped.as_ref()?)));
    lines.extend(skipped.take(SKIPPED_SHOWN).map(|(held_out, why)| format!("Skipped: {held_out}: {why}")));
    lines
}
