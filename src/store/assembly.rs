//! Puts a catalog together from rows as they stream in, taking over from the previous one whatever has not changed.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::{
    domain::{KnownCounters, SoloLatency},
    interference::{OperatorRow, Predictor, WorkloadProfile},
};

use super::{
    Catalog, PredictorInfo, StoreError,
    failure::unreadable,
    rows::{self, PredictorRow, SoloRow, WorkloadRow},
};

/// A row of `load_signature`. Rows of a workload come one after another.
pub(super) struct SignatureColumns<'r> {
    pub(super) workload_id: i64,
    pub(super) sm_share: f64,
    pub(super) operator: &'r str,
    pub(super) launches: f64,
    pub(super) duration_us: f64,
    pub(super) counters: &'r str,
    pub(super) provenance: &'r str,
    pub(super) clocks_locked: bool,
}

/// A catalog in the making.
pub(super) struct Assembly<'p> {
    previous: Option<&'p Catalog>,
    catalog: Catalog,
    /// Workloads that changed and whose signatures have not all come yet.
    changed: HashMap<i64, (WorkloadRow, Vec<SoloLatency>)>,
    /// Signatures of the workload that is coming in.
    open: Option<(i64, Vec<OperatorRow>)>,
    /// Operators' names, each kept once.
    names: HashSet<Arc<str>>,
}

impl<'p> Assembly<'p> {
    /// A catalog at `version`, from its devices and the list of its workloads.
    pub(super) fn new(
        version: i64,
        previous: Option<&'p Catalog>,
        devices: Vec<String>,
        workloads: Vec<WorkloadRow>,
    ) -> Result<Self, StoreError> {
        let mut this = Self {
            // A store that went back, from a backup say, is another one.
            previous: previous.filter(|previous| previous.version <= version),
            catalog: Catalog { version, ..Catalog::default() },
            changed: HashMap::new(),
            open: None,
            names: HashSet::new(),
        };
        for spec in devices {
            this.device(&spec)?;
        }
        if !this.take_over(&workloads)? {
            this.previous = None;
        }
        for row in workloads {
            this.workload(row)?;
        }
        Ok(this)
    }

    /// Only workloads that changed after this version are needed.
    pub(super) fn since(&self) -> i64 {
        self.previous.map_or(0, |previous| previous.version)
    }

    fn device(&mut self, spec: &str) -> Result<(), StoreError> {
        let device = rows::device(spec)?;
        let same = self.previous.and_then(|previous| previous.devices.get(&device.device_id)).filter(|known| ***known == device);
        let device = same.map_or_else(|| Arc::new(device), Arc::clone);
        self.catalog.devices.insert(device.device_id.clone(), device);
        Ok(())
    }

