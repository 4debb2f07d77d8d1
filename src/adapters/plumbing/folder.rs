//! A session's folder in the state folder: what it was started with, and which process is its root.

use std::{
    fmt::Write,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    adapters::StartConfig,
    env::vars,
    os::{
        files,
        lock::FileLock,
        process::{Presence, ProcessKey},
        tree,
    },
};

/// What was unpacked; it holds the environment and goes with the session.
const START: &str = "start.json";
/// Who unpacked it, so that a session that is just coming up is not taken for a dead one.
const STARTER: &str = "starter";
/// The root process.
const ROOT: &str = "root";
/// Held by whoever types into the session.
const TYPIST: &str = "typist";
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(2);

/// A session's folder, there or not.
#[derive(Debug, Clone)]
pub struct Folder {
    state: PathBuf,
    path: PathBuf,
    name: String,
}

impl Folder {
    /// The folder of a session's name, which may be any text without NUL.
    #[must_use]
    pub fn of(state: &Path, name: &str) -> Self {
        Self { state: state.into(), path: state.join(file_name(name)), name: name.into() }
    }

    /// The folder itself, and whether it is there.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.is_dir().then_some(&self.path)
    }

    /// The state folder that it lies in.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Waits for the turn to type into the session, for at most `limit`; `None` when that was not enough.
    ///
    /// # Errors
    /// When there is no such session, or its lock cannot be taken.
    pub fn typist(&self, limit: Duration) -> io::Result<Option<FileLock>> {
        FileLock::acquire_within(&self.file(TYPIST), limit)
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keeps a start configuration for the program that is to be run; a dead session of that name is recycled.
    ///
    /// # Errors
    /// `already exists` when a live one is there; what cannot be written.
    pub fn unpack(&self, start: &StartConfig, starter: Option<&ProcessKey>) -> io::Result<()> {
        files::private_dir(&self.state)?;
        let _turn = FileLock::acquire_within(&self.state.join(".lock"), LOCK_PATIENCE)?
            .ok_or_else(|| io::Error::other("the adapters' state folder is locked"))?;
        if self.path.exists() {
            if self.is_alive()? || self.is_starting() {
                return Err(io::Error::other(format!("session '{}' already exists", self.name)));
            }
            self.remove()?;
        }
        DirBuilder::new().mode(0o700).create(&self.path)?;
        if let Some(starter) = starter {
            files::write_whole(&self.file(STARTER), line(starter).as_bytes(), 0o600)?;
        }
        let text = serde_json::to_vec(start).map_err(io::Error::other)?;
        files::write_whole(&self.file(START), &text, 0o600)
    }

    /// What it was started with; `None` when there is no such session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn start(&self) -> io::Result<Option<StartConfig>> {
        match fs::read(self.file(START)) {
            Ok(text) => StartConfig::read(&text).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Notes the root process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_root(&self, root: &ProcessKey) -> io::Result<()> {
        files::write_whole(&self.file(ROOT), line(root).as_bytes(), 0o600)
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

    fn is_starting(&self) -> bool {
        let starter = || read_key(&self.file(STARTER));
        self.root().is_none() && starter().is_some_and(|starter| starter.presence() == Presence::Alive)
    }

    /// Ends the session's whole tree, also what left it, and forgets the session. One that is not there is no failure.
    ///
    /// # Errors
    /// When something would not die.
    pub fn kill_tree(&self) -> io::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        let root = self.root();
        let mark = self.start()?.and_then(|start| mark(&start));
        let left = tree::end(GRACE, || {
            let mut found = match &root {
                // Only while it is this very process: its number may be another's by now.
                Some(root) if root.presence() == Presence::Alive => tree::below(root.pid, mark.as_deref())?,
                _ => Vec::new(),
            };
            if let Some(mark) = &mark {
                found.extend(tree::marked(mark)?);
            }
            Ok(found)
        })?;
        if !left.is_empty() {
            let pids: Vec<String> = left.iter().map(|key| key.pid.to_string()).collect();
            return Err(io::Error::other(format!("would not die: {}", pids.join(" "))));
        }
        self.remove()
    }

    /// Forgets what must not outlive the session: its environment and its input.
    pub fn close(&self, input: &str) {
        for name in [START, STARTER, input] {
            let _ = fs::remove_file(self.file(name));
        }
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// The entry in the environment of everything that a session runs: by it, what left the tree is found, and what is another
/// session's is told apart.
pub(super) fn mark(start: &StartConfig) -> Option<String> {
    start.var(vars::FAIRWAY_RUN_ID).map(|run| format!("{}={run}", vars::FAIRWAY_RUN_ID))
}

fn line(key: &ProcessKey) -> String {
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

/// A name as the name of one folder: letters, digits, `_` and `-` stay, every other byte becomes `%XX`; what is too long
/// for a file system is told by its digest.
fn file_name(name: &str) -> String {
    let mut safe = String::from("s-");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            safe.push(char::from(byte));
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    if safe.len() > 200 { format!("l-{}", crate::adapters::builtin::digest(name.as_bytes())) } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_its_folder() {
        let state = Path::new("/s");
        for name in ["..", ".", "", "a/b", "/etc", "a\nb", ".lock", &"x".repeat(5_000), "é"] {
            let folder = Folder::of(state, name);
            assert_eq!(folder.path.parent(), Some(state), "{name}");
            assert_ne!(folder.path.file_name().unwrap(), ".lock");
        }
        assert_ne!(file_name("a.b"), file_name("a%2Eb"));
    }

    #[test]
    fn a_live_session_is_not_recycled_and_a_dead_one_is() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::of(&home.path().join("state"), "x");
        let own = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        folder.unpack(&StartConfig::default(), Some(&own)).unwrap();
        assert!(folder.unpack(&StartConfig::default(), None).unwrap_err().to_string().contains("already exists"));
        folder.set_root(&own).unwrap();
        assert!(folder.is_alive().unwrap());
        assert!(folder.unpack(&StartConfig::default(), None).is_err());
        folder.set_root(&ProcessKey { started: own.started + 1, ..own.clone() }).unwrap();
        assert!(!folder.is_alive().unwrap());
        folder.unpack(&StartConfig::default(), None).unwrap();
        // Never a signal to what only shares the number.
        folder.set_root(&ProcessKey { started: own.started + 1, ..own }).unwrap();
        folder.kill_tree().unwrap();
        folder.kill_tree().unwrap();
    }
}
