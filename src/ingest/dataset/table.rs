//! A CSV file whose columns are found by name.

use std::{
    collections::HashSet,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use csv::ByteRecord;

use crate::{
    domain::{Invalid, SmShare},
    ingest::{
        IngestError, Place, Progress,
        input::{self, Text},
        number,
    },
};

/// The reader of one CSV file.
pub(super) struct Table {
    reader: csv::Reader<LastByte>,
    path: PathBuf,
    header: Vec<Arc<str>>,
}

/// One row, borrowed from its table's file.
pub(super) struct Row<'t> {
    path: &'t Path,
    header: &'t [Arc<str>],
    record: &'t ByteRecord,
    line: u64,
}

impl Table {
    pub(super) fn open(path: &Path, progress: &Progress) -> Result<Self, IngestError> {
        let text = input::open(path, progress)?;
        let mut reader = csv::ReaderBuilder::new().from_reader(LastByte { inner: text, last: None });
        let header = reader.byte_headers().map_err(|error| of_csv(path, 1, error))?;
        let header: Vec<Arc<str>> = header.iter().map(|name| String::from_utf8_lossy(name).trim().into()).collect();
        let mut names: HashSet<&str> = HashSet::new();
        for name in header.iter().map(AsRef::as_ref).filter(|name: &&str| !name.is_empty()) {
            if !names.insert(name) {
                return Err(IngestError::invalid(Place::line(path, 1).field(name), "is a column that stands twice"));
            }
        }
        Ok(Self { reader, path: path.to_owned(), header })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn header(&self) -> &[Arc<str>] {
        &self.header
    }

    /// The place of the column `name`, if there is one.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column.as_ref() == name)
    }

    /// The place of the column `name`.
    pub(super) fn required(&self, name: &str) -> Result<usize, IngestError> {
        self.column(name)
            .ok_or_else(|| IngestError::invalid(Place::line(&self.path, 1).field(name), "is a required column, and is missing"))
    }

    /// Calls `each` with every row in order; gives the number of rows.
    pub(super) fn rows(&mut self, mut each: impl FnMut(&Row) -> Result<(), IngestError>) -> Result<u64, IngestError> {
        let mut record = ByteRecord::new();
        let mut rows = 0;
        loop {
            let line_before = self.reader.position().line();
            let more = self.reader.read_byte_record(&mut record).map_err(|error| of_csv(&self.path, line_before, error))?;
            if !more {
                return Ok(rows);
            }
            let line = record.position().map_or(line_before, csv::Position::line);
            each(&Row { path: &self.path, header: &self.header, record: &record, line })?;
            rows += 1;
        }
    }

    /// A warning when the file does not end with a line break, as one that was cut off in its last cell would.
    pub(super) fn ending(&self) -> Option<String> {
        let last = self.reader.get_ref().last?;
        (last != b'\n' && last != b'\r')
            .then(|| format!("{} does not end with a line break: its last row may be cut off", name_of(&self.path)))
    }
}

/// The name of the file without its folder.
pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl<'t> Row<'t> {
    /// An error in `column` of this row.
    pub(super) fn invalid(&self, column: usize, problem: impl std::fmt::Display) -> IngestError {
        IngestError::invalid(self.place(column), problem)
    }

    /// Its line, from 1, in the decompressed text.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The error with the place of this row.
    pub(super) fn of(&self, invalid: Invalid) -> IngestError {
        IngestError::of(Place::line(self.path, self.line), invalid)
    }

    fn place(&self, column: usize) -> Place {
        Place::line(self.path, self.line).field(self.header.get(column).map_or("?", |name| name.as_ref()))
    }

    /// The cell, trimmed; empty when there is no such column.
    pub(super) fn text(&self, column: usize) -> Result<&'t str, IngestError> {
        let cell = self.record.get(column).unwrap_or_default();
        std::str::from_utf8(cell).map(str::trim).map_err(|_| self.invalid(column, "is not UTF-8 text"))
    }

    /// The text of an optional column.
    pub(super) fn optional_text(&self, column: Option<usize>) -> Result<&'t str, IngestError> {
        column.map_or(Ok(""), |column| self.text(column))
    }

    /// The figure, or `None` for an empty cell.
    pub(super) fn optional_figure(&self, column: Option<usize>) -> Result<Option<f64>, IngestError> {
        match column.map(|column| self.text(column).map(|text| (column, text))).transpose()? {
            None | Some((_, "")) => Ok(None),
            Some((column, text)) => number::figure(text).map(Some).map_err(|problem| self.invalid(column, problem)),
        }
    }

    /// The figure; an empty cell is an error.
    pub(super) fn figure(&self, column: usize) -> Result<f64, IngestError> {
        self.optional_figure(Some(column))?.ok_or_else(|| self.invalid(column, "must not be empty"))
    }

    /// The share; an empty cell is an error.
    pub(super) fn share(&self, column: usize) -> Result<SmShare, IngestError> {
        let share = self.figure(column)?;
        SmShare::new(self.header.get(column).map_or("sm_share", |name| name.as_ref()), share).map_err(|invalid| self.of(invalid))
    }

    /// A whole number; an empty cell is `None`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    pub(super) fn optional_count(&self, column: Option<usize>) -> Result<Option<u64>, IngestError> {
        match (column, self.optional_figure(column)?) {
            (Some(column), Some(count)) if count.fract() != 0.0 => Err(self.invalid(column, "must be a whole number")),
            (_, count) => Ok(count.map(|count| count as u64)),
        }
    }
}

fn of_csv(path: &Path, line: u64, error: csv::Error) -> IngestError {
    let line = error.position().map_or(line, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => IngestError::Read { place: Place::line(path, line), source },
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => IngestError::invalid(
            Place::line(path, line),
            format_args!("has {len} fields, the header {expected_len}; is the file cut off or a quote missing?"),
        ),
        other => IngestError::invalid(Place::line(path, line), format_args!("is not readable as CSV: {other:?}")),
    }
}

/// Remembers the last byte that was read.
struct LastByte {
    inner: Text,
    last: Option<u8>,
}

impl Read for LastByte {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.last = buffer[..read].last().copied().or(self.last);
        Ok(read)
    }
}
