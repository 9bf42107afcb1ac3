//! A batch as the rows that the `import_*` statements take: the same for both databases.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::{
    Counters, ImportBatch, ImportReceipt, PairSample, Provenance, SharingMode, Signature, SmShare, SoloLatency, TraceEntry,
    family_of,
};

/// Rows of one statement: few enough to keep memory small, enough to make the way to the database cheap.
const CHUNK_ROWS: usize = 2000;
/// Bytes of one statement, about; operator names may be long.
const CHUNK_BYTES: usize = 4 << 20;

/// Which statement takes a chunk, in the order in which they must run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Workload,
    ClearSignature,
    Signature,
    ClearSolo,
    Solo,
    ClearTrace,
    Trace,
    Pair,
}

/// A step of an import on its way to the task that holds the transaction.
pub(super) enum Step {
    /// A JSON array of rows.
    Rows(Table, String),
    /// Everything was sent. Without it the sender was dropped, and nothing may be stored.
    End,
}

#[derive(Serialize)]
struct WorkloadRow<'b> {
    name: &'b str,
    /// The family that the batch tells; `None` leaves a stored one as it is.
    family: Option<&'b str>,
    default_family: &'b str,
}

#[derive(Serialize)]
struct PlaceRow<'b> {
    workload: &'b str,
    sm_share: f64,
}

#[derive(Serialize)]
struct SignatureRow<'b> {
    workload: &'b str,
    sm_share: f64,
    position: i32,
    operator: &'b str,
    grid: &'b str,
    block: &'b str,
    dtype: &'b str,
    launches: f64,
    duration_us: f64,
    counters: &'b Counters,
    provenance: Provenance,
    clocks_locked: bool,
}

#[derive(Serialize)]
struct SoloRow<'b> {
    workload: &'b str,
    sm_share: f64,
    latency_us: f64,
    stdev_us: Option<f64>,
    samples: Option<i64>,
    provenance: Provenance,
    from_kernels: bool,
}

#[derive(Serialize)]
struct TraceRow<'b> {
    workload: &'b str,
    position: u32,
    operator: &'b str,
    gap_before_us: f64,
}

#[derive(Serialize)]
struct PairRow<'b> {
    sharing_mode: SharingMode,
    pair_id: &'b str,
    a_workload: &'b str,
    b_workload: &'b str,
    a_sm_share: f64,
    b_sm_share: f64,
    a_solo_us: f64,
    b_solo_us: f64,
    a_corun_us: Option<f64>,
    b_corun_us: Option<f64>,
    a_stdev_us: Option<f64>,
    b_stdev_us: Option<f64>,
    campaign: &'b str,
    provenance: Provenance,
}

/// A share of a workload, and how many signatures it got so far.
struct Place {
    sm_share: SmShare,
    next_position: i32,
}

/// A batch sorted out: which workloads it touches, at which shares, in which order.
pub(super) struct Plan<'b> {
    batch: &'b ImportBatch,
    /// With the family that the batch tells.
    workloads: BTreeMap<&'b str, Option<&'b str>>,
    places: BTreeMap<&'b str, Vec<Place>>,
    /// Of each signature its share, as the first equal one was written, and its place there.
    placed: Vec<(f64, i32)>,
    /// The last latency of each workload and share.
    solo: Vec<&'b SoloLatency>,
    /// The workloads whose trace is replaced.
    traced: Vec<&'b str>,
}

impl<'b> Plan<'b> {
    pub(super) fn new(batch: &'b ImportBatch) -> Self {
        let mut traced: Vec<&str> = batch.trace.iter().map(|entry| &*entry.workload).collect();
        traced.sort_unstable();
        traced.dedup();
        let timed = batch.solo_latencies.iter().map(|solo| &*solo.workload);
        let workloads = timed.chain(traced.iter().copied()).map(|workload| (workload, None)).collect();
        let mut plan =
            Self { batch, workloads, places: BTreeMap::new(), placed: Vec::new(), solo: batch.stored_solo_latencies(), traced };
        for signature in &batch.signatures {
            plan.workloads.insert(&signature.workload, Some(family(signature)));
            let place = plan.place(signature);
            plan.placed.push(place);
        }
        plan
    }

    fn place(&mut self, signature: &'b Signature) -> (f64, i32) {
        let places = self.places.entry(&signature.workload).or_default();
        let known = places.iter().position(|place| place.sm_share == signature.sm_share);
        let at = known.unwrap_or_else(|| {
            places.push(Place { sm_share: signature.sm_share, next_position: 0 });
            places.len() - 1
        });
        let place = &mut places[at];
        place.next_position += 1;
        (place.sm_share.get(), place.next_position - 1)
    }

    /// What the import will have done once it is stored.
    pub(super) fn receipt(&self) -> ImportReceipt {
        self.batch.receipt()
    }

