//! `W@SHARE` on the command line: a workload and its part of the device's SMs.

use std::str::FromStr;

use crate::{
    domain::{SharingMode, SmShare, validate_workload},
    proto,
};

/// A part of a device's SMs, as a person writes it: `0.5`, `50%` or `54sm`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ShareArg {
    /// A fraction in (0, 1].
    Fraction(f64),
    /// A number of SMs.
    Sms(u32),
}

impl FromStr for ShareArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        if let Some(sms) = lower.strip_suffix("sms").or_else(|| lower.strip_suffix("sm")) {
            return match sms.trim().parse() {
                Ok(0) | Err(_) => Err(format!("{text:?} is not a number of SMs such as 54sm")),
                Ok(sms) => Ok(Self::Sms(sms)),
            };
        }
        let per_cent = lower.strip_suffix('%');
        let (number, scale) = per_cent.map_or((lower.as_str(), 1.0), |number| (number.trim(), 100.0));
        let number: f64 = number
            .parse()
            .map_err(|_| format!("{text:?} is not a share: write a fraction (0.5), per cent (50%) or SMs (54sm)"))?;
        match SmShare::new("share", number / scale) {
            Ok(share) => Ok(Self::Fraction(share.get())),
            Err(error) if per_cent.is_none() && number > 1.0 && number.fract() == 0.0 => {
                Err(format!("{error}; write {number}% for per cent or {number}sm for SMs"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

impl ShareArg {
    /// The share on a device with `sm_count` SMs.
    pub(super) fn on(self, sm_count: u32) -> Result<SmShare, crate::domain::Invalid> {
        match self {
            Self::Fraction(share) => SmShare::new("sm_share", share),
            Self::Sms(sms) => SmShare::of_sms("sm_count", sms, sm_count),
        }
    }

    /// The share as a request carries it.
    pub(super) fn to_proto(self) -> proto::tenant::Share {
        match self {
            Self::Fraction(share) => proto::tenant::Share::SmShare(share),
            Self::Sms(sms) => proto::tenant::Share::SmCount(sms),
        }
    }
}

/// A workload on a share. Workload names may hold `@`, so the last one splits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TenantArg {
    /// Name of the workload.
    pub(super) workload: String,
    /// Its share.
    pub(super) share: ShareArg,
}

impl FromStr for TenantArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (workload, share) = text.rsplit_once('@').ok_or("write WORKLOAD@SHARE, for example resnet50/b16@0.5")?;
        validate_workload("workload", workload).map_err(|error| error.to_string())?;
        Ok(Self { workload: workload.to_owned(), share: share.parse()? })
    }
}

/// Reads a sharing mode in any case, with or without the prefix of the wire.
pub(super) fn parse_mode(text: &str) -> Result<SharingMode, String> {
    let upper = text.to_ascii_uppercase();
    upper.strip_prefix("SHARING_MODE_").unwrap_or(&upper).parse().map_err(|_| {
        let modes: Vec<_> = <SharingMode as strum::VariantArray>::VARIANTS.iter().map(ToString::to_string).collect();
        format!("not a sharing mode; these are: {}", modes.join(", "))
    })
}

/// Reads a number above 0.
pub(super) fn parse_positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    crate::domain::Invalid::positive("value", number).map_err(|error| error.problem)
}

/// Reads a number in (0, 1].
pub(super) fn parse_ratio(text: &str) -> Result<f64, String> {
    parse_positive(text).and_then(|number| if number <= 1.0 { Ok(number) } else { Err("must lie in (0, 1]".to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_in_three_spellings() {
        assert_eq!("0.5".parse(), Ok(ShareArg::Fraction(0.5)));
        assert_eq!("50%".parse(), Ok(ShareArg::Fraction(0.5)));
        assert_eq!("54sm".parse(), Ok(ShareArg::Sms(54)));
        assert_eq!("54 SMs".parse(), Ok(ShareArg::Sms(54)));
        assert_eq!("1".parse(), Ok(ShareArg::Fraction(1.0)));
    }

    #[test]
    fn bad_shares_are_refused_with_what_was_meant() {
        for bad in ["", "0", "-0.5", "1.5", "150%", "nan", "inf", "0sm", "-3sm", "1e308", "half", "%"] {
            assert!(bad.parse::<ShareArg>().is_err(), "{bad:?} was taken");
        }
        assert!("54".parse::<ShareArg>().unwrap_err().contains("54sm"));
    }

    #[test]
    fn the_last_at_splits() {
        let tenant: TenantArg = "llama@8b/prefill@50%".parse().unwrap();
        assert_eq!((tenant.workload.as_str(), tenant.share), ("llama@8b/prefill", ShareArg::Fraction(0.5)));
        assert!("resnet50".parse::<TenantArg>().is_err());
        assert!("@0.5".parse::<TenantArg>().is_err());
    }

    #[test]
    fn modes_are_read_in_any_case() {
        for text in ["mps_limit", "MPS_LIMIT", "sharing_mode_mps_limit"] {
            assert_eq!(parse_mode(text), Ok(SharingMode::MpsLimit));
        }
        assert!(parse_mode("mig").unwrap_err().contains("SM_PARTITION"));
    }
}
