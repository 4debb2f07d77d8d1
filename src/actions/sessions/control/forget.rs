//! Giving up a session of another host or container that is gone. Nothing here can stop its program, or prove its end: that it is
//! over is the caller's word, which counts once the host is silent.

use anyhow::Result;

use super::stop::claimed_tasks;
use crate::{
    actions::{
        Answer, App,
        core::{
            force_reason::ForceReason,
            inside_session,
            last_heard::{LastHeard, Subject},
            lookup, other_host, session_process,
        },
        sessions::finish::{finish, status_verb},
    },
    domain::{Refusal, SessionId, session::SessionStatus},
    wire::SessionView,
};

/// Records a session of another host or container as failed. Its claims stay; a note names them. The event has `why`.
///
/// # Errors
/// `not_found`; `session_alive` for a session of this host, which can be stopped; `host_alive` without `force` while its host is heard of;
/// `inside_session`, `not_confirmed`.
pub fn forget(app: &App, id: &SessionId, why: Option<&str>, force: Option<&ForceReason>) -> Result<Answer> {
    inside_session::refuse(app, "session forget")?;
    app.mutate(|tx| {
        let session = lookup::session(tx, id)?;
        if session.status.is_final() {
            let line = format!("unchanged: {id} has already {}", status_verb(session.status));
            return Answer::new(&SessionView::from(&session), id, line);
        }
        if session_process::is_local(&session) {
            let why = "it is a session of this host".to_owned();
            return Err(Refusal::SessionAlive { session: id.clone(), why }.into());
        }
        let heard = LastHeard::of_session(tx, &session, tx.now())?;
        let there = other_host::find(tx, &session.host, session.host_id.as_deref())?;
        let subject = Subject {
            name: format!("the session {id}"),
            recorded: &session.host,
            there: Some(there.command(&["session", "stop", id.as_str()])),
            force: format!("fairway session forget {id} --force --reason TEXT"),
        };
        heard.refuse_recent(app, force.is_some(), subject)?;
        let reason = heard.reason(app, why);
        let given_up = finish(tx, &session, SessionStatus::Failed, None, Some(&reason))?;
        let answer = Answer::new(&SessionView::from(&given_up), id, format!("gave up {id}"))?;
        Ok(claimed_tasks(tx, id)?.iter().fold(answer, |answer, task| {
            let release = format!("fairway release {task} --force --reason TEXT");
            answer.note(format!("{task} is still claimed by {id}; to release it: {release}"))
        }))
    })
}
