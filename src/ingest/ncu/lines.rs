//! Lines of a text of any size, and the fields of a line.

use std::{
    io::{self, BufRead, Read},
    path::Path,
};

use crate::ingest::{IngestError, Place};

/// Longest line and longest row that is kept.
pub(super) const LONGEST_LINE: usize = 4 << 20;

/// The lines of a file.
pub(super) struct Lines<'p, R> {
    text: R,
    path: &'p Path,
    number: u64,
    buffer: Vec<u8>,
}

/// A line without its end.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// It ended with a line break.
    pub(super) whole: bool,
    /// Its end was left out because it was longer than [`LONGEST_LINE`].
    pub(super) too_long: bool,
}

impl<'p, R: BufRead> Lines<'p, R> {
    pub(super) fn new(text: R, path: &'p Path) -> Self {
        Self { text, path, number: 0, buffer: vec![] }
    }

    /// Lines read so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line.
    pub(super) fn next(&mut self) -> Result<Option<Line>, IngestError> {
        self.buffer.clear();
        let limit = LONGEST_LINE as u64;
        let read = self.text.by_ref().take(limit).read_until(b'\n', &mut self.buffer).map_err(|source| self.failed(source))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut whole = self.buffer.last() == Some(&b'\n');
        let too_long = !whole && read == LONGEST_LINE;
        if too_long {
            whole = self.text.skip_until(b'\n').map_err(|source| self.failed(source))? > 0;
        }
        let text = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Ok(Some(Line { number: self.number, text: String::from_utf8_lossy(text).into_owned(), whole, too_long }))
    }

    fn failed(&self, source: io::Error) -> IngestError {
        IngestError::Read { place: Place::line(self.path, self.number + 1), source }
    }
}

/// Splits a line at its commas outside quotes into `fields`; false when a quote is still open at its end.
pub(super) fn split(line: &str, fields: &mut Vec<String>) -> bool {
    fields.clear();
    let mut field = String::new();
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    !quoted
}
