//! The parts of the screen that get the keys.

use super::action::Action;
use super::editor::Editor;
use super::offer::Offer;
use super::template::Template;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mode {
    Board,
    Filter(Editor),
    Text {
        title: String,
        /// The purpose of the command.
        label: String,
        /// The whole question that the text answers.
        asked: Option<String>,
        /// The item that the text answers.
        item: Option<String>,
        template: Template,
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
        /// The answer, with the key that gives it.
        offer: Offer,
        lines: Vec<String>,
        scroll: usize,
        is_seen: bool,
    },
    View(View),
    /// What the selected row allows, with its keys, and the keys of the board.
    Keys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ViewForm {
    Text,
    /// Lines that begin with + and - are those of a diff.
    Diff,
    /// The lines are rows of a screen, with their colours.
    Screen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    /// What it shows: mostly the command whose output it is.
    pub typed: String,
    pub lines: Vec<String>,
    pub scroll: usize,
    /// Whether it stays at the end while more comes.
    pub is_at_end: bool,
    pub form: ViewForm,
    /// Whether more may come.
    pub is_live: bool,
    /// What can be done about it.
    pub offers: Vec<Offer>,
}

impl View {
    /// A view without lines, of what does not change.
    pub(super) fn of(typed: String) -> Self {
        let (lines, offers) = (Vec::new(), Vec::new());
        Self { typed, lines, scroll: 0, is_at_end: false, form: ViewForm::Text, is_live: false, offers }
    }
}
