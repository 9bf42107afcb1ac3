//! Sums over the launches of a report. Memory grows with the distinct variants, not with the launches.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{
    launches::Launches,
    layout::Metrics,
    metrics::{METRICS, SM_COUNT},
    rows::Row,
    value::{self, Reading},
};
use crate::{
    domain::{Invalid, MAX_OPERATOR_BYTES},
    ingest::{
        IngestError,
        number::{count, quoted},
    },
};

/// Launches of one operator that a summary may state: a launch takes microseconds, so that this many take decades.
const MOST_INVOCATIONS: u64 = 1_000_000_000_000_000;

/// A kernel with its grid and block.
pub(super) struct Variant {
    pub(super) kernel: Arc<str>,
    pub(super) grid: Arc<str>,
    pub(super) block: Arc<str>,
    /// Distinct launches.
    pub(super) launches: u64,
    sums: Vec<Sum>,
}

struct Sum {
    metric: usize,
    total: f64,
    count: u64,
}

/// A report and a process in it: launch numbers are unique in one.
type Run = (u32, u64);

/// All that a report's rows add up to.
#[derive(Default)]
pub(super) struct Totals {
    /// In order of first appearance.
    pub(super) variants: Vec<Variant>,
    /// Compute capabilities that the rows name.
    pub(super) capabilities: BTreeSet<String>,
    /// Numbers of SMs that the rows name.
    pub(super) sm_counts: BTreeSet<String>,
    index: HashMap<[Arc<str>; 3], usize>,
    launches: HashMap<Run, Launches>,
    read: HashMap<(Run, usize), Launches>,
    summarised: HashMap<(Run, usize), u64>,
    summary_read: HashSet<(Run, usize, usize)>,
    last: Option<(Run, u64, usize)>,
}

impl Variant {
    /// The mean of a metric over the launches that have it.
    pub(super) fn mean(&self, metric: usize) -> Option<f64> {
        self.sums.iter().find(|sum| sum.metric == metric).map(|sum| sum.total / count(sum.count))
    }

    /// The sum of a metric over the launches that have it, and their number.
    pub(super) fn sum(&self, metric: usize) -> Option<(f64, u64)> {
        self.sums.iter().find(|sum| sum.metric == metric).map(|sum| (sum.total, sum.count))
    }

    fn add(&mut self, reading: &Reading, times: u64) {
        let amount = reading.value * count(times);
        match self.sums.iter_mut().find(|sum| sum.metric == reading.metric) {
            Some(sum) => {
                sum.total += amount;
                sum.count = sum.count.saturating_add(times);
            }
            None => self.sums.push(Sum { metric: reading.metric, total: amount, count: times }),
        }
    }
}

impl Totals {
    /// Adds a row.
    pub(super) fn add(&mut self, row: &Row) -> Result<(), IngestError> {
        let layout = row.layout;
        let field = |column: Option<usize>| column.and_then(|column| row.fields.get(column)).map_or("", |field| field.trim());
        if self.capabilities.len() < 8 && !field(layout.capability).is_empty() {
            self.capabilities.insert(field(layout.capability).to_owned());
        }
        let run = (row.table, number(row, "Process ID", field(layout.process))?);
        let variant = self.variant(row, field(Some(layout.kernel)), field(layout.grid), field(layout.block))?;
        match &layout.metrics {
            Metrics::Long { name, unit, value } => {
                let launch = self.launch(row, run, field(layout.id), variant)?;
                self.read(row, run, launch, variant, (field(Some(*name)), field(*unit), field(Some(*value))))
            }
            Metrics::Wide { columns, units } => {
                let launch = self.launch(row, run, field(layout.id), variant)?;
                for (column, name) in columns {
                    let unit = units.as_ref().and_then(|units| units.get(*column)).map_or("", String::as_str);
                    self.read(row, run, launch, variant, (name, unit, field(Some(*column))))?;
                }
                Ok(())
            }
            Metrics::Summary { name, unit, average, invocations } => {
                let times = number(row, "Invocations", field(Some(*invocations)))?;
                if times > MOST_INVOCATIONS {
                    let problem = format_args!("{times} is more than any run launches");
                    return Err(IngestError::invalid(row.place().field("Invocations"), problem));
                }
                let cells = (field(Some(*name)), field(*unit), field(Some(*average)));
                self.read_summary(row, run, times, variant, cells)
            }
        }
    }

    /// Launches in the whole report.
    pub(super) fn launch_count(&self) -> u64 {
        saturating_sum(self.variants.iter().map(|variant| variant.launches))
    }

    /// Processes in the whole report.
    pub(super) fn process_count(&self) -> usize {
        let runs = self.launches.keys().chain(self.summarised.keys().map(|(run, _)| run));
        runs.collect::<HashSet<_>>().len()
    }

