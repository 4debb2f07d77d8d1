//! Selecting a choice of a dialog on a session's screen, with recorded keys, and only while exactly this dialog is shown.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::question;
use super::running_session::RunningSession;
use crate::App;
use fairway_core::adapters::AdapterError;
use fairway_core::adapters::plumbing::transcript;
use fairway_core::adapters::plumbing::transcript_screen::{self, PrintedBy};
use fairway_core::config::DialogProfile;
use fairway_core::domain::rules::screen_dialog::{self, Dialog};
use fairway_core::domain::session::Session;
use fairway_core::os::poll_until::poll_until;

/// How many lines are read when the backend script cannot show the visible screen itself.
const SCREEN_LINES: u32 = 60;
/// How long the program may take to close the dialog. On a busy machine it may read no input for a while.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(60);
/// More than a program prints to draw a screen.
const MAX_TRANSCRIPT_BYTES: u64 = 256 << 10;

/// The reason why nothing was typed, or why the typed keys had no effect.
pub(crate) type NotTaken = String;

/// The dialogs that the profile of a session's provider describes; none for a session without a terminal.
#[derive(Debug)]
pub(crate) struct RecordedDialogs {
    /// The dialog that asks for a permission.
    pub permission: Option<DialogProfile>,
    /// The dialog that asks a question with choices.
    pub choice: Option<DialogProfile>,
}

impl RecordedDialogs {
    pub(crate) fn of(app: &App, session: &Session) -> Self {
        let profile = question::profile(app, session);
        let has_screen = session.has_terminal() && session.adapter_script.is_some();
        let is_usable = |dialog: &DialogProfile| has_screen && dialog.shape().is_some();
        Self {
            permission: profile.facts.permission_dialog.filter(is_usable),
            choice: profile.facts.choice_dialog.filter(is_usable),
        }
    }
}

/// Whether a session shows this dialog about this text, for readers, who call no backend: by the end of its transcript. True where
/// there is none.
pub(crate) fn may_show(session: &Session, profile: &DialogProfile, about: &str) -> bool {
    let (Some(path), Some(shape)) = (session.transcript.as_deref(), profile.shape()) else { return true };
    let Ok((printed, _)) = transcript::end(Path::new(path), MAX_TRANSCRIPT_BYTES) else { return true };
    let lines = usize::try_from(SCREEN_LINES).unwrap_or(usize::MAX);
    let screen = transcript_screen::of_text(&printed, PrintedBy::Terminal, lines);
    screen_dialog::find(&screen, shape).is_some_and(|dialog| dialog.is_about(about))
}

/// Selects the choice whose number `choose` returns, by pressing its keys, and waits until the dialog is gone. Calls `record`
/// right before the first key, and checks the screen before each key. The inner `Err` says why the choice was not made, or why
/// the dialog is still there.
///
/// # Errors
/// Those of the backend and of `record`.
pub(crate) fn take(
    live: &RunningSession,
    profile: &DialogProfile,
    choose: impl FnOnce(&Dialog) -> Result<usize, NotTaken>,
    record: impl FnOnce() -> Result<()>,
) -> Result<Result<(), NotTaken>> {
    let Some(shown) = on_screen(live, profile)? else {
        return Ok(Err("its screen does not show a dialog whose keys are recorded".to_owned()));
    };
    let keys = match choose(&shown) {
        Ok(number) => profile.keys_of(number),
        Err(why) => return Ok(Err(why)),
    };
    let Some(keys) = keys else { return Ok(Err("no keys are recorded for this choice".to_owned())) };
    record()?;
    for key in &keys {
        if on_screen(live, profile)?.as_ref() != Some(&shown) {
            return Ok(Err("its screen has just changed".to_owned()));
        }
        match live.adapter.send_keys(live.backend_name(), &[key.as_str()]) {
            Err(AdapterError::Unsupported { .. }) => return Ok(Err("its backend cannot press keys".to_owned())),
            pressed => pressed?,
        }
    }
    let mut failed = None;
    let closed = poll_until(CLOSE_TIMEOUT, POLL_INTERVAL, || match on_screen(live, profile) {
        Ok(now) if now.as_ref() == Some(&shown) => None,
        Ok(_) => Some(()),
        Err(error) => {
            failed = Some(error);
            Some(())
        }
    });
    match (failed, closed) {
        // A program that ends with the answer has no screen any more.
        (Some(_), _) | (None, Some(())) => Ok(Ok(())),
        (None, None) => Ok(Err(format!("the keys ({}) were pressed, and the dialog is still there", keys.join(" ")))),
    }
}

/// The recorded dialog, when it is at the end of the session's screen.
fn on_screen(live: &RunningSession, profile: &DialogProfile) -> Result<Option<Dialog>> {
    let Some(shape) = profile.shape() else { return Ok(None) };
    match live.adapter.visible_screen(live.backend_name(), SCREEN_LINES) {
        Ok(shown) => Ok(screen_dialog::find(&shown, shape)),
        Err(AdapterError::Unsupported { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
