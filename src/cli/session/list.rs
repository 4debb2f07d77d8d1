//! `fairway session list`

use anyhow::Result;

use crate::cli::age::age;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::sessions::list::{self, SessionScope};
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::env::Timestamp;
use fairway_core::render::Table;
use fairway_core::wire::SessionOverviewView;

/// List live sessions, oldest first
///
/// The processes of this host are looked at, so that a session whose process is gone is shown as dead before
/// `fairway session reconcile` records it. The table also lists ended sessions that still have a claim.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway session list
fairway session list --all")]
pub struct Args {
    /// Include ended and failed sessions
    #[arg(long)]
    all: bool,
    /// Include ended sessions that have a claim
    #[arg(long)]
    holding: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let is_for_people = !ctx.out.json && !ctx.out.quiet;
        let scope = match (self.all, self.holding || is_for_people) {
            (true, _) => SessionScope::All,
            (false, true) => SessionScope::LiveAndHolding,
            (false, false) => SessionScope::Live,
        };
        let sessions = list::list(&ctx.app()?, scope)?;
        ctx.show(
            &sessions,
            || sessions.iter().map(|one| one.session.id.clone()).collect(),
            || {
                if sessions.is_empty() {
                    "no sessions\n".into()
                } else {
                    table(&sessions, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

/// Formats sessions as a table. The column for the host appears only when a session is on another host, and the column for
/// the sandbox only when a session has one.
pub(in crate::cli) fn table(sessions: &[SessionOverviewView], now: Timestamp) -> Table {
    // One host needs no name.
    let has_others = sessions.iter().any(|one| one.other_host.is_some());
    let host = if has_others { &["host"][..] } else { &[] };
    let has_sandboxes = sessions.iter().any(|one| one.sandbox_mark().is_some());
    let sandbox = if has_sandboxes { &["sandbox"][..] } else { &[] };
    let headings = ["id", "status", "activity", "role", "lane", "holds", "provider", "seen", "doing"];
    let (id, rest) = headings.split_at(1);
    let mut table = Table::new(&[id, host, rest, sandbox].concat())
        .with_whole(&["lane", "holds", "seen"])
        .with_optional(&["provider", "role"])
        .with_expendable(&["activity", "seen", "lane"]);
    for one in sessions {
        let session = &one.session;
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let host = has_others.then(|| dash(one.other_host.as_deref()));
        let cells = [
            one.shown_status.to_owned(),
            dash(one.shown_activity),
            session.role.clone(),
            dash(session.lane.as_deref()),
            holds(one),
            dash(session.provider.as_deref()),
            age(&one.seen_at, now),
            doing(one),
        ];
        let sandbox = has_sandboxes.then(|| dash(session.sandbox.map(SandboxClass::as_str)));
        let cells: Vec<String> = std::iter::once(session.id.clone()).chain(host).chain(cells).chain(sandbox).collect();
        table.row(&cells);
    }
    table
}

/// The ids of the tasks that the session has claimed, separated by commas; `-` for none.
pub(in crate::cli) fn holds(one: &SessionOverviewView) -> String {
    let ids: Vec<&str> = one.holds.iter().map(|held| held.task_id.as_str()).collect();
    if ids.is_empty() { "-".into() } else { ids.join(",") }
}

/// Text for the column `doing`: whether to release the claim of a session that was stopped on purpose, else the text that
/// describes the activity, else the task that the session was launched for and has not claimed. Returns `-` when none of
/// these is known.
pub(in crate::cli) fn doing(one: &SessionOverviewView) -> String {
    if let Some(release) = &one.release {
        return format!("release it? {release}");
    }
    match (&one.doing, &one.session.task_id) {
        (Some(doing), _) => doing.text.clone(),
        (None, Some(task)) if one.holds.is_empty() => format!("launched for {task}, which it has not claimed"),
        (None, _) => "-".into(),
    }
}
