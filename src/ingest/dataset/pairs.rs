//! `pair.csv`.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Content,
    complete::{ShareKey, share_key},
    manifest::Manifest,
    signatures::Names,
    solo::unknown_columns,
    table::{Row, Table, name_of},
};
use crate::{
    domain::{PairSample, SmShare},
    ingest::IngestError,
};

const KNOWN: [&str; 14] = [
    "pair_id",
    "a_workload",
    "a_sm_share",
    "b_workload",
    "b_sm_share",
    "a_solo_us",
    "b_solo_us",
    "a_corun_us",
    "b_corun_us",
    "a_stdev_us",
    "b_stdev_us",
    "campaign",
    "a_batch",
    "b_batch",
];

struct Side {
    workload: usize,
    sm_share: usize,
    solo_us: usize,
    corun_us: usize,
    stdev_us: Option<usize>,
    batch: Option<usize>,
}

type Solo = HashMap<(Arc<str>, ShareKey), f64>;

/// Reads every row with at least one side timed into `content`.
pub(super) fn read(mut table: Table, manifest: &Manifest, content: &mut Content) -> Result<(), IngestError> {
    let pair_id = table.required("pair_id")?;
    let sides = [Side::find(&table, "a")?, Side::find(&table, "b")?];
    let campaign = table.column("campaign");
    let solo: Solo =
        content.solo.iter().map(|solo| ((solo.workload.clone(), share_key(solo.sm_share)), solo.latency_us)).collect();
    let (mut names, mut seen, mut untimed) = (Names::default(), HashSet::new(), 0_u64);
    table.rows(|row| {
        let [a, b] = [sides[0].read(row, &solo, &mut names)?, sides[1].read(row, &solo, &mut names)?];
        let pair = PairSample {
            pair_id: row.text(pair_id)?.to_owned(),
            sharing_mode: manifest.sharing_mode,
            workloads: [a.workload, b.workload],
            sm_shares: [a.sm_share, b.sm_share],
            solo_us: [a.solo_us, b.solo_us],
            corun_us: [a.corun_us, b.corun_us],
            stdev_us: [a.stdev_us, b.stdev_us],
            campaign: row.optional_text(campaign)?.to_owned(),
            provenance: manifest.provenance,
        };
        pair.validate().map_err(|invalid| row.of(invalid))?;
        if !seen.insert(pair.pair_id.clone()) {
            return Err(row.invalid(pair_id, "stands twice"));
        }
        for (workload, batch) in pair.workloads.iter().zip([a.batch, b.batch]) {
            content.batch_sizes.extend(batch.map(|batch| (workload.clone(), batch)));
        }
        if pair.corun_us == [None, None] {
            untimed += 1;
        } else {
            content.pairs.push(pair);
            content.pair_lines.push(row.line());
        }
        Ok(())
    })?;
    if untimed > 0 {
        content.warnings.push(format!("{}: left out {untimed} rows in which neither side was timed", name_of(table.path())));
    }
    content.warnings.extend(table.ending());
    content.warnings.extend(unknown_columns(&table, &KNOWN));
    Ok(())
}

struct SideOfRow {
    workload: Arc<str>,
    sm_share: SmShare,
    solo_us: f64,
    corun_us: Option<f64>,
    stdev_us: Option<f64>,
    batch: Option<u32>,
}

impl Side {
    fn find(table: &Table, side: &str) -> Result<Self, IngestError> {
        Ok(Self {
            workload: table.required(&format!("{side}_workload"))?,
            sm_share: table.required(&format!("{side}_sm_share"))?,
            solo_us: table.required(&format!("{side}_solo_us"))?,
            corun_us: table.required(&format!("{side}_corun_us"))?,
            stdev_us: table.column(&format!("{side}_stdev_us")),
            batch: table.column(&format!("{side}_batch")),
        })
    }

    fn read(&self, row: &Row, solo: &Solo, names: &mut Names) -> Result<SideOfRow, IngestError> {
        let workload = names.shared(row.text(self.workload)?);
        let sm_share = row.share(self.sm_share)?;
        // A cell left empty stands for the workload's latency in solo.csv.
        let solo_us = row
            .optional_figure(Some(self.solo_us))?
            .or_else(|| solo.get(&(workload.clone(), share_key(sm_share))).copied())
            .ok_or_else(|| row.invalid(self.solo_us, "is empty, and solo.csv has no latency of this workload and share"))?;
        Ok(SideOfRow {
            workload,
            sm_share,
            solo_us,
            corun_us: row.optional_figure(Some(self.corun_us))?,
            stdev_us: row.optional_figure(self.stdev_us)?,
            batch: row.optional_count(self.batch)?.and_then(|batch| u32::try_from(batch).ok()),
        })
    }
}
