//! Snapshots of the store: listing them, and restoring the newest one.

use anyhow::Result;
use serde_json::json;

use super::backup;
use crate::{
    actions::{Answer, App},
    domain::{Refusal, age, plural, refusal::SNAPSHOT},
    store::{
        events, progress,
        snapshots::{self, Snapshot},
    },
    wire::{MissingEventsView, SnapshotView},
};

/// The number of lost events that are named.
const MAX_NAMED: usize = 20;

/// The snapshots of this project's store, newest first.
pub fn list(app: &App) -> Vec<SnapshotView> {
    let found = app.project.outside_dir().map(|outside| snapshots::list(&outside)).unwrap_or_default();
    found.iter().map(view).collect()
}

/// Restores the newest snapshot. The answer says which events are missing since.
///
/// # Errors
/// `not_found` without a snapshot; as [`backup::restore`].
pub fn restore_latest(app: &App) -> Result<Answer> {
    backup::refuse_on_server(app)?;
    let outside = app.project.outside_dir();
    let newest = outside.as_deref().and_then(|outside| snapshots::list(outside).into_iter().next());
    let (Some(outside), Some(newest)) = (outside, newest) else {
        return Err(Refusal::not_found(SNAPSHOT, app.project.store.display().to_string()).into());
    };
    let mut named = Vec::new();
    let mut readable = 0;
    // The events that the present store still has. A damaged store may have none.
    let _ = app.with_fresh_store().read(|tx| {
        events::for_each_since(tx, newest.event, |event| {
            readable = readable.max(event.seq);
            if named.len() < MAX_NAMED {
                let about = event.task.or(event.session).or(event.lane).unwrap_or_default();
                named.push(format!("{} {} {about}", event.seq, event.kind).trim_end().to_owned());
            }
            Ok(true)
        })?;
        Ok(())
    });
    let last = progress::known(&outside).event.max(readable);
    let missing = (last - newest.event).max(0);
    let mut answer = backup::restore(app, &newest.path)?;
    let made = age::rough(app.env.now().since(newest.at));
    answer = if missing == 0 {
        answer.note(format!("the snapshot is {made} old; nothing is missing since"))
    } else {
        let range = format!("{} to {last}", newest.event + 1);
        let lacks = plural::count(missing, "event");
        answer.note(format!("the snapshot is {made} old; it lacks {lacks} since: {range}"))
    };
    if !named.is_empty() {
        let more = usize::try_from(missing).unwrap_or(named.len()).saturating_sub(named.len());
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        answer = answer.note(format!("missing: {}{rest}", named.join("; ")));
    }
    if let Some(document) = answer.document.as_object_mut() {
        document.insert("snapshot".into(), json!(view(&newest)));
        let (from, to) = (newest.event + 1, last);
        let is_any = missing > 0;
        let range = MissingEventsView { events: missing, from: is_any.then_some(from), to: is_any.then_some(to) };
        document.insert("missing".into(), json!(range));
    }
    Ok(answer)
}

fn view(snapshot: &Snapshot) -> SnapshotView {
    SnapshotView {
        file: snapshot.path.clone(),
        made_at: snapshot.at.to_string(),
        event: snapshot.event,
        bytes: snapshot.bytes,
    }
}
