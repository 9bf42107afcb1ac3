//! Predictors and the history of which one answered. The newest activation of a device and mode answers; each knows the one
//! to which a roll back returns, so that rolling back again and again goes back through that history and never forth.

use sqlx::SqliteConnection;

use crate::store::{
    StoreError, Written,
    kept::{ActivationRow, NewPredictor},
    limits,
};

use super::{SqliteStore, sql};

pub(super) async fn publish(store: &SqliteStore, predictor: NewPredictor, activate: bool) -> Result<i64, StoreError> {
    store.write(limits::WRITE, move |connection, version| Box::pin(keep(connection, version, predictor, activate))).await
}

pub(super) async fn activate(store: &SqliteStore, predictor: String) -> Result<i64, StoreError> {
    store.write(limits::WRITE, |connection, version| Box::pin(switch(connection, version, predictor))).await
}

pub(super) async fn roll_back(store: &SqliteStore, device: String, mode: String) -> Result<i64, StoreError> {
    store.write(limits::WRITE, |connection, version| Box::pin(return_to(connection, version, device, mode))).await
}

pub(super) async fn artefact(store: &SqliteStore, version: String) -> Result<String, StoreError> {
    let query = sqlx::query_scalar(sql::PREDICTOR_ARTEFACT).bind(version.clone());
    let artefact = store.run(limits::READ, |c| Box::pin(async { Ok(query.fetch_optional(c).await?) })).await?;
    artefact.ok_or(StoreError::PredictorUnknown(version))
}

pub(super) async fn keep(
    connection: &mut SqliteConnection,
    version: i64,
    predictor: NewPredictor,
    activate: bool,
) -> Result<Written<i64>, StoreError> {
    let kept = sqlx::query(sql::KEEP_PREDICTOR)
        .bind(&predictor.version)
        .bind(predictor.device)
        .bind(predictor.sharing_mode)
        .bind(predictor.content_sha256)
        .bind(predictor.artefact)
        .bind(predictor.samples)
        .bind(predictor.provenance)
        .bind(predictor.held_out_mean_error_pct)
        .execute(&mut *connection)
        .await?;
    let switched = activate && matches!(switch(connection, version, predictor.version).await?, Written::Changed(_));
    Ok(if switched || kept.rows_affected() > 0 { Written::Changed(version) } else { Written::Unchanged(version - 1) })
}

/// Makes a predictor the one that answers; nothing when it is.
async fn switch(connection: &mut SqliteConnection, version: i64, predictor: String) -> Result<Written<i64>, StoreError> {
    let scope: Option<(String, String)> =
        sqlx::query_as(sql::PREDICTOR_SCOPE).bind(&predictor).fetch_optional(&mut *connection).await?;
    let Some((device, mode)) = scope else { return Err(StoreError::PredictorUnknown(predictor)) };
    let present = newest(connection, &device, &mode).await?;
    if present.as_ref().is_some_and(|present| present.predictor_id == predictor) {
        return Ok(Written::Unchanged(version - 1));
    }
    add(connection, &device, &mode, &predictor, present.map(|present| present.predictor_activation_id)).await?;
    Ok(Written::Changed(version))
}

async fn return_to(
    connection: &mut SqliteConnection,
    version: i64,
    device: String,
    sharing_mode: String,
) -> Result<Written<i64>, StoreError> {
    let present = newest(connection, &device, &sharing_mode).await?;
    let Some(earlier) = present.and_then(|present| present.previous_activation_id) else {
        return Err(StoreError::NoEarlierPredictor { device, sharing_mode });
    };
    let earlier: ActivationRow = sqlx::query_as(sql::ACTIVATION).bind(earlier).fetch_one(&mut *connection).await?;
    add(connection, &device, &sharing_mode, &earlier.predictor_id, earlier.previous_activation_id).await?;
    Ok(Written::Changed(version))
}

pub(super) async fn newest(
    connection: &mut SqliteConnection,
    device: &str,
    mode: &str,
) -> Result<Option<ActivationRow>, sqlx::Error> {
    sqlx::query_as(sql::NEWEST_ACTIVATION).bind(device).bind(mode).fetch_optional(connection).await
}

async fn add(
    connection: &mut SqliteConnection,
    device: &str,
    mode: &str,
    predictor: &str,
    previous: Option<i64>,
) -> Result<(), sqlx::Error> {
    sqlx::query(sql::ACTIVATE).bind(device).bind(mode).bind(predictor).bind(previous).execute(connection).await?;
    Ok(())
}
