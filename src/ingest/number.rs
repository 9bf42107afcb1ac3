//! Figures as text.

/// Larger than any count, size or time that a GPU report can hold; what is larger is damage, and would overflow sums.
pub(super) const LARGEST: f64 = 1e18;

/// `text` as a finite number from 0 to [`LARGEST`]; the error is a clause for people.
pub(super) fn figure(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("{} is not a number", quoted(text)))?;
    checked(value).map_err(|problem| format!("{} {problem}", quoted(text)))
}

/// `value` when it is finite and from 0 to [`LARGEST`].
pub(super) fn checked(value: f64) -> Result<f64, &'static str> {
    if !value.is_finite() {
        Err("is not a finite number")
    } else if value < 0.0 {
        Err("is below 0")
    } else if value > LARGEST {
        Err("is larger than 1e18")
    } else {
        Ok(value)
    }
}

/// A number of things as a figure.
#[expect(clippy::cast_precision_loss, reason = "a count above 2^53 is not exact, and not real")]
pub(super) fn count(things: u64) -> f64 {
    things as f64
}

/// `text` in quotes, its middle left out when it is long.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
