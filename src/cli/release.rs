//! `fairway release`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::queue::task::{ForceReason, release};
use fairway_actions::sessions;
use fairway_actions::upkeep::retire_host;
use fairway_core::domain::{LaneName, Refusal, TaskId};

/// Release claims: their tasks go back to the queue
///
/// Several tasks are released together: all or none. --dead releases the claims of sessions of which nothing is alive on this
/// host, --host those of another host that was silent for `sessions.stale_after`: both are a person's commands. Claims of tasks
/// in review stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway release T-4 T-8 --reason 'end of the day'
fairway release --dead
fairway task release T-4 --reason 'needs a designer'")]
#[command(group = clap::ArgGroup::new("which").args(["ids", "lane", "all", "dead", "host"]).required(true).multiple(true))]
pub struct Args {
    /// Task ids
    #[arg(value_parser = values::task, value_name = "ID", conflicts_with_all = ["lane", "all"])]
    ids: Vec<TaskId>,
    /// Release your claims in this lane; with --force all claims
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Release all your claims; with --force all claims
    #[arg(long, conflicts_with_all = ["lane", "dead"])]
    all: bool,
    /// Release dead sessions' claims; with ids, only those
    #[arg(long, conflicts_with = "force")]
    dead: bool,
    /// Release the claims of the sessions of a silent host
    #[arg(long, value_name = "HOST", conflicts_with_all = ["ids", "lane", "all", "dead"])]
    host: Option<String>,
    #[command(flatten)]
    force: ForceArgs,
}

// Flags of the verbs that only a claimant may use. No doc comment: where they are flattened into a command without one, the
// command line would show it.
#[derive(Debug, clap::Args)]
pub struct ForceArgs {
    /// Override the claimant; needs --reason
    #[arg(long, requires = "reason")]
    pub force: bool,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

impl ForceArgs {
    /// Returns the reason for overriding the claimant, and `None` without `--force`.
    pub fn force(&self) -> Option<ForceReason> {
        let reason = self.reason.clone().filter(|_| self.force)?;
        Some(ForceReason { reason })
    }

    /// Returns the value of `--reason`, which `fairway task` requires for this `verb`.
    ///
    /// # Errors
    /// `usage` when `--reason` is missing; the hint repeats the command for `tasks`.
    pub fn needed(&self, verb: &str, tasks: &[TaskId]) -> Result<&str, Refusal> {
        self.reason.as_deref().ok_or_else(|| {
            let ids = tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ");
            Refusal::ArgumentMissing {
                why: format!("{verb} needs --reason TEXT"),
                hint: format!("say why: fairway task {verb} {ids} --reason TEXT"),
            }
        })
    }
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let (reason, force) = (self.force.reason.as_deref(), self.force.force());
        if let Some(host) = &self.host {
            return ctx.answer(&retire_host::release_claims(&app, host, reason, force.is_some())?);
        }
        let answer = match self.ids.as_slice() {
            _ if self.dead => sessions::release::release_dead(&app, self.lane.as_ref(), &self.ids, reason)?,
            [] => release::release_held(&app, self.lane.as_ref(), reason, force.as_ref())?,
            [id] => release::release(&app, id, reason, force.as_ref())?,
            ids => release::release_several(&app, ids, reason, force.as_ref())?,
        };
        ctx.answer(&answer)
    }
}
