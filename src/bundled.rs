//! The bundled catalog: simulated data sets and the predictor fitted on them, so that a first prediction needs no set-up.

use std::collections::BTreeMap;

use include_dir::{Dir, include_dir};

use crate::{
    ingest::{self, IngestError, Progress},
    interference::{ArtefactError, Predictor},
    store::{Store, StoreError},
};

static DATA: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/data");
const DATASETS: [&str; 2] = ["opsim-sm-partition", "opsim-composed"];
const PREDICTOR: &str = include_str!("../data/predictor.json");

/// Why the bundled catalog could not be put into a store.
#[derive(Debug, thiserror::Error)]
pub enum BundledError {
    /// The bundled files cannot be written where they are read from.
    #[error("cannot unpack the bundled catalog into the temporary directory: {0}")]
    Unpack(#[from] std::io::Error),
    /// A bundled data set is broken.
    #[error(transparent)]
    Dataset(#[from] IngestError),
    /// The bundled predictor is broken.
    #[error(transparent)]
    Predictor(#[from] ArtefactError),
    /// The store refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The bundled predictor.
pub fn predictor() -> Result<Predictor, ArtefactError> {
    Predictor::from_json(PREDICTOR.trim_end())
}

/// Puts the bundled catalog into `store`, once: what was deleted of it later stays deleted. Returns true when it was new.
pub async fn install(store: &dyn Store) -> Result<bool, BundledError> {
    let predictor = predictor()?;
    match store.predictor_artefact(&predictor.version).await {
        Ok(_) => return Ok(false),
        Err(StoreError::PredictorUnknown(_)) => {}
        Err(error) => return Err(error.into()),
    }
    for name in DATASETS {
        let batch = unpack(name)?;
        store.import(&format!("bundled-{name}-{}", batch.content_sha256()), &batch).await?;
    }
    store.publish_predictor(&predictor, true).await?;
    Ok(true)
}

/// The readers take folders, so the files are written to a temporary one.
fn unpack(name: &str) -> Result<crate::domain::ImportBatch, BundledError> {
    let folder = tempfile::tempdir()?;
    DATA.extract(folder.path())?;
    Ok(ingest::dataset::read(&folder.path().join(name), &BTreeMap::new(), &Progress::hidden())?.batch)
}
