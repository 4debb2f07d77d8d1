//! A command of the board with gaps that the person fills in, one after the other.

use super::action::Action;

/// The words that stand for what the person writes, each with its name on the screen.
const GAPS: &[(&str, &str)] = &[
    ("TEXT", "text"),
    ("TITLE", "title"),
    ("ROLE", "role"),
    ("PRIORITY", "priority, 0 to 4"),
    ("FILE:LINE", "file and line, as src/cart.rs:12"),
    ("TASK", "task"),
];

/// The commands whose text is read from stdin: such a text is in no argument list, where every process could read it.
const FROM_STDIN: &[&[&str]] = &[&["answer"], &["prompt"], &["review", "record"], &["review", "comment"]];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Given(String),
    Gap(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    words: Vec<Word>,
    stdin: Option<String>,
}

impl Template {
    /// Reads a command as the board writes it. Returns `None` for another program, and for a word in capitals that is no gap.
    pub(super) fn parse(command: &str) -> Option<Self> {
        let words = shell_words::split(command).ok()?;
        let (program, words) = words.split_first()?;
        let is_name = |word: &str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase());
        let word = |text: &String| match GAPS.iter().find(|(gap, _)| gap == text) {
            Some((gap, _)) => Some(Word::Gap(gap)),
            None => (!is_name(text)).then(|| Word::Given(text.clone())),
        };
        let words = words.iter().map(word).collect::<Option<Vec<Word>>>()?;
        (program == "fairway").then_some(Self { words, stdin: None })
    }

    /// The words before the first gap.
    pub(super) fn given(&self) -> Vec<&str> {
        let given = self.words.iter().map_while(|word| match word {
            Word::Given(text) => Some(text.as_str()),
            Word::Gap(_) => None,
        });
        given.collect()
    }

    /// The name of the first gap. Returns `None` when the command is whole.
    pub(super) fn gap(&self) -> Option<&'static str> {
        let at = self.words.iter().position(|word| matches!(word, Word::Gap(_)))?;
        let before = at.checked_sub(1).and_then(|before| self.words.get(before));
        match (self.words.get(at)?, before) {
            (Word::Gap("TEXT"), Some(Word::Given(flag))) if flag == "--reason" => Some("reason"),
            (Word::Gap("TEXT"), Some(Word::Given(flag))) if flag == "--summary" => Some("summary"),
            (Word::Gap(gap), _) => GAPS.iter().find(|(other, _)| other == gap).map(|(_, name)| *name),
            (Word::Given(_), _) => None,
        }
    }

    /// Puts a text into the first gap.
    pub(super) fn fill(mut self, text: &str) -> Self {
        let words = self.given();
        let from_stdin = FROM_STDIN.iter().any(|start| words.starts_with(start));
        if let Some(word) = self.words.iter_mut().find(|word| matches!(word, Word::Gap(_))) {
            let is_text = *word == Word::Gap("TEXT");
            *word = Word::Given(if is_text && from_stdin { "-" } else { text }.to_owned());
            if is_text && from_stdin {
                self.stdin = Some(text.to_owned());
            }
        }
        self
    }

    /// The command; a gap that nothing was put into keeps its name.
    pub(super) fn action(&self) -> Action {
        let argv = self.words.iter().map(|word| match word {
            Word::Given(text) => text.clone(),
            Word::Gap(gap) => (*gap).to_owned(),
        });
        Action { argv: argv.collect(), stdin: self.stdin.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_one_after_the_other() {
        let comment = Template::parse("fairway review comment T-1 FILE:LINE TEXT --commit 0123abc").unwrap();
        assert_eq!(comment.gap(), Some("file and line, as src/cart.rs:12"));
        let comment = comment.fill("src/a b.rs:3");
        assert_eq!(comment.gap(), Some("text"));
        let action = comment.fill("TEXT; rm -rf /").action();
        assert_eq!(action.argv, ["review", "comment", "T-1", "src/a b.rs:3", "-", "--commit", "0123abc"]);
        assert_eq!(action.stdin.as_deref(), Some("TEXT; rm -rf /"));

        let release = Template::parse("fairway release T-1 --force --reason TEXT").unwrap();
        assert_eq!(release.gap(), Some("reason"));
        let release = release.fill("gone TEXT");
        assert_eq!((release.gap(), release.action().argv.last().map(String::as_str)), (None, Some("gone TEXT")));
    }

    #[test]
    fn other_programs_and_unknown_gaps_are_no_template() {
        for command in ["ssh host fairway stop", "fairway evidence run T-1 -- COMMAND", "", "fairway prompt s 'x"] {
            assert_eq!(Template::parse(command), None, "{command}");
        }
    }
}
