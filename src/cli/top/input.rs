//! What the state machine of `top` takes, and what it asks for.

use super::action::Action;
use super::key::Key;
use super::offer::Offer;
use super::pane::Request;
use fairway_core::domain::task::TaskSummary;
use fairway_core::env::Timestamp;
use fairway_core::os::terminal::Size;
use fairway_core::wire::{ApprovalView, BoardView, CommandView};

#[derive(Debug)]
pub(super) enum Input {
    Key(Key),
    Resize(Size),
    /// The board was composed anew. `ready`: the first tasks that can be claimed.
    Board {
        board: Box<BoardView>,
        ready: Vec<TaskSummary>,
    },
    /// The board cannot be composed any more.
    Lost {
        as_of: Timestamp,
        why: String,
    },
    /// A whole approval; `None` when it is no longer open.
    Approval {
        id: i64,
        offer: Offer,
        found: Option<Box<ApprovalView>>,
    },
    /// A review card, and the commands that act on it.
    Card {
        task: String,
        lines: Vec<String>,
        commands: Vec<CommandView>,
    },
    /// The first ready task and its title; `None` when there is none.
    Next(Option<(String, String)>),
    /// The command in the background has ended; with its output.
    Ended {
        is_ok: bool,
        said: String,
    },
    /// More lines of the viewer; `whole` replaces those before.
    Lines {
        lines: Vec<String>,
        whole: bool,
    },
    ViewEnded,
    Pane {
        request: Request,
        lines: Vec<String>,
    },
    Failed(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Quit,
    Suspend,
    Clear,
    Run(Action),
    Attach(String),
    /// Hand the terminal to the person's editor, with the worktree of this lane.
    Edit(String),
    /// Run a command whose output the viewer shows.
    View(Action),
    /// Show the screen of a session whenever it changes.
    Peek {
        session: String,
        action: Action,
    },
    CloseView,
    LoadApproval {
        id: i64,
        offer: Offer,
    },
    LoadCard(String),
    FindNext,
}
