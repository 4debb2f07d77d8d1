//! A dialog with numbered choices at the end of an agent's screen, known by its recorded shape. A screen that differs from
//! the shape shows no such dialog: a key that is pressed there would mean something else.

/// The shape of a dialog, as it was recorded with the provider's program.
#[derive(Debug, Clone, Copy)]
pub struct DialogShape<'a> {
    /// The question that the dialog asks; empty where the agent words it.
    pub question: &'a str,
    /// The beginning of the last line of the screen.
    pub end: &'a str,
    pub subject: SubjectPlace<'a>,
}

/// The place of a dialog's subject: a command, or the agent's own question.
#[derive(Debug, Clone, Copy)]
pub enum SubjectPlace<'a> {
    /// Between the nearest line above that begins with the first text and the one that begins with the second. Without the
    /// second, up to the choices.
    Between(&'a str, &'a str),
    /// From the first line that begins with this text, below the question, up to the choices.
    Behind(&'a str),
}

/// A dialog on a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// The lines of its subject, without frames.
    subject: Vec<String>,
    /// The first line of each choice, from number 1 on.
    pub choices: Vec<String>,
}

/// Finds a dialog of this shape at the end of a screen's text; `None` when the screen does not end with one.
pub fn find(screen: &str, shape: DialogShape<'_>) -> Option<Dialog> {
    let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
    let last = lines.iter().rposition(|line| !line.trim().is_empty())?;
    if shape.end.is_empty() || !begins_with(lines.get(last)?, shape.end) {
        return None;
    }
    let first = lines.get(..last)?.iter().rposition(|line| matches!(choice(line), Some((1, _))))?;
    let mut choices = Vec::new();
    for (number, text) in lines.get(first..last)?.iter().filter_map(|line| choice(line)) {
        // Another number begins a line that belongs to the choice above it.
        if number == choices.len() + 1 {
            choices.push(text);
        }
    }
    let above = lines.get(..first)?;
    let subject = match shape.subject {
        SubjectPlace::Between(before, after) => {
            let end =
                if after.is_empty() { above.len() } else { above.iter().rposition(|line| begins_with(line, after))? };
            asks(above.get(end..)?, shape.question).then_some(())?;
            let begin = above.get(..end)?.iter().rposition(|line| begins_with(line, before))?;
            above.get(begin + 1..end)?.iter().map(|line| unframed(line).to_owned()).collect()
        }
        SubjectPlace::Behind(mark) => {
            // The first one: a line of the subject itself may look like the question.
            let question = above.iter().position(|line| begins_with(line, shape.question))?;
            let below = above.get(question..)?;
            let begin = below.iter().position(|line| line.starts_with(mark))?;
            let own = below.get(begin)?.strip_prefix(mark)?;
            std::iter::once(own)
                .chain(below.get(begin + 1..)?.iter().copied())
                .map(|line| unframed(line).to_owned())
                .collect()
        }
    };
    Some(Dialog { subject, choices })
}

impl Dialog {
    /// Whether the dialog's subject is exactly this text. A line of the screen may end at a blank or inside a word, because the
    /// program breaks lines; within a line blanks must match.
    pub fn is_about(&self, text: &str) -> bool {
        let text = single_spaced(text);
        let mut rest = Some(text.as_str());
        for line in self.subject.iter().map(|line| single_spaced(line)).filter(|line| !line.is_empty()) {
            rest = rest.and_then(|rest| rest.trim_start().strip_prefix(&line));
        }
        !text.is_empty() && rest.is_some_and(str::is_empty)
    }

    /// How many of the dialog's choices belong to `question`, a text that [`question_with_choices`] made: the program may add
    /// choices of its own. Returns `None` when the dialog asks something else.
    pub fn choices_of(&self, question: &str) -> Option<usize> {
        let own = squeezed(question);
        let asked = self.subject.concat();
        (1..=self.choices.len()).find(|count| {
            let choices = self.choices.get(..*count).unwrap_or_default();
            squeezed(&question_with_choices(&asked, choices)) == own
        })
    }

