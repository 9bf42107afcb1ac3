//! A prediction as a person reads it in five seconds: who slows down by how much, why, how sure.

use std::fmt::Write;

use super::{
    table::{printable, shortened, table},
    words,
};
use crate::proto::{Channel, ConfidenceClass, PredictPairResponse, SharingMode, TenantPrediction};

/// Widest workload name shown whole.
const NAME_WIDTH: usize = 40;

/// The answer as text; `device` is what was asked for.
pub(super) fn verdict(device: &str, answer: &PredictPairResponse) -> String {
    let level = answer.tenants.first().map_or(0.9, |tenant| tenant.upper_level) * 100.0;
    let mut text = format!("{} on {}, shared by {}\n\n", pair(answer), printable(device), mode(answer.sharing_mode()));
    let header = ["workload", "SMs", "alone", "together", "slower by", &format!("at most ({level:.0}%)"), "mainly because of"];
    text.push_str(&table(header, answer.tenants.iter().map(row)));
    let _ = write!(text, "\n\nHow sure: {}", sure(answer.confidence_class()));
    for reason in &answer.reasons {
        let detail = if reason.detail.is_empty() { &reason.code } else { &reason.detail };
        let _ = write!(text, "\n  - {}", printable(detail));
    }
    let _ = write!(text, "\n\nPredictor {}, catalog version {}", printable(&answer.predictor_version), answer.catalog_version);
    text
}

fn pair(answer: &PredictPairResponse) -> String {
    let names: Vec<_> = answer.tenants.iter().map(|tenant| shortened(&printable(&tenant.workload), NAME_WIDTH)).collect();
    names.join(" beside ")
}

fn mode(mode: SharingMode) -> &'static str {
    match mode {
        SharingMode::Unspecified => "an unknown mode",
        SharingMode::SmPartition => "SM partition",
        SharingMode::MpsLimit => "MPS limit",
        SharingMode::SharedSm => "streams on all SMs",
        SharingMode::TimeSliced => "time slices",
    }
}

fn sure(class: ConfidenceClass) -> &'static str {
    words::confidence(class)
}

fn row(tenant: &TenantPrediction) -> [String; 7] {
    [
        shortened(&printable(&tenant.workload), NAME_WIDTH),
        format!("{} ({:.0}%)", tenant.sm_count, tenant.sm_share * 100.0),
        words::duration(tenant.solo_latency_us),
        words::duration(tenant.predicted_latency_us),
        words::change(tenant.slowdown_ratio),
        words::change(tenant.upper_latency_us / tenant.solo_latency_us),
        cause(tenant),
    ]
}

/// The largest channel with its part of what slows the tenant down.
fn cause(tenant: &TenantPrediction) -> String {
    let excess = |wanted: fn(f64) -> bool| -> f64 {
        tenant.contributions.iter().map(|part| part.excess_ratio).filter(|part| wanted(*part)).sum()
    };
    let binding = tenant.binding_channel();
    let slowing = excess(|part| part > 0.0);
    let part: f64 = tenant.contributions.iter().filter(|part| part.channel() == binding).map(|part| part.excess_ratio).sum();
    if binding == Channel::Unspecified || slowing < 5e-4 {
        "-".to_owned()
    } else {
        format!("{} ({:.0}% of it)", words::channel(binding), 100.0 * part / slowing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Contribution, Reason};

    fn tenant(workload: &str, slowdown: f64) -> TenantPrediction {
        TenantPrediction {
            workload: workload.to_owned(),
            sm_share: 0.5,
            sm_count: 5,
            solo_latency_us: 80.0,
            predicted_latency_us: 80.0 * slowdown,
            upper_latency_us: 80.0 * (slowdown + 0.1),
            upper_level: 0.9,
            slowdown_ratio: slowdown,
            contributions: vec![
                Contribution { channel: Channel::DramBandwidth.into(), excess_ratio: 0.75 * (slowdown - 1.0) },
                Contribution { channel: Channel::Presence.into(), excess_ratio: 0.25 * (slowdown - 1.0) },
            ],
            binding_channel: Channel::DramBandwidth.into(),
            ..TenantPrediction::default()
        }
    }

    #[test]
    fn says_who_how_much_why_and_how_sure() {
        let answer = PredictPairResponse {
            tenants: vec![tenant("decode_a", 1.2), tenant("mixed_b", 1.0)],
            confidence_class: ConfidenceClass::PriorOnly.into(),
            reasons: vec![Reason { code: "SIMULATED_DATA".into(), detail: "The data is\u{1b}[2J simulated.".into() }],
            predictor_version: "generic-1".into(),
            catalog_version: 3,
            sharing_mode: SharingMode::SmPartition.into(),
        };
        let text = verdict("sim-qv100-eighth", &answer);
        assert!(text.contains("+20.0%"), "{text}");
        assert!(text.contains("+30.0%"), "{text}");
        assert!(text.contains("at most (90%)"), "{text}");
        assert!(text.contains("DRAM bandwidth (75% of it)"), "{text}");
        assert!(text.contains("How sure: rough"), "{text}");
        assert!(!text.contains('\u{1b}'), "a name must not steer the terminal");
        assert!(text.lines().count() < 14, "{text}");
    }
}
