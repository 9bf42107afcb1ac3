//! Files that are given for a report of `ncu` and are something else: what they are, and what to do.

use std::path::Path;

use crate::ingest::{IngestError, Place};

/// What a file is, and what to do with it.
pub(super) type Kind = (&'static str, &'static str);

const EXPORT: &str = "export it first: `ncu --import FILE --csv --page raw > report.csv`";
const UNPACK: &str = "unpack it first; gzip is the only packing that is read";
const CAPTURE: &str = "`pairsight import ncu --help` has the command that takes a report with what is needed";

/// Kinds known by their first bytes.
const MAGIC: &[(&[u8], Kind)] = &[
    (b"NVR\0", ("the binary report of ncu", EXPORT)),
    (b"SQLite format 3\0", ("an SQLite database, perhaps an export of Nsight Systems, which has no counters", CAPTURE)),
    (b"PK\x03\x04", ("a zip archive", UNPACK)),
    (b"\x28\xb5\x2f\xfd", ("packed with zstd", UNPACK)),
    (b"\xfd7zXZ\0", ("packed with xz", UNPACK)),
    (b"BZh", ("packed with bzip2", UNPACK)),
];

/// Kinds known by a part of a line.
const MARKS: &[(&str, Kind)] = &[
    ("==PROF== Report:", ("the output of an ncu run that wrote a binary report", EXPORT)),
    ("NVPROF is profiling", ("output of nvprof, the tool before ncu", CAPTURE)),
    ("\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\"", ("a table of nvprof, the tool before ncu", CAPTURE)),
    ("Total Time (ns)", ("a summary of Nsight Systems, which has durations but no counters", CAPTURE)),
    ("\"Start (ns)\"", ("a trace of Nsight Systems, which has durations but no counters", CAPTURE)),
    ("Start (ns),Duration (ns)", ("a trace of Nsight Systems, which has durations but no counters", CAPTURE)),
    ("\"traceEvents\"", ("a trace of the PyTorch profiler, which has durations but no counters", CAPTURE)),
    (
        "Section: GPU Speed Of Light Throughput",
        ("ncu's output for people", "take it again with --csv, or export the report: `ncu --import FILE --csv --page raw`"),
    ),
];

/// Refuses a file by its first bytes.
pub(super) fn refuse_by_magic(path: &Path, head: &[u8]) -> Result<(), IngestError> {
    if head.is_empty() {
        return Err(wrong(Place::file(path), "is empty", CAPTURE));
    }
    match MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        Some((_, (found, advice))) => Err(wrong(Place::line(path, 1), &format!("is {found}"), advice)),
        None => Ok(()),
    }
}

/// The kind that `line` shows.
pub(super) fn by_line(line: &str) -> Option<Kind> {
    MARKS.iter().find(|(mark, _)| line.contains(mark)).map(|(_, kind)| *kind)
}

/// The error for a file with no table of `ncu` that shows nothing of another kind.
pub(super) fn unknown(path: &Path, head_is_json: bool, lines: u64) -> IngestError {
    if head_is_json {
        return wrong(Place::line(path, 1), "is JSON, perhaps a trace of the PyTorch profiler, which has no counters", CAPTURE);
    }
    let found = format!("has no table of ncu in its {lines} lines (no header with \"Kernel Name\")");
    wrong(Place::line(path, lines.max(1)), &found, CAPTURE)
}

/// The error for a run that `ncu` refused; `message` is its own.
pub(super) fn refused(path: &Path, line: u64, message: &str) -> IngestError {
    let advice = if message.contains("MPS") {
        "ncu cannot profile under MPS: stop the MPS server and take the report on the whole GPU or in a green context"
    } else if message.contains("ERR_NVGPUCTRPERM") || message.contains("permission") {
        "ask the administrator for access to the GPU's counters, or run ncu as root"
    } else if message.contains("No kernels were profiled") {
        "under --profile-from-start off the application must call cudaProfilerStart (torch.cuda.profiler.start()) before the iteration"
    } else {
        "take the report again once ncu runs"
    };
    wrong(Place::line(path, line), &format!("holds no report, ncu says: {message}"), advice)
}

/// The error with `found` and `advice`.
pub(super) fn wrong(place: Place, found: &str, advice: &str) -> IngestError {
    IngestError::WrongKind { place, found: found.to_owned(), advice: advice.to_owned() }
}
