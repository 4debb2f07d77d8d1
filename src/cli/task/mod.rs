//! `fairway task …`

mod add;
mod dep;
mod import;
mod show;
pub(super) mod table;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::release::{self, ForceArgs};
use crate::cli::task::add::Fields;
use crate::cli::task::table::table;
use crate::cli::{claim, each, merge_ready, values};
use fairway_actions::land;
use fairway_actions::queue::task::list::{self, Filter};
use fairway_actions::queue::task::{claimed_task, done, edit, remove, transition, undo};
use fairway_actions::{Answer, App};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{LaneName, Refusal, Role, TaskId};

/// Add, show, edit and move tasks
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway task add 'Fix the total' --role backend
fairway task list")]
#[command(defer = true)]
pub enum Verb {
    Add(add::Args),
    List(ListArgs),
    Show(show::Args),
    Edit(EditArgs),
    #[command(subcommand)]
    Dep(dep::Verb),
    Claim(claim::Args),
    Release(release::Args),
    /// Block a claimed task; the claim stays
    #[command(after_help = "fairway task block T-4 --reason 'waiting for credentials'")]
    Block(TransitionArgs),
    /// Unblock a task
    #[command(after_help = "fairway task unblock T-4")]
    Unblock(TransitionArgs),
    Submit(SubmitArgs),
    /// Resume a submitted task
    ///
    /// For its claimant, who keeps the claim, and for the reviewer who last asked for changes.
    #[command(after_help = "fairway task resume T-4")]
    Resume(TransitionArgs),
    Done(DoneArgs),
    MergeCheck(merge_ready::Args),
    Cancel(CancelArgs),
    Reopen(ReopenArgs),
    Undo(UndoArgs),
    Rm(RmArgs),
    Import(import::Args),
    Export(ExportArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Dep(verb) => verb.run(ctx),
            Self::Claim(args) => args.run(ctx),
            Self::Release(args) => args.run(ctx),
            Self::MergeCheck(args) => args.run(ctx),
            Self::Block(args) => args.block(ctx),
            Self::Unblock(args) => args.unblock(ctx),
            Self::Submit(args) => args.run(ctx),
            Self::Resume(args) => args.resume(ctx),
            Self::Done(args) => args.run(ctx),
            Self::Cancel(args) => args.run(ctx),
            Self::Reopen(args) => ctx.answer(&transition::reopen(&ctx.app()?, &args.id, &args.reason)?),
            Self::Undo(args) => ctx.answer(&undo::undo(&ctx.app()?, &args.id, args.event)?),
            Self::Rm(args) => ctx.answer(&remove::remove(&ctx.app()?, &args.ids)?),
            Self::Import(args) => args.run(ctx),
            Self::Export(args) => args.run(ctx),
        }
    }
}

/// List open tasks by priority and age
///
/// Closed tasks are listed with --all or --status. --grep takes literal text, in upper or lower case.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task list
fairway task list --all --grep cart")]
pub struct ListArgs {
    /// Only tasks of this status, or all; repeatable
    #[arg(long = "status", value_name = "STATUS", value_parser = statuses)]
    statuses: Vec<Statuses>,
    /// Closed tasks too, as --status all
    #[arg(long, conflicts_with = "statuses")]
    all: bool,
    /// Only tasks with TEXT in id, title, body or label
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,
    /// Only tasks of this role
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Only tasks of this lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Only tasks with this label
    #[arg(long)]
    label: Option<String>,
    /// Only claimed tasks
    #[arg(long)]
    held: bool,
    /// Maximum number of tasks; 0 for all
    #[arg(long, value_name = "N", value_parser = values::limit)]
    limit: Option<u32>,
}

/// One status, or every status.
#[derive(Debug, Clone)]
struct Statuses(Vec<TaskStatus>);

