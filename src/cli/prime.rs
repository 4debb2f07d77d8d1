//! `fairway prime`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::agents::agent_context;
use fairway_actions::agents::runtime::context::{self, Mode};
use fairway_core::domain::TaskId;
use fairway_core::render::escape_controls;

/// Print the context an agent needs at the start of a turn
///
/// The context holds the session's identity, its tasks, their blockers, new messages, the latest checkpoint and next
/// commands.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway prime --mode compact")]
pub struct Args {
    /// Task to describe; default: the session's claimed task
    #[arg(long = "task", alias = "task-id", value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// Amount of text: full, compact or resume
    #[arg(long, value_parser = values::mode, default_value = "full")]
    mode: Mode,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let primed = agent_context::compose_for_actor(&app, self.task_id.as_ref(), self.mode)?;
        let view = context::view(&primed.sections, self.mode);
        ctx.show(&view, || primed.tasks.iter().map(ToString::to_string).collect(), || escape_controls(&view.text))
    }
}
