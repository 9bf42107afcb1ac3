//! `predict`: what two workloads on one device do to each other.

use std::path::PathBuf;

use clap::Args;

use super::{
    context::Context,
    failure::{Advice, Refused},
    nearest::did_you_mean,
    output::{FormatArg, note},
    share_arg::{TenantArg, parse_mode, parse_positive, parse_ratio},
    source::{CONNECT_TIMEOUT, QUICK_CONNECT_TIMEOUT, Source, connect},
    verdict::verdict,
};
use crate::{
    domain::SharingMode,
    proto::{self, PredictPairRequest, PredictPairView, tenant},
};

const EXAMPLES: &str = "\
SHARE is a fraction (0.5), per cent (50%) or a number of SMs (54sm).

With neither --server nor --offline the daemon at the configured address is asked when one answers there, and else the store is
read directly; naming a store with --data-dir or --database-url reads that store. Which of the two it was is said on stderr.

Examples:
  pairsight predict --a decode_a@0.5 --b mixed_b@0.5 --device sim-qv100-eighth
  pairsight predict --a resnet50/b16@60% --b bert/b8@40% --device nvidia-a100-sxm4-40gb --offline
  pairsight predict --a decode_a@3sm --b cnn_a@7sm --device sim-qv100-eighth --format json
  pairsight predict --a decode_a@0.5 --b cnn_a@0.5 --device sim-qv100-eighth --server http://10.0.0.7:50051 --a-solo-us 85
  pairsight predict --a decode_a@0.5 --b cnn_a@0.5 --device sim-qv100-eighth --b-activity 0.3";

/// Predict what two workloads on one device do to each other.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictArgs {
    /// First tenant; the last '@' splits name and share.
    #[arg(long, value_name = "WORKLOAD@SHARE")]
    a: TenantArg,
    /// Second tenant.
    #[arg(long, value_name = "WORKLOAD@SHARE")]
    b: TenantArg,
    /// Identifier of the device (see `pairsight devices list`).
    #[arg(long, value_name = "ID")]
    device: String,
    /// How the two share it: `SM_PARTITION`, `MPS_LIMIT`, `SHARED_SM` or `TIME_SLICED` [default: the device's only fitted mode,
    /// else `SM_PARTITION`].
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    sharing_mode: Option<SharingMode>,
    /// Ask this daemon and no other.
    #[arg(long, value_name = "URL", conflicts_with = "offline")]
    server: Option<String>,
    /// Read the store directly; no daemon is needed.
    #[arg(long)]
    offline: bool,
    /// Latency of A alone on its share, microseconds, instead of the catalog's.
    #[arg(long, value_name = "US", value_parser = parse_positive)]
    a_solo_us: Option<f64>,
    /// The same of B.
    #[arg(long, value_name = "US", value_parser = parse_positive)]
    b_solo_us: Option<f64>,
    /// Fraction of time in which A is busy, (0, 1] [default: 1, a closed loop].
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    a_activity: Option<f64>,
    /// The same of B.
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    b_activity: Option<f64>,
    /// TOML file of devices that the store lacks; with --offline.
    #[arg(long, value_name = "FILE", requires = "offline")]
    device_file: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

/// Runs the verb.
pub(super) async fn run(args: PredictArgs, context: &Context) -> anyhow::Result<()> {
    let source = source(&args, context).await?;
    let request = request(&args);
    match source.predict(request.clone()).await {
        Ok(answer) => args.format.print_message(&answer, || verdict(&args.device, &answer)),
        Err(status) => Err(advise(status.into(), &source, &request).await),
    }
}

async fn source(args: &PredictArgs, context: &Context) -> anyhow::Result<Source> {
    if let Some(url) = &args.server {
        return Ok(Source::Daemon(connect(context, url, CONNECT_TIMEOUT).await?));
    }
    if !args.offline && !context.store_named {
        let url = context.daemon_url();
        if let Ok(channel) = connect(context, &url, QUICK_CONNECT_TIMEOUT).await {
            note(format_args!("asking the daemon at {url}"));
            return Ok(Source::Daemon(channel));
        }
        note(format_args!("no daemon answers at {url}; reading the store directly"));
    }
    Ok(Source::Store(Box::new(context.catalog(&args.device_file).await?)))
}

fn request(args: &PredictArgs) -> PredictPairRequest {
    let tenant = |tenant: &TenantArg, solo_us: Option<f64>, activity: Option<f64>| proto::Tenant {
        source: Some(tenant::Source::Workload(tenant.workload.clone())),
        share: Some(tenant.share.to_proto()),
        activity_ratio: activity.unwrap_or_default(),
        solo_latency_us: solo_us.unwrap_or_default(),
    };
    PredictPairRequest {
        device: args.device.clone(),
        sharing_mode: args.sharing_mode.map(proto::SharingMode::from).unwrap_or_default().into(),
        tenants: vec![tenant(&args.a, args.a_solo_us, args.a_activity), tenant(&args.b, args.b_solo_us, args.b_activity)],
        view: PredictPairView::Full.into(),
        profile_if_missing: false,
    }
}

/// Adds what would have been understood to a refusal.
async fn advise(refused: Refused, source: &Source, request: &PredictPairRequest) -> anyhow::Error {
    let hint = match refused.reason().as_deref() {
        Some("DEVICE_UNKNOWN") => {
            let devices = source.devices().await;
            format!("known devices: {}", devices.join(", "))
        }
        Some("WORKLOAD_UNKNOWN" | "SIGNATURE_MISSING") => {
            let known = source.workloads(&request.device).await;
            let asked = request.tenants.iter().filter_map(|tenant| match &tenant.source {
                Some(tenant::Source::Workload(name)) => Some(name.as_str()),
                _ => None,
            });
            let list = format!("pairsight workloads list --device {}", request.device);
            match asked.into_iter().find(|name| !known.iter().any(|known| known == name)) {
                Some(unknown) => did_you_mean(unknown, known.iter().map(String::as_str), &list),
                None => return refused.into(),
            }
        }
        Some("SHARES_EXCEED_DEVICE") => {
            "make the shares smaller, or say how else the device is shared with --sharing-mode".to_owned()
        }
        _ => return refused.into(),
    };
    Advice::new(refused.to_string(), hint).into()
}
