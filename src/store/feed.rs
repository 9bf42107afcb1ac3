//! The way of a batch into the task that holds the transaction. The batch is borrowed by a caller who may go away; the
//! transaction must not be left open when he does. So the rows go through a channel, made one chunk ahead, and a transaction
//! that does not see the end rolls back.

use tokio::sync::mpsc;

use super::{StoreError, batch::{Plan, Step}, failure::unreadable};

/// Chunks made ahead of the database.
const AHEAD: usize = 1;

/// A channel for the steps of an import.
pub(super) fn channel() -> (mpsc::Sender<Step>, mpsc::Receiver<Step>) {
    mpsc::channel(AHEAD)
}

/// Sends all steps of `plan`; stops early when the other side needs no more.
pub(super) async fn send(plan: &Plan<'_>, steps: mpsc::Sender<Step>) -> Result<(), StoreError> {
    for step in plan.steps() {
        let step = step.map_err(|error| unreadable("a batch", error))?;
        if steps.send(step).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// The next chunk; `None` at the end.
pub(super) async fn next(steps: &mut mpsc::Receiver<Step>) -> Result<Option<(super::batch::Table, String)>, StoreError> {
    match steps.recv().await {
        Some(Step::Rows(table, rows)) => Ok(Some((table, rows))),
        Some(Step::End) => Ok(None),
        None => Err(StoreError::Unavailable("the import was given up by its caller".to_owned())),
    }
}
