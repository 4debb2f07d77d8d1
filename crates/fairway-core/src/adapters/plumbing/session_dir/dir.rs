//! A session's directory: its file names, its start configuration and its locks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::adapters::StartConfig;
use crate::os::files;
use crate::os::lock::FileLock;

/// The start configuration. It contains the environment and is removed with the session.
pub(super) const START_FILE: &str = "start.json";
/// The session's name; a directory's name may be an escaped or hashed form of it.
pub(super) const NAME_FILE: &str = "name";
/// The environment of the process that started the session, as NUL-separated entries.
pub(super) const ENVIRONMENT_FILE: &str = "environment";
/// The program's working directory.
pub(super) const WORK_DIR_FILE: &str = "directory";
/// The transcript's length before the session, in bytes.
pub(super) const TRANSCRIPT_OFFSET_FILE: &str = "before";
/// The process that starts the session, until the start is done: a starting session must not look dead.
pub(super) const STARTER_FILE: &str = "starter";
/// The starting process, also after the start: a start that is interrupted at its end still rolls back its own session.
pub(super) const STARTED_BY_FILE: &str = "started-by";
/// Locked by the process that types into the session.
const INPUT_LOCK_FILE: &str = "input.lock";
/// The program's stdin, of a session without a terminal.
pub const INPUT_FIFO: &str = "input";
/// The transcript of a session whose caller names none.
pub const TRANSCRIPT_FILE: &str = "transcript";
/// The directory of the session's metadata values.
pub(in crate::adapters::plumbing) const VALUES_DIR: &str = "meta";
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// A session's directory, whether it exists or not.
#[derive(Debug, Clone)]
pub struct SessionDir {
    pub(super) state_dir: PathBuf,
    pub(super) path: PathBuf,
    pub(super) name: String,
}

impl SessionDir {
    /// The directory of the session `name`, which may be any text without NUL. Creates nothing.
    pub fn of(state: &Path, name: &str) -> Self {
        Self { state_dir: state.into(), path: state.join(dir_name(name)), name: name.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub fn not_found(&self) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no session '{}'", self.name))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The start configuration, without the parts that were removed after the start; `None` when there is no such session.
    pub fn start_config(&self) -> io::Result<Option<StartConfig>> {
        read_optional(&self.file(START_FILE))?
            .map(|text| StartConfig::read(&text).map_err(io::Error::other))
            .transpose()
    }

    /// The recorded environment of the process that started the session; empty when the record was removed after the start.
    pub fn caller_env(&self) -> io::Result<BTreeMap<OsString, OsString>> {
        let entry = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (entry.get(..at)?, entry.get(at + 1..)?);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        };
        let text = read_optional(&self.file(ENVIRONMENT_FILE))?.unwrap_or_default();
        Ok(text.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// The program's working directory; `/` when none was recorded.
    pub fn work_dir(&self) -> io::Result<PathBuf> {
        Ok(read_optional(&self.file(WORK_DIR_FILE))?.map_or_else(|| "/".into(), |path| OsString::from_vec(path).into()))
    }

    /// The path of the session's transcript: the configured one, else a file in the session's directory.
    pub fn transcript_path(&self) -> io::Result<PathBuf> {
        let stated = self.start_config()?.and_then(|start| start.transcript).map(PathBuf::from);
        Ok(stated.unwrap_or_else(|| self.file(TRANSCRIPT_FILE)))
    }

    /// How long the transcript was when this session was created, in bytes; 0 when that was not recorded.
    pub fn transcript_offset(&self) -> u64 {
        fs::read_to_string(self.file(TRANSCRIPT_OFFSET_FILE))
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }

    /// Acquires the lock for typing into the session; `None` when another process keeps it for longer than `limit`.
    pub fn lock_input(&self, limit: Duration) -> io::Result<Option<FileLock>> {
        FileLock::acquire_within(&self.file(INPUT_LOCK_FILE), limit)
    }

    pub(super) fn lock_state_dir(&self) -> io::Result<FileLock> {
        FileLock::acquire_within(&self.state_dir.join(".lock"), LOCK_TIMEOUT)?
            .ok_or_else(|| io::Error::other("the adapters' state directory is locked"))
    }

    pub(in crate::adapters::plumbing) fn write_file(&self, name: &str, text: &[u8]) -> io::Result<()> {
        files::write_atomic_nosync(&self.file(name), text, 0o600)
    }
}

pub(super) fn read_optional(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of the directory for a session's name; a digest of it when it is too long for a file system.
fn dir_name(name: &str) -> String {
    let safe = format!("s-{}", escape_name(name));
    if safe.len() > 200 { format!("l-{}", crate::os::digest::sha256_hex(name.as_bytes())) } else { safe }
}

/// Escapes a text to a file name of ASCII letters and digits, `_`, `-` and `%`. Different texts give different names.
pub(in crate::adapters::plumbing) fn escape_name(name: &str) -> String {
    let mut safe = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
            safe.push(char::from(byte));
        } else {
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_name_never_leaves_its_directory() {
        let state = Path::new("/s");
        for name in ["..", ".", "", "a/b", "/etc", "a\nb", ".lock", &"x".repeat(5_000), "é"] {
            let dir = SessionDir::of(state, name);
            assert_eq!(dir.path.parent(), Some(state), "{name}");
            assert_ne!(dir.path.file_name().unwrap(), ".lock");
        }
        assert_ne!(dir_name("a.b"), dir_name("a%2Eb"));
    }
}
