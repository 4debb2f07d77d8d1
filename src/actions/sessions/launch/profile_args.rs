//! The arguments that a provider's profile adds to the program of a launch, directly behind the program's name.

use super::request::LaunchRequest;
use crate::{
    config::ProviderProfile,
    domain::{
        Refusal,
        id::Label,
        rules::initial_prompt::{Program, plain_words},
    },
};

/// The place of a conversation's id in `resume_args`.
const CONVERSATION: &str = "{conversation}";

/// The program with the arguments that the request needs from the profile.
///
/// # Errors
/// `usage` when the conversation to resume cannot be named to the program.
pub(crate) fn add(
    program: Program,
    profile: &ProviderProfile,
    provider: &Label,
    request: &LaunchRequest,
    _notes: &mut Vec<String>,
) -> Result<Program, Refusal> {
    let Some(conversation) = &request.resume else { return Ok(program) };
    let cannot = |why: String| Refusal::Usage { why: format!("the conversation cannot be resumed: {why}") };
    if request.no_profile {
        return Err(cannot("the launch takes no arguments from the profile".to_owned()));
    }
    let Some(args) = &profile.resume_args else {
        return Err(cannot(format!("the profile of the provider {provider} has no resume_args")));
    };
    if conversation.starts_with('-') {
        return Err(cannot("its id begins with a hyphen".to_owned()));
    }
    let args = args.iter().map(|arg| arg.replace(CONVERSATION, conversation)).collect();
    insert(program, args).ok_or_else(|| cannot("the command is shell text of more than one program".to_owned()))
}

/// The program with these arguments directly behind its name. `None` when the program is text that only a shell can read.
fn insert(program: Program, args: Vec<String>) -> Option<Program> {
    let mut words = match program.argv {
        Some(words) => words,
        None => plain_words(&program.shell_text)?,
    };
    words.splice(1.min(words.len())..1.min(words.len()), args);
    Some(Program { shell_text: shell_words::join(&words), argv: Some(words) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Program {
        Program { shell_text: text.into(), argv: None }
    }

    #[test]
    fn arguments_stand_behind_the_name_of_plain_words_only() {
        let with = |text: &str| insert(program(text), vec!["--resume".into(), "a b".into()]);
        assert_eq!(with("claude --model x").unwrap().argv.unwrap(), ["claude", "--resume", "a b", "--model", "x"]);
        assert_eq!(with("'my claude'").unwrap().shell_text, "'my claude' --resume 'a b'");
        for text in ["cd x && claude", "A=1 claude", "claude $HOME"] {
            assert_eq!(with(text), None, "{text}");
        }
    }
}
