//! Longest times for what a caller asks, so that a database that hangs cannot hang him for ever.

use std::time::Duration;

/// A few rows.
pub(super) const READ: Duration = Duration::from_secs(15);
/// A small change, the wait for an import before it included.
pub(super) const WRITE: Duration = Duration::from_mins(1);
/// The whole catalog.
pub(super) const LOAD: Duration = Duration::from_mins(2);
/// A batch of any size.
pub(super) const IMPORT: Duration = Duration::from_mins(10);
