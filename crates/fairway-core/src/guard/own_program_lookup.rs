//! Whether the shell of an agent finds `fairway`, by what a call printed.

use super::own_verbs::{PROGRAM, own_verb_programs};

/// How a shell says that it does not find the program, at the end of a line: bash and ksh, dash and BusyBox, zsh, fish.
const MESSAGES: &[&str] = &[
    "fairway: command not found",
    ": fairway: not found",
    "command not found: fairway",
    "Unknown command: fairway",
    "fairway: inaccessible or not found",
];

/// Whether the shell that ran `text` and printed `output` found the program `fairway`. `Some(false)` when `text` calls `fairway`
/// by that name and `output` has a shell's message that there is no such command. `Some(true)` when there is other output and
/// every command of `text` is one of [`super::OWN_VERBS`]. `None` in all other cases: another program may have printed the
/// output.
pub fn finds_own_program(text: &str, output: &str) -> Option<bool> {
    if !text.contains(PROGRAM) {
        return None;
    }
    let is_message = |line: &str| MESSAGES.iter().any(|message| line.trim_end().ends_with(message));
    if output.lines().any(is_message) {
        return calls_by_name(text).then_some(false);
    }
    let has_run = !output.trim().is_empty() && own_verb_programs(text).is_some_and(|programs| !programs.is_empty());
    has_run.then_some(true)
}

/// Whether a command of the text begins with the program's bare name.
fn calls_by_name(text: &str) -> bool {
    let mut commands = text.split(['\n', ';', '&', '|', '(', '{', '`']);
    commands.any(|command| command.split_whitespace().next() == Some(PROGRAM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_of_each_shell_says_that_the_program_is_missing() {
        for output in [
            "/bin/bash: line 1: fairway: command not found\n",
            "Exit code 127\n(eval):1: command not found: fairway",
            "sh: 1: fairway: not found",
            "/bin/sh: fairway: not found",
            "fish: Unknown command: fairway\nfish: \nfairway prime\n^~~~~~^",
            "Chunk ID: 1\nProcess exited with code 127\nOutput:\n/bin/bash: line 4: fairway: command not found\r\n",
        ] {
            assert_eq!(finds_own_program("fairway prime", output), Some(false), "{output}");
            assert_eq!(finds_own_program("cd app && fairway note 'x'; cargo test", output), Some(false), "{output}");
        }
    }

    #[test]
    fn verb_that_printed_its_answer_was_found() {
        assert_eq!(finds_own_program("fairway prime", "## role\n"), Some(true));
        assert_eq!(finds_own_program("/opt/fairway/bin/fairway prime", "## role\n"), Some(true));
    }

    #[test]
    fn other_texts_and_outputs_say_nothing() {
        for (text, output) in [
            ("cat log", "bash: line 1: fairway: command not found"),
            ("grep -r fairway log", "bash: line 1: fairway: command not found"),
            ("cargo test", "ok"),
            ("fairway prime", ""),
            ("fairway serve --open", "http://x"),
            ("echo fairway", "fairway"),
            ("/opt/bin/fairway prime", "bash: line 1: fairway: command not found"),
        ] {
            assert_eq!(finds_own_program(text, output), None, "{text}");
        }
    }
}
