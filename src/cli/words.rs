//! Figures and codes as a person reads them.

use crate::proto::{Channel, ConfidenceClass, Provenance};

/// A latency with a fitting unit and four significant figures: `80.60 us`, `33.59 ms`.
pub(super) fn duration(us: f64) -> String {
    let (value, unit) = if us < 1e3 {
        (us, "us")
    } else if us < 1e6 {
        (us / 1e3, "ms")
    } else {
        (us / 1e6, "s")
    };
    let decimals = match value {
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        value if value < 1e3 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// Four significant figures, a whole number as such, without an exponent where a person would write none.
pub(super) fn significant(value: f64) -> String {
    match value.abs() {
        size if size.fract() == 0.0 && size < 1e6 => format!("{value:.0}"),
        size if (1e-3..10.0).contains(&size) => format!("{value:.3}"),
        size if (10.0..100.0).contains(&size) => format!("{value:.2}"),
        size if (100.0..1e3).contains(&size) => format!("{value:.1}"),
        size if (1e3..1e6).contains(&size) => format!("{value:.0}"),
        _ => format!("{value:.3e}"),
    }
}

/// A ratio as the change it stands for: 1.223 is `+22.3%`.
pub(super) fn change(ratio: f64) -> String {
    let pct = (ratio - 1.0) * 100.0;
    if pct.abs() < 0.05 { "0%".to_owned() } else { format!("{pct:+.1}%") }
}

/// A rate in bytes per second.
pub(super) fn bandwidth(bytes_per_s: f64) -> String {
    if bytes_per_s >= 1e12 { format!("{:.2} TB/s", bytes_per_s / 1e12) } else { format!("{:.1} GB/s", bytes_per_s / 1e9) }
}

/// A size in binary units.
pub(super) fn size(bytes: u64) -> String {
    let (unit, name) = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit)
        .unwrap_or((1, "B"));
    let (whole, tenth) = (bytes / unit, (bytes % unit) * 10 / unit);
    if tenth == 0 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") }
}

/// What a channel is.
pub(super) fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Unspecified => "nothing",
        Channel::DramBandwidth => "DRAM bandwidth",
        Channel::L2Bandwidth => "L2 bandwidth",
        Channel::L2Capacity => "L2 evictions",
        Channel::Interconnect => "SM-L2 interconnect",
        Channel::LaunchPath => "kernel launches",
        Channel::PowerClock => "power and clocks",
        Channel::Presence => "a partner being there",
        Channel::Residual => "no named resource",
    }
}

/// How far an answer can be trusted.
pub(super) fn confidence(class: ConfidenceClass) -> &'static str {
    match class {
        ConfidenceClass::Unspecified => "not said",
        ConfidenceClass::Calibrated => "as sure as the bound: near the co-runs that the predictor was fitted on (CALIBRATED)",
        ConfidenceClass::Extrapolating => "less than the bound says: a fitted predictor, used away from its data (EXTRAPOLATING)",
        ConfidenceClass::PriorOnly => "rough: first principles, no co-run on this device was fitted (PRIOR_ONLY)",
    }
}

/// Where figures come from.
pub(super) fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Unspecified => "-",
        Provenance::Measured => "measured",
        Provenance::Imported => "imported",
        Provenance::Simulated => "simulated",
        Provenance::Analytic => "analytic",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_choose_their_unit() {
        assert_eq!(duration(80.6028), "80.60 us");
        assert_eq!(duration(33_586.3), "33.59 ms");
        assert_eq!(duration(2_500_000.0), "2.500 s");
        assert_eq!(duration(7.25), "7.250 us");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(1.223), "+22.3%");
        assert_eq!(change(1.0), "0%");
        assert_eq!(change(0.97), "-3.0%");
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(size(786_432), "768 KiB");
        assert_eq!(size(6 << 20), "6 MiB");
        assert_eq!(size(0), "0 B");
    }
}
