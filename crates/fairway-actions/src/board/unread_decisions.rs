//! Decisions about an agent's work that it has not read.

use super::facts::{DELIVERY_TIME, Facts, may_work};
use super::need::Need;
use fairway_core::domain::message::{Message, Recipient};
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::rules::waiting;
use fairway_core::domain::secrets;
use fairway_core::domain::session_facts::{NextCommand, SessionOverview};

/// One item for each session that works and has not read a decision for longer than [`DELIVERY_TIME`].
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let mut items = Vec::new();
    for one in facts.sessions.iter().filter(|one| may_work(one)) {
        let to = Recipient::Session(one.session.id.clone());
        let mut unread = facts.decisions.iter().filter(|message| message.to == to && is_late(message, facts));
        if let Some(first) = unread.next() {
            items.push(item(facts, one, first, unread.count()));
        }
    }
    items
}

/// Whether a message should have been read by now, and no channel is showing it.
fn is_late(message: &Message, facts: &Facts) -> bool {
    let is_shown = message.is_offered(facts.now) && !message.is_typed();
    !is_shown && !message.is_expired(facts.now) && message.created_at.plus(DELIVERY_TIME) <= facts.now
}

fn item(facts: &Facts, one: &SessionOverview, first: &Message, more: usize) -> Need {
    let id = &one.session.id;
    let what = first.content.lines().next().unwrap_or_default();
    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let line = format!("{id} has not read{more}: {}", secrets::mask(what));
    let wait = waiting::of_message(first, &one.session, facts.now);
    let why = wait.as_ref().map(|wait| format!("; {}", wait.text)).unwrap_or_default();
    let evidence = format!("message {}, {}{why}", first.id, first.status);
    let need = Need::new(NeedKind::Decision, id.as_str(), Some(first.created_at), line, evidence).session(one);
    let way_on = wait.and_then(|wait| wait.hint).and_then(|hint| {
        let (purpose, command) = hint.split_once(": ")?;
        Some(NextCommand::new(purpose, command.to_owned()))
    });
    match way_on {
        Some(next) => need.command(&next),
        None if one.session.adapter_script.is_some() => {
            need.then("type it into its terminal", format!("fairway send {id} --queued"))
        }
        None => need.then("see what waits", format!("fairway outbox --to-session {id}")),
    }
}
