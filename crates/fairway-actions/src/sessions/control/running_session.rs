//! A session that a command acts on through its backend: it has not ended, it is on this host, and the backend's session of
//! its name belongs to the same session run.

use anyhow::Result;

use crate::core::{errors, lookup};
use crate::sessions::adapter_endpoint;
use crate::{Answer, App};
use fairway_core::adapters::{Adapter, AdapterError, Tristate};
use fairway_core::domain::session::Session;
use fairway_core::domain::{Event, Refusal, SessionId};
use fairway_core::store::WriteTx;
use fairway_core::wire::SessionView;

/// A session and its adapter.
#[derive(Debug)]
pub(crate) struct RunningSession {
    pub(crate) session: Session,
    pub(crate) adapter: Adapter,
}

impl RunningSession {
    /// Finds a session on which its backend can act. `words` are the arguments of the Fairway command that the error suggests
    /// when the session is on another host.
    ///
    /// # Errors
    /// `not_found`, `session_final`, `session_mismatch`, `session_gone`, `untrusted`. It is no error when the backend does not
    /// know whether the session runs.
    pub(crate) fn find(app: &App, id: &SessionId, words: &[&str]) -> Result<Self> {
        let session = app.read(|tx| lookup::session(tx, id))?;
        if session.status.is_final() {
            return Err(Refusal::SessionFinal { session: id.clone(), status: session.status }.into());
        }
        let adapter = adapter_endpoint::adapter(app, &session, words)?;
        if adapter_endpoint::belongs_to_other(&adapter, &session) {
            let why = format!(
                "the backend's session {} belongs to another session run",
                adapter_endpoint::backend_name(&session)
            );
            return Err(Refusal::SessionMismatch { why }.into());
        }
        if adapter.is_running(adapter_endpoint::backend_name(&session)) == Tristate::No {
            return Err(Refusal::SessionExited { session: id.clone(), status: session.status }.into());
        }
        Ok(Self { session, adapter })
    }

    pub(crate) fn backend_name(&self) -> &str {
        adapter_endpoint::backend_name(&self.session)
    }

    /// An event that names the session, its run and its lane.
    pub(crate) fn event(&self, kind: fairway_core::domain::EventKind) -> Event {
        Event::new(kind).session(&self.session.id, &self.session.run_id).lane(self.session.lane.as_ref())
    }
}

/// The note about an operation that the backend script does not support. By the exec session protocol, a script's exit code 2
/// means a success that did nothing. `None` for any other error.
pub(crate) fn unsupported_note(error: &anyhow::Error, session: &SessionId) -> Option<String> {
    let error = error.downcast_ref::<AdapterError>()?;
    let AdapterError::Unsupported { operation, .. } = error else { return None };
    let instead = errors::alternative_hint(operation, session).map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("nothing was done: {error}{instead}"))
}

/// Acts on a running session, once for each `--request-id`: records the intent before `act`, and the event and the answer after
/// it. When `act` fails, the request may be repeated. An operation that the backend script does not support counts as a success
/// that did nothing: the answer gets a note, and no event is recorded.
///
/// # Errors
/// Those of [`RunningSession::find`] and of `act`; `request_open` when an earlier try was interrupted.
pub(crate) fn run_idempotent(
    app: &App,
    id: &SessionId,
    words: &[&str],
    act: impl FnOnce(&RunningSession) -> Result<()>,
    event: impl FnOnce(&RunningSession) -> Option<Event>,
    line: String,
) -> Result<Answer> {
    run_once(app, id, words, act, |tx, live, note| {
        if note.is_none()
            && let Some(event) = event(live)
        {
            tx.record(&event)?;
        }
        let line = if note.is_none() { line } else { format!("unchanged: {id}") };
        let mut answer = Answer::new(&SessionView::from(&lookup::session(tx, id)?), id, line)?;
        answer.notes.extend(note);
        Ok(answer)
    })
}

/// Like [`run_idempotent`], but `done` records the result and makes the answer. `done` gets the note about an operation that
/// the backend script does not support.
///
/// # Errors
/// Those of [`run_idempotent`] and of `done`.
pub(crate) fn run_once(
    app: &App,
    id: &SessionId,
    words: &[&str],
    act: impl FnOnce(&RunningSession) -> Result<()>,
    done: impl FnOnce(&WriteTx<'_>, &RunningSession, Option<String>) -> Result<Answer>,
) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let live = RunningSession::find(app, id, words)?;
    if let Some(answer) = app.record_intent("it is unknown whether the session received it")? {
        return Ok(answer);
    }
    let note = match act(&live) {
        Ok(()) => None,
        Err(error) => match unsupported_note(&error, id) {
            Some(note) => Some(note),
            None => {
                if let Some(request) = &app.idempotency_key {
                    app.transaction(|tx| request.discard_intent(tx))?;
                }
                return Err(error);
            }
        },
    };
    app.transaction(|tx| {
        let answer = done(tx, &live, note)?;
        if let Some(request) = &app.idempotency_key {
            request.store_response(tx, &answer)?;
        }
        Ok(answer)
    })
}
