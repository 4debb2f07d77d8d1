//! `fairway store show`

use anyhow::Result;

use crate::{
    actions::upkeep::store,
    cli::{context::Context, exit::Exit},
    render::escape_line,
    wire::StoreView,
};

/// Show the engine, place, versions and size of the store
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let view = store::show(&ctx.app()?)?;
        let place = view.address.clone().or_else(|| view.path.as_ref().map(|path| path.display().to_string()));
        ctx.show(&view, || place.clone().into_iter().collect(), || text(&view, place.as_deref().unwrap_or_default()))
    }
}

fn encryption(view: &StoreView) -> String {
    match (&view.encryption, view.certificate_verified) {
        (Some(protocol), Some(true)) => format!("{protocol}, certificate verified"),
        (Some(protocol), _) => format!("{protocol}, certificate not verified"),
        (None, _) => "none".to_owned(),
    }
}

fn text(view: &StoreView, place: &str) -> String {
    let schema = match view.schema_version {
        Some(version) if version == view.needed_schema => version.to_string(),
        Some(version) => format!("{version}; this fairway needs {}", view.needed_schema),
        None => "there is no store yet".to_owned(),
    };
    let mut lines = vec![
        ("engine", format!("{} {}", view.engine, view.engine_version)),
        (if view.address.is_some() { "address" } else { "file" }, place.to_owned()),
        ("schema", schema),
    ];
    if let (Some(bytes), Some(wal_bytes)) = (view.bytes, view.wal_bytes) {
        lines.push(("size", format!("{bytes} bytes, log {wal_bytes} bytes")));
    }
    if let (Some(open), Some(allowed)) = (view.connections, view.max_connections) {
        lines.push(("encryption", encryption(view)));
        lines.push(("connections", format!("{open} of {allowed}")));
    }
    lines.push(("latency", format!("{:.2} ms", view.latency_ms)));
    lines.into_iter().map(|(name, value)| format!("{name:<12}{}\n", escape_line(&value))).collect()
}
