//! `fairway status`, and `fairway` without a command inside a project.

pub(super) mod format;
mod line;

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{actions::board, hooks::Provider};

/// Show what needs you, then lanes, sessions and jobs
///
/// First come the items that need a person: approvals, questions, dead agents that have claims, expired leases, submitted
/// tasks, handoffs without a reader and messages that were not delivered, each with the commands that settle it. Then come
/// lanes, sessions and jobs. Processes of this host are looked at; nothing is written. `fairway` alone does the same inside a
/// project.
///
/// --line prints the items that need you (!), the agents at work (●) and the known cost of today (UTC). What is zero is left
/// out; the line of a project in which all are is quiet.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Show every item of long sections
    #[arg(long)]
    all: bool,
    /// Print one line for a status bar, as 3! 9● $4.10
    #[arg(long, conflicts_with = "all")]
    line: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let providers: Vec<&str> = Provider::ALL.iter().map(|provider| provider.label()).collect();
        let board = board::compose(&ctx.app()?, &providers)?;
        ctx.show(
            &board,
            || board.needs_you.iter().map(|need| need.id.clone()).collect(),
            || {
                if self.line {
                    return line::line(&board);
                }
                format::text(&board, ctx.env.now(), ctx.out.style, ctx.out.width, self.all)
            },
        )
    }
}
