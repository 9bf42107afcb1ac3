//! The figure of an evaluation: four panels in one SVG.

use anyhow::anyhow;
use plotters::{coord::Shift, prelude::*};

use super::table::{name, title};
use crate::interference::evaluate::{Evaluation, Point};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

const SIZE: (u32, u32) = (1200, 900);
/// One colour a method; they are told apart by people who see no red or no green.
const COLOURS: [RGBColor; 5] =
    [RGBColor(0, 90, 160), RGBColor(150, 150, 150), RGBColor(230, 160, 0), RGBColor(0, 158, 115), RGBColor(204, 102, 119)];
/// Most points drawn of a scatter.
const MOST_POINTS: usize = 5000;
/// Part of the bound's logarithmic width up to which coverage is drawn.
const WIDEST: f64 = 2.0;

/// Draws `results`.
pub(super) fn svg(results: &[Evaluation]) -> anyhow::Result<String> {
    let mut text = String::new();
    draw(&mut text, results).map_err(|error| anyhow!("the figure cannot be drawn: {error}"))?;
    Ok(text)
}

fn draw(text: &mut String, results: &[Evaluation]) -> Drawn {
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let heading = results.iter().map(title).collect::<Vec<_>>().join(" | ");
    let root = root.titled(&heading, ("sans-serif", 15))?;
    let [errors, samples, scatter, coverage]: [Area<'_>; 4] =
        root.split_evenly((2, 2)).try_into().map_err(|_| "four panels were asked for")?;
    bars(&errors, results)?;
    match results.iter().find(|result| result.few_shot_curve.len() > 1) {
        Some(result) => curve(&samples, result)?,
        None => by_fold(&samples, results)?,
    }
    predicted_against_measured(&scatter, results)?;
    coverage_against_width(&coverage, results)?;
    root.present()?;
    Ok(())
}

/// Mean error by method, a cluster of bars a set.
fn bars(area: &Area<'_>, results: &[Evaluation]) -> Drawn {
    let means = |result: &Evaluation| result.methods.named().map(|(_, errors)| errors.as_ref().map_or(0.0, |e| e.mean_pct));
    let top = results.iter().flat_map(means).fold(0.0, f64::max).max(1e-3) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption("Mean error by method", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(24)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..results.len() as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(0)
        .x_desc(results.iter().map(|result| result.dataset.as_str()).collect::<Vec<_>>().join(", "))
        .y_desc("mean error, %")
        .draw()?;
    for (method, colour) in COLOURS.iter().enumerate() {
        let bar = |(place, result): (usize, &Evaluation)| {
            let left = place as f64 + 0.1 + 0.16 * method as f64;
            Rectangle::new([(left, 0.0), (left + 0.14, means(result)[method])], colour.filled())
        };
        let label = name(results.first().map_or("", |result| result.methods.named()[method].0));
        chart.draw_series(results.iter().enumerate().map(bar))?.label(label).legend(move |at| swatch(at, *colour));
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

/// Mean error over the number of samples given.
fn curve(area: &Area<'_>, result: &Evaluation) -> Drawn {
    let points = &result.few_shot_curve;
    let last = points.last().map_or(1, |point| point.few_shot).max(1);
    let values = points.iter().flat_map(|point| point.mean_pct.named().map(|(_, mean)| mean.unwrap_or(0.0)));
    let top = values.fold(0.0, f64::max).max(1e-3) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption("Mean error over co-runs given", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..last as f64, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("measured co-runs of what is unseen")
        .y_desc("mean error, %")
        .draw()?;
    for (method, colour) in COLOURS.iter().enumerate() {
        let place = |point: &crate::interference::evaluate::CurvePoint| {
            Some((point.few_shot as f64, (*point.mean_pct.named()[method].1)?))
        };
        let line: Vec<(f64, f64)> = points.iter().filter_map(place).collect();
        let label = name(result.methods.named()[method].0);
        chart
            .draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?
            .label(label)
            .legend(move |at| swatch(at, *colour));
        chart.draw_series(line.into_iter().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

/// Our mean error of each fold that counts, ascending: whether one group makes the mean.
fn by_fold(area: &Area<'_>, results: &[Evaluation]) -> Drawn {
    let sorted = |result: &Evaluation| {
        let mut means: Vec<f64> = result.folds.iter().filter_map(|fold| fold.mean_pct.as_ref()?.pairsight).collect();
        means.sort_by(f64::total_cmp);
        means
    };
    let all: Vec<Vec<f64>> = results.iter().map(sorted).collect();
    let top = all.iter().flatten().copied().fold(0.0, f64::max).max(1e-3) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption("Mean error by fold, best to worst", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..1.0, 0.0..top)?;
    chart.configure_mesh().light_line_style(TRANSPARENT).x_desc("part of the folds").y_desc("mean error, %").draw()?;
    for ((result, means), colour) in results.iter().zip(all).zip(COLOURS.iter().cycle()) {
        let n = means.len() as f64;
        let line: Vec<(f64, f64)> = means.into_iter().enumerate().map(|(i, mean)| ((i as f64 + 0.5) / n, mean)).collect();
        chart
            .draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?
            .label(result.dataset.clone())
            .legend(move |at| swatch(at, *colour));
        chart.draw_series(line.into_iter().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    legend(&mut chart, SeriesLabelPosition::UpperRight)
}

/// Co-run latencies, on logarithmic axes.
fn predicted_against_measured(area: &Area<'_>, results: &[Evaluation]) -> Drawn {
    let all = || results.iter().flat_map(|result| &result.points);
    let latencies = || all().flat_map(|point| [point.measured_us, point.predicted_us]).filter(|us| us.is_finite() && *us > 0.0);
    let low = latencies().fold(f64::INFINITY, f64::min).min(1e12) / 1.2;
    let high = latencies().fold(0.0, f64::max).max(low * 1.1) * 1.2;
    let mut chart = ChartBuilder::on(area)
        .caption("Predicted against measured", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d((low..high).log_scale(), (low..high).log_scale())?;
    let us = |value: &f64| format!("{value:.0}");
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_label_formatter(&us)
        .y_label_formatter(&us)
        .x_desc("measured co-run latency, us")
        .y_desc("predicted, us")
        .draw()?;
    chart.draw_series(LineSeries::new([(low, low), (high, high)], BLACK.stroke_width(1)))?;
    for (result, colour) in results.iter().zip(COLOURS.iter().cycle()) {
        let every = result.points.len().div_ceil(MOST_POINTS).max(1);
        let shown = result.points.iter().step_by(every).filter(|point| point.predicted_us > 0.0);
        let dots = shown.map(|point| Circle::new((point.measured_us, point.predicted_us), 2, colour.mix(0.5).filled()));
        chart.draw_series(dots)?.label(result.dataset.clone()).legend(move |at| swatch(at, *colour));
    }
    legend(&mut chart, SeriesLabelPosition::LowerRight)
}

/// How often a bound holds that is so much of the stated one's logarithmic width; at 1 it should hold as often as its level says.
fn coverage_against_width(area: &Area<'_>, results: &[Evaluation]) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .caption("Coverage of the upper bound", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..WIDEST, 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("width of the bound, 1 as stated")
        .y_desc("fraction at or below")
        .draw()?;
    for (result, colour) in results.iter().zip(COLOURS.iter().cycle()) {
        let line = (0..=50).map(|i| f64::from(i) * WIDEST / 50.0).map(|width| (width, covered(&result.points, width)));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)))?
            .label(result.dataset.clone())
            .legend(move |at| swatch(at, *colour));
        let level = result.coverage.level;
        chart.draw_series(LineSeries::new([(0.0, level), (WIDEST, level)], BLACK.mix(0.4)))?;
        chart.draw_series([Circle::new((1.0, result.coverage.measured), 4, colour.filled())])?;
    }
    chart.draw_series(LineSeries::new([(1.0, 0.0), (1.0, 1.0)], BLACK.mix(0.4)))?;
    legend(&mut chart, SeriesLabelPosition::LowerRight)
}

fn covered(points: &[Point], width: f64) -> f64 {
    let bound = |point: &Point| point.predicted_us * (point.upper_us / point.predicted_us).powf(width);
    points.iter().filter(|point| point.measured_us <= bound(point)).count() as f64 / points.len().max(1) as f64
}

fn swatch((x, y): (i32, i32), colour: RGBColor) -> Rectangle<(i32, i32)> {
    Rectangle::new([(x, y - 4), (x + 12, y + 4)], colour.filled())
}

fn legend<'a, 'b, C>(chart: &mut ChartContext<'a, SVGBackend<'b>, C>, position: SeriesLabelPosition) -> Drawn
where
    'b: 'a,
    C: CoordTranslate,
{
    chart
        .configure_series_labels()
        .position(position)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 12))
        .draw()?;
    Ok(())
}
