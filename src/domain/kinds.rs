//! Closed sets of words, with one spelling for files, SQL and JSON artefacts.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// How two tenants share the SMs of a device. A predictor is fitted, and answers, for one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE", ascii_case_insensitive)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SharingMode {
    /// Disjoint sets of SMs.
    SmPartition,
    /// MPS active thread percentage; the SMs used may overlap.
    MpsLimit,
    /// Streams on all SMs.
    SharedSm,
    /// Turns in time.
    TimeSliced,
}

impl SharingMode {
    /// True when the tenants' shares are parts of one whole, so that they cannot add up to more than 1.
    #[must_use]
    pub fn shares_are_disjoint(self) -> bool {
        self == Self::SmPartition
    }
}

/// A contended resource with a term of its own in the predictor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Channel {
    /// Bandwidth of the DRAM.
    DramBandwidth,
    /// Bandwidth of the L2 cache.
    L2Bandwidth,
    /// Capacity of the L2 cache.
    L2Capacity,
    /// The crossbar between SMs and L2.
    Interconnect,
    /// Host, driver and front end that launch kernels.
    LaunchPath,
    /// The power limit and the clocks that follow from it.
    PowerClock,
    /// A partner is there at all.
    Presence,
    /// What no named channel explains; the only one that may be negative.
    Residual,
}

/// Where a figure comes from. Ordered from strongest to weakest, so that the weakest of several is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Measured by pairsight itself.
    Measured,
    /// Measured by another tool and imported.
    Imported,
    /// Produced by a simulator.
    Simulated,
    /// Derived from a model's structure and a device's ceilings.
    Analytic,
}

/// How far an answer can be trusted. Ordered from most to least, so that the weaker of two is their maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, VariantArray, Serialize, Deserialize)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConfidenceClass {
    /// Near the data of a fitted predictor.
    Calibrated,
    /// A fitted predictor outside its data.
    Extrapolating,
    /// First principles only.
    PriorOnly,
}
