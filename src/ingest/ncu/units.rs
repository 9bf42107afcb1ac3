//! Units as the various releases of `ncu` write them, base or scaled.

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    /// Time, in microseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    ByteRate,
    /// Per cent.
    Percent,
    /// A number of things, or a ratio of two such numbers.
    Count,
    /// Something per time, or bytes per something: read, and used by no metric.
    Other,
}

const TIMES: &[(&str, f64)] = &[
    ("nsecond", 1e-3),
    ("ns", 1e-3),
    ("usecond", 1.0),
    ("us", 1.0),
    ("µs", 1.0),
    ("msecond", 1e3),
    ("ms", 1e3),
    ("second", 1e6),
    ("sec", 1e6),
    ("s", 1e6),
];
const PREFIXES: &[(&str, f64)] = &[("", 1.0), ("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
const BYTES: &[&str] = &["byte", "bytes", "B"];
const COUNTS: &[&str] = &[
    "block",
    "cluster",
    "cycle",
    "inst",
    "instruction",
    "register",
    "request",
    "sector",
    "SM",
    "thread",
    "tpc",
    "TPC",
    "warp",
    "wavefront",
];

/// The dimension of `unit` and the factor that brings a value to the unit named there; `None` for a unit that is not known.
pub(super) fn parse(unit: &str) -> Option<(Dimension, f64)> {
    match unit.split_once('/') {
        None => simple(unit),
        Some((above, below)) => ratio(simple(above)?, simple(below)?),
    }
}

fn simple(unit: &str) -> Option<(Dimension, f64)> {
    if matches!(unit, "%" | "pct" | "percent") {
        return Some((Dimension::Percent, 1.0));
    }
    if let Some((_, factor)) = TIMES.iter().find(|(name, _)| *name == unit) {
        return Some((Dimension::Time, *factor));
    }
    prefixed(unit, BYTES)
        .map(|factor| (Dimension::Bytes, factor))
        .or_else(|| prefixed(unit, COUNTS).map(|factor| (Dimension::Count, factor)))
        .or_else(|| prefixed(unit, &["hz", "Hz"]).map(|factor| (Dimension::Other, factor)))
}

fn prefixed(unit: &str, bases: &[&str]) -> Option<f64> {
    PREFIXES
        .iter()
        .find(|(prefix, _)| unit.strip_prefix(prefix).is_some_and(|base| bases.contains(&base)))
        .map(|(_, factor)| *factor)
}

fn ratio((above, above_factor): (Dimension, f64), (below, below_factor): (Dimension, f64)) -> Option<(Dimension, f64)> {
    const US_PER_SECOND: f64 = 1e6;
    match (above, below) {
        (Dimension::Bytes, Dimension::Time) => Some((Dimension::ByteRate, above_factor / below_factor * US_PER_SECOND)),
        // "byte/block" is how much memory each block has.
        (Dimension::Bytes, Dimension::Count) => Some((Dimension::Bytes, above_factor / below_factor)),
        (Dimension::Count, Dimension::Count) => Some((Dimension::Count, above_factor / below_factor)),
        (Dimension::Count, Dimension::Time) => Some((Dimension::Other, above_factor / below_factor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spelling_comes_to_the_same() {
        for (unit, dimension, factor) in [
            ("nsecond", Dimension::Time, 1e-3),
            ("ms", Dimension::Time, 1e3),
            ("Mbyte", Dimension::Bytes, 1e6),
            ("Gbyte/second", Dimension::ByteRate, 1e9),
            ("byte/s", Dimension::ByteRate, 1.0),
            ("byte/nsecond", Dimension::ByteRate, 1e9),
            ("register/thread", Dimension::Count, 1.0),
            ("byte/block", Dimension::Bytes, 1.0),
            ("Ghz", Dimension::Other, 1e9),
            ("%", Dimension::Percent, 1.0),
        ] {
            let (found, by) = parse(unit).unwrap();
            assert_eq!(found, dimension, "{unit}");
            assert!((by / factor - 1.0).abs() < 1e-12, "{unit}: {by}");
        }
        assert_eq!(parse("furlong"), None);
        assert_eq!(parse("Msecond"), None, "no such prefix of a second: neither milli nor mega is meant");
    }
}
