//! What goes to stdout and what to stderr. A reader that has gone away (`| head`) is no failure.

use std::{
    fmt::Display,
    io::{self, Write},
};

use anyhow::Context;
use prost::{Message, Name};
use serde::Serialize;

use crate::server::json::to_json_string;

/// Form of what a verb prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document on stdout, nothing else there.
    Json,
}

/// `--format`, for each verb that prints.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct FormatArg {
    /// Form of the output on stdout.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub(super) format: Format,
}

impl FormatArg {
    /// Prints `value` as JSON, or the text that `text` makes.
    pub(super) fn print<T: Serialize>(self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.format {
            Format::Json => print(&serde_json::to_string_pretty(value)?),
            Format::Text => print(&text()),
        }
    }

    /// Prints a message of the wire as JSON, or the text that `text` makes.
    pub(super) fn print_message<M: Message + Name>(self, message: &M, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.format {
            Format::Json => print(&to_json_string(message)?),
            Format::Text => print(&text()),
        }
    }
}

/// Writes `text` and a line end to stdout.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{}", text.trim_end_matches('\n')).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

/// Writes a line to stderr. There is nowhere to report that this failed.
pub(super) fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
