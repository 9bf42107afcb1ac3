//! Our own predictor under evaluation: the functions that the daemon answers with, called as it calls them.

use std::{collections::HashMap, sync::Arc};

use super::set::Profiles;
use crate::{
    domain::{ConfidenceClass, Device, PairSample, SharingMode, SmShare},
    interference::{CoRun, FitError, FitInput, Predictor, Source, Tenant, adapt, fit, predict, suggest},
};

/// What was answered for one direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// Co-run latency over solo latency.
    pub slowdown: f64,
    /// Upper bound of that at [`Answer::level`].
    pub upper: f64,
    pub level: f64,
    pub class: ConfidenceClass,
}

/// Co-runs of a set, to learn from.
pub(super) struct Lesson<'a> {
    pub device: &'a Device,
    pub profiles: &'a Profiles,
    pub samples: Vec<PairSample>,
}

impl Lesson<'_> {
    /// The profiles of the workloads in the samples: nothing is seen of the others.
    fn profiles(&self) -> HashMap<Arc<str>, Arc<crate::interference::WorkloadProfile>> {
        let named = self.samples.iter().flat_map(|sample| sample.workloads.iter());
        named.filter_map(|workload| Some((workload.clone(), self.profiles.get(workload)?.clone()))).collect()
    }
}

/// The predictor that would answer.
pub(super) struct Ours(Predictor);

impl Ours {
    /// What `fit --publish` would publish for `device` from these co-runs.
    pub(super) fn fit(device: &Device, sharing_mode: SharingMode, lessons: &[Lesson<'_>], seed: u64) -> Result<Self, Unfitted> {
        let profiles: Vec<_> = lessons.iter().map(Lesson::profiles).collect();
        let sources: Vec<Source<'_>> = lessons
            .iter()
            .zip(&profiles)
            .map(|(lesson, profiles)| Source { device: lesson.device, profiles, samples: &lesson.samples })
            .collect();
        let artefact = fit(&FitInput { device, sharing_mode, sources: &sources, seed })?;
        Ok(Self(Predictor::new(&artefact).map_err(|error| Unfitted::Artefact(error.to_string()))?))
    }

    /// What answers after a few co-runs were added: the adapted predictor if it is found better, else this one (`None`).
    pub(super) fn adapted(&self, lesson: &Lesson<'_>) -> Option<Self> {
        let source = Source { device: lesson.device, profiles: lesson.profiles, samples: &lesson.samples };
        let adaptation = adapt(&self.0, &source).ok().filter(|adaptation| adaptation.check.improves)?;
        Predictor::new(&adaptation.artefact).ok().map(Self)
    }

    /// Places of the `count` candidates to measure, best first, for the sake of what is asked for.
    pub(super) fn suggested(
        &self,
        device: &Device,
        profiles: &Profiles,
        [candidates, asked]: [&[CoRun]; 2],
        count: usize,
    ) -> Vec<usize> {
        let suggestions = suggest(&self.0, device, profiles, candidates, asked, count);
        suggestions.into_iter().map(|suggestion| suggestion.candidate).collect()
    }

    /// What happens to each of the two.
    pub(super) fn answers(&self, tenants: [&Tenant; 2]) -> [Answer; 2] {
        let prediction = predict(&self.0, tenants, false);
        prediction.tenants.each_ref().map(|side| Answer {
            slowdown: side.slowdown_ratio,
            upper: side.upper_ratio,
            level: prediction.upper_level,
            class: side.confidence_class,
        })
    }
}

/// Why a fold has no predictor.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfitted {
    /// The training fold does not do.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The artefact cannot be read back.
    #[error("{0}")]
    Artefact(String),
}

/// A co-run that may be measured, without any latency of it.
pub(super) fn candidate(workloads: [Arc<str>; 2], sm_shares: [SmShare; 2], timed: [bool; 2]) -> CoRun {
    CoRun { workloads, sm_shares, solo_us: [None, None], timed }
}
