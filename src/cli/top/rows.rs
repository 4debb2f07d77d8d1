//! What the rows of the board's list are about.

use fairway_actions::board::list::{ListRow, RowKind};
use fairway_core::wire::{BoardView, LandRunningView, NeedView};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subject<'a> {
    pub need: Option<&'a NeedView>,
    pub session: Option<&'a str>,
    /// Whether the session is one in a terminal, whose screen has cells.
    pub has_terminal: bool,
    pub task: Option<&'a str>,
    pub lane: Option<&'a str>,
    pub job: Option<&'a str>,
    /// Whether the task waits for an agent.
    pub is_ready: bool,
    /// The command that a landing runs now.
    pub running: Option<&'a LandRunningView>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(row: &'a ListRow, board: &'a BoardView) -> Self {
        Self {
            need: match row.kind {
                RowKind::Need(at) => board.needs_you.get(at),
                _ => None,
            },
            session: row.session.as_deref(),
            has_terminal: board.session(row.session.as_deref()).is_some_and(|one| one.session.has_terminal()),
            task: row.task.as_deref(),
            lane: row.lane.as_deref(),
            job: row.job.as_deref(),
            is_ready: row.kind == RowKind::ReadyTask,
            running: match row.kind {
                RowKind::Landing(at) => board.landing.running_for(at),
                _ => None,
            },
        }
    }
}

/// Whether a row contains each word of a filter, in its texts, its names, or the evidence of its item. Ignores case. A number
/// in a word is a whole one: `T-3` is not in `T-37`.
pub(super) fn contains(row: &ListRow, board: &BoardView, filter: &str) -> bool {
    let facts = row.facts.iter().chain(&row.corner).map(|fact| fact.text.as_str());
    let evidence = Subject::of(row, board).need.map(|need| need.evidence.as_str());
    let all: Vec<String> =
        row.names().chain(facts).chain([row.title.as_str()]).chain(evidence).map(str::to_lowercase).collect();
    filter.to_lowercase().split_whitespace().all(|word| all.iter().any(|text| has_word(text, word)))
}

fn has_word(text: &str, word: &str) -> bool {
    let is_digit = |character: Option<char>| character.is_some_and(|one| one.is_ascii_digit());
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + word.len()..).unwrap_or_default());
        let is_cut_before = is_digit(before.chars().next_back()) && is_digit(word.chars().next());
        let is_cut_behind = is_digit(word.chars().next_back()) && is_digit(after.chars().next());
        !is_cut_before && !is_cut_behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_a_word_is_a_whole_one() {
        assert!(has_word("t-3 mails", "t-3") && has_word("mail-12", "mail") && has_word("mail-12", "-12"));
        assert!(!has_word("t-37", "t-3") && !has_word("t-13", "3") && !has_word("", "x"));
    }
}
