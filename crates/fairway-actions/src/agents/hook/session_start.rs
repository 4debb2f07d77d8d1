//! The start of a session.

use std::fs;

use anyhow::Result;

use super::event::{HookCaller, HookOutcome, Reply, StartKind};
use super::resolve_session;
use crate::App;
use crate::agents::runtime;
use crate::agents::runtime::context::Mode;
use crate::core::session_events;
use fairway_core::domain::rules::session_machine::{Report, SessionEvent};
use fairway_core::domain::session::Activity;
use fairway_core::store::session_reports;

/// The end of a context that was cut to the provider's limit.
const TRUNCATION_NOTE: &str = "\n… shortened; full text: fairway prime\n";

/// Finds or registers the session and answers with its context. The answer is empty for a subagent, for an ended session, and
/// for a session whose supervisor delivers the context.
pub(super) fn handle(app: &App, caller: &HookCaller, start: StartKind) -> Result<HookOutcome> {
    if caller.is_subagent {
        return resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| HookOutcome::of(Reply::Nothing));
    }
    // Usage already in the transcript was before this session.
    let length = caller.transcript.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    let found = resolve_session::find_or_create(app, caller, Some(start), |tx, session| {
        if let Some(path) = &caller.transcript
            && session_reports::find(tx, &session.id)?.usage_path.as_ref() != Some(path)
        {
            session_reports::set_usage_offset(tx, &session.id, path, i64::try_from(length).unwrap_or_default())?;
        }
        // A compaction happens during a turn.
        if start != StartKind::Compacted {
            let idle = Report::of(Activity::Idle, None, caller.source());
            session_events::apply(tx, session, &SessionEvent::Lives(idle))?;
            session_reports::reset_turn(tx, &session.id)?;
        }
        Ok(())
    })?;
    let Some(session) = found.ok().filter(|session| !caller.is_beside_supervisor(session)) else {
        return Ok(HookOutcome::of(Reply::Nothing));
    };
    let mode = match start {
        StartKind::Fresh | StartKind::Switched => Mode::Full,
        StartKind::Resumed | StartKind::Compacted => Mode::Resume,
    };
    let app = resolve_session::app_as(app, &session);
    let text = runtime::context::format_text(&runtime::context::compose(&app, Some(&session), mode)?);
    let text = truncate_to_lines(&text, caller.max_output_bytes);
    Ok(HookOutcome::of(if text.trim().is_empty() { Reply::Nothing } else { Reply::Context(text) }))
}

/// `text` cut to at most `max_bytes`, at a line end if possible.
fn truncate_to_lines(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(max_bytes.saturating_sub(TRUNCATION_NOTE.len()));
    let head = text.get(..end).unwrap_or_default();
    let head = head.rfind('\n').and_then(|line| head.get(..line)).unwrap_or(head);
    format!("{head}{TRUNCATION_NOTE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_context_ends_with_a_whole_line_and_says_so() {
        assert_eq!(truncate_to_lines("short\n", 100), "short\n");
        let long = "a line of words\n".repeat(20);
        let short = truncate_to_lines(&long, 120);
        assert!(short.len() <= 120 && short.ends_with(TRUNCATION_NOTE), "{short:?}");
        assert!(short.starts_with("a line of words\n"));
        assert!(truncate_to_lines(&"ä".repeat(200), 101).len() <= 101);
    }
}
