//! Reports of ncu in the forms that people have, and files that are something else.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use pairsight::{
    domain::{DeviceId, ImportBatch, SmShare},
    ingest::{
        IngestError, Progress, devices,
        ncu::{self, ImportReport, NcuOptions},
    },
};

pub(crate) fn options(device: &str) -> NcuOptions {
    NcuOptions {
        device: devices::built_in()[&DeviceId::new("device", device).unwrap()].clone(),
        workload: "model/b8".to_owned(),
        sm_share: SmShare::new("sm_share", 0.5).unwrap(),
        iterations: None,
        latency_us: None,
        report_only: false,
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/ncu").join(name)
}

fn read(name: &str) -> (ImportBatch, ImportReport) {
    ncu::read(&fixture(name), &options("nvidia-a100-sxm4-40gb"), &Progress::hidden()).unwrap()
}

pub(crate) fn read_bytes(bytes: &[u8]) -> Result<(ImportBatch, ImportReport), IngestError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    ncu::read(file.path(), &options("nvidia-a100-sxm4-40gb"), &Progress::hidden())
}

fn refusal(bytes: &[u8]) -> (Option<u64>, String) {
    let error = read_bytes(bytes).unwrap_err();
    (error.place().line, error.to_string())
}

pub(crate) fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

fn close(left: f64, right: f64) -> bool {
    (left / right - 1.0).abs() < 1e-9
}

fn counter(batch: &ImportBatch, operator: usize, name: &str) -> Option<f64> {
    batch.signatures[operator].counters.get(name)
}

#[test]
fn a_metrics_run_with_output_around_and_among_the_rows() {
    let (batch, report) = read("metrics_run.csv");
    assert_eq!((report.launches, report.operators, report.iterations), (3, 2, 1));
    assert!(close(report.duration_us, 46.0), "{}", report.duration_us);
    let first = &batch.signatures[0];
    assert_eq!((first.grid.as_ref(), first.launches), ("(40, 2, 1)", 2.0));
    assert!(close(first.duration_us, 13.0) && first.clocks_locked);
    assert!(close(counter(&batch, 0, "dram_pct").unwrap(), 25.5));
    assert!(batch.solo_latencies.is_empty(), "what was measured before stays");
    assert!(report.warnings.iter().any(|warning| warning.contains("their sum stands")), "{:?}", report.warnings);
    assert!(report.warnings.iter().any(|warning| warning.contains("line 6")), "{:?}", report.warnings);
    assert!(report.metrics_missing.contains(&"lts__t_sectors_op_read.sum".to_owned()));
    assert!(!report.metrics_missing.contains(&"dram__bytes_read.sum".to_owned()), "dram_pct stands for it");
}

#[test]
fn iterations_and_a_measured_latency() {
    let options = NcuOptions { iterations: Some(2), latency_us: Some(30.0), ..options("nvidia-a100-sxm4-40gb") };
    let (batch, report) = ncu::read(&fixture("metrics_run.csv"), &options, &Progress::hidden()).unwrap();
    assert_eq!((report.launches, report.iterations), (3, 2));
    assert!(close(batch.signatures[1].launches, 0.5));
    assert!(!batch.solo_latencies[0].from_kernels && close(batch.solo_latencies[0].latency_us, 30.0));
    let none = NcuOptions { iterations: Some(0), ..options };
    assert_eq!(
        ncu::read(&fixture("metrics_run.csv"), &none, &Progress::hidden()).unwrap_err().place().field.as_deref(),
        Some("iterations")
    );
}

#[test]
fn a_details_page_with_rules_and_repeated_metrics() {
    let (batch, report) = read("details_rules.csv");
    assert_eq!((report.launches, report.operators), (1, 1));
    assert!(close(report.duration_us, 10.0), "counted once although two sections have it");
    assert!(close(counter(&batch, 0, "dram_bytes").unwrap(), 1000.5e9 * 10e-6));
    assert!(close(counter(&batch, 0, "memory_composite_pct").unwrap(), 55.0));
    assert!(close(counter(&batch, 0, "sm_pct").unwrap(), 100.02), "a little above 100 is rounding");
    assert_eq!(counter(&batch, 0, "l2_hit_pct"), None, "ncu had none");
    assert!(report.warnings.iter().any(|warning| warning.contains("9.0") && warning.contains("nvidia-a100-sxm4-40gb")));
}

#[test]
fn a_wide_raw_page_takes_its_units_from_the_second_line() {
    let (batch, report) = read("raw_wide.csv");
    assert_eq!((report.launches, report.operators), (2, 1));
    assert!(close(report.duration_us, 40.0));
    assert!(close(counter(&batch, 0, "dram_read_bytes").unwrap(), 2e6));
    assert!(close(counter(&batch, 0, "l2_read_sectors").unwrap(), 2000.0));
}

#[test]
fn an_old_header_without_grid_and_a_summary_without_durations() {
    let (batch, report) = read("old_header.csv");
    assert_eq!((report.launches, batch.signatures[0].grid.as_ref()), (1, ""));
    let (batch, report) = read("summary.csv");
    assert_eq!((report.launches, report.operators), (6, 1));
    assert!(close(batch.signatures[0].duration_us, 100.0), "bytes by bytes per second");
    assert!(report.warnings.iter().any(|warning| warning.contains("bytes per second")));
}

