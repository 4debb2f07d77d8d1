//! Sending one text to every session of an audience: a session, a lane, a role, or all.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::send::PreparedPrompt;
use crate::{
    actions::{
        Answer, App,
        core::{lookup, message_state::expire},
    },
    domain::{LaneName, Refusal, Role, SessionId, message::Priority, session::Session},
    store::{ReadTx, lanes, sessions},
};

/// The sessions that a text is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// One session.
    Session(SessionId),
    /// The live sessions of a lane.
    Lane(LaneName),
    /// The live sessions of a role.
    Role(Role),
    /// A name without a prefix: a session, unless a lane or role has the same name.
    Name(SessionId),
    /// All live sessions.
    All,
}

impl Audience {
    /// Reads `session:ID`, `lane:NAME`, `role:NAME` or a session's id.
    ///
    /// # Errors
    /// `invalid_value`.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        Ok(match text.split_once(':') {
            Some(("session", id)) => Self::Session(SessionId::parse(id)?),
            Some(("lane", name)) => Self::Lane(LaneName::parse(name)?),
            Some(("role", name)) => Self::Role(Role::parse(name)?),
            _ => Self::Name(SessionId::parse(text)?),
        })
    }
}

/// Queues a prompt for each session of an audience, in one change. The acting session is in no lane, role or `All` of its own.
/// Returns the answer and the sessions. To have the prompts delivered at once, call [`super::try_deliver`] for each.
///
/// # Errors
/// `not_found`, `ambiguous`, `session_final`, `invalid_value`.
pub fn send_to(
    app: &App,
    audience: &Audience,
    content: &str,
    priority: Priority,
    ttl: Option<Duration>,
) -> Result<(Answer, Vec<SessionId>)> {
    let prepared = PreparedPrompt::of_text(app, content, priority, ttl)?;
    let answer = app.mutate(|tx| {
        expire(tx)?;
        let recipients = recipients(tx, audience, app.actor.session.as_ref())?;
        let (mut views, mut names, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        let mut line = String::new();
        for session in &recipients {
            let queued = prepared.queue(tx, session)?;
            names.extend(queued.ids.iter().map(|id| format!("{id} to {}", session.id)));
            ids.extend(queued.ids);
            line = queued.line;
            views.push(queued.document);
        }
        if recipients.len() > 1 {
            line = format!("queued {} prompts: {}", recipients.len(), names.join(", "));
        }
        let mut answer = Answer::new(&json!({ "sent": views }), "", line)?;
        answer.ids = ids;
        Ok(answer)
    })?;
    let sent = answer.document["sent"].as_array().into_iter().flatten();
    let sessions = sent.filter_map(|view| SessionId::parse(view["message"]["to_session"].as_str()?).ok()).collect();
    Ok((answer, sessions))
}

fn recipients(tx: &ReadTx<'_>, audience: &Audience, sender: Option<&SessionId>) -> Result<Vec<Session>> {
    let live = |matches: &dyn Fn(&Session) -> bool, of: String, later: Option<String>| -> Result<Vec<Session>> {
        let mut found = sessions::live(tx)?;
        found.retain(|session| matches(session) && Some(&session.id) != sender);
        if found.is_empty() { Err(Refusal::NoLiveSession { of, later }.into()) } else { Ok(found) }
    };
    match audience {
        Audience::Session(id) => Ok(vec![lookup::session(tx, id)?]),
        Audience::Lane(name) => {
            lookup::lane(tx, name)?;
            let later = Some(format!("--to-lane {name}"));
            live(&|session| session.lane.as_ref() == Some(name), format!("the lane {name}"), later)
        }
        Audience::Role(role) => {
            live(&|session| session.role == *role, format!("the role {role}"), Some(format!("--to-role {role}")))
        }
        Audience::All => live(&|_| true, "the project".into(), None),
        Audience::Name(id) => Ok(vec![named(tx, id)?]),
    }
}

/// The session of a name that no lane or role has too.
fn named(tx: &ReadTx<'_>, id: &SessionId) -> Result<Session> {
    let mut others = Vec::new();
    if let Ok(lane) = LaneName::parse(id.as_str())
        && lanes::find(tx, &lane)?.is_some()
    {
        others.push(format!("lane:{id}"));
    }
    if sessions::live(tx)?.iter().any(|session| session.role.as_str() == id.as_str()) {
        others.push(format!("role:{id}"));
    }
    match sessions::find(tx, id)? {
        Some(session) if others.is_empty() => Ok(session),
        Some(_) => {
            let found = std::iter::once(format!("session:{id}")).chain(others).collect();
            Err(Refusal::Ambiguous { noun: "recipient", id: id.to_string(), found }.into())
        }
        None if others.is_empty() => lookup::session(tx, id),
        None => Err(Refusal::NotFound { noun: "session", id: id.to_string(), near: others }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_the_kind_of_the_audience() {
        let of = |text: &str| Audience::parse(text);
        assert_eq!(of("session:a"), Ok(Audience::Session(SessionId::parse("a").unwrap())));
        assert_eq!(of("lane:a"), Ok(Audience::Lane(LaneName::parse("a").unwrap())));
        assert_eq!(of("role:a"), Ok(Audience::Role(Role::parse("a").unwrap())));
        assert_eq!(of("a"), Ok(Audience::Name(SessionId::parse("a").unwrap())));
        for wrong in ["", "lane:", "room:a", "lane:a:b", "a b"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
