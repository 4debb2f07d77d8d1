//! `fairway status`, and `fairway` without a command inside a project.

pub(super) mod format;

use anyhow::Result;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::hooks::Provider;
use fairway_actions::board;
use fairway_actions::queue::lane::worktree;
use fairway_core::wire::{BoardView, SessionOverviewView};

/// Show what needs you, then lanes, sessions and jobs
///
/// First come the items that need a person, each with the commands that settle it; then lanes, sessions and jobs. Nothing is
/// written. `fairway` alone does the same inside a project.
///
/// --line prints the items that need you (!), the agents at work (●), what lands now (▶) and the known cost of today (UTC),
/// with a plus when some turns did not state theirs.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
fairway status
fairway status --json")]
pub struct Args {
    /// Show every item, its evidence and all its commands
    #[arg(long)]
    all: bool,
    /// Print one line for a status bar, as 3! 9● 1▶ $4.10
    #[arg(long, conflicts_with = "all")]
    line: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let providers: Vec<&str> = Provider::ALL.iter().map(|provider| provider.label()).collect();
        let app = ctx.app()?;
        let board = board::compose(&app, &providers)?;
        if let Some(note) = worktree::low_space(&app, 0).filter(|_| !self.line) {
            ctx.out.note(&note);
        }
        ctx.show(
            &board,
            || board.needs_you.iter().map(|need| need.id.clone()).collect(),
            || {
                if self.line {
                    return line(&board);
                }
                format::text(&board, ctx.env.now(), ctx.out.style, ctx.out.width, self.all)
            },
        )
    }
}

/// The line of a project in which nothing needs a person, no agent works and no cost is known.
const NOTHING: &str = "quiet";

/// What needs a person, the agents at work, the landings at work and today's cost: `3! 9● 1▶ $4.10+`. A number that is zero is
/// left out.
fn line(board: &BoardView) -> String {
    let working = board.all_sessions().filter(|one| is_working(one)).count();
    let counted = |count: usize, shape: char| (count > 0).then(|| format!("{count}{shape}"));
    let landing = counted(board.landing.now.len(), '▶');
    let parts: Vec<String> = [counted(board.needs_you.len(), '!'), counted(working, '●'), landing, board.cost.short()]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() { format!("{NOTHING}\n") } else { format!("{}\n", parts.join(" ")) }
}

fn is_working(one: &SessionOverviewView) -> bool {
    one.shown_state().shape == '●'
}
