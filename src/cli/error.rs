//! How a failure is told: one sentence and the next step on stderr, or one JSON document.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::Value;

use super::exit::Exit;
use crate::{
    env::Env,
    render::{Meaning, Out, OutError, Style, safe_json, safe_line},
    wire::{ErrorDocument, Failure, FailureKind},
};

/// The longest sentence about words that could not be read: they may be anything, a megabyte of it too.
const LONGEST: usize = 400;
/// The longest sentence about anything: it may repeat a value, and a value may be anything too.
const LONGEST_OF_ALL: usize = 1_000;

/// Tells a failure; answers with its exit code.
pub(super) fn told(failure: &Failure, out: &Out) -> Exit {
    let failure = &Failure { message: shortened(&failure.message, LONGEST_OF_ALL), ..failure.clone() };
    if out.json {
        let document = ErrorDocument { error: failure };
        let text = serde_json::to_string(&document).unwrap_or_else(|_| safe_line(&failure.message));
        out.complain(&safe_json(text));
    } else {
        let label = out.remark_style.paint(Meaning::Bad, "error:");
        out.complain(&format!("{label} {}", safe_line(&failure.message)));
        for hint in failure.hint.iter().flat_map(|hint| hint.lines()) {
            out.complain(&format!("{} {}", out.remark_style.paint(Meaning::Faint, "hint:"), safe_line(hint)));
        }
    }
    failure.kind.exit_code()
}

/// Tells what is wrong with words that clap could not read; help and version are results.
pub(super) fn unparsed(error: &clap::Error, words: &[OsString], env: &Env) -> Exit {
    let before_dashes = || words.iter().take_while(|word| *word != "--");
    let out = Out {
        json: before_dashes().any(|word| word == "--json"),
        quiet: false,
        style: Style::choose("auto", env.terminal.stdout, env),
        remark_style: Style::choose("auto", env.terminal.stderr, env),
        width: None,
    };
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let rendered = error.render();
        let text = if env.terminal.stdout { rendered.ansi().to_string() } else { rendered.to_string() };
        return match out.text(&text) {
            Ok(()) | Err(OutError::Closed) => 0,
            Err(error) => told(&failure("output", FailureKind::Failure, error.to_string(), None), &out),
        };
    }
    told(&usage(error), &out)
}

fn usage(error: &clap::Error) -> Failure {
    let rendered = error.render().to_string();
    // The first paragraph is the sentence; tips and usage follow it.
    let sentence = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing".to_owned(),
        _ => {
            let paragraph: Vec<&str> = rendered.lines().take_while(|line| !line.trim().is_empty()).collect();
            paragraph.join(" ").trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ")
        }
    };
    let near = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| match error.get(kind) {
            Some(ContextValue::String(near)) => Some(near.clone()),
            Some(ContextValue::Strings(near)) if !near.is_empty() => Some(near.join(", ")),
            _ => None,
        });
    let usage = error.get(ContextKind::Usage).and_then(|usage| match usage {
        ContextValue::StyledStr(usage) => Some(usage.to_string().trim_start_matches("Usage: ").replace('\n', " ")),
        _ => None,
    });
    let hint = near.map(|near| format!("did you mean {near}?")).or(usage).or_else(|| Some("fairway --help".into()));
    failure("usage", FailureKind::Usage, shortened(&sentence, LONGEST), hint)
}

fn shortened(sentence: &str, longest: usize) -> String {
    if sentence.chars().nth(longest).is_none() {
        return sentence.to_owned();
    }
    let head: String = sentence.chars().take(longest * 3 / 4).collect();
    let length = sentence.chars().count();
    let tail: String = sentence.chars().skip(length.saturating_sub(longest / 4)).collect();
    format!("{head} … {tail}")
}

const fn failure(code: &'static str, kind: FailureKind, message: String, hint: Option<String>) -> Failure {
    Failure { code, kind, message, hint, retryable: false, details: Value::Null }
}
