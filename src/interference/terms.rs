//! The terms of the channel part. Each is a feature phi of a victim operator and a partner operator: at least 0, nondecreasing
//! in the partner's pressure, and 0 when the partner is idle. `docs/model.md` has the reason for each.
//!
//! To add a term, add a row to [`TERMS`]: nothing else depends on their number or order, and artefacts name them.

use super::pressure::{Need, Needs, Pressure};
use crate::domain::Channel;

/// A term: what it is called, which channel it belongs to, what it needs, and its feature.
pub(super) struct TermSpec {
    pub name: &'static str,
    pub channel: Channel,
    needs: &'static [Need],
    /// The feature of one victim operator beside one partner operator.
    pub phi: fn(&Pressure, &Pressure) -> f64,
    /// The same beside each of the partner's operators: one call a row, so that the inner loop has none.
    pub phi_row: fn(&Pressure, &[Pressure], &mut [f64]),
}

impl TermSpec {
    pub(super) fn needs(&self) -> Needs {
        Needs::of(self.needs)
    }
}

/// The term called `name`.
pub(super) fn term(name: &str) -> Option<&'static TermSpec> {
    TERMS.iter().find(|term| term.name == name)
}

/// By how much the sum of two demands passes `knot` because of the partner's.
fn hinge(victim: f64, partner: f64, knot: f64) -> f64 {
    (victim + partner - knot).max(0.0) - (victim - knot).max(0.0)
}

/// How far a use of a resource comes to all that the tenant's SMs could ask of it: near 1 it is bound by that resource.
fn boundness(use_ratio: f64, share: f64) -> f64 {
    (use_ratio / share).min(1.0)
}

/// Part of the victim's L2 hits that a partner's insertions evict: those pass the room that the victim's footprint leaves
/// within one reuse interval.
fn evicted(victim: &Pressure, partner: &Pressure, insertion: f64) -> f64 {
    let inserted = victim.reuse * insertion * partner.busy;
    (inserted - (1.0 - victim.footprint)).clamp(0.0, 1.0)
}

macro_rules! terms {
    ($($name:literal $channel:ident [$($need:ident),*] |$v:ident, $p:ident| $phi:expr;)*) => {
        /// All terms.
        pub(super) static TERMS: &[TermSpec] = &[$(TermSpec {
            name: $name,
            channel: Channel::$channel,
            needs: &[$(Need::$need),*],
            phi: |$v, $p| $phi,
            phi_row: |$v, partners, row| partners.iter().zip(row).for_each(|($p, phi)| *phi = $phi),
        },)*];
    };
}

