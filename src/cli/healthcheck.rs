//! `healthcheck`: asks a daemon whether it serves, for the container's probe.

use std::time::Duration;

use clap::Args;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::{
    context::Context,
    failure::{Advice, Refused},
    output::FormatArg,
    source::connect,
};

/// A probe that waits long is a probe that fails.
const TIMEOUT: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Exits with 0 when the daemon serves and with 1 when it does not, or not yet.

Examples:
  pairsight healthcheck
  pairsight healthcheck --server http://10.0.0.7:50051 --format json";

/// Ask a daemon whether it serves.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HealthcheckArgs {
    /// The daemon [default: the configured address].
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(super) async fn run(args: HealthcheckArgs, context: &Context) -> anyhow::Result<()> {
    let url = args.server.unwrap_or_else(|| context.daemon_url());
    let channel = connect(context, &url, TIMEOUT).await?;
    let answer = HealthClient::new(channel).check(HealthCheckRequest::default()).await.map_err(Refused::from)?;
    let status = answer.into_inner().status();
    args.format.print(&serde_json::json!({ "server": url, "status": status.as_str_name() }), || {
        format!("{url} is {}", status.as_str_name())
    })?;
    if status == ServingStatus::Serving {
        Ok(())
    } else {
        Err(Advice::new(format!("{url} does not serve"), "it answers once it has read the catalog from its store").into())
    }
}
