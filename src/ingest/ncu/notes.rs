use super::{
    lines::Line,
    other::{self, Kind},
};

/// What was seen in a file besides rows.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Headers seen.
    pub(super) tables: u32,
    /// Lines inside a table that are no rows.
    pub(super) skipped: u64,
    /// The first of them.
    pub(super) first_skipped: u64,
    /// First error that `ncu` printed, with its line.
    pub(super) refusal: Option<(u64, String)>,
    /// `ncu` said that it left the clocks alone.
    pub(super) free_clocks: bool,
    /// Another kind of file that a line looks like.
    pub(super) other: Option<(u64, Kind)>,
    /// The first line that is not empty begins as JSON does.
    pub(super) head_is_json: bool,
    text_seen: bool,
}

impl Notes {
    /// Takes a line that `ncu` itself printed about the run; false when it is another.
    pub(super) fn take_message(&mut self, line: &Line) -> bool {
        let text = line.text.trim_start();
        let mark = ["==ERROR==", "==WARNING==", "==PROF=="].into_iter().find(|mark| text.starts_with(mark));
        let Some(mark) = mark else { return false };
        let message = text[mark.len()..].trim();
        if mark == "==ERROR==" || message.contains("No kernels were profiled") {
            self.refusal.get_or_insert_with(|| (line.number, message.chars().take(300).collect()));
        }
        self.free_clocks |= message.contains("unmodified GPU clocks");
        self.look_for_other(line);
        true
    }

    /// Takes a line before the first table.
    pub(super) fn take_preamble(&mut self, line: &Line) {
        if !self.text_seen && !line.text.trim().is_empty() {
            self.text_seen = true;
            self.head_is_json = line.text.trim_start().starts_with(['{', '[']);
        }
        self.look_for_other(line);
    }

    /// Takes a line in a table that is no row of it.
    pub(super) fn skip(&mut self, line: &Line) {
        if self.skipped == 0 {
            self.first_skipped = line.number;
        }
        self.skipped += 1;
        // What ncu says may follow what the application printed on the same line.
        self.free_clocks |= line.text.contains("unmodified GPU clocks");
    }

    fn look_for_other(&mut self, line: &Line) {
        if self.other.is_none() {
            self.other = other::by_line(&line.text).map(|kind| (line.number, kind));
        }
    }
}
