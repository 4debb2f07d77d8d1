//! A session begins: it is known from now on, and is told what it needs to know.

use std::fs;

use anyhow::Result;

use super::{
    event::{HookCaller, SOURCE, StartKind},
    reply::{HookOutcome, Reply},
    resolve_session,
};
use crate::{
    actions::{
        App,
        boundary::runtime::{self, context::Mode},
        sessions::report::activity,
    },
    domain::session::Activity,
    store::session_reports,
};

/// What stands at the end of a context that is longer than the provider takes.
const TRUNCATION_NOTE: &str = "\n… there is more: fairway prime\n";

/// Registers the session and answers with its context.
///
/// # Errors
/// As the store fails.
pub(super) fn handle(app: &App, caller: &HookCaller, start: StartKind) -> Result<HookOutcome> {
    if caller.is_subagent {
        return resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| HookOutcome::of(Reply::Nothing));
    }
    // What stands in the record already was used before this session.
    let length = caller.transcript.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    let entered = resolve_session::find_or_create(app, caller, Some(start), |tx, session| {
        if let Some(path) = &caller.transcript
            && session_reports::find(tx, &session.id)?.usage_path.as_ref() != Some(path)
        {
            session_reports::set_usage_offset(tx, &session.id, path, i64::try_from(length).unwrap_or_default())?;
        }
        // A summary is made in the midst of a turn.
        if start != StartKind::Compacted {
            activity::set_activity(tx, session, Activity::Idle, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Ok(session) = entered else { return Ok(HookOutcome::of(Reply::Nothing)) };
    let mode = match start {
        StartKind::Fresh | StartKind::Switched => Mode::Full,
        StartKind::Resumed | StartKind::Compacted => Mode::Resume,
    };
    let app = resolve_session::app_as(app, &session);
    let words = runtime::context::format_text(&runtime::context::compose(&app, Some(&session), mode)?);
    let words = truncate_to_lines(&words, caller.max_output_bytes);
    Ok(HookOutcome::of(if words.trim().is_empty() { Reply::Nothing } else { Reply::Context(words) }))
}

/// At most so many bytes, whole lines where it can be.
fn truncate_to_lines(words: &str, room: usize) -> String {
    if words.len() <= room {
        return words.to_owned();
    }
    let end = words.floor_char_boundary(room.saturating_sub(TRUNCATION_NOTE.len()));
    let head = words.get(..end).unwrap_or_default();
    let head = head.rfind('\n').and_then(|line| head.get(..line)).unwrap_or(head);
    format!("{head}{TRUNCATION_NOTE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_context_ends_with_a_whole_line_and_says_so() {
        assert_eq!(truncate_to_lines("short\n", 100), "short\n");
        let long = "a line of words\n".repeat(20);
        let short = truncate_to_lines(&long, 120);
        assert!(short.len() <= 120 && short.ends_with(TRUNCATION_NOTE), "{short:?}");
        assert!(short.starts_with("a line of words\n"));
        assert!(truncate_to_lines(&"ä".repeat(200), 101).len() <= 101);
    }
}
