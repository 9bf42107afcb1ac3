//! Readers on any bytes: no panic, errors with lines, and totals that do not depend on how the same figures are written.

use proptest::prelude::*;

use crate::ingest_ncu::{read_bytes, text};

const FIXTURES: [&str; 5] = ["metrics_run.csv", "details_rules.csv", "raw_wide.csv", "old_header.csv", "summary.csv"];

/// Rows of a launch each: number, variant, duration in nanoseconds, DRAM per cent.
fn launches() -> impl Strategy<Value = Vec<(u8, u32, u32)>> {
    prop::collection::vec((0..4_u8, 1..2_000_000_u32, 0..100_u32), 1..30)
}

fn report(launches: &[(u8, u32, u32)], order: &[usize], quoted: bool, scaled: bool) -> String {
    let quote = |field: &str| if quoted || field.contains(',') { format!("\"{field}\"") } else { field.to_owned() };
    let row = |fields: &[&str]| fields.iter().map(|field| quote(field)).collect::<Vec<_>>().join(",") + "\n";
    let header = ["ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "Metric Name", "Metric Unit", "Metric Value"];
    let mut text = row(&header);
    for place in order {
        let (launch, metric) = (place / 2, place % 2);
        let (variant, nanoseconds, percent) = launches[launch];
        let (kernel, id) = (format!("kernel<{variant}, 1>"), launch.to_string());
        let (time, unit) = if scaled { (f64::from(nanoseconds) / 1e3, "us") } else { (f64::from(nanoseconds), "nsecond") };
        let (name, unit, value) = match metric {
            0 => ("gpu__time_duration.sum", unit, time.to_string()),
            _ => ("dram__throughput.avg.pct_of_peak_sustained_elapsed", "%", percent.to_string()),
        };
        text += &row(&[&id, "7", &kernel, "(8, 1, 1)", "(4, 1, 1)", name, unit, &value]);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_are_refused_in_good_order(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read_bytes(&bytes).is_err());
    }

    #[test]
    fn a_changed_report_is_read_or_refused(
        fixture in prop::sample::select(FIXTURES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = text(fixture).into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let whole = read_bytes(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        for result in [whole, read_bytes(&bytes)] {
            match result {
                Ok((batch, _)) => prop_assert!(batch.validate().is_ok()),
                Err(error) if bytes.is_empty() || error.to_string().contains("has no duration") => {}
                Err(error) => prop_assert!(error.place().line.is_some(), "{error}"),
            }
        }
    }

    #[test]
    fn totals_do_not_depend_on_order_quotes_or_units(
        (launches, order) in launches().prop_flat_map(|launches| {
            let order = (0..launches.len() * 2).collect::<Vec<_>>();
            (Just(launches), Just(order).prop_shuffle())
        }),
        quoted: bool,
        scaled: bool,
    ) {
        let in_order: Vec<usize> = (0..launches.len() * 2).collect();
        let (_, plain) = read_bytes(report(&launches, &in_order, true, false).as_bytes()).unwrap();
        let (batch, other) = read_bytes(report(&launches, &order, quoted, scaled).as_bytes()).unwrap();
        let sum: f64 = launches.iter().map(|(_, nanoseconds, _)| f64::from(*nanoseconds) / 1e3).sum();
        prop_assert_eq!((plain.launches, plain.operators), (other.launches, other.operators));
        prop_assert_eq!(other.launches, launches.len() as u64);
        prop_assert!((other.duration_us / sum - 1.0).abs() < 1e-9 && (plain.duration_us / sum - 1.0).abs() < 1e-9);
        let of_an_iteration: f64 = batch.signatures.iter().map(|s| s.launches * s.duration_us).sum();
        prop_assert!((of_an_iteration / sum - 1.0).abs() < 1e-9);
        prop_assert!(batch.solo_latencies.is_empty(), "no latency was measured");
    }
}
