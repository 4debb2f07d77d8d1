//! The arguments that a provider's profile adds to the program of a launch: hooks, directories and a conversation directly
//! after the program's name, the first prompt at the end.

use fairway_core::config::ProviderProfile;
use fairway_core::domain::Refusal;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::initial_prompt::{Program, plain_words};

/// The sentence that starts an agent's first turn. A hook delivers the prompt itself, so that no command line contains it.
pub const FIRST_SENTENCE: &str = "Run `fairway prime` and begin.";

/// The word after which all words are operands.
const END_OF_OPTIONS: &str = "--";

/// The arguments of a program, with its name first, so that others can be added: its exact arguments, or those of shell text that
/// is nothing but plain arguments. `None` for other shell text.
pub(crate) fn words_of(program: &Program) -> Option<Vec<String>> {
    let words = program.argv.clone().or_else(|| plain_words(&program.shell_text));
    words.filter(|words| !words.is_empty())
}

/// The program with arguments directly after its name, and others at its end. A `--` in `at_end` is left out when `words` has
/// one.
pub(crate) fn with_args(mut words: Vec<String>, behind_name: Vec<String>, at_end: Vec<String>) -> Program {
    let has_end = words.iter().any(|word| word == END_OF_OPTIONS);
    words.splice(1..1, behind_name);
    words.extend(at_end.into_iter().filter(|word| !(has_end && word == END_OF_OPTIONS)));
    Program { shell_text: shell_words::join(&words), argv: Some(words) }
}

/// Replaces the placeholder `place` in each of `args` by `value`.
pub(crate) fn fill(args: &[String], place: &str, value: &str) -> Vec<String> {
    args.iter().map(|arg| arg.replace(place, value)).collect()
}

/// Repeats `args` once for each of `values`, and replaces the placeholder `place` in them by that value.
pub(crate) fn fill_each(args: &[String], place: &str, values: &[String]) -> Vec<String> {
    values.iter().flat_map(|value| fill(args, place, value)).collect()
}

/// The arguments that resume a conversation.
///
/// # Errors
/// `usage` when the profile has no `resume_args`, or when the conversation's id is empty, begins with `-` or has control
/// characters.
pub(crate) fn resume(profile: &ProviderProfile, provider: &Label, conversation: &str) -> Result<Vec<String>, Refusal> {
    let cannot = |why: String| Refusal::Usage { why: format!("the conversation cannot be resumed: {why}") };
    let Some(args) = &profile.resume_args else {
        return Err(cannot(format!("the profile of the provider {provider} has no resume_args")));
    };
    if conversation.is_empty() || conversation.starts_with('-') || conversation.contains(char::is_control) {
        return Err(cannot("its id is not valid".to_owned()));
    }
    Ok(fill(args, "{conversation}", conversation))
}

/// The first of the user's arguments in `words` that sets the same option as one of `args`; `None` without one. Arguments after
/// `--` do not count. When `args` has options of the form `KEY=VALUE`, it is the first argument that sets the same key, a key
/// below it or a key above it.
pub(crate) fn conflict<'a>(words: &'a [String], args: &[String]) -> Option<&'a str> {
    let own = words.iter().skip(1).take_while(|word| *word != END_OF_OPTIONS).map(String::as_str);
    let keys: Vec<&str> = args.iter().filter_map(|arg| key_of(arg)).collect();
    let options: Vec<&str> = args.iter().map(String::as_str).filter(|arg| arg.starts_with('-')).collect();
    own.into_iter().find(|word| {
        if keys.is_empty() {
            let name = word.split_once('=').map_or(*word, |(name, _)| name);
            return options.contains(&name);
        }
        // `--config=KEY=VALUE`, `-cKEY=VALUE` and `KEY=VALUE`.
        let value = match word.split_once('=') {
            Some((name, rest)) if name.starts_with("--") => rest,
            _ => word.strip_prefix('-').and_then(|rest| rest.get(1..)).unwrap_or(word),
        };
        key_of(value).is_some_and(|theirs| keys.iter().any(|ours| is_same_or_part(theirs, ours)))
    })
}

/// Whether two dotted keys are equal, or one lies below the other.
fn is_same_or_part(one: &str, other: &str) -> bool {
    let below =
        |key: &str, parent: &str| key.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    below(one, other) || below(other, one)
}

/// The dotted key of `KEY=VALUE`; `None` for any other text.
fn key_of(arg: &str) -> Option<&str> {
    let (key, _) = arg.split_once('=')?;
    let is_key = |character: char| character.is_ascii_alphanumeric() || "._".contains(character);
    (!key.is_empty() && key.chars().all(is_key)).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_stand_behind_the_name_and_the_prompt_at_the_end() {
        let end = || vec!["--".to_owned(), "a sentence".to_owned()];
        let with = |text: &str| with_args(words(text), words("--hooks f"), end()).shell_text;
        assert_eq!(with("agent --tools a b"), "agent --hooks f --tools a b -- 'a sentence'");
        assert_eq!(with("agent -- x"), "agent --hooks f -- x 'a sentence'");
        for text in ["cd x && agent", "A=1 agent", "agent $HOME", ""] {
            assert_eq!(words_of(&Program { shell_text: text.into(), argv: None }), None, "{text}");
        }
    }

    #[test]
    fn option_or_key_of_the_user_is_a_conflict_and_another_key_is_none() {
        let of = |text: &str, args: &str| conflict(&words(text), &words(args)).map(str::to_owned);
        for text in ["agent --settings x", "agent -p --settings=x"] {
            assert!(of(text, "--settings /f").is_some(), "{text}");
        }
        assert_eq!(of("agent --settingsx --model a -- --settings", "--settings /f"), None);
        for text in ["a -c hooks.Stop=[]", "a -chooks.Stop=[]", "a --config hooks={}", "a --config=hooks.Stop=1"] {
            assert!(of(text, "-c hooks.Stop=[1]").is_some(), "{text}");
        }
        for text in ["a -c model=x", "a -c hooks.Start=[]", "a -c hooksx=1", "a -- hooks.Stop=1"] {
            assert_eq!(of(text, "-c hooks.Stop=[1]"), None, "{text}");
        }
    }

    #[test]
    fn conversation_that_reads_like_an_option_is_refused() {
        let provider = Label::parse("agent").unwrap();
        let profile =
            ProviderProfile { resume_args: Some(words("resume {conversation}")), ..ProviderProfile::default() };
        assert_eq!(resume(&profile, &provider, "a-1").unwrap(), ["resume", "a-1"]);
        for id in ["-x", "", "a\nb"] {
            assert_eq!(resume(&profile, &provider, id).unwrap_err().code(), "usage", "{id}");
        }
        assert_eq!(resume(&ProviderProfile::default(), &provider, "a").unwrap_err().code(), "usage");
    }
}
