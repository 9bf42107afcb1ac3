//! Whether a predictor is worse than the one that answers now.

use std::{fmt, sync::Arc};

use crate::{
    domain::{Device, PairSample},
    interference::{Predictor, Tenant, WorkloadProfile, predict, quality},
    store::{Catalog, Store},
};

/// An error that is larger by no more than this part of the other counts as equal: about what other folds of the same data make of
/// the same fit.
const RELATIVE_TOLERANCE: f64 = 0.1;
/// So does one that is larger by no more than this, percentage points.
const TOLERANCE_PCT: f64 = 0.1;

/// A predictor beside the one that answers, both with their mean absolute relative error, per cent.
pub(crate) struct Rivals {
    candidate: (String, f64),
    active: (String, f64),
    basis: Basis,
}

/// What the errors are over.
enum Basis {
    /// Directions that were left out of each fit, by configuration; both were fitted to the same data.
    HeldOut,
    /// This many timed directions of the store, whether or not they were fitted to.
    Stored(usize),
}

impl Rivals {
    /// Compares `candidate` with the predictor that answers for its device and mode. `None` when there is no other one that this
    /// build can read, or nothing to compare the two on.
    pub(crate) async fn of(store: &dyn Store, catalog: &Catalog, candidate: &Predictor) -> anyhow::Result<Option<Self>> {
        let Some(of_candidate) = &candidate.artefact else { return Ok(None) };
        let key = (of_candidate.device.clone(), of_candidate.sharing_mode);
        let Some(active) = catalog.active.get(&key).filter(|active| active.version != candidate.version) else { return Ok(None) };
        let Some(of_active) = &active.artefact else { return Ok(None) };
        let versions = [candidate.version.clone(), active.version.clone()];
        if of_candidate.fit.data_sha256 == of_active.fit.data_sha256 {
            let errors = [of_candidate, of_active].map(|artefact| artefact.fit.held_out_mean_error_pct);
            return Ok(Some(Self::new(versions, errors, Basis::HeldOut)));
        }
        let samples = store.pair_samples(&key.0, key.1).await?;
        let stored = Stored::new(catalog, catalog.devices.get(&key.0), &samples);
        let compared = stored.and_then(|stored| {
            let errors = [stored.error_pct(candidate)?, stored.error_pct(active)?];
            Some(Self::new(versions, errors, Basis::Stored(stored.directions.len())))
        });
        Ok(compared)
    }

    fn new(versions: [String; 2], errors: [f64; 2], basis: Basis) -> Self {
        let [candidate, active] = versions;
        Self { candidate: (candidate, errors[0]), active: (active, errors[1]), basis }
    }

    /// The candidate is the worse one, beyond the tolerances.
    pub(crate) fn worse(&self) -> bool {
        let excess = self.candidate.1 - self.active.1;
        excess > TOLERANCE_PCT && excess > RELATIVE_TOLERANCE * self.active.1
    }
}

impl fmt::Display for Rivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((candidate, error), (active, active_error)) = (&self.candidate, &self.active);
        let over = match self.basis {
            Basis::HeldOut => "on configurations left out of the same data".to_owned(),
            Basis::Stored(directions) => format!("on the {directions} timed directions in the store"),
        };
        write!(
            f,
            "predictor {candidate} has a mean error of {error:.2}% {over}, {active}, which answers now, of {active_error:.2}%"
        )
    }
}

/// The co-runs of a device and mode in the store, ready to be predicted.
struct Stored {
    directions: Vec<Direction>,
}

struct Direction {
    tenants: [Arc<Tenant>; 2],
    slowdown: f64,
    weight: f64,
}

impl Stored {
    /// The directions with signatures on both sides that are believed to any extent; `None` when there are none.
    fn new(catalog: &Catalog, device: Option<&Arc<Device>>, samples: &[PairSample]) -> Option<Self> {
        let device = device?;
        let workloads = catalog.workloads.get(&device.device_id)?;
        let tenant = |sample: &PairSample, side: usize| {
            let profile: &WorkloadProfile = workloads.get(&sample.workloads[side])?;
            Tenant::place(device, profile, sample.sm_shares[side], 1.0, Some(sample.solo_us[side])).ok().map(Arc::new)
        };
        let mut directions = vec![];
        for (sample, weights) in samples.iter().zip(quality::weights(samples)) {
            let (Some(a), Some(b)) = (tenant(sample, 0), tenant(sample, 1)) else { continue };
            for (side, tenants) in [[a.clone(), b.clone()], [b, a]].into_iter().enumerate() {
                if let Some(corun_us) = sample.corun_us[side].filter(|_| weights[side] > 0.0) {
                    directions.push(Direction { tenants, slowdown: corun_us / sample.solo_us[side], weight: weights[side] });
                }
            }
        }
        (!directions.is_empty()).then_some(Self { directions })
    }

    /// Mean absolute relative error, per cent, each direction by its weight.
    fn error_pct(&self, predictor: &Predictor) -> Option<f64> {
        let error = |direction: &Direction| {
            let [victim, partner] = &direction.tenants;
            let predicted = predict(predictor, [victim, partner], false).tenants[0].slowdown_ratio;
            direction.weight * (predicted - direction.slowdown).abs() / direction.slowdown
        };
        let weight: f64 = self.directions.iter().map(|direction| direction.weight).sum();
        let mean = 100.0 * self.directions.iter().map(error).sum::<f64>() / weight;
        mean.is_finite().then_some(mean)
    }
}
