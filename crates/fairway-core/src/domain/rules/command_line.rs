//! Which program a command line starts, as far as that can be told without running a shell.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeadingWord {
    /// A program of this name or path.
    Program(String),
    /// A word that only the shell understands, or one that it would change.
    Unresolved,
}

/// The commands of the shell itself.
const BUILT_IN: &[&str] = &[
    "!", ".", ":", "[", "alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit",
    "export", "false", "fg", "for", "getopts", "hash", "if", "jobs", "kill", "local", "printf", "pwd", "read",
    "readonly", "return", "set", "shift", "test", "times", "trap", "true", "type", "ulimit", "umask", "unalias",
    "unset", "until", "wait", "while", "{",
];

/// The program that a shell would start first for this text. Returns [`LeadingWord::Unresolved`] when that is a command of the
/// shell itself, or cannot be seen from the first word.
pub fn leading_word(text: &str) -> LeadingWord {
    let word = text.split_whitespace().next().unwrap_or_default();
    let plain = |character: char| {
        character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '+' | '@' | '%' | ',' | ':')
    };
    if word.is_empty() || !word.chars().all(plain) || BUILT_IN.contains(&word) {
        return LeadingWord::Unresolved;
    }
    LeadingWord::Program(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_word_is_a_program_only_when_it_is_plain() {
        for (text, program) in [("sleep 60", "sleep"), (" ./run.sh -x", "./run.sh"), ("g++\tx", "g++")] {
            assert_eq!(leading_word(text), LeadingWord::Program(program.into()));
        }
        for text in ["", "A=1 sleep", "exec sleep", "$X", "'a b'", "~/x", "a;b", "if true", "(a)", "a*"] {
            assert_eq!(leading_word(text), LeadingWord::Unresolved, "{text}");
        }
    }
}
