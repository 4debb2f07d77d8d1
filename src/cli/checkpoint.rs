//! `fairway checkpoint …`

use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::{due, rough};
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::queue::checkpoint::{self, NewCheckpoint};
use fairway_core::domain::checkpoint::{Checkpoint, CheckpointState};
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::render::{Table, escape_line};

/// Record, list and show task checkpoints
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway checkpoint record T-4 --state active --summary 'parser done'")]
#[command(defer = true)]
pub enum Verb {
    Record(RecordArgs),
    /// List a task's checkpoints, oldest first
    ///
    /// A checkpoint that no agent and no person wrote names its origin: launch, reconcile, hook or provider.
    #[command(after_help = "fairway checkpoint list T-4")]
    List(OfTaskArgs),
    Show(ShowArgs),
    /// Show a task's latest checkpoint
    #[command(after_help = "\
fairway checkpoint latest T-4
fairway checkpoint latest T-4 --written")]
    Latest(OfTaskArgs),
    Overdue(OverdueArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Record(args) => args.run(ctx),
            Self::List(args) => args.list(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Latest(args) => args.latest(ctx),
            Self::Overdue(args) => args.run(ctx),
        }
    }
}

/// Record a checkpoint and read the session's messages
///
/// The task keeps its status. States: planned, active, awaiting_input, blocked, review, done, parked, abandoned.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway checkpoint record T-4 --state active --summary 'parser done' --due 2h")]
pub struct RecordArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// State of the work
    #[arg(long, value_parser = values::checkpoint_state)]
    state: CheckpointState,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Owner of the next step
    #[arg(long, value_name = "WHO")]
    owner: Option<String>,
    /// File that belongs to the checkpoint
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
    /// Time until the next checkpoint is due
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    due: Option<Duration>,
}

impl RecordArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let new = NewCheckpoint {
            state: self.state,
            summary: self.summary,
            owner: self.owner,
            artifact: self.artifact,
            due: self.due,
        };
        ctx.answer(&checkpoint::record(&ctx.app()?, &self.task, new)?)
    }
}

// No doc comment: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct OfTaskArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Only checkpoints that an agent or a person wrote
    #[arg(long)]
    written: bool,
}

impl OfTaskArgs {
    fn list(self, ctx: &Context) -> Result<Exit> {
        let found = checkpoint::list(&ctx.app()?, &self.task, self.written)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                if found.is_empty() {
                    "no checkpoints\n".into()
                } else {
                    table(&found, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }

    fn latest(self, ctx: &Context) -> Result<Exit> {
        let latest = checkpoint::latest(&ctx.app()?, &self.task, self.written)?;
        ctx.show(&latest, || vec![latest.id.to_string()], || details(&latest))
    }
}

/// Show a checkpoint
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway checkpoint show 7")]
pub struct ShowArgs {
    /// Checkpoint id
    id: i64,
}

impl ShowArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let found = checkpoint::show(&ctx.app()?, self.id)?;
        ctx.show(&found, || vec![found.id.to_string()], || details(&found))
    }
}

/// List open tasks whose next checkpoint is overdue
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway checkpoint overdue")]
pub struct OverdueArgs {}

impl OverdueArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let found = checkpoint::overdue(&ctx.app()?)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.task.to_string()).collect(),
            || {
                if found.is_empty() {
                    "nothing is overdue\n".into()
                } else {
                    table(&found, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

pub(super) fn table(checkpoints: &[Checkpoint], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "task", "state", "age", "by", "owner", "due", "summary"]);
    for one in checkpoints {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let by = dash(one.session.as_ref().map(SessionId::as_str));
        table.row([
            one.id.to_string(),
            one.task.to_string(),
            one.state.to_string(),
            rough(now.since(one.created_at)),
            one.origin.map_or_else(|| by.clone(), |origin| format!("{by} ({origin})")),
            dash(one.owner.as_deref()),
            one.due_at.map_or_else(|| "-".into(), |at| due(at, now)),
            one.summary.clone(),
        ]);
    }
    table
}

/// Formats a checkpoint with one line for each field that is set.
pub(super) fn details(one: &Checkpoint) -> String {
    let mut text = format!("{}  checkpoint {}  {}\n", one.task, one.id, one.state);
    let fields = [
        ("summary", Some(one.summary.clone())),
        ("at", Some(one.created_at.to_string())),
        ("by", one.session.as_ref().map(ToString::to_string)),
        ("origin", one.origin.map(|origin| origin.to_string())),
        ("owner", one.owner.clone()),
        ("artifact", one.artifact.clone()),
        ("due", one.due_at.map(|at| at.to_string())),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = writeln!(text, "{name:<12}{}", escape_line(&value));
        }
    }
    text
}
