use std::collections::BTreeMap;

/// A set of launch numbers. Numbers that follow one another take the room of one, so that a report of any length in its usual
/// order takes a few words.
#[derive(Debug, Default)]
pub(super) struct Launches {
    /// First and last number of each run.
    runs: BTreeMap<u64, u64>,
}

impl Launches {
    /// Adds `launch`; false when it was there.
    pub(super) fn insert(&mut self, launch: u64) -> bool {
        let before = self.runs.range(..=launch).next_back().map(|(first, last)| (*first, *last));
        if before.is_some_and(|(_, last)| last >= launch) {
            return false;
        }
        let first = match before {
            Some((first, last)) if last + 1 == launch => first,
            _ => launch,
        };
        let last = launch.checked_add(1).and_then(|next| self.runs.remove(&next)).unwrap_or(launch);
        self.runs.insert(first, last);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_and_meet() {
        let mut launches = Launches::default();
        let order = [5, 3, 4, 9, u64::MAX, 8, 0, 7, 6];
        assert!(order.iter().all(|launch| launches.insert(*launch)));
        assert!(order.iter().all(|launch| !launches.insert(*launch)));
        assert_eq!(launches.runs, BTreeMap::from([(0, 0), (3, 9), (u64::MAX, u64::MAX)]));
    }
}
