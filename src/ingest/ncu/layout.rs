//! The header of a table: which column holds what.

use super::{
    lines::split,
    metrics::{SM_COUNT, by_name},
};

/// Where a table's metrics stand.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Metrics {
    /// A row is a metric of a launch.
    Long { name: usize, unit: Option<usize>, value: usize },
    /// A row is a metric's mean over all launches of a kernel.
    Summary { name: usize, unit: Option<usize>, average: usize, invocations: usize },
    /// A row is a launch, a column a metric; the first row holds the units. Only the columns that are read are kept.
    Wide { columns: Vec<(usize, String)>, units: Option<Vec<String>> },
}

/// The columns of a table.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Number of columns.
    pub(super) width: usize,
    /// The header has its names in quotes.
    pub(super) quoted: bool,
    pub(super) id: Option<usize>,
    pub(super) process: Option<usize>,
    pub(super) kernel: usize,
    pub(super) grid: Option<usize>,
    pub(super) block: Option<usize>,
    pub(super) capability: Option<usize>,
    pub(super) metrics: Metrics,
}

/// What a line is when it is the header of a table.
pub(super) enum Header {
    /// One that can be read.
    Table(Layout),
    /// One that cannot: what it is, and what to do.
    Unusable(&'static str, &'static str),
}

/// Names of columns that a header may begin with.
const FIRST: &[&str] = &["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Device", "CC"];

/// The header that `line` is or ends with: what the application printed last may stand before it.
pub(super) fn header(line: &str) -> Option<Header> {
    let first = line.split(',').next().unwrap_or_default().trim().trim_matches('"');
    if FIRST.contains(&first) {
        return of_fields(line);
    }
    let starts = ["\"ID\"", "\"Process ID\"", "ID,Process ID"].iter().filter_map(|name| line.find(name));
    starts.chain([0]).find_map(|start| of_fields(&line[start..]))
}

fn of_fields(line: &str) -> Option<Header> {
    let mut fields = vec![];
    if !split(line, &mut fields) {
        return None;
    }
    let fields: Vec<&str> = fields.iter().map(|field| field.trim()).collect();
    let at = |name: &str| fields.iter().position(|field| *field == name);
    let metric = at("Metric Name");
    let Some(kernel) = at("Kernel Name") else {
        let summary = metric.is_some() && (at("Metric Value").is_some() || at("Average").is_some());
        return summary.then_some(Header::Unusable(
            "a table of ncu that does not name kernels, such as a summary per GPU",
            "export it with --print-summary none or per-kernel",
        ));
    };
    let metrics = match (metric, at("Metric Value"), at("Average"), at("Invocations")) {
        (Some(_), Some(_), _, _) if at("ID").is_none() => {
            return Some(Header::Unusable(
                "a table of ncu without the ID column, which tells launches apart",
                "export it again with `ncu --import FILE --csv --page raw`",
            ));
        }
        (Some(name), Some(value), _, _) => Metrics::Long { name, unit: at("Metric Unit"), value },
        (Some(name), None, Some(average), Some(invocations)) => {
            Metrics::Summary { name, unit: at("Metric Unit"), average, invocations }
        }
        (Some(_), ..) => {
            return Some(Header::Unusable(
                "a table of ncu without a value column (Metric Value, or Average with Invocations)",
                "export it again with `ncu --import FILE --csv --page raw`",
            ));
        }
        (None, ..) if at("ID").is_some() => {
            let columns = fields.iter().enumerate().filter(|(_, name)| is_read(name));
            Metrics::Wide { columns: columns.map(|(column, name)| (column, (*name).to_owned())).collect(), units: None }
        }
        (None, ..) => return None,
    };
    Some(Header::Table(Layout {
        width: fields.len(),
        quoted: line.starts_with('"'),
        id: at("ID"),
        process: at("Process ID"),
        kernel,
        grid: at("Grid Size"),
        block: at("Block Size"),
        capability: at("CC"),
        metrics,
    }))
}

impl Layout {
    /// Fewest fields that a row can do with. A metric's row may end before the columns of the rules.
    pub(super) fn least_fields(&self) -> usize {
        match &self.metrics {
            Metrics::Long { value, .. } => value + 1,
            Metrics::Summary { average, .. } => average + 1,
            Metrics::Wide { .. } => self.width,
        }
        .max(self.kernel + 1)
    }

    /// True when the numbers that name a launch are numbers, so that the line is a row and not the application's output.
    pub(super) fn names_launch(&self, fields: &[String]) -> bool {
        let number = |column: Option<usize>| column.is_none_or(|column| fields.get(column).is_some_and(|field| is_number(field)));
        (self.id.is_some() || self.process.is_some()) && number(self.id) && number(self.process)
    }

    /// True for the row of a wide table that holds the units.
    pub(super) fn is_unit_row(&self, fields: &[String]) -> bool {
        let empty =
            |column: Option<usize>| column.and_then(|column| fields.get(column)).is_none_or(|field| field.trim().is_empty());
        matches!(self.metrics, Metrics::Wide { .. }) && empty(self.id) && empty(self.process) && empty(Some(self.kernel))
    }
}

fn is_number(field: &str) -> bool {
    let field = field.trim();
    !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
}

fn is_read(metric: &str) -> bool {
    metric == SM_COUNT || !by_name(metric).is_empty()
}
