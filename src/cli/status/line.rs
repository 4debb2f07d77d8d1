//! The board as one short line, for a status bar.

use crate::wire::{BoardView, SessionOverviewView};

/// The line of a project in which nothing needs a person, no agent works and no cost is known.
const NOTHING: &str = "quiet";

/// What needs a person, the agents at work and today's cost: `3! 9● $4.10`. A number that is zero is left out.
pub(super) fn line(board: &BoardView) -> String {
    let sessions = board.lanes.iter().flat_map(|lane| &lane.sessions).chain(&board.sessions);
    let working = sessions.filter(|one| is_working(one)).count();
    let counted = |count: usize, shape: char| (count > 0).then(|| format!("{count}{shape}"));
    let cost = board.cost_usd.map(|cost| format!("${cost:.2}"));
    let parts: Vec<String> =
        [counted(board.needs_you.len(), '!'), counted(working, '●'), cost].into_iter().flatten().collect();
    if parts.is_empty() { format!("{NOTHING}\n") } else { format!("{}\n", parts.join(" ")) }
}

fn is_working(one: &SessionOverviewView) -> bool {
    one.shown_state().shape == '●'
}
