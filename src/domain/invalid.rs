use std::fmt;

/// Smallest value above 0 that is taken for a measurement.
const LEAST: f64 = 1e-12;
/// Largest value that is taken for a measurement: bytes, cycles, microseconds and bytes per second all stay far below.
const MOST: f64 = 1e18;

/// A value that cannot be used, and the field that holds it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// Path of the field as its reader knows it, for example `signatures[3].sm_share`.
    pub field: String,
    /// What is wrong with it, one clause, without the value when that is long.
    pub problem: String,
}

impl Invalid {
    /// A problem with `field`.
    pub fn new(field: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { field: field.into(), problem: problem.to_string() }
    }

    /// The same problem, with the field seen from the thing that contains it.
    #[must_use]
    pub fn within(self, parent: impl fmt::Display) -> Self {
        Self { field: format!("{parent}.{}", self.field), problem: self.problem }
    }

    /// `value` when it is above 0 and no smaller or larger than anything that can be measured (`LEAST`, `MOST`), so that
    /// products and ratios of such values stay finite.
    pub fn positive(field: &str, value: f64) -> Result<f64, Self> {
        if (LEAST..=MOST).contains(&value) {
            Ok(value)
        } else {
            Err(Self::new(field, format_args!("must be a finite number above 0 (from 1e-12 to 1e18), is {value:e}")))
        }
    }

    /// `value` when it is not below 0 and at most `MOST`.
    pub fn not_negative(field: &str, value: f64) -> Result<f64, Self> {
        if (0.0..=MOST).contains(&value) {
            Ok(value)
        } else {
            Err(Self::new(field, format_args!("must be a finite number, at least 0 (and at most 1e18), is {value:e}")))
        }
    }

    /// `text` when it has 1 to `max_bytes` bytes and no control characters.
    pub fn text<'t>(field: &str, text: &'t str, max_bytes: usize) -> Result<&'t str, Self> {
        if text.is_empty() {
            Err(Self::new(field, "must not be empty"))
        } else if text.len() > max_bytes {
            Err(Self::new(field, format_args!("has {} bytes, at most {max_bytes} are allowed", text.len())))
        } else if text.chars().any(char::is_control) {
            Err(Self::new(field, "must not contain control characters"))
        } else {
            Ok(text)
        }
    }
}
