use std::{borrow::Cow, io::IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far a reader has come, in bytes of the file on disk. The caller decides whether anyone sees it.
#[derive(Debug, Clone)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Shown nowhere.
    #[must_use]
    pub fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// A bar on standard error, or nothing when that is not a terminal.
    #[must_use]
    pub fn on_stderr() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {eta}";
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// Another file of `bytes` bytes follows.
    pub(super) fn begin(&self, name: impl Into<Cow<'static, str>>, bytes: u64) {
        self.0.inc_length(bytes);
        self.0.set_message(name);
    }

    /// `bytes` more bytes were read.
    pub(super) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