    /// False when the previous catalog lacks a workload that has not changed since, and so cannot be built upon.
    fn take_over(&self, workloads: &[WorkloadRow]) -> Result<bool, StoreError> {
        for row in workloads.iter().filter(|row| row.catalog_version <= self.since()) {
            if self.unchanged(row)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn unchanged(&self, row: &WorkloadRow) -> Result<Option<Arc<WorkloadProfile>>, StoreError> {
        let Some(previous) = self.previous else { return Ok(None) };
        let device = rows::device_id(row.device_id.clone())?;
        let known = previous.workloads.get(&device).and_then(|workloads| workloads.get(row.name.as_str()));
        Ok(known.filter(|profile| profile.catalog_version == row.catalog_version).cloned())
    }

    fn workload(&mut self, row: WorkloadRow) -> Result<(), StoreError> {
        if let Some(profile) = self.unchanged(&row)? {
            let device = rows::device_id(row.device_id)?;
            self.catalog.workloads.entry(device).or_default().insert(Arc::clone(&profile.workload), profile);
        } else {
            self.changed.insert(row.workload_id, (row, Vec::new()));
        }
        Ok(())
    }

    /// A latency of a workload that changed.
    pub(super) fn solo(&mut self, row: SoloRow) -> Result<(), StoreError> {
        if let Some((_, solo)) = self.changed.get_mut(&row.workload_id) {
            solo.push(row.try_into()?);
        }
        Ok(())
    }

    /// A signature of a workload that changed.
    pub(super) fn signature(&mut self, columns: &SignatureColumns<'_>) -> Result<(), StoreError> {
        if self.open.as_ref().is_some_and(|(id, _)| *id != columns.workload_id) {
            self.close()?;
        }
        let row = self.operator(columns)?;
        self.open.get_or_insert_with(|| (columns.workload_id, Vec::new())).1.push(row);
        Ok(())
    }

    fn operator(&mut self, columns: &SignatureColumns<'_>) -> Result<OperatorRow, StoreError> {
        let counters: KnownCounters = serde_json::from_str(columns.counters)
            .map_err(|error| unreadable("the counters of a signature", error))?;
        Ok(OperatorRow {
            sm_share: rows::share(columns.sm_share)?,
            operator: self.intern(columns.operator),
            launches: columns.launches,
            duration_us: columns.duration_us,
            counters,
            provenance: rows::word("provenance", columns.provenance)?,
            clocks_locked: columns.clocks_locked,
        })
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = name.into();
        self.names.insert(Arc::clone(&new));
        new
    }

    /// Builds the workload whose signatures have all come.
    fn close(&mut self) -> Result<(), StoreError> {
        if let Some((id, operators)) = self.open.take()
            && let Some((row, solo)) = self.changed.remove(&id)
        {
            self.build(row, operators, solo)?;
        }
        Ok(())
    }

    fn build(&mut self, row: WorkloadRow, operators: Vec<OperatorRow>, solo: Vec<SoloLatency>) -> Result<(), StoreError> {
        let id = rows::device_id(row.device_id)?;
        let device = self.catalog.devices.get(&id).ok_or_else(|| unreadable("a workload", format_args!("no device {id}")))?;
        let name: Arc<str> = row.name.into();
        let family = self.names.get(row.family.as_str()).cloned().unwrap_or_else(|| row.family.into());
        let profile = WorkloadProfile::build(device, Arc::clone(&name), family, operators, solo, row.catalog_version);
        self.catalog.workloads.entry(id).or_default().insert(name, Arc::new(profile));
        Ok(())
    }

    /// The list of predictors; returns the versions of those that answer and that the previous catalog does not have.
    pub(super) fn predictors(&mut self, rows: Vec<PredictorRow>) -> Result<Vec<String>, StoreError> {
        self.catalog.predictors = rows::all(rows)?;
        let mut missing = Vec::new();
        for info in self.catalog.predictors.iter().filter(|info| info.active) {
            let key = (info.device.clone(), info.sharing_mode);
            let known = self.previous.and_then(|previous| previous.active.get(&key));
            match known.filter(|predictor| predictor.version == info.version) {
                Some(predictor) => _ = self.catalog.active.insert(key, Arc::clone(predictor)),
                None => missing.push(info.version.clone()),
            }
        }
        Ok(missing)
    }

    /// The artefact of one of those.
    pub(super) fn artefact(&mut self, version: &str, artefact: &str) -> Result<(), StoreError> {
        let predictor =
            Predictor::from_json(artefact).map_err(|error| unreadable(&format!("predictor {version}"), error))?;
        let of_version = |info: &&PredictorInfo| info.version == version;
        if let Some(info) = self.catalog.predictors.iter().find(of_version) {
            self.catalog.active.insert((info.device.clone(), info.sharing_mode), Arc::new(predictor));
        }
        Ok(())
    }

    /// The catalog, once all rows have come.
    pub(super) fn finish(mut self) -> Result<Catalog, StoreError> {
        self.close()?;
        // Workloads that have latencies or a trace, but no signature.
        for (row, solo) in std::mem::take(&mut self.changed).into_values() {
            self.build(row, Vec::new(), solo)?;
        }
        Ok(self.catalog)
    }
}
