//! `fairway task submit`

use anyhow::Result;

use crate::{
    actions::queue::task::{claimed, transition},
    cli::{context::Context, exit::Exit, release::ForceArgs, values},
    domain::TaskId,
};

/// Submit a claimed task for review; the claim stays
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id [default: the task that you have claimed]
    #[arg(value_parser = values::task)]
    id: Option<TaskId>,
    /// Commit of the finished work
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<String>,
    #[command(flatten)]
    force: ForceArgs,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let force = self.force.force();
        let app = ctx.app()?;
        // A repeat finds its claim ended, and is answered as the first call.
        if self.id.is_none()
            && let Some(answer) = app.stored_response()?
        {
            return ctx.answer(&answer);
        }
        let id = claimed::named_or_only(&app, self.id, "fairway task submit")?;
        ctx.answer(&transition::submit(&app, &id, self.commit.as_deref(), force.as_ref())?)
    }
}