terms! {
    "dram_partner" DramBandwidth [Dram] |_v, p| p.dram;
    "dram_partner_share" DramBandwidth [Dram] |_v, p| p.dram * p.share;
    "dram_product" DramBandwidth [Dram] |v, p| v.dram * p.dram;
    "dram_bound_product" DramBandwidth [Dram] |v, p| boundness(v.dram, v.share) * p.dram;
    "dram_sum_over_0.3" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.3);
    "dram_sum_over_0.5" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.5);
    "dram_sum_over_0.7" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.7);
    "dram_sum_over_0.9" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.9);
    "dram_oversubscription" DramBandwidth [Dram] |v, p| boundness(v.dram, v.share) * hinge(v.dram, p.dram, 1.0);
    "dram_latency_over_0.7" DramBandwidth [Dram] |v, p| v.busy * hinge(v.dram, p.dram, 0.7);
    "dram_latency_over_0.9" DramBandwidth [Dram] |v, p| v.busy * hinge(v.dram, p.dram, 0.9);

    "l2_partner" L2Bandwidth [L2] |_v, p| p.l2;
    "l2_partner_share" L2Bandwidth [L2] |_v, p| p.l2 * p.share;
    "l2_product" L2Bandwidth [L2] |v, p| v.l2 * p.l2;
    "l2_bound_product" L2Bandwidth [L2] |v, p| boundness(v.l2, v.share) * p.l2;
    "l2_sum_over_0.4" L2Bandwidth [L2] |v, p| v.l2 * hinge(v.l2, p.l2, 0.4);
    "l2_sum_over_0.7" L2Bandwidth [L2] |v, p| v.l2 * hinge(v.l2, p.l2, 0.7);
    "l2_oversubscription" L2Bandwidth [L2] |v, p| boundness(v.l2, v.share) * hinge(v.l2, p.l2, 1.0);

    "l2_hits_beside_l2" L2Capacity [Dram, L2, L2Hits] |v, p| v.hits * p.l2;
    "l2_hits_beside_insertion" L2Capacity [Dram, L2Hits] |v, p| v.hits * p.insertion;
    "l2_hits_beside_writes" L2Capacity [L2Hits, Writes] |v, p| v.hits * p.writes;
    "l2_footprint_beside_insertion" L2Capacity [Footprint, Dram] |v, p| v.footprint * p.insertion;
    "l2_evicted" L2Capacity [Dram, L2Hits, Footprint] |v, p| v.busy * evicted(v, p, p.insertion);
    "l2_evicted_hits" L2Capacity [Dram, L2Hits, Footprint] |v, p| v.hits * evicted(v, p, p.insertion);
    "l2_evicted_hits_beside_dram" L2Capacity [Dram, L2Hits, Footprint] |v, p| v.hits * evicted(v, p, p.insertion) * p.dram;
    "l2_evicted_by_writes" L2Capacity [L2Hits, Footprint, Writes] |v, p| v.hits * evicted(v, p, p.writes);
    "l2_refetch_oversubscription" L2Capacity [Dram, L2Hits, Footprint] |v, p| {
        let refetched = v.hits * evicted(v, p, p.insertion);
        boundness(v.dram + refetched, v.share) * (v.dram + refetched + p.dram - v.dram.max(1.0)).max(0.0).min(refetched)
    };

    "launch_partner" LaunchPath [] |_v, p| p.launch;
    "launch_product" LaunchPath [] |v, p| v.launch * p.launch;
    "launch_in_gaps" LaunchPath [] |v, p| (1.0 - v.busy) * p.launch;
    "launch_oversubscription" LaunchPath [] |v, p| hinge(v.launch, p.launch, 1.0);

    "presence" Presence [] |_v, p| p.busy;
    "presence_share" Presence [] |_v, p| p.busy * p.share;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn pressure() -> impl Strategy<Value = Pressure> {
        let field = || 0.0..2.0_f64;
        (field(), field(), field(), field(), field(), field(), 0.0..1.0_f64, field(), 0.05..1.0_f64).prop_map(
            |(dram, l2, hits, insertion, writes, reuse, footprint, launch, share)| Pressure {
                dram,
                l2,
                hits,
                insertion,
                writes,
                reuse,
                footprint,
                launch,
                share,
                busy: 1.0,
            },
        )
    }

    proptest! {
        #[test]
        fn no_term_is_negative_or_falls_when_the_partner_presses_harder(v in pressure(), p in pressure(), more in 1.0..3.0_f64) {
            let harder = Pressure {
                dram: p.dram * more,
                l2: p.l2 * more,
                hits: p.hits * more,
                insertion: p.insertion * more,
                writes: p.writes * more,
                launch: p.launch * more,
                ..p
            };
            for term in TERMS {
                let (phi, phi_harder) = ((term.phi)(&v, &p), (term.phi)(&v, &harder));
                prop_assert!(phi >= 0.0 && phi.is_finite(), "{} is {phi}", term.name);
                prop_assert!(phi_harder >= phi - 1e-12, "{} falls from {phi} to {phi_harder}", term.name);
            }
        }

        #[test]
        fn every_term_is_zero_beside_an_idle_partner(v in pressure(), share in 0.05..1.0_f64) {
            for term in TERMS {
                prop_assert!((term.phi)(&v, &Pressure::gap(share, 0.0)).abs() < 1e-15, "{}", term.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = TERMS.iter().map(|t| t.name).collect();
        assert_eq!(names.len(), TERMS.len());
    }
}
