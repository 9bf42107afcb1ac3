//! The terms of the channel part. Each is a feature phi of a victim operator and a partner operator: at least 0, nondecreasing
//! in the partner's pressure, and 0 when the partner is idle. `docs/model.md` has the reason for each.
//!
//! Most are products of a factor of the victim and a factor of the partner; those are cheap, because a victim's factors are
//! summed up before the partner is looked at. To add one, add a row to [`VICTIM_FACTORS`] or [`PARTNER_FACTORS`]. The others
//! look at both at once: rows of [`JOINT`]. Nothing else depends on number or order, and artefacts name them.

use std::sync::LazyLock;

use super::pressure::{Need, Needs, Pressure};
use crate::domain::Channel;

/// A term: what it is called, which channel it belongs to, what it needs, and its feature.
#[derive(Debug, Clone)]
pub(super) struct TermSpec {
    pub name: String,
    pub channel: Channel,
    pub needs: Needs,
    pub feature: Feature,
    /// It looks at launches per second: a matter of the host and of how finely the operators were told apart, which does not carry
    /// over to another device.
    pub is_of_host: bool,
}

/// How a feature is come by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Feature {
    /// A factor of the victim times one of the partner: places in [`VICTIM_FACTORS`] and [`PARTNER_FACTORS`].
    Product(usize, usize),
    /// Place in [`JOINT`].
    Joint(usize),
}

impl TermSpec {
    /// The feature of one victim operator beside one partner operator.
    #[cfg(test)]
    pub(super) fn phi(&self, victim: &Pressure, partner: &Pressure) -> f64 {
        match self.feature {
            Feature::Product(v, p) => (VICTIM_FACTORS[v].of)(victim) * (PARTNER_FACTORS[p].of)(partner),
            Feature::Joint(joint) => (JOINT[joint].phi)(victim, partner),
        }
    }
}

/// The term called `name`.
pub(super) fn term(name: &str) -> Option<&'static TermSpec> {
    TERMS.iter().find(|term| term.name == name)
}

/// All terms.
pub(super) static TERMS: LazyLock<Vec<TermSpec>> = LazyLock::new(|| {
    let joint = JOINT.iter().enumerate().map(|(i, joint)| TermSpec {
        name: joint.name.to_owned(),
        channel: joint.channel,
        needs: Needs::of(joint.needs),
        feature: Feature::Joint(i),
        is_of_host: joint.channel == Channel::LaunchPath,
    });
    let product = |v: usize, p: usize| {
        let (victim, partner) = (&VICTIM_FACTORS[v], &PARTNER_FACTORS[p]);
        TermSpec {
            name: format!("{}*{}", victim.name, partner.name),
            channel: partner.channel,
            needs: Needs::of(victim.needs).union(Needs::of(partner.needs)),
            feature: Feature::Product(v, p),
            is_of_host: victim.name.starts_with("launch") || partner.channel == Channel::LaunchPath,
        }
    };
    let products = (0..VICTIM_FACTORS.len()).flat_map(|v| (0..PARTNER_FACTORS.len()).map(move |p| product(v, p)));
    joint.chain(products).collect()
});

/// A factor of the victim: how much it minds.
pub(super) struct VictimFactor {
    pub name: &'static str,
    needs: &'static [Need],
    pub of: fn(&Pressure) -> f64,
}

/// A factor of the partner: how hard it presses. 0 when it is idle.
pub(super) struct PartnerFactor {
    pub name: &'static str,
    pub channel: Channel,
    needs: &'static [Need],
    pub of: fn(&Pressure) -> f64,
}

/// A feature of both at once.
pub(super) struct Joint {
    name: &'static str,
    channel: Channel,
    needs: &'static [Need],
    pub phi: fn(&Pressure, &Pressure) -> f64,
    /// The same beside each of the partner's operators: one call a row, so that the inner loop has none.
    pub phi_row: fn(&Pressure, &[Pressure], &mut [f64]),
}

/// Number of [`VICTIM_FACTORS`].
pub(super) const VICTIMS: usize = 9;
/// Number of [`PARTNER_FACTORS`].
pub(super) const PARTNERS: usize = 8;

