//! `migrate`: brings the store's schema up to date.

use clap::Args;

use super::{context::Context, output::FormatArg};

const EXAMPLES: &str = "\
SQLite stores are brought up to date by every verb that opens them; Postgres only by this one.

Examples:
  pairsight --database-url postgres://pairsight@db/pairsight migrate
  pairsight migrate --format json";

/// Bring the store's schema up to date.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MigrateArgs {
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(super) async fn run(args: MigrateArgs, context: &Context) -> anyhow::Result<()> {
    let store = context.raw_store().await?;
    let migrated = store.migrate().await;
    let version = match migrated {
        Ok(()) => store.catalog_version().await,
        Err(error) => Err(error),
    };
    store.close().await;
    let version = version?;
    let answer = serde_json::json!({ "migrated": true, "catalog_version": version });
    args.format.print(&answer, || format!("The schema is up to date; the catalog is at version {version}."))
}
