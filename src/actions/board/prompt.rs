//! Messages of people that were not delivered.

use super::{facts::Facts, need::Need};
use crate::domain::{
    message::{Message, Recipient},
    need::NeedKind,
};

/// An item for each message of a person to a session that is dead, and for each that expired unread.
pub(super) fn items(facts: &Facts) -> Vec<Need> {
    let open = facts.undelivered.iter().filter_map(|message| undelivered(facts, message));
    let expired = facts.expired.iter().map(|message| {
        let id = message.id;
        let line = format!("message {id} expired before {} read it", message.to);
        let need =
            Need::new(NeedKind::Prompt, &id.to_string(), Some(message.at), line, format!("message {id}, expired"));
        match facts.session(&message.to) {
            Some(one) if super::facts::may_work(one) => {
                need.session(one).then("send it again", format!("fairway prompt {} TEXT", message.to))
            }
            _ => need.then("read it", format!("fairway outbox list --all --to-session {}", message.to)),
        }
    });
    open.chain(expired).collect()
}

fn undelivered(facts: &Facts, message: &Message) -> Option<Need> {
    let Recipient::Session(session) = &message.to else { return None };
    let id = message.id;
    let one = facts.session(session);
    let why = match one {
        Some(one) if one.is_over() => format!("{session} works no more"),
        _ => "its time to live is over".to_owned(),
    };
    let line = format!("message {id} to {session} was not delivered: {why}");
    let evidence = format!("message {id}, {}", message.status);
    let need = Need::new(NeedKind::Prompt, &id.to_string(), Some(message.created_at), line, evidence);
    let need = one.into_iter().fold(need, Need::session);
    Some(need.then("withdraw it", format!("fairway outbox withdraw {id}")))
}
