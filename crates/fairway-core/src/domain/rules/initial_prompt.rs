//! How a program gets its first prompt. The prompt is data: it is a word, a variable or typed text, never a part of what a
//! shell reads.

use crate::domain::Refusal;
use crate::domain::string_enum::string_enum;
use crate::env::vars;

string_enum! {
    /// How a program takes a first prompt.
    PromptDelivery {
        Nudge => "nudge",
        Argument => "argument",
        Stdin => "stdin",
    }
}

/// The variable that carries a prompt to the program's shell.
pub const PROMPT_VAR: &str = vars::FAIRWAY_INITIAL_PROMPT;

/// The longest prompt that goes as one word or variable, in bytes: the kernel takes no more than 128 KiB, name included.
pub const MAX_PROMPT_BYTES: usize = 128 * 1024 - PROMPT_VAR.len() - 2;

/// A program as exact arguments, and as shell text for callers that take only text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub shell_text: String,
    /// The exact words of the program. Without them the shell text is run.
    pub argv: Option<Vec<String>>,
}

/// Adds the prompt as the last argument of a program. This needs a program that is given as exact arguments, or as text that a
/// shell would not change; any other text must contain `"$1"` in the place of the prompt. The returned shell text reads the
/// prompt from the variable [`PROMPT_VAR`].
/// Fails with `invalid_value` when the prompt is too long for one argument, and `usage` when the text does not mark its place.
pub fn pass_as_argument(program: &Program, prompt: &str) -> Result<Program, Refusal> {
    check_length(prompt)?;
    let text = &program.shell_text;
    match program.argv.clone().or_else(|| plain_words(text)) {
        Some(mut words) => {
            let text = format!("{}exec {} \"$1\"", take_from_environment(), shell_words::join(&words));
            words.push(prompt.to_owned());
            Ok(Program { shell_text: text, argv: Some(words) })
        }
        None if ["$1", "${1}", "$@", "$*"].iter().any(|place| text.contains(place)) => Ok(Program {
            shell_text: format!("{}{text}", take_from_environment()),
            argv: Some(["/bin/sh", "-c", text, "sh", prompt].map(str::to_owned).to_vec()),
        }),
        None => Err(Refusal::Usage {
            why: "the command is the shell's to read and does not say where the prompt goes; write \"$1\" there"
                .to_owned(),
        }),
    }
}

/// Feeds the prompt to the program's standard input, which then ends. The shell reads the prompt from the variable
/// [`PROMPT_VAR`], which the program does not get.
/// Fails with `invalid_value` when the prompt is too long for a variable.
pub fn pass_on_stdin(program: &Program, prompt: &str) -> Result<Program, Refusal> {
    check_length(prompt)?;
    let feed = format!("printf %s \"${PROMPT_VAR}\" | (unset {PROMPT_VAR}\n");
    Ok(Program {
        shell_text: format!("{feed}{}\n)", program.shell_text),
        argv: program.argv.as_ref().map(|words| {
            let fixed = ["/bin/sh", "-c"].map(str::to_owned).into_iter();
            fixed.chain([format!("{feed}exec \"$@\")"), "sh".to_owned()]).chain(words.iter().cloned()).collect()
        }),
    })
}

/// Shell text that puts the prompt into `$1` and removes it from the environment, where a child of the program would take the
/// prompt for its own.
fn take_from_environment() -> String {
    format!("set -- \"${PROMPT_VAR}\"\nunset {PROMPT_VAR}\n")
}

fn check_length(prompt: &str) -> Result<(), Refusal> {
    if prompt.len() <= MAX_PROMPT_BYTES {
        return Ok(());
    }
    let why = format!(
        "is {} bytes long; as an argument or through a pipe at most {MAX_PROMPT_BYTES} fit, prompt = \"nudge\" takes more",
        prompt.len()
    );
    Err(Refusal::invalid("prompt", why))
}

/// Splits text into words; `None` when a shell would change any of it, and when it has no words.
pub fn plain_words(text: &str) -> Option<Vec<String>> {
    shell_words::split(text).ok().filter(|words| !words.is_empty() && is_plain(text))
}

/// Whether text is words and quotes alone: nothing in it is expanded, joined or redirected, and its first word is no
/// assignment and no word of the shell's own.
fn is_plain(text: &str) -> bool {
    let special = |character: char| {
        matches!(
            character,
            '$' | '`'
                | '\\'
                | '|'
                | '&'
                | ';'
                | '<'
                | '>'
                | '('
                | ')'
                | '*'
                | '?'
                | '['
                | ']'
                | '{'
                | '}'
                | '#'
                | '~'
                | '!'
        ) || character.is_control()
    };
    !text.contains(special)
        && matches!(super::command_line::leading_word(text), super::command_line::LeadingWord::Program(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Program {
        Program { shell_text: text.into(), argv: None }
    }

    const TAKEN: &str = "set -- \"$FAIRWAY_INITIAL_PROMPT\"\nunset FAIRWAY_INITIAL_PROMPT\n";
    const HOSTILE: &str = "say \"hi\"; $(touch x) `id` 'q'\n--flag $1";

    #[test]
    fn prompt_by_argument_is_one_word_and_not_in_the_shell_text() {
        let words = Program { shell_text: "a 'b c'".into(), argv: Some(vec!["a".into(), "b c".into()]) };
        for program in [words, text("a 'b c'")] {
            let with = pass_as_argument(&program, HOSTILE).unwrap();
            assert_eq!(with.argv.unwrap(), ["a", "b c", HOSTILE]);
            assert_eq!(with.shell_text, format!("{TAKEN}exec a 'b c' \"$1\""));
        }
        let placed = pass_as_argument(&text("cd x && a --say \"$1\""), HOSTILE).unwrap();
        assert_eq!(placed.argv.unwrap(), ["/bin/sh", "-c", "cd x && a --say \"$1\"", "sh", HOSTILE]);
        assert_eq!(placed.shell_text, format!("{TAKEN}cd x && a --say \"$1\""));
        for unclear in ["cd x && a", "A=1 a", "a # note", "a $HOME", "a 'b", "", "a*"] {
            assert_eq!(pass_as_argument(&text(unclear), "x").unwrap_err().code(), "usage", "{unclear}");
        }
    }

    #[test]
    fn prompt_by_pipe_is_not_in_the_shell_text() {
        let piped = pass_on_stdin(&text("a; b # note"), HOSTILE).unwrap();
        assert_eq!(
            piped.shell_text,
            "printf %s \"$FAIRWAY_INITIAL_PROMPT\" | (unset FAIRWAY_INITIAL_PROMPT\na; b # note\n)"
        );
        let exact = Program { shell_text: "a b".into(), argv: Some(vec!["a".into(), "b".into()]) };
        let words = pass_on_stdin(&exact, HOSTILE).unwrap().argv.unwrap();
        assert_eq!(words[3..], ["sh", "a", "b"]);
        assert!(!words.iter().any(|word| word.contains("touch")));
    }

    #[test]
    fn prompt_longer_than_an_argument_is_refused() {
        for way in [pass_as_argument, pass_on_stdin] {
            assert!(way(&text("a"), &"x".repeat(MAX_PROMPT_BYTES)).is_ok());
            assert_eq!(way(&text("a"), &"x".repeat(MAX_PROMPT_BYTES + 1)).unwrap_err().code(), "invalid_value");
        }
    }
}
