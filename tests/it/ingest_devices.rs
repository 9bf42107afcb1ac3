//! The built-in devices and device files.

use pairsight::{domain::CeilingBasis, ingest::devices};

#[test]
fn the_built_in_table_has_the_promised_devices() {
    let ids: Vec<&str> = devices::built_in().keys().map(pairsight::domain::DeviceId::as_str).collect();
    let promised = [
        "nvidia-a10",
        "nvidia-a100-sxm4-40gb",
        "nvidia-a100-sxm4-80gb",
        "nvidia-b200",
        "nvidia-h100-pcie",
        "nvidia-h100-sxm",
        "nvidia-h200",
        "nvidia-l4",
        "nvidia-l40s",
        "nvidia-rtx-4090",
        "nvidia-t4",
        "nvidia-v100-sxm2-16gb",
    ];
    assert_eq!(ids, promised);
    for device in devices::built_in().values() {
        let dram = device.dram_bytes_per_s.as_ref().unwrap();
        assert!(dram.basis == CeilingBasis::Datasheet && !dram.source.is_empty(), "{}", device.device_id);
        assert!(device.l2_bytes.is_some() && device.clock_hz.is_some() && device.origin == "built-in", "{}", device.device_id);
    }
}

fn refusal(text: &str) -> (Option<u64>, String) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let error = devices::read_device_file(file.path()).unwrap_err();
    (error.place().line, error.to_string())
}

#[test]
fn a_device_file_is_checked_entry_by_entry() {
    let good = "[[device]]\ndevice_id = \"my-gpu\"\ndisplay_name = \"Mine\"\nsm_count = 20\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), good).unwrap();
    let devices = devices::read_device_file(file.path()).unwrap();
    assert_eq!((devices[0].sm_count, devices[0].origin.as_str()), (20, "device file"));

    for (text, line, says) in [
        (format!("{good}sm_cuont = 3\n"), 1, "sm_cuont"),
        (format!("{good}\n{good}"), 6, "stands twice"),
        (format!("{good}l2_bytes = 0\n"), 1, "l2_bytes"),
        (format!("{good}\n{}", good.replace("20", "0").replace("my", "your")), 6, "sm_count"),
        (format!("{good}clock_hz = {{ value = nan, basis = \"measured\", source = \"me\" }}\n"), 1, "clock_hz"),
        (format!("{good}clock_hz = {{ value = 1e9, basis = \"guessed\", source = \"me\" }}\n"), 1, "clock_hz"),
        (format!("{good}[[device\n"), 5, "device"),
    ] {
        let (found, message) = refusal(&text);
        assert!(found == Some(line) && message.contains(says), "{message}");
    }
    assert!(refusal("").1.contains("[[device]]"));
}
