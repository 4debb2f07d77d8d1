//! What has become of a session: its root process, its program, and how either ended.

use std::{fs, io, path::Path};

use super::{Folder, START, STARTED_BY, STARTER};
use crate::os::process::{self, Presence, ProcessKey};

/// The root process.
const ROOT: &str = "root";
/// The program, once it was started.
const PROGRAM: &str = "program";
/// Its exit code, once it has ended.
const ENDED: &str = "ended";
/// Why it could not be started.
const REFUSED: &str = "refused";

/// What has become of a session that is being started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Its program has not been started yet.
    Unpacked,
    /// Its program was started.
    Begun,
    /// Its program could not be started, and why.
    Refused(String),
    /// Its program has ended with this code.
    Ended(i32),
    /// There is no such session, or nobody looks after it any more.
    Gone,
}

impl Folder {
    /// Makes this process the session's root.
    ///
    /// # Errors
    /// When there is no such session (any more), or it runs already.
    pub fn claim(&self, own: &ProcessKey) -> io::Result<()> {
        let _turn = self.turn()?;
        if !self.file(START).exists() {
            return Err(self.missing());
        }
        if self.is_alive()? {
            return Err(io::Error::other(format!("session '{}' already exists", self.name)));
        }
        self.set_root(own)
    }

    /// Notes that the program was started.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&self, program: &ProcessKey) -> io::Result<()> {
        self.note(PROGRAM, line(program).as_bytes())
    }

    /// The program, once it was started.
    #[must_use]
    pub fn program(&self) -> Option<ProcessKey> {
        read_key(&self.file(PROGRAM))
    }

    /// Notes that the program has ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(&self, code: i32) -> io::Result<()> {
        self.note(ENDED, code.to_string().as_bytes())
    }

    /// Notes why the program could not be started. A session that is not there has nowhere to note it.
    pub fn refuse(&self, why: &str) {
        let _ = self.note(REFUSED, why.as_bytes());
    }

    /// What has become of it.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let text = |name: &str| fs::read_to_string(self.file(name)).ok();
        if let Some(code) = text(ENDED).and_then(|code| code.parse().ok()) {
            return Stage::Ended(code);
        }
        if let Some(why) = text(REFUSED) {
            return Stage::Refused(why);
        }
        match self.root().map(|root| root.presence()) {
            // It may have noted its end between the two looks.
            Some(Presence::Gone(_)) => text(ENDED).and_then(|code| code.parse().ok()).map_or(Stage::Gone, Stage::Ended),
            _ if !self.file(START).exists() => Stage::Gone,
            _ if self.program().is_some() => Stage::Begun,
            _ => Stage::Unpacked,
        }
    }

    pub(super) fn set_root(&self, root: &ProcessKey) -> io::Result<()> {
        self.note(ROOT, line(root).as_bytes())
    }

    /// The root process, once there is one.
    #[must_use]
    pub fn root(&self) -> Option<ProcessKey> {
        read_key(&self.file(ROOT))
    }

    /// Whether the session lives.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_alive(&self) -> io::Result<bool> {
        match self.root().map(|root| root.presence()) {
            None | Some(Presence::Gone(_)) => Ok(false),
            Some(Presence::Alive) => Ok(true),
            Some(Presence::Unknown(why)) => Err(io::Error::other(why)),
        }
    }

    /// Whether nobody is left to be typed to: the program has ended, though its session may still be ending what it left.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_over(&self) -> io::Result<bool> {
        let is_gone = |key: ProcessKey| matches!(key.presence(), Presence::Gone(_));
        Ok(!self.is_alive()? || self.file(ENDED).exists() || self.program().is_some_and(is_gone))
    }

    /// Whether a start of it still goes on.
    #[must_use]
    pub fn is_starting(&self) -> bool {
        read_key(&self.file(STARTER)).is_some_and(|starter| starter.presence() == Presence::Alive)
    }

    /// Whether it is the call around this process that starts it just now, and not another one after it was stopped.
    #[must_use]
    pub fn is_started_here(&self) -> bool {
        let starter = read_key(&self.file(STARTER));
        // One that is gone was a shell in between.
        starter.is_some_and(|starter| process::is_above_us(&starter) || starter.presence() != Presence::Alive)
            || read_key(&self.file(STARTED_BY)).is_some_and(|starter| process::is_above_us(&starter))
    }
}

/// A process as a line of text, by which it is known again.
pub(super) fn line(key: &ProcessKey) -> String {
    format!("{} {} {}\n", key.pid, key.started, key.boot)
}

fn read_key(path: &Path) -> Option<ProcessKey> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    Some(ProcessKey {
        pid: words.next()?.parse().ok()?,
        started: words.next()?.parse().ok()?,
        boot: words.next()?.to_owned(),
    })
}
