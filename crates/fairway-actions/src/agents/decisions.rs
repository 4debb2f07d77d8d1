//! What reviewers and landings have decided about a task, for the agent that works on it, until the task is submitted again.

use std::fmt::Write;

use anyhow::Result;
use serde_json::Value;

use crate::App;
use crate::core::lookup;
use fairway_core::domain::message::Message;
use fairway_core::domain::quote::{Mark, quote_up_to};
use fairway_core::domain::review::Verdict;
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{EventKind, TaskId, secrets};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, events, reviews};

/// The verdicts that ask for changes and the reason of the newest landing that sent the task back, since it was submitted last.
/// Reviewers' notes and the reason are shortened to `max_chars` each. Empty for a task that is submitted or closed. What the
/// messages in `mail` tell is left out.
pub(super) fn text(tx: &ReadTx<'_>, task: &Task, mail: &[Message], max_chars: usize) -> Result<String> {
    let mut text = String::new();
    let status = task.state.status();
    if status == TaskStatus::Review || status.is_closed() {
        return Ok(text);
    }
    let submitted = events::newest_of(tx, &task.id, |kind| kind == EventKind::TaskSubmitted)?;
    let submitted = submitted.map_or(Timestamp::from_millis(0), |event| event.at);
    let all = reviews::of_task(tx, &task.id)?;
    for (number, review) in all.iter().enumerate() {
        let later = all.iter().skip(number + 1);
        let is_replaced = later.filter(|later| later.verdict.is_some()).any(|later| later.domain == review.domain);
        if is_replaced
            || is_in(mail, "review", review.id)
            || review.created_at < submitted
            || !matches!(review.verdict, Some(Verdict::Changes | Verdict::Reject))
        {
            continue;
        }
        let what = if review.verdict == Some(Verdict::Reject) { "rejects it" } else { "asks for changes" };
        let _ = writeln!(text, "{} {what} in the domain '{}' (review {}):", review.actor, review.domain, review.id);
        let notes = review.notes.as_deref().unwrap_or_default();
        text.push_str(&quote_up_to(&secrets::mask(notes), max_chars, Mark::of_author(&review.actor)));
    }
    let sent_back = events::newest_of(tx, &task.id, |kind| kind == EventKind::TaskSentBack)?;
    if let Some(event) = sent_back.filter(|event| event.at >= submitted)
        && let landing = event.data["landing"].as_i64().unwrap_or_default()
        && !is_in(mail, "landing", landing)
    {
        let why = event.data["error"].as_str().unwrap_or_default();
        let _ = writeln!(text, "Landing {landing} has sent it back:");
        text.push_str(&quote_up_to(&secrets::mask(why), max_chars, Mark::Data));
    }
    Ok(text)
}

/// [`text`] about a task as it is now, whatever messages tell.
pub fn of_task(app: &App, id: &TaskId, max_chars: usize) -> Result<String> {
    app.read(|tx| text(tx, &lookup::task(tx, id)?, &[], max_chars))
}

/// Whether a message tells about the review or landing with this id.
fn is_in(mail: &[Message], key: &str, id: i64) -> bool {
    let metadata = mail.iter().filter(|message| message.is_decision()).filter_map(|one| one.metadata.as_deref());
    metadata.filter_map(|text| serde_json::from_str::<Value>(text).ok()).any(|about| about[key] == id)
}
