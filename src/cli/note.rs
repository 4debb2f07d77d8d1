//! `fairway note`

use anyhow::Result;

use super::context::Context;
use super::exit::Exit;
use super::values;
use fairway_actions::queue::checkpoint;
use fairway_core::domain::TaskId;

/// Record a checkpoint on the task that you have claimed
///
/// The state of the checkpoint is active. For other states, the owner of the next step and a due time: `fairway checkpoint record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway note 'parser done; the printer is next'
fairway note 'see the log' --task T-4 --artifact out.log")]
pub struct Args {
    /// Text in one line; - reads stdin
    text: String,
    /// Task, if you have claimed several
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task: Option<TaskId>,
    /// File that belongs to the checkpoint
    #[arg(long, value_name = "FILE")]
    artifact: Option<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.text("note", Some(self.text), None)?.unwrap_or_default();
        ctx.answer(&checkpoint::note(&ctx.app()?, text.trim_end(), self.task.as_ref(), self.artifact)?)
    }
}
