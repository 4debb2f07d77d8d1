//! A session's directory in the state directory: what it was started with. `stage` tells what has become of it, `ending` ends it.

mod cleanup;
mod state;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt::Write,
    fs::{self, DirBuilder},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    adapters::StartConfig,
    os::{files, lock::FileLock, process::ProcessKey},
};

/// What was unpacked; it holds the environment and goes with the session.
const START_FILE: &str = "start.json";
/// The session's name, since a directory's name is not always one.
const NAME_FILE: &str = "name";
/// The environment of whoever started it, entries with NUL between them.
const ENVIRONMENT_FILE: &str = "environment";
/// Where the program starts.
const WORK_DIR_FILE: &str = "directory";
/// How long the transcript was before, in bytes.
const TRANSCRIPT_OFFSET_FILE: &str = "before";
/// Who starts it, until the start is over: so that a session that is just coming up is not taken for a dead one.
const STARTER_FILE: &str = "starter";
/// Who started it, once the start is over: one that is told to end at the last moment still takes back what it made.
const STARTED_BY_FILE: &str = "started-by";
/// Whoever types holds it.
const INPUT_LOCK_FILE: &str = "input.lock";
/// The program's stdin, of a session without a terminal.
pub const INPUT_FIFO: &str = "input";
/// The transcript of a session whose caller names none.
pub const TRANSCRIPT_FILE: &str = "transcript";
/// Values that are kept with the session.
pub(super) const VALUES_DIR: &str = "meta";
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// What a session is started with.
#[derive(Debug)]
pub struct StartFiles<'a> {
    /// The configuration.
    pub start: &'a StartConfig,
    /// The environment of whoever starts it, without anything of Fairway's.
    pub caller_env: &'a BTreeMap<OsString, OsString>,
    /// Where the program starts.
    pub work_dir: &'a Path,
    /// Whoever starts it.
    pub starter: Option<&'a ProcessKey>,
}

pub(super) use cleanup::env_tag;
pub use state::StartState;

/// A session's directory, there or not.
#[derive(Debug, Clone)]
pub struct SessionDir {
    state_dir: PathBuf,
    path: PathBuf,
    name: String,
}

