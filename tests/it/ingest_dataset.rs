//! Dataset folders, whole and damaged.

use std::{fs, path::Path};

use pairsight::{
    domain::{CeilingBasis, SharingMode},
    ingest::{
        IngestError, Progress,
        dataset::{self, Dataset, SignatureBasis},
        devices,
    },
};

const MANIFEST: &str = r#"{"format": "pairsight-dataset", "version": 1, "device_id": "sim-small", "device": "a small one", "sm_count": 10,
 "sharing_mode": "SM_PARTITION", "provenance": "simulated", "signature_basis": "raw_sums", "dram_bytes_per_s": 9e10, "l2_bytes": 786432,
 "source": "own runs", "licence": "free", "remark": {"kept": "silent"}}"#;
const SIGNATURES: &str = "workload,family,sm_share,operator,grid,block,launches,duration_ns,dram_read_bytes,sm_inst_executed,remark\n\
    net/b8,nets,0.5,\"gemm<1, 2>\",60,256,2,1500,100,,first\n\
    net/b8,nets,0.5,\"gemm<1, 2>\",60,256,1,500,0,7,\n\
    other/b1,,0.5,add,,,1,1000,5,1,x\n";
const SOLO: &str = "workload,sm_share,latency_us,stdev_us,samples\nnet/b8,0.5,4.5,0.1,10\nlone/b1,1,9,,\n";
const PAIRS: &str = "pair_id,a_workload,a_sm_share,b_workload,b_sm_share,a_solo_us,b_solo_us,a_corun_us,b_corun_us,campaign,a_batch\n\
    p0,net/b8,0.5,other/b1,0.5,,1.1,5.5,,main,8\n";
const TRACE: &str = "workload,position,operator,gap_before_ns\nnet/b8,0,\"gemm<1, 2>\",88\n";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        for (name, text) in [
            ("dataset.json", MANIFEST),
            ("signature.csv", SIGNATURES),
            ("solo.csv", SOLO),
            ("pair.csv", PAIRS),
            ("trace.csv", TRACE),
        ] {
            folder.put(name, text);
        }
        folder
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self) -> Result<Dataset, IngestError> {
        dataset::read(self.0.path(), devices::built_in(), &Progress::hidden())
    }

    /// The place of the error when `from` in the file `name` is `to`.
    fn refusal(name: &str, text: &str, from: &str, to: &str) -> (Option<u64>, Option<String>, String) {
        let folder = Self::new();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not in {name}");
        folder.put(name, changed);
        let error = folder.read().unwrap_err();
        assert_eq!(error.place().file.file_name(), Path::new(name).file_name(), "{error}");
        (error.place().line, error.place().field.clone(), error.to_string())
    }
}

#[test]
fn all_files_come_together() {
    let set = Folder::new().read().unwrap();
    let batch = &set.batch;
    assert_eq!((batch.signatures.len(), batch.pair_samples.len(), batch.trace.len()), (3, 1, 1));
    assert_eq!((set.sharing_mode, set.signature_basis), (SharingMode::SmPartition, Some(SignatureBasis::RawSums)));
    let dram = batch.device.dram_bytes_per_s.as_ref().unwrap();
    assert_eq!((dram.basis, dram.source.as_str(), batch.device.l2_bytes), (CeilingBasis::Measured, "own runs", Some(786_432)));
    let first = &batch.signatures[0];
    assert_eq!((first.duration_us, first.family.as_deref(), first.operator.as_ref()), (1.5, Some("nets"), "gemm<1, 2>"));
    assert_eq!(first.counters.get("sm_inst_executed"), None, "an empty cell is missing, not zero");
    assert_eq!(batch.signatures[1].counters.get("dram_read_bytes"), Some(0.0));
    assert_eq!(batch.signatures[2].family, None);
    let alone = batch.pair_samples[0].solo_us.map(|us| us.to_string());
    assert_eq!(alone, ["4.5", "1.1"], "an empty solo cell is the one of solo.csv");
    assert_eq!(batch.pair_samples[0].corun_us, [Some(5.5), None]);
    assert_eq!(set.batch_sizes.get("net/b8"), Some(&8));
}

#[test]
fn a_workload_without_solo_latency_is_left_to_the_catalog() {
    let folder = Folder::new();
    let set = folder.read().unwrap();
    assert!(set.batch.solo_latencies.iter().all(|solo| !solo.from_kernels));
    let report = &set.report;
    assert_eq!((report.solo_latencies, report.solo_latencies_from_kernels, set.batch.solo_latencies.len()), (2, 1, 2));
    assert_eq!((report.launches, report.operators, report.iterations, report.duration_us), (4, 2, 1, 4.5));
    assert!(set.report.warnings.iter().any(|warning| warning.contains("remark")), "{:?}", set.report.warnings);
    assert!(set.report.warnings.iter().any(|warning| warning.contains("no signature")));
    for name in ["solo.csv", "pair.csv", "trace.csv"] {
        fs::remove_file(folder.0.path().join(name)).unwrap();
    }
    let set = folder.read().unwrap();
    assert!(set.batch.solo_latencies.is_empty());
    assert!(set.report.warnings.iter().any(|warning| warning.starts_with("2 workloads and shares")), "{:?}", set.report.warnings);
    assert!(set.report.warnings.iter().any(|warning| warning.contains("no pair.csv")));
}

