//! `signature.csv`.

use std::{collections::HashSet, sync::Arc};

use super::{
    Content,
    table::{Row, Table, name_of},
};
use crate::{
    domain::{Counters, KnownCounters, Provenance, Signature},
    ingest::{IngestError, Place, number},
};

struct Columns {
    workload: usize,
    sm_share: usize,
    operator: usize,
    grid: usize,
    block: usize,
    launches: usize,
    duration_ns: usize,
    family: Option<usize>,
    dtype: Option<usize>,
    clocks_locked: Option<usize>,
    batch: Option<usize>,
    counters: Vec<CounterColumn>,
}

struct CounterColumn {
    index: usize,
    name: Arc<str>,
    holds: Holds,
}

/// What the cells of an extra column have been so far.
#[derive(Clone, Copy, PartialEq)]
enum Holds {
    Nothing,
    Figures,
    Text,
}

/// Reads every row into `content`.
pub(super) fn read(mut table: Table, provenance: Provenance, content: &mut Content) -> Result<(), IngestError> {
    let mut columns = Columns::find(&table)?;
    let mut names = Names::default();
    table.rows(|row| {
        let signature = columns.signature(row, provenance, &mut names)?;
        signature.validate().map_err(|invalid| row.of(in_file_units(invalid)))?;
        if let Some(batch) = columns.batch(row)? {
            content.batch_sizes.insert(signature.workload.clone(), batch);
        }
        content.signatures.push(signature);
        Ok(())
    })?;
    if content.signatures.is_empty() {
        return Err(IngestError::invalid(Place::file(table.path()), "has no data row"));
    }
    content.warnings.extend(table.ending());
    for column in columns.counters.iter().filter(|column| column.holds == Holds::Text) {
        content.warnings.push(format!("{}: column {} holds text and is left out", name_of(table.path()), column.name));
    }
    Ok(())
}

/// The domain's name of a field as the column's.
fn in_file_units(mut invalid: crate::domain::Invalid) -> crate::domain::Invalid {
    if invalid.field == "duration_us" {
        "duration_ns".clone_into(&mut invalid.field);
    }
    invalid
}

impl Columns {
    fn find(table: &Table) -> Result<Self, IngestError> {
        let mut columns = Self {
            workload: table.required("workload")?,
            sm_share: table.required("sm_share")?,
            operator: table.required("operator")?,
            grid: table.required("grid")?,
            block: table.required("block")?,
            launches: table.required("launches")?,
            duration_ns: table.required("duration_ns")?,
            family: table.column("family"),
            dtype: table.column("dtype"),
            clocks_locked: table.column("clocks_locked"),
            batch: table.column("batch"),
            counters: vec![],
        };
        let own = [
            "workload",
            "sm_share",
            "operator",
            "grid",
            "block",
            "launches",
            "duration_ns",
            "family",
            "dtype",
            "clocks_locked",
            "batch",
            "",
        ];
        columns.counters = (table.header().iter().enumerate())
            .filter(|(_, name)| !own.contains(&name.as_ref()))
            .map(|(index, name)| CounterColumn { index, name: name.clone(), holds: Holds::Nothing })
            .collect();
        Ok(columns)
    }

    fn signature(&mut self, row: &Row, provenance: Provenance, names: &mut Names) -> Result<Signature, IngestError> {
        let family = row.optional_text(self.family)?;
        Ok(Signature {
            workload: names.shared(row.text(self.workload)?),
            family: (!family.is_empty()).then(|| names.shared(family)),
            sm_share: row.share(self.sm_share)?,
            operator: names.shared(row.text(self.operator)?),
            grid: names.shared(row.text(self.grid)?),
            block: names.shared(row.text(self.block)?),
            dtype: names.shared(row.optional_text(self.dtype)?),
            launches: row.figure(self.launches)?,
            duration_us: row.figure(self.duration_ns)? / 1e3,
            counters: self.counters(row)?,
            provenance,
            clocks_locked: self.clocks_locked(row)?,
        })
    }

    fn counters(&mut self, row: &Row) -> Result<Counters, IngestError> {
        let mut counters = Counters::default();
        for column in &mut self.counters {
            let cell = row.text(column.index)?;
            if cell.is_empty() || column.holds == Holds::Text {
                continue;
            }
            match number::figure(cell) {
                Ok(value) => {
                    counters.set(column.name.clone(), value);
                    column.holds = Holds::Figures;
                }
                Err(_) if column.may_be_text(cell) => column.holds = Holds::Text,
                Err(problem) => return Err(row.invalid(column.index, problem)),
            }
        }
        Ok(counters)
    }

    fn clocks_locked(&self, row: &Row) -> Result<bool, IngestError> {
        match row.optional_text(self.clocks_locked)? {
            "" | "0" | "false" => Ok(false),
            "1" | "true" => Ok(true),
            _ => Err(row.invalid(self.clocks_locked.unwrap_or_default(), "must be true, false or empty")),
        }
    }

    fn batch(&self, row: &Row) -> Result<Option<u32>, IngestError> {
        Ok(row.optional_count(self.batch)?.and_then(|batch| u32::try_from(batch).ok()))
    }
}

impl CounterColumn {
    /// True when `cell`, the first one that is not empty, shows that the column is a remark rather than a counter.
    fn may_be_text(&self, cell: &str) -> bool {
        self.holds == Holds::Nothing && cell.parse::<f64>().is_err() && !KnownCounters::NAMES.contains(&self.name.as_ref())
    }
}

/// One allocation for each name, however many rows repeat it.
#[derive(Default)]
pub(super) struct Names(HashSet<Arc<str>>);

impl Names {
    pub(super) fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.0.insert(name.clone());
        name
    }
}
