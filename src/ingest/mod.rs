//! Readers: files that people have, turned into [`crate::domain::ImportBatch`]es. One file or folder a reader; nothing is stored
//! here. `docs/formats.md` says what each reads.

pub mod dataset;
pub mod devices;
mod error;
mod input;
pub mod ncu;
mod number;
mod progress;

pub use error::{IngestError, Place};
pub use progress::Progress;
