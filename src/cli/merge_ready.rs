//! `fairway merge-ready`

use std::fmt::Write;

use anyhow::Result;

use super::{context::Context, context::exit_even_if_closed, exit::Exit, values};
use crate::{actions::gates, domain::TaskId, wire::FailureKind};

/// Say whether a task may be merged, and what stands in the way; exit 5 when something does
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The task
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// The branch it would be merged into; by default its lane's base, else the project's
    #[arg(long)]
    base: Option<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let report = gates::merge_ready(&ctx.app()?, &self.id, self.base.as_deref())?;
        let shown = ctx.show(
            &report,
            || vec![report.task_id.clone()],
            || {
                if report.ready {
                    return format!("{} is ready to be merged\n", report.task_id);
                }
                let mut text = format!("{} is not ready to be merged:\n", report.task_id);
                for blocker in &report.blockers {
                    let message = crate::render::safe_line(&blocker.message);
                    let _ = write!(
                        text,
                        "  {}: {message}\n      {}\n",
                        blocker.code,
                        crate::render::safe_line(&blocker.fix)
                    );
                }
                text
            },
        );
        exit_even_if_closed(if report.ready { 0 } else { FailureKind::Refused.exit_code() }, shown)
    }
}