    /// The number of the choice whose text is one of these; `None` when no choice or several choices fit.
    pub fn number_of(&self, texts: &[String]) -> Option<usize> {
        let is_meant = |choice: &&String| texts.iter().any(|text| squeezed(text) == squeezed(choice));
        let found = self.choices.iter().position(|choice| is_meant(&choice))?;
        (self.choices.iter().filter(is_meant).count() == 1).then_some(found + 1)
    }
}

/// A question and its choices on one line: `Which one? (red / blue)`.
pub fn question_with_choices<T: AsRef<str>>(question: &str, choices: &[T]) -> String {
    let choices: Vec<&str> = choices.iter().map(AsRef::as_ref).collect();
    if choices.is_empty() { question.to_owned() } else { format!("{question} ({})", choices.join(" / ")) }
}

/// Whether a question ends with choices, as [`question_with_choices`] writes them.
pub fn has_choices(question: &str) -> bool {
    question.ends_with(')') && question.split_once(" (").is_some_and(|(_, choices)| choices.contains(" / "))
}

/// The number and the text of a choice that begins on this line.
fn choice(line: &str) -> Option<(usize, String)> {
    let text = unframed(line);
    let text = text.trim_start_matches(|character: char| character.is_whitespace() || "❯›●>".contains(character));
    let (number, rest) = text.split_once(". ")?;
    let is_number = !number.is_empty() && number.len() < 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest.trim().to_owned()))
}

fn begins_with(line: &str, text: &str) -> bool {
    !text.is_empty() && line.trim_start().starts_with(text)
}

/// Whether these lines hold a question.
fn asks(lines: &[&str], question: &str) -> bool {
    squeezed(&lines.concat()).contains(&squeezed(question))
}

/// A line without the frame around it.
fn unframed(line: &str) -> &str {
    line.trim_matches(|character: char| character.is_whitespace() || matches!(character, '\u{2500}'..='\u{257f}'))
}

/// A text whose blanks are single ones, without the lines of frames.
fn single_spaced(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(squeezed).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// A text without blanks and without the lines of frames.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|character| {
            !character.is_whitespace() && !character.is_control() && !matches!(character, '\u{2500}'..='\u{257f}')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_the_same_but_for_the_lines_of_the_screen() {
        let is_about = |lines: &[&str], text: &str| {
            let subject = lines.iter().map(|line| (*line).to_owned()).collect();
            Dialog { subject, choices: Vec::new() }.is_about(text)
        };
        assert!(is_about(&["rm -rf a b"], "rm -rf a b"));
        assert!(is_about(&["  rm -rf", "", "  a b  "], "rm -rf a b"));
        assert!(is_about(&["│ cat <<E", "│   one", "│ E"], "cat <<E\n  one\nE"));
        assert!(is_about(&["echo aaaa", "bbbb"], "echo aaaabbbb"));
        for other in ["rm -rf ab", "rm -rf a b c", "rm -rf a", "rm  -rfa b", ""] {
            assert!(!is_about(&["rm -rf a b"], other), "{other}");
        }
        assert!(!is_about(&[], ""));
        assert!(!is_about(&["a"], ""));
    }

    #[test]
    fn choice_that_is_there_twice_is_none() {
        let dialog = |choices: &[&str]| Dialog {
            subject: vec!["x".to_owned()],
            choices: choices.iter().map(|text| (*text).to_owned()).collect(),
        };
        let yes = ["Yes".to_owned(), "Yes, proceed (y)".to_owned()];
        assert_eq!(dialog(&["Yes", "No"]).number_of(&yes), Some(1));
        assert_eq!(dialog(&["Yes", "No", "Yes, proceed (y)"]).number_of(&yes), None);
        assert_eq!(dialog(&["Yes, and always", "No"]).number_of(&yes), None);
    }
}
