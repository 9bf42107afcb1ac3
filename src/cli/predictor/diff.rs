//! `predictor diff`: two stored predictors side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::find;
use crate::{
    cli::{
        table::{printable, table},
        words,
    },
    domain::Channel,
    interference::Predictor,
    proto,
    store::{Catalog, PredictorInfo, Store},
};

/// What is printed.
#[derive(Debug, Serialize)]
pub(super) struct Diff {
    /// The two, in the order asked.
    predictors: [Side; 2],
    /// Terms of either, by the larger coefficient.
    terms: Vec<TermDiff>,
}

#[derive(Debug, Serialize)]
struct Side {
    predictor_version: String,
    device: String,
    sharing_mode: &'static str,
    active: bool,
    samples: u32,
    provenance: &'static str,
    unseen_mean_error_pct: Option<f64>,
    held_out_mean_error_pct: f64,
}

#[derive(Debug, Serialize)]
struct TermDiff {
    term: String,
    channel: &'static str,
    /// 0 where the predictor does without the term.
    coefficients: [f64; 2],
}

/// Compares the predictors whose versions are, or begin with, `versions`.
pub(super) async fn diff(store: &dyn Store, catalog: &Catalog, versions: [&str; 2]) -> anyhow::Result<Diff> {
    let [(a, of_a), (b, of_b)] = [read(store, catalog, versions[0]).await?, read(store, catalog, versions[1]).await?];
    let mut terms: BTreeMap<String, (Channel, [f64; 2])> = BTreeMap::new();
    for (side, predictor) in [of_a, of_b].into_iter().enumerate() {
        for term in predictor.artefact.into_iter().flat_map(|artefact| artefact.terms) {
            terms.entry(term.term).or_insert((term.channel, [0.0; 2])).1[side] = term.coefficient;
        }
    }
    let named = |(term, (channel, coefficients)): (String, (Channel, [f64; 2]))| TermDiff {
        term,
        channel: proto::Channel::from(channel).as_str_name(),
        coefficients,
    };
    let mut terms: Vec<_> = terms.into_iter().map(named).collect();
    let size = |term: &TermDiff| term.coefficients[0].max(term.coefficients[1]);
    terms.sort_by(|a, b| size(b).total_cmp(&size(a)));
    Ok(Diff { predictors: [a, b], terms })
}

async fn read(store: &dyn Store, catalog: &Catalog, version: &str) -> anyhow::Result<(Side, Predictor)> {
    let info = find(catalog, version)?;
    let predictor = Predictor::from_json(&store.predictor_artefact(&info.version).await?)?;
    Ok((side(info, &predictor), predictor))
}

fn side(info: &PredictorInfo, predictor: &Predictor) -> Side {
    Side {
        predictor_version: info.version.clone(),
        device: info.device.to_string(),
        sharing_mode: proto::SharingMode::from(info.sharing_mode).as_str_name(),
        active: info.active,
        samples: info.samples,
        provenance: proto::Provenance::from(info.provenance).as_str_name(),
        unseen_mean_error_pct: predictor.artefact.as_ref().and_then(|artefact| artefact.fit.unseen_mean_error_pct),
        held_out_mean_error_pct: info.held_out_mean_error_pct,
    }
}

/// As two tables: what they are, and their terms.
pub(super) fn text(diff: &Diff) -> String {
    let [a, b] = &diff.predictors;
    let row = |name: &str, of: fn(&Side) -> String| [name.to_owned(), of(a), of(b)];
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}%"));
    let facts = [
        row("device", |side| printable(&side.device)),
        row("mode", |side| side.sharing_mode.trim_start_matches("SHARING_MODE_").to_owned()),
        row("active", |side| if side.active { "yes" } else { "no" }.to_owned()),
        row("samples", |side| side.samples.to_string()),
        row("data", |side| side.provenance.trim_start_matches("PROVENANCE_").to_ascii_lowercase()),
        ["error on models left out".to_owned(), percent(a.unseen_mean_error_pct), percent(b.unseen_mean_error_pct)],
        ["held-out error".to_owned(), percent(Some(a.held_out_mean_error_pct)), percent(Some(b.held_out_mean_error_pct))],
    ];
    let terms = diff.terms.iter().map(|term| {
        let channel = proto::Channel::from_str_name(term.channel).unwrap_or_default();
        let [a, b] = term.coefficients.map(words::significant);
        [term.term.clone(), words::channel(channel).to_owned(), a, b]
    });
    let versions = [a.predictor_version.as_str(), b.predictor_version.as_str()];
    format!("{}\n\n{}", table(["", versions[0], versions[1]], facts), table(["term", "channel", versions[0], versions[1]], terms))
}
