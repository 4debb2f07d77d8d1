//! `fairway session show`

use std::fmt::Write;

use anyhow::Result;

use crate::cli::age::{age, day, local};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::sessions::control::{multiplexer_command, suggestions};
use fairway_actions::sessions::list;
use fairway_core::adapters::builtin_scripts;
use fairway_core::domain::SessionId;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::env::Timestamp;
use fairway_core::render::escape_line;
use fairway_core::wire::{SessionDetailView, SessionOverviewView};

/// Show everything about a session
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session show s1")]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let (overview, other, ways_on) = list::show(&app, &self.id)?;
        let session = &overview.session;
        let is_dead = overview.alive.is_dead();
        let view = SessionDetailView {
            overview: SessionOverviewView::from(&overview),
            attach_command: multiplexer_command::attach_command(session).filter(|_| !is_dead && other.is_none()),
            protocol: list::protocol(&app, session)?,
        };
        // A built-in backend records the process that looks after the program, not the program's own.
        let is_supervised = session.pid.is_some()
            && session.backend.as_deref().is_some_and(|name| builtin_scripts::find(name).is_some())
            && session.adapter_script.is_some();
        let mut next: Vec<(&str, String)> =
            suggestions::commands(session).into_iter().filter(|(verb, _)| *verb != "attach" || !is_dead).collect();
        let from_here =
            |command: String| other.as_ref().map_or_else(|| command.clone(), |host| host.from_here(&command));
        for (_, command) in &mut next {
            *command = from_here(std::mem::take(command));
        }
        next.extend(ways_on.into_iter().map(|way| ("next", format!("{}: {}", way.purpose, from_here(way.command)))));
        let id = || vec![view.overview.session.id.clone()];
        ctx.show(&view, id, || words(&view, is_supervised, ctx.env.now(), &next))
    }
}

fn words(view: &SessionDetailView, is_supervised: bool, now: Timestamp, next: &[(&str, String)]) -> String {
    let one = &view.overview;
    let session = &one.session;
    let mut text = format!("{}\n", session.id);
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    let number = |number: Option<i64>| number.map(|number| number.to_string());
    field("status", Some(one.shown_status));
    let source = one.alive.alive_source;
    let alive = match one.alive.alive {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    field("alive", Some(&format!("{alive}: {} (source: {source})", one.alive.alive_reason)));
    field("reason", session.reason.as_deref());
    field("exit code", number(session.exit_code).as_deref());
    let activity = one.shown_activity.map(|activity| match (&one.activity_at, &one.activity_source) {
        (Some(at), Some(source)) => format!("{activity} for {} (source: {source})", age(at, now)),
        _ => activity.to_owned(),
    });
    field("activity", activity.as_deref());
    field("waits for", one.shown_activity.and(session.waiting_for.as_deref()));
    for held in &one.holds {
        field("holds", Some(&format!("{} ({}): {}", held.task_id, held.status, held.title)));
    }
    if let Some(doing) = &one.doing {
        let age = doing.at.as_deref().map(|at| format!(", {} ago", age(at, now))).unwrap_or_default();
        field("doing", Some(&format!("{} ({}{age})", doing.text, doing.source)));
    }
    field("role", Some(&session.role));
    field("lane", session.lane.as_deref());
    field("task", session.task_id.as_deref());
    field("provider", session.provider.as_deref());
    if let Some(protocol) = &view.protocol {
        field("agent", Some(&protocol.agent));
        let mode = protocol.mode.as_deref().unwrap_or("unknown");
        let guard = match &protocol.unguarded_reason {
            None => {
                let proven = protocol.proven_at.as_deref().map(|at| format!(" {}", day(at, now))).unwrap_or_default();
                format!("asks before tools, by its mode {mode}: proven{proven} by fairway doctor agents")
            }
            Some(why) => format!("not guarded: {why}"),
        };
        field("guard", Some(&guard));
    }
    field("external", session.external_session_id.as_deref());
    field("backend", session.backend.as_deref());
    field("name", session.session_name.as_deref());
    field("socket", session.socket.as_deref());
    field("pane", session.pane.as_deref());
    field("terminal", view.attach_command.as_deref());
    field("host", Some(&session.host));
    let role_of_pid = if is_supervised { " (supervisor of the program)" } else { "" };
    field("pid", number(session.pid).map(|pid| format!("{pid}{role_of_pid}")).as_deref());
    field("sandbox", session.sandbox.filter(|class| *class != SandboxClass::Off).map(SandboxClass::as_str));
    field("worktree", session.worktree.as_deref());
    field("branch", session.branch.as_deref());
    field("transcript", session.transcript.as_deref());
    field("context", session.context_usage.map(|share| format!("{:.0} % full", share * 100.0)).as_deref());
    field("run", Some(&session.run_id));
    field("started", Some(&local(&session.started_at)));
    field("seen", Some(&format!("{} ago (source: {})", age(&one.seen_at, now), one.seen_by)));
    field("last output", session.last_output_at.as_deref().map(local).as_deref());
    field("ended", session.ended_at.as_deref().map(local).as_deref());
    for (what, command) in next {
        field(what, Some(command));
    }
    text
}
