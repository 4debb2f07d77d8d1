//! `fairway approvals …`

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::age;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::{each, values};
use fairway_actions::agents::approval::{self, ApprovalChange};
use fairway_core::domain::approval::{ApprovalStatus, Decision};
use fairway_core::render::{Table, escape_controls, escape_line};
use fairway_core::wire::{ApprovalView, tool_input};

/// List, watch and answer permission requests of agents
///
/// Without a command: the list of the open ones.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway approvals --watch
fairway approvals answer 3 allow")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Keep running: print each new request and ring the bell
    #[arg(long)]
    watch: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands for approvals.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    List(ListArgs),
    Watch(WatchArgs),
    Answer(AnswerArgs),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::List(args)) => args.run(ctx),
            Some(Verb::Watch(args)) => args.run(ctx),
            Some(Verb::Answer(args)) => args.run(ctx),
            None if self.watch => watch(ctx, None),
            None => ListArgs::default().run(ctx),
        }
    }
}

/// List open permission requests, oldest first
///
/// Secrets in the input are masked; --json shows more of it. HERE = no: the agent asks in its own window. An answer is taken in
/// the dialog there if that is known and shows exactly this command; else attach.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
fairway approvals list
fairway approvals list --all")]
pub struct ListArgs {
    /// Include answered and expired requests
    #[arg(long)]
    all: bool,
    /// Keep running: print each new request and ring the bell
    #[arg(long, conflicts_with = "all")]
    watch: bool,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        if self.watch {
            return watch(ctx, None);
        }
        let found = approval::list(&ctx.app()?, self.all)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "session", "provider", "tool", "status", "here", "age", "input"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.session_id.clone(),
                        one.provider.clone(),
                        one.tool.clone(),
                        one.status.to_string(),
                        if one.answerable { "yes" } else { "no" }.to_owned(),
                        age(&one.asked_at, ctx.env.now()),
                        tool_input::summary(&one.input),
                    ]);
                }
                if table.is_empty() { "no approvals\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

/// Print each new permission request and ring the bell
///
/// While this runs, a request waits up to ten minutes for an answer before the agent asks in its own window. Ends on Ctrl-C.
/// With --json, one document per change.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway approvals watch
fairway approvals watch --for 8h")]
pub struct WatchArgs {
    /// Stop after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    limit: Option<Duration>,
}

impl WatchArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        watch(ctx, self.limit)
    }
}

/// Prints each change of the permission requests, until `limit` has passed or the process ends.
fn watch(ctx: &Context, limit: Option<Duration>) -> Result<Exit> {
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
    let became = if one.status == ApprovalStatus::Lapsed { "expired" } else { one.status.as_str() };
    format!("approval {}: {became}{by}{why}", one.id)
}

/// Allow or deny permission requests
///
/// The agent's hook waits for the answer. Once it waits no more, the choice is taken in the dialog on the agent's screen, if
/// that shows exactly this command. A session cannot answer its own request. Each by itself: the exit code is that of the first
/// failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway approvals answer 3 deny --reason 'not on main'
fairway approvals answer 4 5 allow")]
pub struct AnswerArgs {
    /// Approval numbers
    #[arg(value_name = "ID", required = true)]
    id: Vec<i64>,
    /// allow or deny
    #[arg(value_name = "ANSWER", required = true, value_parser = values::decision)]
    decision: Decision,
    /// Take the agent's own option for further calls too
    ///
    /// For a structured session. The agent then asks no more about what it takes as the same, and the guard sees such a
    /// call only when it has run. An agent without that option takes the answer for this call.
    #[arg(long)]
    always: bool,
    /// Reason, shown to the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl AnswerArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        each::each(ctx, &ctx.app()?, &self.id, |app, id| {
            approval::answer(app, *id, self.decision, self.always, self.reason.as_deref())
        })
    }
}