impl SessionDir {
    /// The directory of a session's name, which may be any text without NUL.
    #[must_use]
    pub fn of(state: &Path, name: &str) -> Self {
        Self { state_dir: state.into(), path: state.join(dir_name(name)), name: name.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is to be said when there is no such session.
    #[must_use]
    pub fn not_found(&self) -> io::Error {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no session '{}'", self.name))
    }

    /// The session's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keeps what a session is started with for the program that is to be run; a dead session of that name is recycled, and
    /// what it left behind ended.
    ///
    /// # Errors
    /// `already exists` when a live one is there; what cannot be written.
    pub fn create(&self, unpacked: &StartFiles<'_>) -> io::Result<()> {
        files::private_dir(&self.state_dir)?;
        let _turn = self.lock_state_dir()?;
        if self.path.exists() {
            if self.is_alive()? || self.is_starting() {
                return Err(io::Error::other(format!("session '{}' already exists", self.name)));
            }
            self.end_leftovers()?;
        }
        DirBuilder::new().mode(0o700).create(&self.path)?;
        if let Some(starter) = unpacked.starter {
            self.write_file(STARTER_FILE, state::process_line(starter).as_bytes())?;
        }
        self.write_file(NAME_FILE, self.name.as_bytes())?;
        self.write_file(WORK_DIR_FILE, unpacked.work_dir.as_os_str().as_bytes())?;
        let mut around = Vec::new();
        for (name, value) in unpacked.caller_env {
            around.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        self.write_file(ENVIRONMENT_FILE, &around)?;
        if let Some(transcript) = &unpacked.start.transcript
            && let Ok(found) = fs::metadata(transcript)
        {
            self.write_file(TRANSCRIPT_OFFSET_FILE, found.len().to_string().as_bytes())?;
        }
        self.write_file(START_FILE, &serde_json::to_vec(unpacked.start).map_err(io::Error::other)?)
    }

    /// What it was started with; `None` when there is no such session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn start_config(&self) -> io::Result<Option<StartConfig>> {
        read_optional(&self.file(START_FILE))?
            .map(|text| StartConfig::read(&text).map_err(io::Error::other))
            .transpose()
    }

    /// The environment of whoever started it, byte by byte.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn caller_env(&self) -> io::Result<BTreeMap<OsString, OsString>> {
        let entry = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (entry.get(..at)?, entry.get(at + 1..)?);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        };
        let text = read_optional(&self.file(ENVIRONMENT_FILE))?.unwrap_or_default();
        Ok(text.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Where the program starts.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn work_dir(&self) -> io::Result<PathBuf> {
        Ok(read_optional(&self.file(WORK_DIR_FILE))?.map_or_else(|| "/".into(), |path| OsString::from_vec(path).into()))
    }

    /// The transcript's file, whoever named it.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn transcript_path(&self) -> io::Result<PathBuf> {
        let stated = self.start_config()?.and_then(|start| start.transcript).map(PathBuf::from);
        Ok(stated.unwrap_or_else(|| self.file(TRANSCRIPT_FILE)))
    }

    /// How long the transcript was before this session, in bytes.
    #[must_use]
    pub fn transcript_offset(&self) -> u64 {
        fs::read_to_string(self.file(TRANSCRIPT_OFFSET_FILE))
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }

    /// The live sessions of a state directory whose names begin so; with a file's name only those whose directory holds one.
    ///
    /// # Errors
    /// When it cannot be told of one: no name may then be taken for absent.
    pub fn list_running(state: &Path, prefix: &str, with: Option<&str>) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(name) =
                read_optional(&path.join(NAME_FILE)).ok().flatten().and_then(|name| String::from_utf8(name).ok())
            else {
                continue;
            };
            let is_meant = with.is_none_or(|file| path.join(file).is_file());
            if is_meant && name.starts_with(prefix) && Self::of(state, &name).is_alive()? {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The lock that whoever types into the session holds; `None` when others do for longer than `limit`.
    ///
    /// # Errors
    /// When the session is not there, or cannot be locked.
    pub fn lock_input(&self, limit: Duration) -> io::Result<Option<FileLock>> {
        FileLock::acquire_within(&self.file(INPUT_LOCK_FILE), limit)
    }

    fn lock_state_dir(&self) -> io::Result<FileLock> {
        FileLock::acquire_within(&self.state_dir.join(".lock"), LOCK_TIMEOUT)?
            .ok_or_else(|| io::Error::other("the adapters' state directory is locked"))
    }

    pub(super) fn write_file(&self, name: &str, text: &[u8]) -> io::Result<()> {
        files::write_atomic_nosync(&self.file(name), text, 0o600)
    }
}

fn read_optional(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A name as the name of one directory; what is too long for a file system is told by its digest.
fn dir_name(name: &str) -> String {
    let safe = format!("s-{}", escape_name(name));
    if safe.len() > 200 { format!("l-{}", crate::adapters::builtin_scripts::sha256_hex(name.as_bytes())) } else { safe }
}

/// Any text as a word of letters, digits, `_`, `-` and `%`, which only this text has.
pub(super) fn escape_name(name: &str) -> String {
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
    fn a_name_never_leaves_its_dir() {
        let state = Path::new("/s");
        for name in ["..", ".", "", "a/b", "/etc", "a\nb", ".lock", &"x".repeat(5_000), "é"] {
            let dir = SessionDir::of(state, name);
            assert_eq!(dir.path.parent(), Some(state), "{name}");
            assert_ne!(dir.path.file_name().unwrap(), ".lock");
        }
        assert_ne!(dir_name("a.b"), dir_name("a%2Eb"));
    }

    #[test]
    fn a_live_session_is_not_recycled_and_a_dead_one_is() {
        let home = tempfile::tempdir().unwrap();
        let dir = SessionDir::of(&home.path().join("state"), "x");
        let own = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let unpack = |starter: Option<&ProcessKey>| {
            let (start, around) = (StartConfig::default(), BTreeMap::new());
            dir.create(&StartFiles { start: &start, caller_env: &around, work_dir: Path::new("/"), starter })
        };
        unpack(Some(&own)).unwrap();
        assert!(unpack(None).unwrap_err().to_string().contains("already exists"));
        dir.become_root(&own).unwrap();
        assert!(dir.is_alive().unwrap());
        assert!(dir.become_root(&own).is_err());
        assert!(unpack(None).is_err());
        dir.set_root(&ProcessKey { started: own.started + 1, ..own.clone() }).unwrap();
        assert!(!dir.is_alive().unwrap());
        // Still being started by a live process.
        assert!(unpack(None).is_err());
        dir.finish_start().unwrap();
        unpack(None).unwrap();
        // Never a signal to what only shares the number.
        dir.set_root(&ProcessKey { started: own.started + 1, ..own }).unwrap();
        dir.kill_tree().unwrap();
        dir.kill_tree().unwrap();
    }
}
