use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::Invalid;

/// A part of a device's SMs, in (0, 1]. Two shares are equal when they differ by less than 1e-6.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct SmShare(f64);

impl SmShare {
    /// Shares closer than this are the same.
    pub const TOLERANCE: f64 = 1e-6;

    /// Checks that `share` lies in (0, 1]; up to 1e-6 above 1 is taken for 1, and below 1e-6 it would equal nothing at all.
    pub fn new(field: &str, share: f64) -> Result<Self, Invalid> {
        if (Self::TOLERANCE..=1.0 + Self::TOLERANCE).contains(&share) {
            Ok(Self(share.min(1.0)))
        } else {
            Err(Invalid::new(field, format_args!("must lie in (0, 1], is {share}")))
        }
    }

    /// The share of `sm_count` out of `device_sm_count` SMs.
    pub fn of_sms(field: &str, sm_count: u32, device_sm_count: u32) -> Result<Self, Invalid> {
        if sm_count == 0 || sm_count > device_sm_count {
            return Err(Invalid::new(field, format_args!("must lie in 1..={device_sm_count}, is {sm_count}")));
        }
        Ok(Self(f64::from(sm_count) / f64::from(device_sm_count)))
    }

    /// The share as a number in (0, 1].
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The share in steps of [`SmShare::TOLERANCE`]: the same for equal shares, so that it can be a key.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share lies in (0, 1]")]
    pub fn key(self) -> u64 {
        (self.0 / Self::TOLERANCE).round() as u64
    }

    /// The number of SMs that it comes to on a device with `device_sm_count` SMs, at least 1.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a u32 fits a u32")]
    pub fn sm_count(self, device_sm_count: u32) -> u32 {
        ((self.0 * f64::from(device_sm_count)).round() as u32).max(1)
    }
}

impl PartialEq for SmShare {
    fn eq(&self, other: &Self) -> bool {
        (self.0 - other.0).abs() < Self::TOLERANCE
    }
}

impl PartialOrd for SmShare {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self == other { Some(Ordering::Equal) } else { self.0.partial_cmp(&other.0) }
    }
}

impl TryFrom<f64> for SmShare {
    type Error = Invalid;

    fn try_from(share: f64) -> Result<Self, Invalid> {
        Self::new("sm_share", share)
    }
}

impl From<SmShare> for f64 {
    fn from(share: SmShare) -> Self {
        share.0
    }
}