/// Reads a status or `all`.
fn statuses(text: &str) -> Result<Statuses, String> {
    if text == "all" {
        Ok(Statuses(TaskStatus::ALL.to_vec()))
    } else {
        values::status(text).map(|one| Statuses(vec![one]))
    }
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let filter = Filter {
            statuses: if self.all {
                TaskStatus::ALL.to_vec()
            } else {
                self.statuses.into_iter().flat_map(|Statuses(of)| of).collect()
            },
            role: self.role,
            lane: self.lane,
            label: self.label,
            text: self.grep,
            held: self.held,
            limit: self.limit.map(|limit| limit as usize),
        };
        let tasks = list::list(&ctx.app()?, &filter)?;
        ctx.show(
            &tasks,
            || tasks.iter().map(|task| task.id.clone()).collect(),
            || {
                if tasks.is_empty() {
                    "no tasks\n".into()
                } else {
                    table(&tasks).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

/// Edit the fields of tasks
///
/// A list replaces the old list; an empty text clears the field. Each by itself: the exit code is that of the first failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task edit T-4 --priority 0 --lane api
fairway task edit T-5 T-6 --label later")]
pub struct EditArgs {
    /// Task ids
    #[arg(required = true, value_parser = values::task)]
    id: Vec<TaskId>,
    /// Title in one line; for one task
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

impl EditArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let mut fields = self.fields;
        if self.title.is_none() && fields.is_empty() {
            return Err(Refusal::Usage { why: "say what to change, such as --title TEXT".into() }.into());
        }
        if self.title.is_some() && self.id.len() > 1 {
            return Err(Refusal::Usage { why: "--title is for one task; several ids are given".into() }.into());
        }
        // Read now: the text is part of a request id's fingerprint, and no file may be read inside a transaction.
        fields.body = ctx.text("body", fields.body.take(), fields.body_file.take().as_deref())?;
        let app = ctx.app()?;
        each::each(ctx, &app, &self.id, |app, id| {
            edit::edit(app, id, |words| {
                if let Some(title) = &self.title {
                    words.title.clone_from(title);
                }
                fields.clone().over(words)
            })
        })
    }
}

// No doc comment: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct TransitionArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    #[command(flatten)]
    force: ForceArgs,
}

impl TransitionArgs {
    pub(super) fn block(self, ctx: &Context) -> Result<Exit> {
        let reason = self.force.needed("block", std::slice::from_ref(&self.id))?;
        ctx.answer(&transition::block(&ctx.app()?, &self.id, reason, self.force.force().as_ref())?)
    }

    pub(super) fn unblock(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&transition::unblock(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }

    pub(super) fn resume(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&transition::resume(&ctx.app()?, &self.id, self.force.force().as_ref())?)
    }
}

/// Acts on the named task, else on the only one that the actor has claimed. `command` is for the refusal when there are several.
fn of_claimed(
    ctx: &Context,
    id: Option<TaskId>,
    command: &'static str,
    act: impl FnOnce(&App, &TaskId) -> Result<Answer>,
) -> Result<Exit> {
    let app = ctx.app()?;
    // A repeat finds its claim ended, and is answered as the first call.
    if id.is_none()
        && let Some(answer) = app.stored_response()?
    {
        return ctx.answer(&answer);
    }
    let id = claimed_task::named_or_only(&app, id, |id| format!("{command} {id}"))?;
    ctx.answer(&act(&app, &id)?)
}

/// Submit a claimed task for review; the claim stays
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task submit T-4")]
pub struct SubmitArgs {
    /// Task id [default: the task that you have claimed]
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Commit of the finished work
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    #[command(flatten)]
    force: ForceArgs,
}

impl SubmitArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (commit, force) = (self.commit.as_deref(), self.force.force());
        of_claimed(ctx, self.id, "fairway task submit", |app, id| transition::submit(app, id, commit, force.as_ref()))
    }
}

/// Finish a task whose gates are met
///
/// Unmet gates are listed as blockers, each with the command that clears it. --force overrides the claimant, not the
/// gates.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task done T-4
fairway done T-4")]
pub struct DoneArgs {
    /// Task id [default: the task that you have claimed]
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Commit of the finished work
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    #[command(flatten)]
    force: ForceArgs,
}

impl DoneArgs {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (commit, force) = (self.commit.as_deref(), self.force.force());
        of_claimed(ctx, self.id, "fairway done", |app, id| done::done(app, id, commit, force.as_ref()))
    }
}

/// Cancel tasks for good
///
/// Each by itself: the exit code is that of the first failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task cancel T-4 --reason 'no longer needed'")]
pub struct CancelArgs {
    /// Task ids
    #[arg(required = true, value_parser = values::task)]
    id: Vec<TaskId>,
    #[command(flatten)]
    force: ForceArgs,
}

impl CancelArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let reason = self.force.needed("cancel", &self.id)?;
        let force = self.force.force();
        each::each(ctx, &ctx.app()?, &self.id, |app, id| transition::cancel(app, id, reason, force.as_ref()))
    }
}

/// Reopen a closed task
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task reopen T-4 --reason 'the bug is back'")]
pub struct ReopenArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Take back your newest change of a task
///
/// For a minute, and unless the task has changed since: a verdict, a cancellation, a release, a block or a priority. A claim
/// that ended goes on, if its session does. A withdrawn verdict puts the task in review again.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task undo T-4")]
pub struct UndoArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Only if the change is this event
    #[arg(long, value_name = "SEQ")]
    event: Option<i64>,
}

/// Remove tasks that were never claimed
///
/// All or none. A task with a claim, a record, a dependent or a part is not removed; cancel it instead. Its events stay,
/// and its id is not given out again.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway task rm T-4 T-5")]
pub struct RmArgs {
    /// Task ids
    #[arg(value_name = "ID", required = true, value_parser = values::task)]
    ids: Vec<TaskId>,
}

/// Export all tasks for `fairway task import`
///
/// The form agent-trace has a record of the format Agent Trace 0.1 for each landing: the lines that its commit has from agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway task export
fairway task export --format agent-trace")]
pub struct ExportArgs {
    /// Output format
    #[arg(long, value_name = "FORM", default_value = JSONL, value_parser = [JSONL, AGENT_TRACE])]
    format: String,
}

const JSONL: &str = "jsonl";
const AGENT_TRACE: &str = "agent-trace";

impl ExportArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, out) = (ctx.app()?, &ctx.out);
        if self.format == AGENT_TRACE {
            land::traces(&app)?.iter().try_for_each(|record| out.document(record))?;
            return Ok(0);
        }
        if out.json {
            // One document, as everywhere: the list of them all.
            let mut tasks = Vec::new();
            list::export(&app, |task| {
                tasks.push(task.clone());
                Ok(())
            })?;
            out.document(&tasks)?;
            return Ok(0);
        }
        list::export(&app, |task| {
            if out.quiet {
                return Ok(out.line(&task.id)?);
            }
            Ok(out.document(task)?)
        })?;
        Ok(0)
    }
}