    /// The rows in the order in which they must be stored, made as they are asked for.
    pub(super) fn steps(&self) -> impl Iterator<Item = serde_json::Result<Step>> + Send + '_ {
        let workloads =
            self.workloads.iter().map(|(name, family)| WorkloadRow { name, family: *family, default_family: family_of(name) });
        let places = self
            .places
            .iter()
            .flat_map(|(workload, places)| places.iter().map(move |place| PlaceRow { workload, sm_share: place.sm_share.get() }));
        let signatures = self.batch.signatures.iter().zip(&self.placed);
        let solo_places = self.solo.iter().map(|solo| PlaceRow { workload: &solo.workload, sm_share: solo.sm_share.get() });
        let traced = self.traced.iter().map(|workload| PlaceRow { workload, sm_share: 1.0 });

        chunks(Table::Workload, workloads)
            .chain(chunks(Table::ClearSignature, places))
            .chain(chunks(Table::Signature, signatures.map(|(signature, place)| signature_row(signature, *place))))
            .chain(chunks(Table::ClearSolo, solo_places))
            .chain(chunks(Table::Solo, self.solo.iter().map(|solo| solo_row(solo))))
            .chain(chunks(Table::ClearTrace, traced))
            .chain(chunks(Table::Trace, self.batch.trace.iter().map(trace_row)))
            .chain(chunks(Table::Pair, self.batch.pair_samples.iter().map(pair_row)))
            .chain([Ok(Step::End)])
    }
}

fn family(signature: &Signature) -> &str {
    signature.family.as_deref().unwrap_or_else(|| family_of(&signature.workload))
}

fn signature_row(signature: &Signature, (sm_share, position): (f64, i32)) -> SignatureRow<'_> {
    SignatureRow {
        workload: &signature.workload,
        sm_share,
        position,
        operator: &signature.operator,
        grid: &signature.grid,
        block: &signature.block,
        dtype: &signature.dtype,
        launches: signature.launches,
        duration_us: signature.duration_us,
        counters: &signature.counters,
        provenance: signature.provenance,
        clocks_locked: signature.clocks_locked,
    }
}

fn solo_row(solo: &SoloLatency) -> SoloRow<'_> {
    SoloRow {
        workload: &solo.workload,
        sm_share: solo.sm_share.get(),
        latency_us: solo.latency_us,
        stdev_us: solo.stdev_us,
        samples: solo.samples.map(|samples| i64::try_from(samples).unwrap_or(i64::MAX)),
        provenance: solo.provenance,
        from_kernels: solo.from_kernels,
    }
}

fn trace_row(entry: &TraceEntry) -> TraceRow<'_> {
    TraceRow {
        workload: &entry.workload,
        position: entry.position,
        operator: &entry.operator,
        gap_before_us: entry.gap_before_us,
    }
}

fn pair_row(pair: &PairSample) -> PairRow<'_> {
    PairRow {
        sharing_mode: pair.sharing_mode,
        pair_id: &pair.pair_id,
        a_workload: &pair.workloads[0],
        b_workload: &pair.workloads[1],
        a_sm_share: pair.sm_shares[0].get(),
        b_sm_share: pair.sm_shares[1].get(),
        a_solo_us: pair.solo_us[0],
        b_solo_us: pair.solo_us[1],
        a_corun_us: pair.corun_us[0],
        b_corun_us: pair.corun_us[1],
        a_stdev_us: pair.stdev_us[0],
        b_stdev_us: pair.stdev_us[1],
        campaign: &pair.campaign,
        provenance: pair.provenance,
    }
}

/// The rows of `pairs` as the JSON arrays that [`Table::Pair`] takes.
pub(super) fn pair_rows(pairs: &[PairSample]) -> serde_json::Result<Vec<String>> {
    let steps = chunks(Table::Pair, pairs.iter().map(pair_row));
    let rows = |step| match step {
        Step::Rows(_, rows) => Some(rows),
        Step::End => None,
    };
    steps.filter_map(|step| step.map(rows).transpose()).collect()
}

/// `rows` as JSON arrays of bounded size.
fn chunks<R: Serialize>(table: Table, rows: impl Iterator<Item = R>) -> impl Iterator<Item = serde_json::Result<Step>> {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        rows.peek()?;
        Some(array(&mut rows).map(|json| Step::Rows(table, json)))
    })
}

fn array<R: Serialize>(rows: &mut impl Iterator<Item = R>) -> serde_json::Result<String> {
    let mut json = String::from("[");
    let mut count = 0;
    while count < CHUNK_ROWS && json.len() < CHUNK_BYTES {
        let Some(row) = rows.next() else { break };
        if count > 0 {
            json.push(',');
        }
        json.push_str(&serde_json::to_string(&row)?);
        count += 1;
    }
    json.push(']');
    Ok(json)
}
