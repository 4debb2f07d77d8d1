//! `fairway host list`

use std::time::Duration;

use anyhow::Result;

use crate::{
    actions::upkeep::hosts,
    cli::{age::age, context::Context, exit::Exit},
    env::Timestamp,
    render::Table,
    wire::HostView,
};

/// List the hosts that work on the store
///
/// A host is a machine, or a container with processes of its own. Each host that writes to a store on a server is recorded there, with its
/// checkout and its version of Fairway. For a store in a file the hosts are those that the records of sessions, jobs and lanes name.
/// Counted are live sessions, starting and running jobs, and lanes whose worktree is there. SEEN is the time since the host wrote.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Include hosts that have nothing and were silent for 30 days
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
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
