use std::fmt;

use serde::{Deserialize, Serialize};

use super::Invalid;

/// Identifier of a device, `[a-z0-9.-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DeviceId(String);

impl DeviceId {
    /// Checks the identifier; an error names `field`.
    pub fn new(field: &str, id: impl Into<String>) -> Result<Self, Invalid> {
        let id = id.into();
        Invalid::text(field, &id, 64)?;
        if id.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-')) {
            Ok(Self(id))
        } else {
            Err(Invalid::new(field, "may hold only a-z, 0-9, '.' and '-'"))
        }
    }

    /// The identifier as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for DeviceId {
    type Error = Invalid;

    fn try_from(id: String) -> Result<Self, Invalid> {
        Self::new("device_id", id)
    }
}

impl From<DeviceId> for String {
    fn from(id: DeviceId) -> Self {
        id.0
    }
}

/// Where a ceiling comes from. Ordered from strongest to weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::Display, strum::EnumString, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum CeilingBasis {
    /// Measured on such a device.
    Measured,
    /// From the vendor's datasheet or white paper.
    Datasheet,
    /// Estimated from other figures.
    Estimated,
}

/// A ceiling of a device with its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// In the unit that the field holding it names; above 0.
    pub value: f64,
    /// Where it comes from.
    pub basis: CeilingBasis,
    /// Public source or method.
    pub source: String,
}

/// A GPU product with its ceilings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Identifier.
    pub device_id: DeviceId,
    /// Name for people.
    pub display_name: String,
    /// CUDA compute capability, "major.minor".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// Number of SMs.
    pub sm_count: u32,
    /// Granularity of SM partitions, in SMs.
    #[serde(default = "one")]
    pub partition_step: u32,
    /// Size of the L2 cache, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_bytes: Option<u64>,
    /// Size of the device memory, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Highest DRAM throughput, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram_bytes_per_s: Option<Ceiling>,
    /// Highest L2 throughput, bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_bytes_per_s: Option<Ceiling>,
    /// Highest SM clock, hertz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_hz: Option<Ceiling>,
    /// Where the entry comes from: "built-in", "device file", "dataset" or "import".
    #[serde(default)]
    pub origin: String,
}

/// Longest origin of a ceiling, bytes.
const MAX_SOURCE_BYTES: usize = 1024;

fn one() -> u32 {
    1
}

impl Device {
    /// Checks every figure; an error names the field.
    pub fn validate(&self) -> Result<(), Invalid> {
        Invalid::text("display_name", &self.display_name, 256)?;
        if let Some(capability) = &self.compute_capability {
            check_capability(capability)?;
        }
        if !(1..=1024).contains(&self.sm_count) {
            return Err(Invalid::new("sm_count", format_args!("must lie in 1..=1024, is {}", self.sm_count)));
        }
        if !(1..=self.sm_count).contains(&self.partition_step) {
            return Err(Invalid::new("partition_step", format_args!("must lie in 1..=sm_count, is {}", self.partition_step)));
        }
        for (field, bytes) in [("l2_bytes", self.l2_bytes), ("memory_bytes", self.memory_bytes)] {
            if bytes == Some(0) {
                return Err(Invalid::new(field, "must be above 0, or left out when it is not known"));
            }
        }
        for (field, ceiling) in
            [("dram_bytes_per_s", &self.dram_bytes_per_s), ("l2_bytes_per_s", &self.l2_bytes_per_s), ("clock_hz", &self.clock_hz)]
        {
            if let Some(ceiling) = ceiling {
                Invalid::positive(field, ceiling.value)?;
                if !ceiling.source.is_empty() {
                    Invalid::text("source", &ceiling.source, MAX_SOURCE_BYTES).map_err(|invalid| invalid.within(field))?;
                }
            }
        }
        Ok(())
    }

    /// `self`, the newer description, with each figure that it lacks or knows from a weaker source taken from `other`. Measured
    /// ceilings so replace datasheet ones, newer ones replace older ones of the same basis, and an import never weakens a device.
    /// Two numbers of SMs are two devices: everything measured by share would change its meaning.
    pub fn merged_with(&self, other: &Self) -> Result<Self, Invalid> {
        fn stronger(mine: Option<&Ceiling>, theirs: Option<&Ceiling>) -> Option<Ceiling> {
            match (mine, theirs) {
                (Some(mine), Some(theirs)) if theirs.basis < mine.basis => Some(theirs.clone()),
                (mine, theirs) => mine.or(theirs).cloned(),
            }
        }
        if self.sm_count != other.sm_count {
            let problem =
                format_args!("is {}, but {} is known as a device of {} SMs", self.sm_count, self.device_id, other.sm_count);
            return Err(Invalid::new("sm_count", problem));
        }
        Ok(Self {
            device_id: self.device_id.clone(),
            display_name: self.display_name.clone(),
            compute_capability: self.compute_capability.clone().or_else(|| other.compute_capability.clone()),
            sm_count: self.sm_count,
            // 1 is what stands where nothing was said.
            partition_step: if self.partition_step == 1 { other.partition_step } else { self.partition_step },
            l2_bytes: self.l2_bytes.or(other.l2_bytes),
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
            dram_bytes_per_s: stronger(self.dram_bytes_per_s.as_ref(), other.dram_bytes_per_s.as_ref()),
            l2_bytes_per_s: stronger(self.l2_bytes_per_s.as_ref(), other.l2_bytes_per_s.as_ref()),
            clock_hz: stronger(self.clock_hz.as_ref(), other.clock_hz.as_ref()),
            origin: self.origin.clone(),
        })
    }
}

fn check_capability(capability: &str) -> Result<(), Invalid> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match capability.split_once('.') {
        Some((major, minor)) if capability.len() <= 16 && digits(major) && digits(minor) => Ok(()),
        _ => Err(Invalid::new("compute_capability", "must be \"major.minor\", for example \"9.0\"")),
    }
}
