//! Imports a batch, and deletes a workload, in one transaction each.

use sqlx::PgConnection;
use tokio::sync::mpsc;

use crate::{
    domain::{Device, DeviceId, ImportBatch, ImportReceipt},
    store::{
        StoreError, Written,
        batch::{Plan, Step, Table},
        feed,
        kept::{RequestRow, receipt_json, replayed},
        limits, rows,
    },
};

use super::{PostgresStore, sql};

pub(super) async fn import(store: &PostgresStore, request_id: &str, batch: &ImportBatch) -> Result<ImportReceipt, StoreError> {
    let plan = Plan::new(batch);
    let (sender, steps) = feed::channel();
    let order = Order {
        request_id: request_id.to_owned(),
        content_sha256: batch.content_sha256(),
        device: batch.device.clone(),
        device_is_named: batch.device_is_named,
        receipt: plan.receipt(),
        steps,
    };
    let written = store.write(limits::IMPORT, |connection, version| Box::pin(order.store(connection, version)));
    let (written, sent) = tokio::join!(written, feed::send(&plan, sender));
    sent.and(written)
}

/// All of an import but its rows, owned, for the task that holds the transaction.
struct Order {
    request_id: String,
    content_sha256: String,
    device: Device,
    device_is_named: bool,
    receipt: ImportReceipt,
    steps: mpsc::Receiver<Step>,
}

impl Order {
    async fn store(mut self, connection: &mut PgConnection, version: i64) -> Result<Written<ImportReceipt>, StoreError> {
        let before: Option<RequestRow> =
            sqlx::query_as(sql::IMPORT_REQUEST).bind(&self.request_id).fetch_optional(&mut *connection).await?;
        if let Some(before) = before {
            return replayed(&self.request_id, &self.content_sha256, &before).map(Written::Unchanged);
        }
        merge_device(connection, &self.device, self.device_is_named, version).await?;
        let device = self.device.device_id.as_str();
        while let Some((table, rows)) = feed::next(&mut self.steps).await? {
            let query = sqlx::query(statement(table)).bind(rows).bind(device);
            let query = if table == Table::Workload { query.bind(version) } else { query };
            query.execute(&mut *connection).await?;
        }
        self.receipt.catalog_version = version;
        sqlx::query(sql::KEEP_IMPORT_REQUEST)
            .bind(&self.request_id)
            .bind(&self.content_sha256)
            .bind(receipt_json(&self.receipt)?)
            .execute(connection)
            .await?;
        Ok(Written::Changed(self.receipt))
    }
}

fn statement(table: Table) -> &'static str {
    match table {
        Table::Workload => sql::IMPORT_WORKLOAD,
        Table::ClearSignature => sql::CLEAR_SIGNATURE,
        Table::Signature => sql::IMPORT_SIGNATURE,
        Table::ClearSolo => sql::CLEAR_SOLO,
        Table::Solo => sql::IMPORT_SOLO,
        Table::ClearTrace => sql::CLEAR_TRACE,
        Table::Trace => sql::IMPORT_TRACE,
        Table::Pair => sql::IMPORT_PAIR,
    }
}

/// Merges a device into the catalog. Profiles depend on its ceilings: when they change, so do all its workloads.
async fn merge_device(connection: &mut PgConnection, device: &Device, named: bool, version: i64) -> Result<(), StoreError> {
    let id = device.device_id.as_str();
    let known: Option<String> = sqlx::query_scalar(sql::DEVICE).bind(id).fetch_optional(&mut *connection).await?;
    let known = known.as_deref().map(rows::device).transpose()?;
    let merged = match &known {
        Some(known) if named => known.clone(),
        Some(known) => device.merged_with(known).map_err(StoreError::DeviceDiffers)?,
        None => device.clone(),
    };
    if known.as_ref() != Some(&merged) {
        let spec = rows::device_json(&merged)?;
        sqlx::query(sql::KEEP_DEVICE).bind(id).bind(spec).bind(version).execute(&mut *connection).await?;
        sqlx::query(sql::TOUCH_WORKLOADS).bind(id).bind(version).execute(connection).await?;
    }
    Ok(())
}

pub(super) async fn delete_workload(store: &PostgresStore, device: &DeviceId, workload: &str) -> Result<i64, StoreError> {
    let (device, workload) = (device.to_string(), workload.to_owned());
    store.write(limits::WRITE, |connection, version| Box::pin(delete(connection, version, device, workload))).await
}

async fn delete(
    connection: &mut PgConnection,
    version: i64,
    device: String,
    workload: String,
) -> Result<Written<i64>, StoreError> {
    let known: Option<String> = sqlx::query_scalar(sql::DEVICE).bind(&device).fetch_optional(&mut *connection).await?;
    if known.is_none() {
        return Err(StoreError::DeviceUnknown(device));
    }
    let mut rows = 0;
    for statement in [sql::DELETE_WORKLOAD, sql::DELETE_PAIR] {
        rows += sqlx::query(statement).bind(&device).bind(&workload).execute(&mut *connection).await?.rows_affected();
    }
    if rows == 0 { Err(StoreError::WorkloadUnknown { device, workload }) } else { Ok(Written::Changed(version)) }
}
