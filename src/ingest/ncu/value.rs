//! One cell with a metric's value.

use super::{
    metrics::{self, METRICS},
    units::{self, Dimension},
};
use crate::ingest::number::{checked, quoted};

/// More than any rounding makes of 100 per cent.
const LARGEST_PERCENT: f64 = 200.0;

/// A metric of the table with its value, in the unit of its dimension.
pub(super) struct Reading {
    /// Place in [`METRICS`].
    pub(super) metric: usize,
    /// The value.
    pub(super) value: f64,
}

/// Reads a cell; `None` when the metric is not in the table or the value is missing. The error is a clause for people.
pub(super) fn read(name: &str, unit: &str, cell: &str) -> Result<Option<Reading>, String> {
    let (name, unit) = (name.trim(), unit.trim());
    let candidates = metrics::by_name(name);
    if candidates.is_empty() {
        return Ok(None);
    }
    let Some(text) = there(cell) else { return Ok(None) };
    let (metric, factor) = resolve(candidates, unit)?;
    let dimension = METRICS[metric].dimension;
    // A rate of hits among no accesses at all.
    if dimension == Dimension::Percent && text.eq_ignore_ascii_case("nan") && METRICS[metric].counter.ends_with("_hit_pct") {
        return Ok(None);
    }
    let value = number(text)? * factor;
    let value = checked(value).map_err(|problem| format!("{} {problem}", quoted(cell)))?;
    if dimension == Dimension::Percent && value > LARGEST_PERCENT {
        return Err(format!("{value} per cent is more than there can be"));
    }
    Ok(Some(Reading { metric, value }))
}

/// The text of the value; `None` where `ncu` says that there is none.
fn there(cell: &str) -> Option<&str> {
    let text = cell.trim();
    let text = text.strip_prefix("(!)").map_or(text, str::trim_start);
    // "12 (4; 8)": the value of each instance after that of all.
    let text = text.split_once(" (").map_or(text, |(whole, _)| whole);
    (!matches!(text, "" | "-" | "n/a" | "N/A" | "no data")).then_some(text)
}

fn resolve(candidates: &[usize], unit: &str) -> Result<(usize, f64), String> {
    let without_unit = |dimension| matches!(dimension, Dimension::Percent | Dimension::Count);
    if unit.is_empty() {
        let metric = candidates.iter().find(|metric| without_unit(METRICS[**metric].dimension));
        return metric.map(|metric| (*metric, 1.0)).ok_or_else(|| "has no unit".to_owned());
    }
    let (dimension, factor) = units::parse(unit).ok_or_else(|| format!("has a unit that is not known, {}", quoted(unit)))?;
    let metric = candidates.iter().find(|metric| METRICS[**metric].dimension == dimension);
    metric.map(|metric| (*metric, factor)).ok_or_else(|| format!("has a unit that does not fit it, {}", quoted(unit)))
}

/// The number, which may have a comma between thousands.
fn number(text: &str) -> Result<f64, String> {
    let not_a_number = || format!("{} is not a number", quoted(text));
    if !text.contains(',') {
        return text.parse().map_err(|_| not_a_number());
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default().trim_start_matches('-');
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = (1..=3).contains(&first.len()) && digits(first) && groups.all(|group| group.len() == 3 && digits(group));
    if !grouped || !digits(fraction) {
        return Err(not_a_number());
    }
    text.replace(',', "").parse().map_err(|_| not_a_number())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_count_only_between_thousands() {
        assert_eq!(number("1,234,567.5"), Ok(1_234_567.5));
        for text in ["1,5", "12,34", "1234,567", ",123", "1,234,", "1.234,5", "0x10", "1,234.5,6"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_ncu_could_not_collect_is_missing() {
        for cell in ["", "n/a", "(!) n/a", "-", "no data"] {
            assert!(read("dram__bytes.sum", "byte", cell).unwrap().is_none(), "{cell}");
        }
        assert!(read("L2 Hit Rate", "%", "nan").unwrap().is_none());
        assert!(read("DRAM Throughput", "%", "nan").is_err());
    }

    #[test]
    fn memory_throughput_is_dram_only_as_bytes_per_second() {
        let counter = |unit, cell| METRICS[read("Memory Throughput", unit, cell).unwrap().unwrap().metric].counter;
        assert_eq!(counter("Gbyte/second", "345.14"), "dram_bytes");
        assert_eq!(counter("%", "19.66"), "memory_composite_pct");
    }
}