macro_rules! victims {
    ($($name:literal [$($need:ident),*] |$v:ident| $of:expr;)*) => {
        /// What makes a victim mind.
        pub(super) static VICTIM_FACTORS: [VictimFactor; VICTIMS] =
            [$(VictimFactor { name: $name, needs: &[$(Need::$need),*], of: |$v| $of },)*];
    };
}

macro_rules! partners {
    ($($name:literal $channel:ident [$($need:ident),*] |$p:ident| $of:expr;)*) => {
        /// What a partner presses with.
        pub(super) static PARTNER_FACTORS: [PartnerFactor; PARTNERS] =
            [$(PartnerFactor { name: $name, channel: Channel::$channel, needs: &[$(Need::$need),*], of: |$p| $of },)*];
    };
}

macro_rules! joint {
    ($($name:literal $channel:ident [$($need:ident),*] |$v:ident, $p:ident| $phi:expr;)*) => {
        /// Features that are no product.
        pub(super) static JOINT: &[Joint] = &[$(Joint {
            name: $name,
            channel: Channel::$channel,
            needs: &[$(Need::$need),*],
            phi: |$v, $p| $phi,
            phi_row: |$v, partners, row| partners.iter().zip(row).for_each(|($p, phi)| *phi = $phi),
        },)*];
    };
}

victims! {
    "any" [] |_v| 1.0;
    "dram" [Dram] |v| v.dram;
    "dram_bound" [Dram] |v| boundness(v.dram, v.share);
    "l2" [L2] |v| v.l2;
    "l2_bound" [L2] |v| boundness(v.l2, v.share);
    "launch" [] |v| v.launch;
    "launch_root" [] |v| v.launch.sqrt();
    "share" [] |v| v.share;
    "rest" [] |v| 1.0 - v.share;
}

partners! {
    "dram" DramBandwidth [Dram] |p| p.dram;
    "dram_share" DramBandwidth [Dram] |p| p.dram * p.share;
    "l2" L2Bandwidth [L2] |p| p.l2;
    "l2_share" L2Bandwidth [L2] |p| p.l2 * p.share;
    "launch" LaunchPath [] |p| p.launch;
    "launch_root" LaunchPath [] |p| p.launch.sqrt();
    "busy" Presence [] |p| p.busy;
    "busy_share" Presence [] |p| p.busy * p.share;
}

joint! {
    "dram_sum_over_0.3" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.3);
    "dram_sum_over_0.5" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.5);
    "dram_sum_over_0.7" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.7);
    "dram_sum_over_0.9" DramBandwidth [Dram] |v, p| v.dram * hinge(v.dram, p.dram, 0.9);
    "dram_oversubscription" DramBandwidth [Dram] |v, p| boundness(v.dram, v.share) * hinge(v.dram, p.dram, 1.0);
    "dram_latency_over_0.7" DramBandwidth [Dram] |v, p| v.busy * hinge(v.dram, p.dram, 0.7);
    "dram_latency_over_0.9" DramBandwidth [Dram] |v, p| v.busy * hinge(v.dram, p.dram, 0.9);

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

    "launch_in_gaps" LaunchPath [] |v, p| (1.0 - v.busy) * p.launch;
    "launch_oversubscription" LaunchPath [] |v, p| hinge(v.launch, p.launch, 1.0);
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
                ..Pressure::default()
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
            for term in TERMS.iter() {
                let (phi, phi_harder) = (term.phi(&v, &p), term.phi(&v, &harder));
                prop_assert!(phi >= 0.0 && phi.is_finite(), "{} is {phi}", term.name);
                prop_assert!(phi_harder >= phi - 1e-12, "{} falls from {phi} to {phi_harder}", term.name);
            }
        }

        #[test]
        fn every_term_is_zero_beside_an_idle_partner(v in pressure(), share in 0.05..1.0_f64) {
            for term in TERMS.iter() {
                prop_assert!(term.phi(&v, &Pressure::gap(share, 0.0)).abs() < 1e-15, "{}", term.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = TERMS.iter().map(|t| &t.name).collect();
        assert_eq!(names.len(), TERMS.len());
    }
}
