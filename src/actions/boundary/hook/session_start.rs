//! A session begins: it is known from now on, and is told what it needs to know.

use std::fs;

use anyhow::Result;

use super::{Caller, Outcome, Reply, SOURCE, Start, resolve_session};
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
const CUT: &str = "\n… there is more: fairway prime\n";

/// Registers the session and answers with its context.
///
/// # Errors
/// As the store fails.
pub(super) fn on(app: &App, caller: &Caller, start: Start) -> Result<Outcome> {
    if caller.is_subagent {
        return resolve_session::touch(app, caller, |_, _| Ok(())).map(|_| Outcome::of(Reply::Nothing));
    }
    // What stands in the record already was used before this session.
    let length = caller.transcript.as_ref().and_then(|path| fs::metadata(path).ok()).map_or(0, |found| found.len());
    let entered = resolve_session::enter(app, caller, Some(start), |tx, session| {
        if let Some(path) = &caller.transcript
            && session_reports::find(tx, &session.id)?.usage_path.as_ref() != Some(path)
        {
            session_reports::usage_read(tx, &session.id, path, i64::try_from(length).unwrap_or_default())?;
        }
        // A summary is made in the midst of a turn.
        if start != Start::Compacted {
            activity::does(tx, session, Activity::Idle, None, SOURCE)?;
        }
        Ok(())
    })?;
    let Ok(session) = entered else { return Ok(Outcome::of(Reply::Nothing)) };
    let mode = match start {
        Start::Fresh | Start::Switched => Mode::Full,
        Start::Resumed | Start::Compacted => Mode::Resume,
    };
    let app = resolve_session::acting(app, &session);
    let words = runtime::context::words(&runtime::context::compose(&app, Some(&session), mode)?);
    let words = shortened(&words, caller.room);
    Ok(Outcome::of(if words.trim().is_empty() { Reply::Nothing } else { Reply::Context(words) }))
}

/// At most so many bytes, whole lines where it can be.
fn shortened(words: &str, room: usize) -> String {
    if words.len() <= room {
        return words.to_owned();
    }
    let end = words.floor_char_boundary(room.saturating_sub(CUT.len()));
    let head = words.get(..end).unwrap_or_default();
    let head = head.rfind('\n').and_then(|line| head.get(..line)).unwrap_or(head);
    format!("{head}{CUT}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_context_ends_with_a_whole_line_and_says_so() {
        assert_eq!(shortened("short\n", 100), "short\n");
        let long = "a line of words\n".repeat(20);
        let short = shortened(&long, 120);
        assert!(short.len() <= 120 && short.ends_with(CUT), "{short:?}");
        assert!(short.starts_with("a line of words\n"));
        assert!(shortened(&"ä".repeat(200), 101).len() <= 101);
    }
}
