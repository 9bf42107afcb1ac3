//! "Did you mean": the names closest to one that is not there.

/// Up to three of `names` that look like `wanted`, best first.
pub(super) fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names.into_iter().map(|name| (likeness(&wanted, &name.to_lowercase()), name)).collect();
    scored.retain(|(score, _)| *score >= 0.75);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    if name.contains(wanted) || wanted.contains(name) { 1.0 } else { strsim::jaro_winkler(wanted, name) }
}

/// "did you mean A, B?" when something is close, else how to list what is there.
pub(super) fn did_you_mean<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>, list_with: &str) -> String {
    match nearest(wanted, names).as_slice() {
        [] => format!("`{list_with}` lists what is there"),
        close => format!("did you mean {}? `{list_with}` lists all", close.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name() {
        assert_eq!(nearest("resnet5/b16", ["bert/b8", "resnet50/b16", "resnet50/b8"]).first(), Some(&"resnet50/b16"));
        assert!(nearest("zzz", ["bert/b8"]).is_empty());
    }
}
