//! Reads the catalog in one transaction that sees one version.

use futures::TryStreamExt;
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};

use crate::store::{
    Catalog, StoreError,
    assembly::{Assembly, SignatureColumns},
    limits,
    rows::SoloRow,
};

use super::{PostgresStore, sql};

pub(super) async fn catalog(store: &PostgresStore, previous: Option<Catalog>) -> Result<Catalog, StoreError> {
    store
        .run(limits::LOAD, |connection| {
            Box::pin(async move {
                let mut transaction =
                    connection.begin_with("begin isolation level repeatable read, read only").await?;
                let catalog = read(&mut transaction, previous.as_ref()).await?;
                transaction.commit().await?;
                Ok(catalog)
            })
        })
        .await
}

async fn read(connection: &mut PgConnection, previous: Option<&Catalog>) -> Result<Catalog, StoreError> {
    let version = sqlx::query_scalar(sql::CATALOG_VERSION).fetch_one(&mut *connection).await?;
    let devices = sqlx::query_scalar(sql::LOAD_DEVICE).fetch_all(&mut *connection).await?;
    let workloads = sqlx::query_as(sql::LOAD_WORKLOAD).fetch_all(&mut *connection).await?;
    let mut assembly = Assembly::new(version, previous, devices, workloads)?;

    let mut solo = sqlx::query_as::<_, SoloRow>(sql::LOAD_SOLO).bind(assembly.since()).fetch(&mut *connection);
    while let Some(row) = solo.try_next().await? {
        assembly.solo(row)?;
    }
    drop(solo);

    let mut signatures = sqlx::query(sql::LOAD_SIGNATURE).bind(assembly.since()).fetch(&mut *connection);
    while let Some(row) = signatures.try_next().await? {
        assembly.signature(&columns(&row)?)?;
    }
    drop(signatures);

    let predictors = sqlx::query_as(sql::LOAD_PREDICTOR).fetch_all(&mut *connection).await?;
    for version in assembly.predictors(predictors)? {
        let artefact: String = sqlx::query_scalar(sql::PREDICTOR_ARTEFACT).bind(&version).fetch_one(&mut *connection).await?;
        assembly.artefact(&version, &artefact)?;
    }
    assembly.finish()
}

/// By place: finding columns by name costs more than reading them.
fn columns(row: &PgRow) -> Result<SignatureColumns<'_>, sqlx::Error> {
    Ok(SignatureColumns {
        workload_id: row.try_get(0)?,
        sm_share: row.try_get(1)?,
        operator: row.try_get(2)?,
        launches: row.try_get(3)?,
        duration_us: row.try_get(4)?,
        counters: row.try_get(5)?,
        provenance: row.try_get(6)?,
        clocks_locked: row.try_get(7)?,
    })
}
