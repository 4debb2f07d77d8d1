//! `fairway prime`

use anyhow::Result;

use super::{Context, Exit, values};
use crate::{
    actions::boundary::{
        agent_context,
        runtime::context::{self, Mode},
    },
    domain::TaskId,
    render::escape_controls,
};

/// Tell everything that an agent needs to know at the start of a turn
///
/// Who it is, what it holds, what stands in the way of done, what waits for it, where it stood, and which commands come next.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tell about this task; by default the one that is held, or the one that the session was started for
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// How much: full, compact, or resume after a compaction
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