#[test]
fn column_order_and_gzip_change_nothing() {
    let folder = Folder::new();
    let plain = folder.read().unwrap();
    let turned: String = SOLO.lines().map(|line| line.rsplit(',').collect::<Vec<_>>().join(",") + "\r\n").collect();
    folder.put("solo.csv", format!("\u{feff}{turned}"));
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, SIGNATURES.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    fs::remove_file(folder.0.path().join("signature.csv")).unwrap();
    folder.put("signature.csv.gz", &bytes);
    assert_eq!(folder.read().unwrap().batch, plain.batch);
    folder.put("signature.csv.gz", &bytes[..bytes.len() - 12]);
    assert!(matches!(folder.read(), Err(IngestError::Read { .. })));
}

#[test]
fn a_bad_cell_is_named_by_file_line_and_column() {
    for (name, text, from, to, line, column) in [
        ("signature.csv", SIGNATURES, "500,0,7", "nan,0,7", 3, "duration_ns"),
        ("signature.csv", SIGNATURES, "500,0,7", "-1,0,7", 3, "duration_ns"),
        ("signature.csv", SIGNATURES, "500,0,7", "0,0,7", 3, "duration_ns"),
        ("signature.csv", SIGNATURES, "500,0,7", "1e308,0,7", 3, "duration_ns"),
        ("signature.csv", SIGNATURES, "500,0,7", "500,0,inf", 3, "sm_inst_executed"),
        ("signature.csv", SIGNATURES, "500,0,7", "500,x,7", 3, "dram_read_bytes"),
        ("signature.csv", SIGNATURES, "1,1000,5,1", "1,1000,5,one", 4, "sm_inst_executed"),
        ("signature.csv", SIGNATURES, "other/b1,,0.5", "other/b1,,1.5", 4, "sm_share"),
        ("signature.csv", SIGNATURES, "other/b1", "", 4, "workload"),
        ("signature.csv", SIGNATURES, "duration_ns", "duration", 1, "duration_ns"),
        ("solo.csv", SOLO, "lone/b1,1,9", "lone/b1,0,9", 3, "sm_share"),
        ("solo.csv", SOLO, "lone/b1,1,9", "net/b8,0.5000001,9", 3, "workload"),
        ("pair.csv", PAIRS, "b_corun_us", "b_co", 1, "b_corun_us"),
        ("pair.csv", PAIRS, "other/b1,0.5", "other/b1,0.6", 2, "b_sm_share"),
        ("trace.csv", TRACE, "net/b8,0", "net/b8,0.5", 2, "position"),
    ] {
        let (found, field, message) = Folder::refusal(name, text, from, to);
        assert_eq!((found, field.as_deref()), (Some(line), Some(column)), "{message}");
    }
    let (line, _, message) = Folder::refusal("signature.csv", SIGNATURES, "1,1000,5,1,x\n", "1,10");
    assert!(line == Some(4) && message.contains("cut off"), "{message}");
    let long = "w".repeat(10 << 20);
    let (_, field, message) = Folder::refusal("signature.csv", SIGNATURES, "other/b1", &long);
    assert!(field.as_deref() == Some("workload") && message.len() < 1000);
}

#[test]
fn the_manifest_is_checked_by_key() {
    for (from, to, key) in [
        ("pairsight-dataset", "other", "format"),
        ("\"version\": 1", "\"version\": 2", "version"),
        ("sim-small", "Sim Small", "device_id"),
        ("\"sm_count\": 10", "\"sm_count\": 0", "sm_count"),
        ("\"sm_count\": 10,", "", "sm_count"),
        ("\"sm_count\": 10,", "\"sm_count\": 10, \"compute_capability\": \"seven\",", "compute_capability"),
        ("\"sm_count\": 10,", "\"sm_count\": 10, \"compute_capability\": \"7.00000000000000000\",", "compute_capability"),
        ("own runs", &"x".repeat(1025), "dram_bytes_per_s.source"),
        ("SM_PARTITION", "SLICED", "sharing_mode"),
        ("simulated", "guessed", "provenance"),
        ("raw_sums", "sums", "signature_basis"),
        ("9e10", "-9e10", "dram_bytes_per_s"),
        // A built-in device has its SM count.
        ("sim-small", "nvidia-t4", "sm_count"),
    ] {
        let (_, field, message) = Folder::refusal("dataset.json", MANIFEST, from, to);
        assert_eq!(field.as_deref(), Some(key), "{message}");
    }
    let (line, _, _) = Folder::refusal("dataset.json", MANIFEST, "\"SM_PARTITION\",", "\"SM_PARTITION\"");
    assert_eq!(line, Some(2));
    let folder = Folder::new();
    folder.put("dataset.json", MANIFEST.replace("sim-small", "nvidia-t4").replace("\"sm_count\": 10", "\"sm_count\": 40"));
    let device = folder.read().unwrap().batch.device;
    assert_eq!((device.dram_bytes_per_s.unwrap().basis, device.partition_step), (CeilingBasis::Measured, 2));
    assert_eq!(device.l2_bytes_per_s.unwrap().basis, CeilingBasis::Estimated, "what was not measured stays");
}
