//! Tables for people.

use comfy_table::{ContentArrangement, Table, presets};

/// A table of plain columns under `header`.
pub(super) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for row in rows {
        table.add_row(row.map(printable));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// `text` without control characters, so that no name can move the cursor or hide a line.
pub(super) fn printable(text: impl AsRef<str>) -> String {
    text.as_ref().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// `text` cut to `width` characters, its middle left out.
pub(super) fn shortened(text: &str, width: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= width || width < 5 {
        return text.to_owned();
    }
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    chars[..head].iter().chain(['\u{2026}'].iter()).chain(&chars[chars.len() - tail..]).collect()
}
