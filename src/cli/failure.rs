//! How a verb fails: one line on stderr, perhaps a hint, and an exit code.

use std::process::ExitCode;

use tonic_types::StatusExt;

use super::output::note;
use crate::{config::ConfigError, store::StoreError};

/// The arguments fit the grammar but not each other.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misuse(pub(super) String);

/// A failure with advice on what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Advice {
    /// What went wrong.
    pub(super) message: String,
    /// What to do.
    pub(super) hint: String,
}

impl Advice {
    /// A failure that says `message`, and what to do about it.
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Something asked of this build that it does not do in the way configured.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct BadSetting(pub(super) String);

/// An answer other than OK, from a daemon or from the same code run here.
#[derive(Debug, thiserror::Error)]
#[error("{}", describe(.0))]
pub(super) struct Refused(pub(super) Box<tonic::Status>);

impl From<tonic::Status> for Refused {
    fn from(status: tonic::Status) -> Self {
        Self(Box::new(status))
    }
}

impl Refused {
    /// The reason code that the service gave.
    pub(super) fn reason(&self) -> Option<String> {
        self.0.get_details_error_info().map(|info| info.reason)
    }
}

fn describe(status: &tonic::Status) -> String {
    let details = status.get_error_details();
    let message = status.message();
    let mut text = if message.is_empty() { status.code().description() } else { message }.to_owned();
    for violation in details.bad_request().into_iter().flat_map(|bad| &bad.field_violations) {
        let said = format!("{}: {}", violation.field, violation.description);
        if !text.contains(&said) {
            text = format!("{text}; {said}");
        }
    }
    match details.error_info() {
        Some(info) => format!("{text} [{}]", info.reason),
        None => format!("{text} [{:?}]", status.code()),
    }
}

/// Reports how a verb ended.
pub(super) fn conclude(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    note(format_args!("error: {}", one_line(&chain(&error))));
    if let Some(advice) = error.chain().find_map(|cause| cause.downcast_ref::<Advice>()) {
        note(format_args!("hint: {}", advice.hint));
    }
    ExitCode::from(exit_code(&error))
}

fn exit_code(error: &anyhow::Error) -> u8 {
    let is = |test: fn(&(dyn std::error::Error + 'static)) -> bool| error.chain().any(test);
    if is(|cause| cause.is::<Misuse>()) {
        2
    } else if is(is_configuration) {
        64
    } else {
        1
    }
}

fn is_configuration(cause: &(dyn std::error::Error + 'static)) -> bool {
    let store = cause.downcast_ref::<StoreError>();
    cause.is::<ConfigError>() || cause.is::<BadSetting>() || matches!(store, Some(StoreError::Configuration(_)))
}

/// The error and its causes, each once: many errors already say what caused them.
fn chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| match said.as_str() {
        "" => cause,
        _ if said.contains(&cause) => said,
        _ => format!("{said}: {cause}"),
    })
}

/// Folds an error that spans lines (a TOML parser's, say) into one.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
