//! `fairway store …`

use anyhow::Result;
use clap::Subcommand;

use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::core::inside_session;
use fairway_actions::upkeep::store::{self, copy};
use fairway_core::render::escape_line;
use fairway_core::wire::StoreView;

/// Show the store, move it between a file and a server
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway store show
fairway store copy --to postgres://fairway@db.example/team")]
#[command(defer = true)]
pub enum Verb {
    Show(ShowArgs),
    /// Bring the schema of the store up to date
    ///
    /// A store in a file is brought up to date whenever it is opened. The one on a server waits for this command: programs of an
    /// older version are refused afterwards, on every host.
    #[command(after_help = "fairway store migrate")]
    Migrate,
    Copy(CopyArgs),
    Restored(RestoredArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Show(args) => args.run(ctx),
            Self::Migrate => ctx.answer(&store::migrate(&ctx.app()?)?),
            Self::Copy(args) => args.run(ctx),
            Self::Restored(args) => args.run(ctx),
        }
    }
}

/// Show the engine, place, versions and size of the store
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway store show
fairway store show --json")]
pub struct ShowArgs {}

impl ShowArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let view = store::show(&ctx.app()?)?;
        let place = view.address.clone().or_else(|| view.path.as_ref().map(|path| path.display().to_string()));
        ctx.show(
            &view,
            || place.clone().into_iter().collect(),
            || store_text(&view, place.as_deref().unwrap_or_default()),
        )
    }
}

fn encryption(view: &StoreView) -> String {
    match (&view.encryption, view.certificate_verified) {
        (Some(protocol), Some(true)) => format!("{protocol}, certificate verified"),
        (Some(protocol), _) => format!("{protocol}, certificate not verified"),
        (None, _) => "none".to_owned(),
    }
}

fn store_text(view: &StoreView, place: &str) -> String {
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

/// Move the store from its file to a server, or back
///
/// The server is a PostgreSQL database. Copies every table and compares the counts. The store that is left is locked meanwhile,
/// and renamed afterwards. Every epoch that was given out before becomes invalid. Then .fairway.toml and .fairway/local.toml
/// name the new place. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway store copy --to postgres://fairway@db.example/team
fairway store copy --to sqlite")]
pub struct CopyArgs {
    /// Address of the server; or sqlite, for the project's file
    ///
    /// Without a password: it comes from PGPASSFILE or .fairway/local.toml.
    #[arg(long, value_name = "URL")]
    to: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl CopyArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app.with_fresh_store(), "store copy")?;
        let to = fairway_core::config::masked_url(&self.to);
        confirm::require(ctx, self.yes, &escape_line(&format!("Move the store to {to}?")))?;
        ctx.answer(&copy::copy(&app, &self.to)?)
    }
}

/// Go on after other tools put the store back
///
/// Call it after a dump was loaded, or after a failover to a replica that lagged. Every epoch that was given out before becomes
/// invalid, and event numbers continue after a gap, so that none is reused. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway store restored")]
pub struct RestoredArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl RestoredArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app, "store restored")?;
        confirm::require(ctx, self.yes, "Make every claim's epoch invalid?")?;
        ctx.answer(&store::restored(&app)?)
    }
}
