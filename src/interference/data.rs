//! The timed directions that a fit learns from, with their tenants and what they count.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt::{Debug, Write as _},
    sync::Arc,
};

use sha2::{Digest, Sha256};

use super::{fit::Source, pressure::Needs, quality, residual::Subject, tenant::Tenant};
use crate::domain::{DeviceId, PairSample, Provenance, SharingMode};

/// One timed side of a co-run.
pub(super) struct Direction {
    /// Places of victim and partner among the subjects.
    pub subjects: [usize; 2],
    pub victim: Arc<Tenant>,
    pub partner: Arc<Tenant>,
    /// Measured co-run latency over solo latency.
    pub measured: f64,
    /// How much it counts, (0, 1].
    pub weight: f64,
    /// The co-run's configuration: directions of equal ones are measured together.
    pub configuration: usize,
}

/// What a fit or an adaptation learns from.
pub(super) struct Data {
    pub directions: Vec<Direction>,
    pub subjects: Vec<Subject>,
    /// Timed directions given.
    pub given: usize,
    /// Those that are kept out by what is wrong with them.
    pub kept_out: usize,
    /// Quantities that every tenant's counters gave.
    pub known: Needs,
    pub provenance: Provenance,
    /// SHA-256 of the samples, hexadecimal.
    pub sha256: String,
}

impl Data {
    /// The timed directions of `sources` in `mode` whose tenants have signatures. The order does not depend on that of the samples
    /// nor on names, but for samples that differ in nothing else.
    pub(super) fn gather(sources: &[Source<'_>], mode: SharingMode) -> Self {
        let mut samples: Vec<Weighed<'_>> = sources.iter().flat_map(|source| weighed(source, mode)).collect();
        samples.sort_by_cached_key(|sample| (content(sample.sample), sample.source.device.device_id.clone()));
        let mut gathering = Gathering::default();
        samples.iter().for_each(|sample| gathering.add(sample));
        let tenants = || gathering.directions.iter().flat_map(|d| [&d.victim, &d.partner]);
        let of_samples = samples.iter().map(|s| s.sample.provenance);
        Self {
            given: samples.iter().flat_map(|s| s.sample.corun_us).flatten().count(),
            kept_out: samples
                .iter()
                .flat_map(|s| s.sample.corun_us.iter().zip(s.weights))
                .filter(|(us, w)| us.is_some() && *w <= 0.0)
                .count(),
            known: tenants().fold(Needs::ALL, |known, tenant| known.intersection(tenant.known)),
            provenance: tenants().map(|t| t.provenance).chain(of_samples).max().unwrap_or(Provenance::Simulated),
            sha256: sha256(&samples),
            subjects: gathering.subjects,
            directions: gathering.directions,
        }
    }
}

/// A sample with what each of its directions counts.
struct Weighed<'a> {
    source: &'a Source<'a>,
    sample: &'a PairSample,
    weights: [f64; 2],
}

fn weighed<'a>(source: &'a Source<'a>, mode: SharingMode) -> impl Iterator<Item = Weighed<'a>> {
    let weights = quality::weights(source.samples);
    let samples = source.samples.iter().zip(weights).filter(move |(sample, _)| sample.sharing_mode == mode);
    samples.map(move |(sample, weights)| Weighed { source, sample, weights })
}

/// Device, workload, share, solo latency.
type TenantKey = (DeviceId, Arc<str>, u64, u64);

#[derive(Default)]
struct Gathering {
    directions: Vec<Direction>,
    subjects: Vec<Subject>,
    tenants: HashMap<TenantKey, Option<Arc<Tenant>>>,
    /// Places of the subjects by device, workload and share.
    places: HashMap<(DeviceId, Arc<str>, u64), usize>,
    configurations: HashMap<[usize; 2], usize>,
}

impl Gathering {
    fn add(&mut self, sample: &Weighed<'_>) {
        let [Some(a), Some(b)] = [0, 1].map(|side| self.tenant(sample, side)) else { return };
        let subjects = [self.subject(sample, &a), self.subject(sample, &b)];
        let count = self.configurations.len();
        let configuration = [subjects[0].min(subjects[1]), subjects[0].max(subjects[1])];
        let configuration = *self.configurations.entry(configuration).or_insert(count);
        for (side, victim, partner) in [(0, &a, &b), (1, &b, &a)] {
            let weight = sample.weights[side];
            if let (Some(corun_us), true) = (sample.sample.corun_us[side], weight > 0.0) {
                self.directions.push(Direction {
                    subjects: [subjects[side], subjects[1 - side]],
                    victim: victim.clone(),
                    partner: partner.clone(),
                    measured: corun_us / sample.sample.solo_us[side],
                    weight,
                    configuration,
                });
            }
        }
    }

    /// Tenants by workload, share and solo latency: most rows of a data set share theirs.
    fn tenant(&mut self, Weighed { source, sample, .. }: &Weighed<'_>, side: usize) -> Option<Arc<Tenant>> {
        let (workload, share, solo_us) = (&sample.workloads[side], sample.sm_shares[side], sample.solo_us[side]);
        let profile = source.profiles.get(workload)?;
        let key = (source.device.device_id.clone(), workload.clone(), share.get().to_bits(), solo_us.to_bits());
        let place = || Tenant::place(source.device, profile, share, 1.0, Some(solo_us)).ok().map(Arc::new);
        self.tenants.entry(key).or_insert_with(place).clone()
    }

    fn subject(&mut self, sample: &Weighed<'_>, tenant: &Tenant) -> usize {
        let key = (sample.source.device.device_id.clone(), tenant.workload.clone(), tenant.sm_share.key());
        *self.places.entry(key).or_insert_with(|| {
            self.subjects.push(Subject::of(tenant));
            self.subjects.len() - 1
        })
    }
}

/// What a sample says, figures before names, without the name that its row happens to have: this orders and identifies the data.
fn content(sample: &PairSample) -> impl Ord + Debug + use<> {
    let bits = |value: f64| value.to_bits();
    (
        sample.sm_shares.map(|share| bits(share.get())),
        sample.solo_us.map(bits),
        sample.corun_us.map(|corun| corun.map(bits)),
        sample.workloads.clone(),
        sample.campaign.clone(),
    )
}

fn sha256(samples: &[Weighed<'_>]) -> String {
    let mut text = String::new();
    for sample in samples {
        // Writing into a string cannot fail.
        let _ = write!(text, "{:?}", content(sample.sample));
    }
    format!("{:x}", Sha256::digest(text))
}

/// At most `most` places of `directions`, whole configurations, evenly spread over them in the order in which they come.
pub(super) fn thinned(directions: &[Direction], most: usize) -> Vec<usize> {
    if directions.len() <= most {
        return (0..directions.len()).collect();
    }
    let mut members: BTreeMap<usize, usize> = BTreeMap::new();
    directions.iter().for_each(|d| *members.entry(d.configuration).or_default() += 1);
    // The golden ratio's multiples are spread evenly whatever the number taken.
    let mut spread: Vec<(f64, usize)> = members.keys().map(|c| ((*c as f64 * 0.618_033_988_749_894_9).fract(), *c)).collect();
    spread.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut taken, mut count) = (HashSet::new(), 0);
    for (_, configuration) in spread {
        count += members[&configuration];
        if count > most {
            break;
        }
        taken.insert(configuration);
    }
    (0..directions.len()).filter(|i| taken.contains(&directions[*i].configuration)).collect()
}
