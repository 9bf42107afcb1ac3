//! How much of its own part of a device a workload uses, from its signatures.

use std::{collections::HashMap, sync::Arc};

use super::Side;
use crate::{
    domain::{Device, KnownCounters, Signature, SmShare},
    interference::{
        pressure::{Need, Pressure},
        solo_curve::bracket,
    },
};

/// A mean by time over operators, and the time that it is over.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    time_us: f64,
}

impl Mean {
    fn add(&mut self, value: f64, time_us: f64) {
        self.sum += value * time_us;
        self.time_us += time_us;
    }
}

/// Means of one workload at one share: DRAM and L2.
type AtShare = (SmShare, [Mean; 2]);

/// Utilisations of the workloads of a set, by name.
#[derive(Debug, Clone, Default)]
pub(in crate::interference) struct Utilisations(HashMap<Arc<str>, Vec<AtShare>>);

impl Utilisations {
    /// From `signatures` on `device`. An operator without a counter is left out of that counter's mean.
    pub(in crate::interference) fn new<'s>(device: &Device, signatures: impl Iterator<Item = &'s Signature>) -> Self {
        let mut workloads: HashMap<Arc<str>, Vec<AtShare>> = HashMap::new();
        for signature in signatures {
            let share = signature.sm_share;
            let (pressure, known) =
                Pressure::new(device, share, signature.duration_us, &KnownCounters::from(&signature.counters));
            let shares = workloads.entry(signature.workload.clone()).or_default();
            let at = shares.iter().position(|(other, _)| *other == share).unwrap_or_else(|| {
                shares.push((share, [Mean::default(); 2]));
                shares.len() - 1
            });
            let time_us = signature.launches * signature.duration_us;
            for (mean, (need, value)) in shares[at].1.iter_mut().zip([(Need::Dram, pressure.dram), (Need::L2, pressure.l2)]) {
                if known.has(need) {
                    mean.add(value / share.get(), time_us);
                }
            }
        }
        for shares in workloads.values_mut() {
            shares.sort_by(|(a, _), (b, _)| a.get().total_cmp(&b.get()));
        }
        Self(workloads)
    }

    /// Of `workload` at `share`: as measured there, else linear in the logarithm of the share between the shares around it, else
    /// that of the nearest. `None` where no signature of it has the counters.
    pub(in crate::interference) fn at(&self, workload: &str, share: SmShare) -> Option<Side> {
        let shares = self.0.get(workload)?;
        let of = |counter: usize| {
            let known: Vec<(SmShare, f64)> = shares
                .iter()
                .filter(|(_, means)| means[counter].time_us > 0.0)
                .map(|(share, means)| (*share, means[counter].sum / means[counter].time_us))
                .collect();
            let measured: Vec<SmShare> = known.iter().map(|(share, _)| *share).collect();
            let at = (!measured.is_empty()).then(|| bracket(&measured, share))?;
            Some(known[at.low].1 + at.fraction * (known[at.high].1 - known[at.low].1))
        };
        Some(Side { dram: of(0)?, l2: of(1)?, share: share.get() })
    }
}
