//! `fairway prime`

use anyhow::Result;

use super::{context::Context, exit::Exit, values};
use crate::{
    actions::{
        prime,
        runtime::context::{self, Mode},
    },
    domain::TaskId,
    render::safe,
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
        let primed = prime::prime(&app, self.task_id.as_ref(), self.mode)?;
        let view = context::view(&primed.sections, self.mode);
        ctx.show(&view, || primed.tasks.iter().map(ToString::to_string).collect(), || safe(&view.text))
    }
}