#[test]
fn an_absurd_number_of_invocations_is_refused() {
    let text = text("summary.csv");
    for count in ["18446744073709551615", "1000000000000001"] {
        let (line, message) = refusal(text.replace("\"6\"", &format!("\"{count}\"")).as_bytes());
        assert!(line == Some(2) && message.contains("Invocations") && message.contains(count), "{message}");
    }
    let (batch, _) = read_bytes(text.replace("\"6\"", "\"1000000000000000\"").as_bytes()).unwrap();
    assert!(close(batch.signatures[0].launches, 1e15));
}

#[test]
fn encodings_line_ends_and_gzip_change_nothing() {
    let plain = read("metrics_run.csv");
    let text = text("metrics_run.csv");
    let utf16 = |text: &str| -> Vec<u8> { [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect() };
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    for bytes in
        [text.replace('\n', "\r\n").into_bytes(), format!("\u{feff}{text}").into_bytes(), utf16(&text), gzip.finish().unwrap()]
    {
        assert_eq!(read_bytes(&bytes).unwrap(), plain);
    }
}

#[test]
fn a_used_metric_that_cannot_be_is_refused_with_its_line() {
    let text = text("metrics_run.csv");
    for (from, to, says) in [
        ("\"nsecond\",\"20000\"", "\"furlong\",\"20000\"", "furlong"),
        ("\"nsecond\",\"20000\"", "\"%\",\"20000\"", "does not fit"),
        ("\"nsecond\",\"20000\"", "\"nsecond\",\"nan\"", "finite"),
        ("\"nsecond\",\"20000\"", "\"nsecond\",\"-20000\"", "below 0"),
        ("\"nsecond\",\"20000\"", "\"nsecond\",\"1e308\"", "1e18"),
        ("\"nsecond\",\"20000\"", "\"nsecond\",\"20,00\"", "not a number"),
    ] {
        let (line, message) = refusal(text.replace(from, to).as_bytes());
        assert!(line == Some(8) && message.contains("gpu__time_duration.sum") && message.contains(says), "{message}");
    }
    let (line, message) = refusal(text.replace("\"%\",\"10\"", "\"%\",\"201\"").as_bytes());
    assert!(line == Some(7) && message.contains("dram__throughput"), "{message}");
}

#[test]
fn a_file_that_was_cut_off_is_refused_on_its_last_line() {
    let text = text("metrics_run.csv");
    let rows = &text[..text.find("==PROF== Disconnected").unwrap()];
    // Everywhere in the last row but at its very end.
    let last = rows.trim_end().rfind('\n').unwrap() + 1;
    for end in last + 1..rows.trim_end().len() - 1 {
        let (line, message) = refusal(&rows.as_bytes()[..end]);
        assert!(line == Some(10) && message.contains("cut off"), "{end}: {message}");
    }
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::none());
    gzip.write_all(text.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    assert!(matches!(read_bytes(&bytes[..bytes.len() / 2]), Err(IngestError::Read { .. })));
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let header = text("old_header.csv").lines().next().unwrap().to_owned();
    let with_mps = "==WARNING== Note: Running with unmodified GPU clocks.\n==PROF== Connected to process 58\n\
        ==ERROR== Profiling is not supported with Multi-Process Server (MPS) enabled on device 0.\n";
    for (bytes, line, says) in [
        (b"".as_slice(), None, "is empty"),
        (b"NVR\0\x02\0", Some(1), "ncu --import FILE --csv --page raw"),
        (with_mps.as_bytes(), Some(3), "under MPS"),
        (b"Time (%),Total Time (ns),Instances\n1,2,3\n", Some(1), "Nsight Systems"),
        (b"==1== NVPROF is profiling process 1\n", Some(1), "nvprof"),
        (b"{\n \"a\": 1}\n", Some(1), "JSON"),
        (b"nothing\nat all\n", Some(2), "Kernel Name"),
        (header.as_bytes(), Some(1), "without a data row"),
    ] {
        let (found, message) = refusal(bytes);
        assert!(found == line && message.contains(says), "{message}");
    }
}

#[test]
fn a_report_without_any_duration_says_what_to_collect() {
    let text = text("metrics_run.csv").replace("gpu__time_duration.sum", "gpu__other.sum");
    let (_, message) = refusal(text.as_bytes());
    assert!(message.contains("gpu__time_duration.sum") && message.contains(ncu::CAPTURE_COMMAND), "{message}");

    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let read = |options: NcuOptions| ncu::read(file.path(), &options, &Progress::hidden()).unwrap();

    let (batch, report) = read(NcuOptions { report_only: true, ..options("nvidia-a100-sxm4-40gb") });
    assert!(batch.signatures.is_empty() && batch.solo_latencies.is_empty());
    assert_eq!((report.launches, report.operators), (3, 2));
    assert!(report.metrics_missing.contains(&"gpu__time_duration.sum".to_owned()), "{:?}", report.metrics_missing);

    let (batch, report) = read(NcuOptions { latency_us: Some(60.0), ..options("nvidia-a100-sxm4-40gb") });
    assert!(batch.signatures.iter().all(|s| close(s.duration_us, 20.0) && s.counters.get("duration_assumed") == Some(1.0)));
    assert!(report.warnings.iter().any(|w| w.contains("spread evenly")), "{:?}", report.warnings);
}
