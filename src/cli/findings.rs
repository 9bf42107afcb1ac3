//! Co-runs that contradict each other or cannot be believed, as lines for people.

use std::fmt::Display;

use super::table::printable;
use crate::interference::quality::Finding;

/// Most lines of findings; the JSON output has all.
const MOST_LINES: usize = 20;

/// A line a finding, with where its row stands; the last one counts those that are left out.
pub(super) fn lines<P: Display>(findings: &[(P, &Finding)]) -> Vec<String> {
    let mut lines: Vec<String> = findings.iter().take(MOST_LINES).map(|(place, finding)| line(place, finding)).collect();
    if findings.len() > MOST_LINES {
        lines.push(format!("and {} more findings; --format json has them all", findings.len() - MOST_LINES));
    }
    lines
}

fn line(place: impl Display, finding: &Finding) -> String {
    let tenant = ["a", "b"][finding.side.min(1)];
    printable(format!("{place}, row {}, tenant {tenant}: {}: {}", finding.pair_id, finding.kind, finding.detail))
}
