//! What is asked and answered about few samples.

use std::collections::HashSet;

use crate::{
    domain::{Invalid, PairSample, SharingMode, SmShare, validate_workload},
    interference::{
        AdaptationCheck, CoRun, Suggestion,
        quality::{Finding, FindingKind},
    },
    proto,
};

use super::{pair_sample_from_wire, share_from_wire};

/// Co-runs to be learnt from. Each has to have a timed side, a name of its own, and the mode of the call.
pub(crate) fn added_samples_from_wire(
    wire: Vec<proto::PairSample>,
    sharing_mode: SharingMode,
) -> Result<Vec<PairSample>, Invalid> {
    if wire.is_empty() {
        return Err(Invalid::new("pair_samples", "must not be empty"));
    }
    let mut names = HashSet::new();
    let mut samples = Vec::with_capacity(wire.len());
    for (i, wire) in wire.into_iter().enumerate() {
        let sample = added_sample(wire, sharing_mode).and_then(|sample| {
            if names.insert(sample.pair_id.clone()) { Ok(sample) } else { Err(Invalid::new("pair_id", "stands twice")) }
        });
        samples.push(sample.map_err(|e| e.within(format_args!("pair_samples[{i}]")))?);
    }
    Ok(samples)
}

fn added_sample(mut wire: proto::PairSample, sharing_mode: SharingMode) -> Result<PairSample, Invalid> {
    if wire.sharing_mode() == proto::SharingMode::Unspecified && wire.sharing_mode == 0 {
        wire.sharing_mode = proto::SharingMode::from(sharing_mode).into();
    }
    let sample = pair_sample_from_wire(wire)?;
    if sample.sharing_mode != sharing_mode {
        return Err(Invalid::new("sharing_mode", format_args!("is {}, the call's is {sharing_mode}", sample.sharing_mode)));
    }
    if sample.corun_us == [None, None] {
        return Err(Invalid::new("a_corun_us", "one of a_corun_us and b_corun_us must be given"));
    }
    Ok(sample)
}

/// A co-run that can be measured, both sides timed.
pub(crate) fn corun_from_wire(wire: &proto::CoRun) -> Result<CoRun, Invalid> {
    let [a, b] = wire.workloads.as_slice() else {
        return Err(Invalid::new("workloads", format_args!("must be exactly 2, are {}", wire.workloads.len())));
    };
    let [a_share, b_share] = wire.sm_shares.as_slice() else {
        return Err(Invalid::new("sm_shares", format_args!("must be exactly 2, are {}", wire.sm_shares.len())));
    };
    let workload = |i: usize, name| validate_workload(&format!("workloads[{i}]"), name);
    let share = |i: usize, share: f64| -> Result<SmShare, Invalid> { share_from_wire(&format!("sm_shares[{i}]"), share) };
    Ok(CoRun {
        workloads: [workload(0, a)?.into(), workload(1, b)?.into()],
        sm_shares: [share(0, *a_share)?, share(1, *b_share)?],
        solo_us: [None, None],
        timed: [true, true],
    })
}

/// A suggestion about `corun`.
pub(crate) fn suggestion_to_wire(corun: &CoRun, suggestion: &Suggestion) -> proto::SampleSuggestion {
    proto::SampleSuggestion {
        workloads: corun.workloads.iter().map(ToString::to_string).collect(),
        sm_shares: corun.sm_shares.iter().map(|share| share.get()).collect(),
        expected_error_before_pct: suggestion.expected_error_before_pct,
        expected_error_after_pct: suggestion.expected_error_after_pct,
    }
}

/// How an adaptation was judged.
pub(crate) fn check_to_wire(check: &AdaptationCheck) -> proto::AdaptationCheck {
    proto::AdaptationCheck {
        samples: count(check.samples),
        left_out: count(check.left_out),
        error_before_pct: check.error_before_pct,
        error_after_pct: check.error_after_pct,
        log_evidence_ratio: check.log_evidence_ratio,
        improves: check.improves,
        leave_one_out_gain: check.leave_one_out_gain,
    }
}

/// A finding of a co-run of the request.
pub(crate) fn finding_to_wire(finding: &Finding) -> proto::SampleFinding {
    proto::SampleFinding {
        sample: count(finding.sample),
        pair_id: finding.pair_id.clone(),
        tenant: count(finding.side),
        kind: proto::SampleFindingKind::from(finding.kind).into(),
        detail: finding.detail.clone(),
        weight: finding.weight,
    }
}

/// A count as the wire has it.
pub(crate) fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl From<FindingKind> for proto::SampleFindingKind {
    fn from(kind: FindingKind) -> Self {
        match kind {
            FindingKind::Duplicate => Self::Duplicate,
            FindingKind::FasterThanSolo => Self::FasterThanSolo,
            FindingKind::Implausible => Self::Implausible,
            FindingKind::Contradictory => Self::Contradictory,
            FindingKind::Outlier => Self::Outlier,
        }
    }
}
