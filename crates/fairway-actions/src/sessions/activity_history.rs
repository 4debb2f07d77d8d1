//! The activities of a session over time, as stretches of one activity each, read from its events.

use anyhow::Result;

use crate::App;
use crate::core::lookup;
use fairway_core::domain::session::Activity;
use fairway_core::domain::{EventKind, SessionId};
use fairway_core::env::Timestamp;
use fairway_core::store::events::{self, LoggedEvent};

/// The largest number of activity changes that are read. Older ones are left out.
const MAX_CHANGES: usize = 400;

/// A time in which a session had one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub activity: Activity,
    pub since: Timestamp,
    /// When it ended; for the last stretch of a live session, the time of the reading.
    pub until: Timestamp,
}

/// Returns the stretches of the session's current run, oldest first, until the session's end or until `now` while it lives. Only
/// the newest 400 changes of its activity count: when there are as many, the time before them is left out.
///
/// # Errors
/// `not_found` for an unknown session.
pub fn stretches(app: &App, id: &SessionId, now: Timestamp) -> Result<Vec<Stretch>> {
    let (session, changes) = app.read(|tx| {
        let session = lookup::session(tx, id)?;
        let mut changes = Vec::new();
        events::for_each_of_session(
            tx,
            id,
            |kind| kind == EventKind::SessionActivity,
            |event| {
                let is_of_run = event.run_id.as_deref() == Some(session.run_id.as_str());
                // An event of a stop changes no activity.
                if is_of_run && text(&event, "to").is_some() {
                    changes.push(event);
                }
                Ok(is_of_run && changes.len() < MAX_CHANGES)
            },
        )?;
        changes.reverse();
        Ok((session, changes))
    })?;
    let until = session.ended_at.unwrap_or(now);
    let mut found: Vec<Stretch> = Vec::new();
    let begin = if changes.len() < MAX_CHANGES { Some(session.started_at) } else { None };
    let first = changes.first().and_then(|event| activity(event, "from")).unwrap_or(session.activity);
    let marks = begin.map(|at| (at, first)).into_iter();
    let marks = marks.chain(changes.iter().filter_map(|event| Some((event.at, activity(event, "to")?))));
    for (at, activity) in marks {
        if let Some(last) = found.last_mut() {
            if last.activity == activity {
                continue;
            }
            last.until = at;
        }
        found.push(Stretch { activity, since: at, until });
    }
    found.retain(|one| one.until > one.since);
    Ok(found)
}

fn text<'a>(event: &'a LoggedEvent, field: &str) -> Option<&'a str> {
    event.data.get(field)?.as_str()
}

fn activity(event: &LoggedEvent, field: &str) -> Option<Activity> {
    Activity::parse(text(event, field)?)
}
