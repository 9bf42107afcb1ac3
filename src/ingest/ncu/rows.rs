//! The rows of the tables in a file, told apart from what `ncu` and the application print around and among them.

use std::{io::BufRead, path::Path};

use super::{
    layout::{Header, Layout, Metrics, header},
    lines::{LONGEST_LINE, Line, Lines, split},
    notes::Notes,
    other,
};
use crate::ingest::{IngestError, Place};

/// A row of a table.
pub(super) struct Row<'r> {
    path: &'r Path,
    /// Line on which it begins.
    line: u64,
    /// Number of its table in the file, from 1.
    pub(super) table: u32,
    pub(super) fields: &'r [String],
    pub(super) layout: &'r Layout,
}

impl Row<'_> {
    /// Where it stands.
    pub(super) fn place(&self) -> Place {
        Place::line(self.path, self.line)
    }
}

/// Reads row after row.
pub(super) struct Rows<'p, R> {
    lines: Lines<'p, R>,
    path: &'p Path,
    layout: Option<Layout>,
    fields: Vec<String>,
    line: u64,
    pub(super) notes: Notes,
}

enum Taken {
    Row,
    Units,
    Nothing,
}

impl<'p, R: BufRead> Rows<'p, R> {
    pub(super) fn new(lines: Lines<'p, R>, path: &'p Path) -> Self {
        Self { lines, path, layout: None, fields: vec![], line: 0, notes: Notes::default() }
    }

