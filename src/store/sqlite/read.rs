//! Reads what snapshots do not hold.

use crate::{
    domain::{DeviceId, PairSample, SharingMode, Signature, TraceEntry},
    store::{
        PlacedSignature, SignatureCursor, StoreError, limits,
        rows::{self, PairRow, SignatureRow, TraceRow},
    },
};

use super::{SqliteStore, sql};

pub(super) async fn signature(
    store: &SqliteStore,
    device: &DeviceId,
    workload: &str,
    cursor: SignatureCursor,
) -> Result<Option<Signature>, StoreError> {
    let query = sqlx::query_as::<_, SignatureRow>(sql::SIGNATURE)
        .bind(device.to_string())
        .bind(workload.to_owned())
        .bind(cursor.sm_share)
        .bind(cursor.position);
    let row = store.run(limits::READ, |c| Box::pin(async { Ok(query.fetch_optional(c).await?) })).await?;
    Ok(row.map(PlacedSignature::try_from).transpose()?.map(|placed| placed.signature))
}

pub(super) async fn signatures(
    store: &SqliteStore,
    device: &DeviceId,
    workload: &str,
    filter: &str,
    after: Option<SignatureCursor>,
    limit: u32,
) -> Result<Vec<PlacedSignature>, StoreError> {
    let after = after.unwrap_or(SignatureCursor { sm_share: 0.0, position: -1 });
    let query = sqlx::query_as::<_, SignatureRow>(sql::SIGNATURE_PAGE)
        .bind(device.to_string())
        .bind(workload.to_owned())
        .bind(filter.to_owned())
        .bind(after.sm_share)
        .bind(after.position)
        .bind(i64::from(limit));
    rows::all(store.run(limits::READ, |c| Box::pin(async { Ok(query.fetch_all(c).await?) })).await?)
}

pub(super) async fn pair_samples(
    store: &SqliteStore,
    device: &DeviceId,
    mode: SharingMode,
) -> Result<Vec<PairSample>, StoreError> {
    let query = sqlx::query_as::<_, PairRow>(sql::PAIR_SAMPLES).bind(device.to_string()).bind(mode.to_string());
    rows::all(store.run(limits::LOAD, |c| Box::pin(async { Ok(query.fetch_all(c).await?) })).await?)
}

pub(super) async fn trace(store: &SqliteStore, device: &DeviceId, workload: &str) -> Result<Vec<TraceEntry>, StoreError> {
    let query = sqlx::query_as::<_, TraceRow>(sql::TRACE).bind(device.to_string()).bind(workload.to_owned());
    rows::all(store.run(limits::READ, |c| Box::pin(async { Ok(query.fetch_all(c).await?) })).await?)
}
