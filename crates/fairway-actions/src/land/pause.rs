//! `land pause` and `land resume`: while landing is paused, nothing lands on this host.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::core::inside_session;
use crate::{Answer, App};
use fairway_core::config::Permission;
use fairway_core::domain::{Event, EventKind, Refusal};
use fairway_core::env::Timestamp;
use fairway_core::os::files;
use fairway_core::wire::{LandPauseView, LandPausedView};

/// The longest reason, in bytes.
const MAX_REASON_BYTES: usize = 1000;

/// Landing is paused on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandPause {
    pub by: String,
    /// When landing was paused, in milliseconds since 1970.
    since: i64,
    pub reason: Option<String>,
}

impl LandPause {
    pub const fn since(&self) -> Timestamp {
        Timestamp::from_millis(self.since)
    }

    pub(super) fn view(&self) -> LandPauseView {
        LandPauseView { by: self.by.clone(), since: self.since().to_string(), reason: self.reason.clone() }
    }
}

/// The file exists while landing is paused on this host.
fn path(app: &App) -> PathBuf {
    app.project.state.join("land").join("pause.json")
}

/// Returns who paused landing and why, and `None` while landing is not paused. A file of a pause that cannot be read counts as
/// a pause.
pub fn paused(app: &App) -> Option<LandPause> {
    let text = match fs::read(path(app)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        read => read.unwrap_or_default(),
    };
    let unknown = || LandPause { by: "unknown".to_owned(), since: app.env.now().millis(), reason: None };
    Some(serde_json::from_slice(&text).unwrap_or_else(|_| unknown()))
}

pub(super) fn refuse(app: &App) -> Result<(), Refusal> {
    match paused(app) {
        Some(pause) => {
            Err(Refusal::LandPaused { since: pause.since().to_string(), by: pause.by, reason: pause.reason })
        }
        None => Ok(()),
    }
}

/// Pauses landing on this host. A running landing finishes its step.
///
/// # Errors
/// `inside_session`.
pub fn pause(app: &App, reason: Option<String>) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    inside_session::refuse_unless_permitted(app, "fairway land pause", Permission::Land)?;
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    if reason.as_ref().is_some_and(|reason| reason.len() > MAX_REASON_BYTES) {
        let why = format!("is longer than {MAX_REASON_BYTES} bytes");
        return Err(Refusal::invalid("the reason", why).into());
    }
    let pause = LandPause { by: app.actor.name.clone(), since: app.env.now().millis(), reason };
    let path = path(app);
    let write = || {
        files::private_dir(&app.project.state)?;
        files::private_dir(&app.project.state.join("land"))?;
        files::write_atomic(&path, serde_json::to_string(&pause)?.as_bytes(), 0o600)
    };
    write().with_context(|| format!("cannot write {}", path.display()))?;
    let view = LandPausedView { paused: Some(pause.view()) };
    app.mutate(|tx| {
        tx.record(&Event::new(EventKind::LandingPaused).with("reason", pause.reason.as_deref()))?;
        Answer::new(&view, "", "paused landing".to_owned())
    })
}

/// Ends the pause of landing on this host.
///
/// # Errors
/// `inside_session`.
pub fn resume(app: &App) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    inside_session::refuse_unless_permitted(app, "fairway land resume", Permission::Land)?;
    let path = path(app);
    let was_paused = match fs::remove_file(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        removed => removed.map(|()| true).with_context(|| format!("cannot remove {}", path.display()))?,
    };
    let line = if was_paused { "resumed landing" } else { "unchanged: landing is not paused" };
    app.mutate(|tx| {
        if was_paused {
            tx.record(&Event::new(EventKind::LandingResumed))?;
        }
        Answer::new(&LandPausedView { paused: None }, "", line.to_owned())
    })
}
