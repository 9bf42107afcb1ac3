use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::domain::Invalid;

/// Where in a file something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: PathBuf,
    /// Line, from 1, in the decompressed text.
    pub line: Option<u64>,
    /// Column, metric or key.
    pub field: Option<String>,
}

impl Place {
    /// The file as a whole.
    pub fn file(file: &Path) -> Self {
        Self { file: file.to_owned(), line: None, field: None }
    }

    /// A line of the file.
    pub fn line(file: &Path, line: u64) -> Self {
        Self { file: file.to_owned(), line: Some(line), field: None }
    }

    /// The same place, in `field`.
    #[must_use]
    pub fn field(self, field: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", {field}")?;
        }
        Ok(())
    }
}

/// Why a file was not read. Nothing of it is used.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The file is not there or may not be read.
    #[error("{place}: cannot be opened: {source}")]
    Open {
        /// The file.
        place: Place,
        /// What the system says.
        source: io::Error,
    },
    /// Reading stopped in the middle: a damaged archive, a disk error.
    #[error("{place}: cannot be read any further: {source}")]
    Read {
        /// The file and the line up to which it was read.
        place: Place,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// A value or a row that cannot be used.
    #[error("{place}: {problem}")]
    Invalid {
        /// Where it stands.
        place: Place,
        /// What is wrong with it, one clause.
        problem: String,
    },
    /// The file is whole but of a kind that this reader does not read, or holds nothing that it can use.
    #[error("{place}: {found}; {advice}")]
    WrongKind {
        /// The file, and the line that shows it.
        place: Place,
        /// What the file is.
        found: String,
        /// What to do instead.
        advice: String,
    },
}

impl IngestError {
    /// A problem at `place`.
    pub fn invalid(place: Place, problem: impl fmt::Display) -> Self {
        Self::Invalid { place, problem: problem.to_string() }
    }

    /// `invalid` with the place of the thing that holds the field.
    pub fn of(place: Place, invalid: Invalid) -> Self {
        Self::Invalid { place: place.field(invalid.field), problem: invalid.problem }
    }

    /// Where it happened.
    pub fn place(&self) -> &Place {
        match self {
            Self::Open { place, .. } | Self::Read { place, .. } | Self::Invalid { place, .. } | Self::WrongKind { place, .. } => {
                place
            }
        }
    }
}