    /// Launches that have no value of `metric`, among the variants with a value in some launch.
    pub(super) fn launches_without(&self, metric: usize) -> u64 {
        let lacking = self.variants.iter().filter_map(|variant| Some(variant.launches.saturating_sub(variant.sum(metric)?.1)));
        saturating_sum(lacking)
    }

    fn variant(&mut self, row: &Row, kernel: &str, grid: &str, block: &str) -> Result<usize, IngestError> {
        if let Some((_, _, last)) = self.last {
            let variant = &self.variants[last];
            if variant.kernel.as_ref() == kernel && variant.grid.as_ref() == grid && variant.block.as_ref() == block {
                return Ok(last);
            }
        }
        // A name that was broken over lines is one name.
        let kernel = kernel.replace(char::is_control, " ");
        let checked = Invalid::text("Kernel Name", &kernel, MAX_OPERATOR_BYTES)
            .and_then(|_| if grid.is_empty() { Ok("") } else { Invalid::text("Grid Size", grid, 64) })
            .and_then(|_| if block.is_empty() { Ok("") } else { Invalid::text("Block Size", block, 64) });
        checked.map_err(|invalid| IngestError::of(row.place(), invalid))?;
        let key: [Arc<str>; 3] = [kernel.as_str().into(), grid.into(), block.into()];
        if let Some(known) = self.index.get(&key) {
            return Ok(*known);
        }
        let [kernel, grid, block] = key.clone();
        self.variants.push(Variant { kernel, grid, block, launches: 0, sums: vec![] });
        self.index.insert(key, self.variants.len() - 1);
        Ok(self.variants.len() - 1)
    }

    fn launch(&mut self, row: &Row, run: Run, id: &str, variant: usize) -> Result<u64, IngestError> {
        let launch = number(row, "ID", id)?;
        match self.last {
            Some((last_run, last_launch, last_variant)) if (last_run, last_launch) == (run, launch) => {
                if last_variant != variant {
                    let problem = format_args!("launch {launch} has another kernel, grid or block than in the row before");
                    return Err(IngestError::invalid(row.place().field("ID"), problem));
                }
                return Ok(launch);
            }
            _ => self.last = Some((run, launch, variant)),
        }
        if self.launches.entry(run).or_default().insert(launch) {
            self.variants[variant].launches = self.variants[variant].launches.saturating_add(1);
        }
        Ok(launch)
    }

    fn read(&mut self, row: &Row, run: Run, launch: u64, variant: usize, cells: Cells) -> Result<(), IngestError> {
        let Some(reading) = self.reading(row, cells)? else { return Ok(()) };
        // The same metric stands in several sections of the details page.
        if self.read.entry((run, reading.metric)).or_default().insert(launch) {
            self.variants[variant].add(&reading, 1);
        }
        Ok(())
    }

    fn read_summary(&mut self, row: &Row, run: Run, times: u64, variant: usize, cells: Cells) -> Result<(), IngestError> {
        let launches = self.summarised.entry((run, variant)).or_default();
        let more = times.saturating_sub(*launches);
        *launches = launches.saturating_add(more);
        self.variants[variant].launches = self.variants[variant].launches.saturating_add(more);
        let Some(reading) = self.reading(row, cells)? else { return Ok(()) };
        if times > 0 && self.summary_read.insert((run, variant, reading.metric)) {
            self.variants[variant].add(&reading, times);
        }
        Ok(())
    }

    fn reading(&mut self, row: &Row, (name, unit, cell): Cells) -> Result<Option<Reading>, IngestError> {
        if name == SM_COUNT && self.sm_counts.len() < 8 {
            self.sm_counts.insert(cell.to_owned());
        }
        value::read(name, unit, cell).map_err(|problem| IngestError::invalid(row.place().field(name), problem))
    }
}

/// Name, unit and value of a metric.
type Cells<'r> = (&'r str, &'r str, &'r str);

/// A whole number in a cell; an empty one, of a column that is not there, is 0.
fn number(row: &Row, column: &str, cell: &str) -> Result<u64, IngestError> {
    if cell.is_empty() {
        return Ok(0);
    }
    let digits = cell.replace(',', "");
    digits
        .parse()
        .map_err(|_| IngestError::invalid(row.place().field(column), format_args!("{} is not a whole number", quoted(cell))))
}

/// A sum that stops at the largest count.
pub(super) fn saturating_sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// The metrics that some variant has, in the order of the table.
pub(super) fn metrics_there(variants: &[Variant]) -> Vec<usize> {
    (0..METRICS.len()).filter(|metric| variants.iter().any(|variant| variant.sum(*metric).is_some())).collect()
}
