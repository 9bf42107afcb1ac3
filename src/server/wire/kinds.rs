//! Enums. An unknown number is refused, never guessed at.

use crate::{
    domain::{CeilingBasis, Channel, ConfidenceClass, Invalid, Provenance, SharingMode},
    proto,
};

fn unknown(field: &str, number: i32) -> Invalid {
    Invalid::new(field, format_args!("{number} is not a value of this enum"))
}

/// The mode, or `None` when it is not said.
pub(crate) fn sharing_mode(field: &str, number: i32) -> Result<Option<SharingMode>, Invalid> {
    let mode = proto::SharingMode::try_from(number).map_err(|_| unknown(field, number))?;
    Ok(match mode {
        proto::SharingMode::Unspecified => None,
        proto::SharingMode::SmPartition => Some(SharingMode::SmPartition),
        proto::SharingMode::MpsLimit => Some(SharingMode::MpsLimit),
        proto::SharingMode::SharedSm => Some(SharingMode::SharedSm),
        proto::SharingMode::TimeSliced => Some(SharingMode::TimeSliced),
    })
}

/// The provenance, which has to be said.
pub(crate) fn provenance(field: &str, number: i32) -> Result<Provenance, Invalid> {
    match proto::Provenance::try_from(number).map_err(|_| unknown(field, number))? {
        proto::Provenance::Unspecified => Err(Invalid::new(field, "must be said")),
        proto::Provenance::Measured => Ok(Provenance::Measured),
        proto::Provenance::Imported => Ok(Provenance::Imported),
        proto::Provenance::Simulated => Ok(Provenance::Simulated),
        proto::Provenance::Analytic => Ok(Provenance::Analytic),
    }
}

/// The basis of a ceiling, which has to be said.
pub(crate) fn ceiling_basis(field: &str, number: i32) -> Result<CeilingBasis, Invalid> {
    match proto::CeilingBasis::try_from(number).map_err(|_| unknown(field, number))? {
        proto::CeilingBasis::Unspecified => Err(Invalid::new(field, "must be said")),
        proto::CeilingBasis::Measured => Ok(CeilingBasis::Measured),
        proto::CeilingBasis::Datasheet => Ok(CeilingBasis::Datasheet),
        proto::CeilingBasis::Estimated => Ok(CeilingBasis::Estimated),
    }
}

/// The view, or `default` when it is not said.
pub(crate) fn view(field: &str, number: i32, default: proto::PredictPairView) -> Result<proto::PredictPairView, Invalid> {
    match proto::PredictPairView::try_from(number).map_err(|_| unknown(field, number))? {
        proto::PredictPairView::Unspecified => Ok(default),
        said @ (proto::PredictPairView::Basic | proto::PredictPairView::Full) => Ok(said),
    }
}

impl From<SharingMode> for proto::SharingMode {
    fn from(mode: SharingMode) -> Self {
        match mode {
            SharingMode::SmPartition => Self::SmPartition,
            SharingMode::MpsLimit => Self::MpsLimit,
            SharingMode::SharedSm => Self::SharedSm,
            SharingMode::TimeSliced => Self::TimeSliced,
        }
    }
}

impl From<Provenance> for proto::Provenance {
    fn from(provenance: Provenance) -> Self {
        match provenance {
            Provenance::Measured => Self::Measured,
            Provenance::Imported => Self::Imported,
            Provenance::Simulated => Self::Simulated,
            Provenance::Analytic => Self::Analytic,
        }
    }
}

impl From<CeilingBasis> for proto::CeilingBasis {
    fn from(basis: CeilingBasis) -> Self {
        match basis {
            CeilingBasis::Measured => Self::Measured,
            CeilingBasis::Datasheet => Self::Datasheet,
            CeilingBasis::Estimated => Self::Estimated,
        }
    }
}

impl From<Channel> for proto::Channel {
    fn from(channel: Channel) -> Self {
        match channel {
            Channel::DramBandwidth => Self::DramBandwidth,
            Channel::L2Bandwidth => Self::L2Bandwidth,
            Channel::L2Capacity => Self::L2Capacity,
            Channel::Interconnect => Self::Interconnect,
            Channel::LaunchPath => Self::LaunchPath,
            Channel::PowerClock => Self::PowerClock,
            Channel::Presence => Self::Presence,
            Channel::Residual => Self::Residual,
        }
    }
}

impl From<ConfidenceClass> for proto::ConfidenceClass {
    fn from(class: ConfidenceClass) -> Self {
        match class {
            ConfidenceClass::Calibrated => Self::Calibrated,
            ConfidenceClass::Extrapolating => Self::Extrapolating,
            ConfidenceClass::PriorOnly => Self::PriorOnly,
        }
    }
}
