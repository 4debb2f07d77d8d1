//! `fairway merge-ready`

use std::fmt::Write;

use anyhow::Result;

use super::{context::Context, context::exit_even_if_closed, exit::Exit, values};
use crate::{actions::queue::gates, domain::TaskId, wire::FailureKind};

/// Check a task's merge gates; exit 5 if one fails
///
/// The work is judged in the worktree of the task's lane, else of the claiming session, else where it was claimed. The
/// answer names it. Unmet gates are listed as blockers, each with the command that clears it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Base branch; default: the lane's, else the project's
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
                let verdict = if report.ready { "is ready to be merged" } else { "is not ready to be merged:" };
                let mut text = format!("{} {verdict}\n", report.task_id);
                if let Some(judged) = &report.judged {
                    let _ = writeln!(text, "  judged: {}", crate::render::escape_line(&judged.summary()));
                }
                for blocker in &report.blockers {
                    let message = crate::render::escape_line(&blocker.message);
                    let _ = write!(
                        text,
                        "  {}: {message}\n      {}\n",
                        blocker.code,
                        crate::render::escape_line(&blocker.fix)
                    );
                }
                text
            },
        );
        exit_even_if_closed(if report.ready { 0 } else { FailureKind::Refused.exit_code() }, shown)
    }
}
