//! The filter of `ListWorkloads`: terms joined by ` AND `: `device = "ID"`, `family = "NAME"`, or a part of the name, in quotes
//! where it holds spaces, quotes or `=`.

use crate::domain::Invalid;

/// Longest filter of any list, bytes.
pub(super) const MAX_FILTER_BYTES: usize = 1024;

/// What a workload has to match.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WorkloadFilter {
    /// Device of its signatures.
    pub(super) device: Option<String>,
    /// Its family.
    pub(super) family: Option<String>,
    /// Parts of its name, all of them.
    pub(super) parts: Vec<String>,
}

/// Checks a filter that is a part of a name.
pub(super) fn part_of_name(filter: &str) -> Result<&str, Invalid> {
    if filter.is_empty() { Ok(filter) } else { Invalid::text("filter", filter, MAX_FILTER_BYTES) }
}

impl WorkloadFilter {
    /// Reads a filter.
    pub(super) fn parse(filter: &str) -> Result<Self, Invalid> {
        let mut parsed = Self::default();
        let mut rest = part_of_name(filter)?.trim();
        while !rest.is_empty() {
            rest = parsed.term(rest)?.trim_start();
            if rest.is_empty() {
                break;
            }
            let after = rest.strip_prefix("AND").filter(|after| after.starts_with(char::is_whitespace));
            rest = after.ok_or_else(|| malformed("terms must be joined by AND"))?.trim_start();
            if rest.is_empty() {
                return Err(malformed("a term is missing after AND"));
            }
        }
        Ok(parsed)
    }

    /// Reads one term; returns what follows it.
    fn term<'f>(&mut self, text: &'f str) -> Result<&'f str, Invalid> {
        if text.starts_with('"') {
            let (part, rest) = quoted(text)?;
            self.parts.push(part);
            return Ok(rest);
        }
        let end = text.find(|c: char| c.is_whitespace() || matches!(c, '=' | '"')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        if let Some(value) = rest.trim_start().strip_prefix('=') {
            let (value, rest) = quoted(value.trim_start())?;
            self.set(word, value)?;
            return Ok(rest);
        }
        if word.is_empty() || word == "AND" || rest.starts_with('"') {
            return Err(malformed("a term is a part of the name, device = \"ID\" or family = \"NAME\""));
        }
        self.parts.push(word.to_owned());
        Ok(rest)
    }

    fn set(&mut self, field: &str, value: String) -> Result<(), Invalid> {
        let slot = match field {
            "device" => &mut self.device,
            "family" => &mut self.family,
            _ => return Err(malformed("only device and family can be compared with =")),
        };
        if slot.is_some() {
            return Err(malformed(&format!("{field} stands twice")));
        }
        *slot = Some(value);
        Ok(())
    }
}

/// A text in quotes, `\"` and `\\` in it undone, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), Invalid> {
    let unquoted = || malformed("a value must stand in double quotes");
    let inner = text.strip_prefix('"').ok_or_else(unquoted)?;
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in inner.char_indices() {
        match (escaped, c) {
            (false, '\\') => escaped = true,
            (false, '"') => return Ok((value, &inner[at + 1..])),
            (_, c) => {
                value.push(c);
                escaped = false;
            }
        }
    }
    Err(unquoted())
}

fn malformed(problem: &str) -> Invalid {
    Invalid::new("filter", problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_terms_in_any_order() {
        let filter = WorkloadFilter::parse(r#"b16 AND family="a \"b\" AND c" AND device = "t4" AND "x=y""#).unwrap();
        assert_eq!(filter.device.as_deref(), Some("t4"));
        assert_eq!(filter.family.as_deref(), Some("a \"b\" AND c"));
        assert_eq!(filter.parts, ["b16", "x=y"]);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for filter in ["AND", "a AND", "a b", "device =", "device = t4", "device = \"t4", "shoe = \"x\"", "= \"x\"", "a\"b\""] {
            assert_eq!(WorkloadFilter::parse(filter).unwrap_err().field, "filter", "{filter}");
        }
        assert!(WorkloadFilter::parse(r#"device = "a" AND device = "b""#).is_err());
    }
}
