//! What the state machine of `top` takes, and what it asks for.

use super::{action::Action, key::Key, pane::Request};
use crate::{
    env::Timestamp,
    os::terminal::Size,
    wire::{ApprovalView, BoardView},
};

#[derive(Debug)]
pub(super) enum Input {
    Key(Key),
    Resize(Size),
    /// The board was composed anew.
    Board(Box<BoardView>),
    /// The board cannot be composed any more.
    Lost {
        as_of: Timestamp,
        why: String,
    },
    /// A whole approval; `None` when it is no longer open.
    Approval {
        id: i64,
        allow: bool,
        found: Option<Box<ApprovalView>>,
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
        allow: bool,
    },
    FindNext,
}
