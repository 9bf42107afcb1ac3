//! Adds co-runs with what was learnt from them, in one transaction.

use sqlx::PgConnection;

use crate::store::{
    Added, AddedBefore, StoreError, Written,
    kept::RequestRow,
    limits,
    samples::{Order, answered},
};

use super::{PostgresStore, predictor, sql};

pub(super) async fn add(store: &PostgresStore, order: Order) -> Result<Added, StoreError> {
    store.write(limits::WRITE, |connection, version| Box::pin(keep(connection, version, order))).await
}

pub(super) async fn before(
    store: &PostgresStore,
    request_id: &str,
    content_sha256: &str,
) -> Result<Option<AddedBefore>, StoreError> {
    let query = sqlx::query_as::<_, RequestRow>(sql::IMPORT_REQUEST).bind(request_id.to_owned());
    let row = store.run(limits::READ, |c| Box::pin(async { Ok(query.fetch_optional(c).await?) })).await?;
    row.map(|row| answered(request_id, content_sha256, &row)).transpose()
}

async fn keep(connection: &mut PgConnection, version: i64, mut order: Order) -> Result<Written<Added>, StoreError> {
    let before: Option<RequestRow> =
        sqlx::query_as(sql::IMPORT_REQUEST).bind(&order.request_id).fetch_optional(&mut *connection).await?;
    if let Some(before) = before {
        return Ok(Written::Unchanged(Added::Before(answered(&order.request_id, &order.content_sha256, &before)?)));
    }
    // No other writer is at work, so that what answers now still does at the commit.
    let answering = predictor::newest(connection, &order.device, &order.sharing_mode).await?;
    if answering.is_none_or(|answering| answering.predictor_id != order.learnt_from) {
        return Ok(Written::Unchanged(Added::Overtaken));
    }
    for rows in &order.pairs {
        sqlx::query(sql::IMPORT_PAIR).bind(rows).bind(&order.device).execute(&mut *connection).await?;
    }
    if let Some(adapted) = order.adapted.take() {
        predictor::keep(connection, version, adapted, true).await?;
    }
    sqlx::query(sql::KEEP_IMPORT_REQUEST)
        .bind(&order.request_id)
        .bind(&order.content_sha256)
        .bind(order.receipt(version)?)
        .execute(connection)
        .await?;
    Ok(Written::Changed(Added::Now { catalog_version: version }))
}
