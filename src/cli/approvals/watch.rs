//! `fairway approvals watch`

use std::{ops::ControlFlow, time::Duration};

use anyhow::Result;

use crate::{
    actions::agents::approval::{self, ApprovalChange},
    cli::{context::Context, exit::Exit, values},
    render::{escape_controls, escape_line},
    wire::{ApprovalView, tool_input},
};

/// Print each new permission request and ring the bell
///
/// While this runs, a request waits up to ten minutes for an answer before the agent asks in its own window. Prints each
/// request that is open or comes, and each answer. Ends on Ctrl-C. With --json, one document per change.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Stop after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    limit: Option<Duration>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        run(ctx, self.limit)
    }
}

/// Prints the changes until the limit is over or the process ends.
pub(super) fn run(ctx: &Context, limit: Option<Duration>) -> Result<Exit> {
    let app = ctx.app()?;
    let out = &ctx.out;
    let has_bell = ctx.env.terminal.stdout && !out.json;
    out.note("watching for permission requests; Ctrl-C ends");
    let mut warn = |text: &str| out.note(&format!("warning: {text}"));
    approval::watch(&app, limit, &mut warn, |change| {
        match change {
            ApprovalChange::Asked(one) if out.quiet && !out.json => out.line(&one.id.to_string())?,
            ApprovalChange::Closed(_) if out.quiet && !out.json => {}
            ApprovalChange::Asked(one) | ApprovalChange::Closed(one) if out.json => out.document(one)?,
            ApprovalChange::Asked(one) => out.text(&escape_controls(&asked(one)))?,
            ApprovalChange::Closed(one) => out.line(&escape_line(&closed(one)))?,
        }
        if has_bell && matches!(change, ApprovalChange::Asked(_)) {
            out.text("\u{7}")?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(0)
}

fn asked(one: &ApprovalView) -> String {
    let about = escape_line(&tool_input::summary(&one.input));
    let colon = if about.is_empty() { "" } else { ": " };
    let answer = if one.answerable {
        format!("fairway approvals answer {} allow    (or deny)", one.id)
    } else {
        format!("answer in its window: fairway session attach {}", one.session_id)
    };
    format!("approval {}: {} asks for {}{colon}{about}\n  {answer}\n", one.id, one.session_id, one.tool)
}

fn closed(one: &ApprovalView) -> String {
    let by = one.answered_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let why = one.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let became = if one.status == "lapsed" { "expired" } else { one.status };
    format!("approval {}: {became}{by}{why}", one.id)
}
