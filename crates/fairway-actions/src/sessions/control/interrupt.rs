//! Interrupting a session.

use anyhow::Result;

use super::question;
use super::running_session::{self, RunningSession};
use crate::core::lookup;
use crate::sessions::adapter_endpoint;
use crate::{Answer, App};
use fairway_core::domain::message::Recipient;
use fairway_core::domain::session::Activity;
use fairway_core::domain::{EventKind, Refusal, SessionId, terminal_keys};
use fairway_core::store::messages;
use fairway_core::wire::SessionView;

/// Interrupts the work of a session's program. Types the keys that its provider's profile names; without any, the backend
/// interrupts the program, as Ctrl-C would. The program may ignore that. Without `force`, an idle session is left alone if it is structured or
/// has such keys, and the call is refused while the program asks whether a directory or hooks are trusted.
///
/// # Errors
/// `session_final`, `session_gone`, `session_mismatch`, `session_asks`; `invalid_value` for configured keys that are not names
/// of keys; the `adapter_` codes.
pub fn interrupt(app: &App, id: &SessionId, force: bool) -> Result<Answer> {
    if !force && let Some(answer) = nothing_to_interrupt(app, id)? {
        return Ok(answer);
    }
    let answer = running_session::run_idempotent(
        app,
        id,
        &words(id),
        |live| {
            if !force {
                question::refuse_trust_question(app, live)?;
            }
            press(app, live)
        },
        |live| Some(live.event(EventKind::SessionInterrupted)),
        format!("interrupted {id}"),
    )?;
    let waiting = app.read(|tx| Ok(messages::open_for(tx, &Recipient::Session(id.clone()))?.len()))?;
    Ok(match waiting {
        0 => answer,
        1 => answer.note(format!("1 prompt waits for {id}; it expires if the program ends: fairway outbox --to {id}")),
        several => answer.note(format!(
            "{several} prompts wait for {id}; they expire if the program ends: fairway outbox --to {id}"
        )),
    })
}

fn words(id: &SessionId) -> [&str; 3] {
    ["session", "interrupt", id.as_str()]
}

/// The answer for an idle session, in which no key is pressed. At an input line the provider's keys do other things: pressed
/// twice, they open the history of some programs, where a typed text and its Enter would go back in the conversation.
fn nothing_to_interrupt(app: &App, id: &SessionId) -> Result<Option<Answer>> {
    let session = app.read(|tx| lookup::session(tx, id))?;
    if !session.status.is_final() {
        adapter_endpoint::refuse_elsewhere(app, &session, &words(id))?;
    }
    let is_idle = session.activity == Activity::Idle && !session.status.is_final();
    if is_idle && session.is_structured() {
        return Answer::new(&SessionView::from(&session), id, format!("unchanged: {id} is idle")).map(Some);
    }
    if !is_idle
        || !session.has_terminal()
        || question::profile(app, &session).interrupt_keys.is_none_or(|keys| keys.is_empty())
    {
        return Ok(None);
    }
    let answer = Answer::new(&SessionView::from(&session), id, format!("unchanged: {id} is idle"))?;
    Ok(Some(answer.note(format!("to press the keys all the same: fairway session interrupt {id} --force"))))
}

/// Presses the keys with which the provider's profile interrupts a turn. When the profile names none, or the session has no
/// terminal, the backend interrupts the program. Configured keys are never replaced by Ctrl-C, which ends the idle program of
/// some providers.
pub(crate) fn press(app: &App, live: &RunningSession) -> Result<()> {
    let name = live.backend_name();
    let keys = question::profile(app, &live.session).interrupt_keys.filter(|keys| !keys.is_empty());
    match keys.filter(|_| live.session.has_terminal()) {
        Some(keys) => {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            check_keys(&keys)?;
            Ok(live.adapter.send_keys(name, &keys)?)
        }
        None => Ok(live.adapter.interrupt(name)?),
    }
}

/// Accepts only names of keys that submit nothing. Any other word would be typed as text.
fn check_keys(keys: &[&str]) -> Result<(), Refusal> {
    let is_key = |key: &str| key != "Enter" && key.chars().count() > 1 && terminal_keys::parse(key, false).is_some();
    match keys.iter().find(|key| !is_key(key)) {
        None => Ok(()),
        Some(key) => {
            let why =
                format!("contains '{}', which is not the name of a key such as Escape or C-c", key.escape_debug());
            Err(Refusal::invalid("interrupt_keys", why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_keys_other_than_key_names_are_refused() {
        assert_eq!(check_keys(&["Escape", "Escape", "C-c"]), Ok(()));
        for bad in ["Enter", "y", "yes", "", "\n", "git push"] {
            assert_eq!(check_keys(&["Escape", bad]).unwrap_err().code(), "invalid_value", "{bad:?}");
        }
    }
}
