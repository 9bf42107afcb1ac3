//! Signatures: of an import, and as the operators of a request.

use std::sync::Arc;

use crate::{
    domain::{Counters, Invalid, Signature, SmShare},
    proto,
};

use super::kinds;

/// Most operators of one tenant.
const MAX_OPERATORS: usize = 2_000;
/// What stands for the workload of operators that name none.
const UNNAMED: &str = "operators";

/// A share as a client states it.
pub(crate) fn share_from_wire(field: &str, share: f64) -> Result<SmShare, Invalid> {
    SmShare::new(field, share)
}

/// A signature of an import: everything has to be there.
pub(crate) fn signature_from_wire(wire: proto::Signature) -> Result<Signature, Invalid> {
    let sm_share = share_from_wire("sm_share", wire.sm_share)?;
    let workload = Arc::from(wire.workload.as_str());
    convert(wire, workload, sm_share)
}

/// The operators of a tenant; an error names `operators[i].field`. Those that state no share get a whole device's until
/// [`put_on_share`] knows better.
pub(crate) fn operators_from_wire(wire: &proto::OperatorList) -> Result<Vec<Signature>, Invalid> {
    check_operator_count(wire)?;
    wire.operators
        .iter()
        .enumerate()
        .map(|(i, operator)| operator_from_wire(operator).map_err(|e| e.within(format_args!("operators[{i}]"))))
        .collect()
}

/// Puts the operators on their tenant's share; one that states another is an error.
pub(crate) fn put_on_share(wire: &proto::OperatorList, operators: &mut [Signature], sm_share: SmShare) -> Result<(), Invalid> {
    for (i, (wire, operator)) in wire.operators.iter().zip(operators).enumerate() {
        if states_share(wire) && operator.sm_share != sm_share {
            let problem = format_args!("is not the tenant's share, {}", sm_share.get());
            return Err(Invalid::new(format!("operators[{i}].sm_share"), problem));
        }
        operator.sm_share = sm_share;
    }
    Ok(())
}

/// An exact 0 is how the wire says that the field was left out.
fn states_share(wire: &proto::Signature) -> bool {
    wire.sm_share.to_bits() != 0.0_f64.to_bits()
}

fn check_operator_count(wire: &proto::OperatorList) -> Result<(), Invalid> {
    match wire.operators.len() {
        0 => Err(Invalid::new("operators", "must not be empty")),
        1..=MAX_OPERATORS => Ok(()),
        more => Err(Invalid::new("operators", format_args!("has {more} entries, at most {MAX_OPERATORS} are allowed"))),
    }
}

fn operator_from_wire(wire: &proto::Signature) -> Result<Signature, Invalid> {
    let share = if states_share(wire) { wire.sm_share } else { 1.0 };
    let sm_share = share_from_wire("sm_share", share)?;
    let workload = Arc::from(if wire.workload.is_empty() { UNNAMED } else { wire.workload.as_str() });
    convert(wire.clone(), workload, sm_share)
}

fn convert(wire: proto::Signature, workload: Arc<str>, sm_share: SmShare) -> Result<Signature, Invalid> {
    let signature = Signature {
        workload,
        family: Some(wire.family).filter(|family| !family.is_empty()).map(Arc::from),
        sm_share,
        operator: wire.operator.into(),
        grid: wire.grid.into(),
        block: wire.block.into(),
        dtype: wire.dtype.into(),
        launches: wire.launches,
        duration_us: wire.duration_us,
        counters: wire.counters.into_iter().map(|(name, value)| (Arc::from(name), value)).collect::<Counters>(),
        provenance: kinds::provenance("provenance", wire.provenance)?,
        clocks_locked: wire.clocks_locked,
    };
    signature.validate().map_err(shorten)?;
    Ok(signature)
}

/// A counter's name may be as long as a message; a path that holds it may not.
fn shorten(mut invalid: Invalid) -> Invalid {
    if invalid.field.len() > 256 {
        invalid.field.truncate(invalid.field.floor_char_boundary(64));
    }
    invalid
}

/// A signature of the catalog.
pub(crate) fn signature_to_wire(signature: &Signature) -> proto::Signature {
    proto::Signature {
        workload: signature.workload.to_string(),
        sm_share: signature.sm_share.get(),
        operator: signature.operator.to_string(),
        grid: signature.grid.to_string(),
        block: signature.block.to_string(),
        dtype: signature.dtype.to_string(),
        launches: signature.launches,
        duration_us: signature.duration_us,
        counters: signature.counters.iter().map(|(name, value)| (name.to_string(), value)).collect(),
        provenance: proto::Provenance::from(signature.provenance).into(),
        clocks_locked: signature.clocks_locked,
        family: signature.family.as_deref().unwrap_or_default().to_owned(),
    }
}
