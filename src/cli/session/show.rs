//! `fairway session show`

use std::fmt::Write;

use anyhow::Result;

use crate::{
    actions::sessions::{
        control::{multiplexer_command, suggestions},
        list,
    },
    adapters::builtin_scripts,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::escape_line,
    wire::{SessionDetailView, SessionView},
};

/// Show everything about a session
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let session = list::show(&ctx.app()?, &self.id)?;
        let view = SessionDetailView {
            session: SessionView::from(&session),
            attach_command: multiplexer_command::attach_command(&session),
        };
        // A built-in backend records the process that looks after the program, not the program's own.
        let is_supervised = session.pid.is_some()
            && session.backend.as_deref().is_some_and(|name| builtin_scripts::find(name).is_some())
            && session.adapter_script.is_some();
        let next = suggestions::commands(&session);
        ctx.show(&view, || vec![view.session.id.clone()], || words(&view, is_supervised, &next))
    }
}

fn words(view: &SessionDetailView, is_supervised: bool, next: &[(&'static str, String)]) -> String {
    let session = &view.session;
    let mut text = format!("{}\n", session.id);
    let mut field = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    let number = |number: Option<i64>| number.map(|number| number.to_string());
    field("status", Some(session.status));
    field("reason", session.reason.as_deref());
    field("exit code", number(session.exit_code).as_deref());
    field("activity", Some(session.activity));
    field("waits for", session.waiting_for.as_deref());
    field("role", Some(&session.role));
    field("lane", session.lane.as_deref());
    field("task", session.task_id.as_deref());
    field("provider", session.provider.as_deref());
    field("external", session.external_session_id.as_deref());
    field("backend", session.backend.as_deref());
    field("name", session.session_name.as_deref());
    field("socket", session.socket.as_deref());
    field("pane", session.pane.as_deref());
    field("terminal", view.attach_command.as_deref());
    field("host", Some(&session.host));
    let role_of_pid = if is_supervised { " (supervisor of the program)" } else { "" };
    field("pid", number(session.pid).map(|pid| format!("{pid}{role_of_pid}")).as_deref());
    field("worktree", session.worktree.as_deref());
    field("branch", session.branch.as_deref());
    field("transcript", session.transcript.as_deref());
    field("context", session.context_usage.map(|share| format!("{:.0} % full", share * 100.0)).as_deref());
    field("run", Some(&session.run_id));
    field("started", Some(&session.started_at));
    field("last sign", session.last_heartbeat_at.as_deref());
    field("last output", session.last_output_at.as_deref());
    field("ended", session.ended_at.as_deref());
    for (what, command) in next {
        field(what, Some(command));
    }
    text
}
