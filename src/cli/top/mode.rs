//! The parts of the screen that get the keys.

use super::{
    action::{Action, TextFor},
    editor::Editor,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Board,
    Filter(Editor),
    Text {
        title: String,
        /// The whole question that the text answers.
        asked: Option<String>,
        text_for: TextFor,
        editor: Editor,
        /// Why the text can no longer be sent; it stays so that the person can copy it.
        over: Option<String>,
    },
    Confirm {
        action: Action,
        question: String,
    },
    /// The whole of a permission request; it is answered once its last line was on the screen.
    Approval {
        id: i64,
        allow: bool,
        lines: Vec<String>,
        scroll: usize,
        is_seen: bool,
    },
    View(View),
    Keys,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// The command whose output it is.
    pub typed: String,
    pub lines: Vec<String>,
    pub scroll: usize,
    /// Whether it stays at the end while more comes.
    pub is_at_end: bool,
    /// Whether lines that begin with + and - are those of a diff.
    pub is_diff: bool,
    /// Whether more may come.
    pub is_live: bool,
}