    /// The next row; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, IngestError> {
        let there = self.advance()?;
        let (path, line, table, fields) = (self.path, self.line, self.notes.tables, self.fields.as_slice());
        Ok(self.layout.as_ref().filter(|_| there).map(|layout| Row { path, line, table, fields, layout }))
    }

    fn place(&self) -> Place {
        Place::line(self.path, self.line)
    }

    fn advance(&mut self) -> Result<bool, IngestError> {
        while let Some(line) = self.lines.next()? {
            self.line = line.number;
            if self.take_header(&line)? || self.notes.take_message(&line) {
                continue;
            }
            let Some(mut layout) = self.layout.take() else {
                self.notes.take_preamble(&line);
                continue;
            };
            let taken = self.take_line(&line, &mut layout);
            self.layout = Some(layout);
            if taken? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The error for a file in which no table was found.
    pub(super) fn no_table(&self) -> IngestError {
        match (&self.notes.refusal, &self.notes.other) {
            (Some((line, message)), _) => other::refused(self.path, *line, message),
            (None, Some((line, (found, advice)))) => other::wrong(Place::line(self.path, *line), &format!("is {found}"), advice),
            (None, None) => other::unknown(self.path, self.notes.head_is_json, self.lines.number()),
        }
    }

    /// The error for a file whose tables have no row.
    pub(super) fn no_row(&self) -> IngestError {
        if let Some((line, message)) = &self.notes.refusal {
            return other::refused(self.path, *line, message);
        }
        let place = Place::line(self.path, self.lines.number());
        other::wrong(place, "has a table of ncu without a data row: no kernel was profiled", "check the filters of the ncu run")
    }

    fn take_header(&mut self, line: &Line) -> Result<bool, IngestError> {
        if !line.text.contains("Kernel Name") && !line.text.contains("Metric Name") {
            return Ok(false);
        }
        match header(&line.text) {
            None => Ok(false),
            Some(Header::Unusable(found, advice)) => Err(other::wrong(self.place(), &format!("is {found}"), advice)),
            Some(Header::Table(layout)) => {
                self.layout = Some(layout);
                self.notes.tables += 1;
                Ok(true)
            }
        }
    }

    fn take_line(&mut self, line: &Line, layout: &mut Layout) -> Result<bool, IngestError> {
        if line.text.trim().is_empty() {
            return Ok(false);
        }
        match self.take_row(line, layout)? {
            Taken::Row => return Ok(true),
            Taken::Units => {
                if let Metrics::Wide { units, .. } = &mut layout.metrics {
                    *units = Some(self.fields.clone());
                }
            }
            Taken::Nothing => self.notes.skip(line),
        }
        Ok(false)
    }

    fn take_row(&mut self, line: &Line, layout: &Layout) -> Result<Taken, IngestError> {
        let start = if layout.quoted && !line.text.starts_with('"') { row_within(&line.text) } else { Some(0) };
        let begins_like_row = start.is_some() && (!layout.quoted || line.text[start.unwrap_or(0)..].starts_with('"'));
        let text = &line.text[start.unwrap_or(0)..];
        let mut whole = line.whole;
        let mut complete = split(text, &mut self.fields);
        let names_launch = layout.names_launch(&self.fields);
        if line.too_long && names_launch && begins_like_row {
            return Err(self.damaged(format_args!("is longer than {LONGEST_LINE} bytes")));
        }
        if !complete && begins_like_row && (names_launch || !whole) {
            whole = self.close_quote(text, whole)?;
            complete = true;
        }
        if !complete {
            return Ok(Taken::Nothing);
        }
        self.check_fields(layout, whole, begins_like_row)
    }

    /// Appends line after line to a row whose quote is open. Gives whether the last one ended with a line break.
    fn close_quote(&mut self, text: &str, mut whole: bool) -> Result<bool, IngestError> {
        const OPEN: &str = "has a quote that is not closed: the file is cut off or damaged here";
        let mut row = text.to_owned();
        while !split(&row, &mut self.fields) {
            let next = if whole { self.lines.next()? } else { None };
            let Some(next) = next else { return Err(self.damaged(OPEN)) };
            if row_at(&next.text, 0) || row.len() + next.text.len() > LONGEST_LINE {
                return Err(self.damaged(OPEN));
            }
            row.push('\n');
            row.push_str(&next.text);
            whole = next.whole;
        }
        Ok(whole)
    }

    fn check_fields(&mut self, layout: &Layout, whole: bool, begins_like_row: bool) -> Result<Taken, IngestError> {
        while self.fields.len() > layout.width && self.fields.last().is_some_and(|field| field.trim().is_empty()) {
            self.fields.pop();
        }
        let (count, width, least) = (self.fields.len(), layout.width, layout.least_fields());
        if count == width && layout.is_unit_row(&self.fields) {
            return Ok(Taken::Units);
        }
        let names_launch = layout.names_launch(&self.fields);
        // A metric's row may end before the columns of the rules, right after the value or one comma later. Where no line break
        // follows, it may as well have been cut off among those columns or just before the value.
        let ends_early = count < width && count > least + 1 || count == least && self.fields.last().is_some_and(String::is_empty);
        let cut_off = count < least || (!whole && ends_early);
        if (cut_off || count > width) && begins_like_row && (names_launch || !whole) {
            return Err(self.damaged(format_args!("has {count} of {width} fields: the file is cut off or damaged here")));
        }
        if cut_off || count > width || !begins_like_row {
            return Ok(Taken::Nothing);
        }
        let has_number = layout.id.is_some() || layout.process.is_some();
        if has_number && !names_launch {
            return if count == width {
                Err(self.damaged("has no number of a launch where one must be"))
            } else {
                Ok(Taken::Nothing)
            };
        }
        Ok(Taken::Row)
    }

    fn damaged(&self, problem: impl std::fmt::Display) -> IngestError {
        IngestError::invalid(self.place(), problem)
    }
}

/// Where in a line a row begins after what the application printed without a line break.
fn row_within(line: &str) -> Option<usize> {
    line.match_indices('"').map(|(at, _)| at).find(|at| row_at(line, *at))
}

/// True when two numbers in quotes stand at `start`, as only a row begins.
fn row_at(line: &str, start: usize) -> bool {
    fn number(text: &str) -> Option<&str> {
        let text = text.strip_prefix('"')?;
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() == text.len() { None } else { rest.strip_prefix("\",") }
    }
    line.get(start..).and_then(number).and_then(number).is_some()
}
