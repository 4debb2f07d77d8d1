//! `fairway host …`

use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::age;
use crate::cli::confirm;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::core::inside_session;
use fairway_actions::upkeep::{hosts, retire_host};
use fairway_core::env::Timestamp;
use fairway_core::render::Table;
use fairway_core::wire::HostView;

/// List the machines of a store, give up one of them
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway host list
fairway host renew")]
#[command(defer = true)]
pub enum Verb {
    List(ListArgs),
    Renew(RenewArgs),
    Retire(RetireArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::List(args) => args.run(ctx),
            Self::Renew(args) => args.run(ctx),
            Self::Retire(args) => ctx.answer(&retire_host::retire(&ctx.app()?, &args.host, &args.reason, args.force)?),
        }
    }
}

/// List the hosts that work on the store
///
/// A host is a machine, or a container with processes of its own. Counted are live sessions, starting and running jobs, and
/// lanes whose worktree is there. SEEN is the time since the host wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway host list
fairway host list --json")]
pub struct ListArgs {
    /// Include hosts that have nothing and were silent for 30 days
    #[arg(long)]
    all: bool,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let hosts = hosts::list(&ctx.app()?, self.all)?;
        let ids = || hosts.iter().map(|host| host.id.clone().unwrap_or_else(|| host.name.clone())).collect();
        ctx.show(&hosts, ids, || table(&hosts, ctx.env.now()).coloured(ctx.out.width, ctx.out.style))
    }
}

/// The time since a host wrote, by the server's clock where there is one.
fn seen(host: &HostView, now: Timestamp) -> String {
    let at = host.silent_seconds.map(|silence| now.minus(Duration::from_secs(silence)).to_string());
    at.or_else(|| host.seen_at.clone()).map_or_else(|| "-".into(), |at| age(&at, now))
}

fn table(hosts: &[HostView], now: Timestamp) -> Table {
    let mut table = Table::new(&["host", "here", "sessions", "jobs", "lanes", "version", "seen", "root"])
        .with_optional(&["version"])
        .with_expendable(&["jobs", "lanes"]);
    for host in hosts {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        table.row([
            host.name.clone(),
            if host.here { "yes" } else { "-" }.to_owned(),
            host.sessions.to_string(),
            host.jobs.to_string(),
            host.lanes.to_string(),
            dash(host.version.as_deref()),
            seen(host, now),
            dash(host.root.as_deref()),
        ]);
    }
    table
}

/// Give this machine an id of its own
///
/// For a machine that was copied with its disk or image: a store on a server takes writes from one of the two only
/// (host_cloned). Run it on the copy. The new random id is used for every project of this user on this machine; what is
/// recorded under the old id belongs to the other machine then. Refused inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway host renew")]
pub struct RenewArgs {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl RenewArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        inside_session::refuse(&app, "host renew")?;
        confirm::require(
            ctx,
            self.yes,
            "Give this machine a new id? Records under the old id then belong to the other machine.",
        )?;
        ctx.answer(&hosts::renew(&app)?)
    }
}

/// Give up a host that will not come back
///
/// In one write its sessions are recorded as failed, its jobs as lost, and the claims of its sessions are released. Work in
/// review and claims of persons stay. Names its lanes, with those whose branch no remote has. Refused while the host was heard
/// of within `sessions.stale_after`, unless --force is given, and inside a session.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway host retire build1 --reason 'its disk died'")]
pub struct RetireArgs {
    /// Name or id, as in host list
    host: String,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Give it up although it was heard of lately
    #[arg(long)]
    force: bool,
}
