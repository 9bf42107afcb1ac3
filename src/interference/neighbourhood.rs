//! Where the data of a fit lies, so that an answer can say when it is asked about something far from it.

use serde::{Deserialize, Serialize};

use super::tenant::Tenant;

/// Number of coordinates of a place.
const COORDINATES: usize = 6;

/// A tenant's place: mean DRAM pressure, mean L2 pressure, L2 hits, launch rate, busy fraction, share.
type Place = [f64; COORDINATES];

/// The tenants that a predictor was fitted on, as places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// Standard deviation of each coordinate over the data; 1 where it does not vary.
    scale: Place,
    /// Places of the tenants that were timed, each once.
    victims: Vec<Place>,
    /// Places of the tenants beside them, each once.
    partners: Vec<Place>,
    /// Distance beyond which a tenant is far: the 95 % quantile of the distance from each workload of the data to the nearest
    /// other one.
    threshold: f64,
}

impl Neighbourhood {
    /// From the tenants of the data, each with its workload: those that were timed, and those beside them.
    pub(super) fn new<'t>(
        victims: impl Iterator<Item = (&'t str, &'t Tenant)>,
        partners: impl Iterator<Item = (&'t str, &'t Tenant)>,
    ) -> Self {
        let (victims, partners) = (
            distinct(victims.map(|(name, tenant)| (name, place(tenant)))),
            distinct(partners.map(|(name, tenant)| (name, place(tenant)))),
        );
        let named = distinct(victims.iter().chain(&partners).copied());
        let scale = std::array::from_fn(|i| spread(named.iter().map(|(_, place)| place[i])));
        let mut gaps: Vec<f64> = named
            .iter()
            .filter_map(|(workload, from)| {
                let others = named.iter().filter(|(other, _)| other != workload);
                others.map(|(_, to)| distance(&scale, from, to)).min_by(f64::total_cmp)
            })
            .collect();
        gaps.sort_by(f64::total_cmp);
        let threshold = quantile(&gaps, 0.95).unwrap_or(0.0);
        let places = |named: Vec<(&str, Place)>| named.into_iter().map(|(_, place)| place).collect();
        Self { scale, victims: places(victims), partners: places(partners), threshold }
    }

    /// Distance from `tenant` to the nearest tenant of the data, as a victim or as a partner, whichever is farther, since in an
    /// answer it is both; in units of the distance that counts as far. Infinite where the data has one workload only and this is
    /// another.
    pub(super) fn distance(&self, tenant: &Tenant) -> f64 {
        let from = place(tenant);
        let to_nearest = |places: &[Place]| {
            places.iter().map(|to| distance(&self.scale, &from, to)).min_by(f64::total_cmp).unwrap_or(f64::INFINITY)
        };
        let nearest = to_nearest(&self.victims).max(to_nearest(&self.partners));
        if nearest < 1e-9 { 0.0 } else { nearest / self.threshold }
    }
}

fn distinct<'n>(named: impl Iterator<Item = (&'n str, Place)>) -> Vec<(&'n str, Place)> {
    let mut named: Vec<_> = named.collect();
    named.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    named.dedup();
    named
}

fn place(tenant: &Tenant) -> Place {
    let mean = |of: fn(&super::pressure::Pressure) -> f64| tenant.slices.iter().map(|s| s.weight * of(&s.pressure)).sum::<f64>();
    [mean(|p| p.dram), mean(|p| p.l2), mean(|p| p.hits), mean(|p| p.launch), mean(|p| p.busy), tenant.sm_share.get()]
}

fn distance(scale: &Place, a: &Place, b: &Place) -> f64 {
    (0..COORDINATES).map(|i| ((a[i] - b[i]) / scale[i]).powi(2)).sum::<f64>().sqrt()
}

fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    if variance > 1e-18 { variance.sqrt() } else { 1.0 }
}

/// The `level` quantile of ascending `sorted` as split-conformal prediction takes it: the value of rank `ceil((n + 1) level)`,
/// the largest where that passes the end; `None` without values.
pub(super) fn quantile(sorted: &[f64], level: f64) -> Option<f64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank between 1 and n + 1")]
    let rank = ((sorted.len() + 1) as f64 * level).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied()
}
