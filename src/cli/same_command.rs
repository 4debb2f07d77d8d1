//! The caller's own command in the hints of its refusal.

use std::ffi::OsString;

use fairway_core::domain::refusal::SAME_COMMAND;
use fairway_core::wire::Failure;

/// The longest command that a hint repeats, in characters.
const MAX_REPEATED: usize = 200;

/// Completes hints that refer to "the same command": inserts the caller's command line, with the flags that the hint adds.
pub(super) fn completed(failure: Failure, words: &[OsString]) -> Failure {
    let Some(hint) = failure.hint.as_deref().filter(|hint| hint.contains(SAME_COMMAND)) else { return failure };
    let lines: Vec<String> = hint.lines().map(|line| with_words(line, words).unwrap_or_else(|| line.into())).collect();
    Failure { hint: Some(lines.join("\n")), ..failure }
}

/// Replaces "the same command" in a line by the caller's command line. Returns `None` when the line does not contain the
/// phrase, and when the command line is not UTF-8 or too long to be repeated.
fn with_words(line: &str, words: &[OsString]) -> Option<String> {
    let (purpose, flags) = line.split_once(SAME_COMMAND)?;
    let words: Vec<&str> = words.get(1..)?.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let (own, rest) = words.split_at(end);
    let own = without(own, flags.split_whitespace().collect::<Vec<_>>().as_slice());
    let parts = [own.as_slice(), rest].map(shell_words::join);
    let rest = if rest.is_empty() { String::new() } else { format!(" {}", parts[1]) };
    let command = format!("fairway {}{flags}{rest}", parts[0]);
    (command.chars().count() <= MAX_REPEATED).then(|| format!("{purpose}{command}"))
}

/// The words without the flag in `flags` and its value, because the hint gives the flag another value.
fn without<'a>(words: &[&'a str], flags: &[&str]) -> Vec<&'a str> {
    let [flag, _value] = flags else { return words.to_vec() };
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == flag {
            words.next();
        } else if !word.strip_prefix(flag).is_some_and(|value| value.starts_with('=')) {
            kept.push(*word);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(hint: &str, words: &[&str]) -> Option<String> {
        with_words(hint, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn hint_repeats_the_command_with_its_flags() {
        let hint = format!("claim there: {SAME_COMMAND} --lane cart");
        let repeated = |words: &[&str]| line(&hint, words).unwrap();
        assert_eq!(repeated(&["/bin/fairway", "claim", "a b"]), "claim there: fairway claim 'a b' --lane cart");
        assert_eq!(repeated(&["f", "claim", "--lane", "x", "T-1"]), "claim there: fairway claim T-1 --lane cart");
        assert_eq!(repeated(&["f", "claim", "--lane=x", "T-1"]), "claim there: fairway claim T-1 --lane cart");
        assert_eq!(repeated(&["f", "run", "--", "x", "--lane"]), "claim there: fairway run --lane cart -- x --lane");
        assert_eq!(line(&hint, &["f", "note", &"x".repeat(300)]), None);
        assert_eq!(line("list them: fairway task list", &["f", "claim"]), None);
    }
}
