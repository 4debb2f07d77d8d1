//! A session's folder in the state folder: what it was started with, and which process is its root.

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
    env::vars,
    os::{
        files,
        lock::FileLock,
        process::{self, Presence, ProcessKey},
        tree,
    },
};

/// What was unpacked; it holds the environment and goes with the session.
const START: &str = "start.json";
/// The session's name, since a folder's name is not always one.
const NAME: &str = "name";
/// The environment of whoever started it, entries with NUL between them.
const AROUND: &str = "environment";
/// Where the program starts.
const DIRECTORY: &str = "directory";
/// How long the transcript was before, in bytes.
const BEFORE: &str = "before";
/// Who starts it, until the start is over: so that a session that is just coming up is not taken for a dead one.
const STARTER: &str = "starter";
/// The root process.
const ROOT: &str = "root";
/// The program, once it was started.
const PROGRAM: &str = "program";
/// Its exit code, once it has ended.
const ENDED: &str = "ended";
/// Its root has said its last word, and whether all is to be forgotten.
const CONCLUDED: &str = "concluded";
/// Why it could not be started.
const REFUSED: &str = "refused";
/// Whoever types holds it.
const INPUT_LOCK: &str = "input.lock";
/// The program's stdin, of a session without a terminal.
pub const INPUT: &str = "input";
/// The transcript of a session whose caller names none.
pub const TRANSCRIPT: &str = "transcript";
/// Values that are kept with the session.
pub(super) const META: &str = "meta";
const LOCK_PATIENCE: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(2);
/// Callers kill after two seconds what they have told to end.
const ROLL_BACK: Duration = Duration::from_millis(500);

/// What a session is started with.
#[derive(Debug)]
pub struct Unpacked<'a> {
    /// The configuration.
    pub start: &'a StartConfig,
    /// The environment of whoever starts it, without anything of Fairway's.
    pub around: &'a BTreeMap<OsString, OsString>,
    /// Where the program starts.
    pub directory: &'a Path,
    /// Whoever starts it.
    pub starter: Option<&'a ProcessKey>,
}

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

    /// The folder itself.
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
    pub fn missing(&self) -> io::Error {
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
    pub fn unpack(&self, unpacked: &Unpacked<'_>) -> io::Result<()> {
        files::private_dir(&self.state)?;
        let _turn = self.turn()?;
        if self.path.exists() {
            if self.is_alive()? || self.is_starting() {
                return Err(io::Error::other(format!("session '{}' already exists", self.name)));
            }
            self.end_tree(GRACE)?;
            self.remove()?;
        }
        DirBuilder::new().mode(0o700).create(&self.path)?;
        if let Some(starter) = unpacked.starter {
            self.note(STARTER, line(starter).as_bytes())?;
        }
        self.note(NAME, self.name.as_bytes())?;
        self.note(DIRECTORY, unpacked.directory.as_os_str().as_bytes())?;
        let mut around = Vec::new();
        for (name, value) in unpacked.around {
            around.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        self.note(AROUND, &around)?;
        if let Some(transcript) = &unpacked.start.transcript
            && let Ok(found) = fs::metadata(transcript)
        {
            self.note(BEFORE, found.len().to_string().as_bytes())?;
        }
        self.note(START, &serde_json::to_vec(unpacked.start).map_err(io::Error::other)?)
    }

    /// What it was started with; `None` when there is no such session.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn start(&self) -> io::Result<Option<StartConfig>> {
        read(&self.file(START))?.map(|text| StartConfig::read(&text).map_err(io::Error::other)).transpose()
    }

    /// The environment of whoever started it, byte by byte.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn around(&self) -> io::Result<BTreeMap<OsString, OsString>> {
        let entry = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (entry.get(..at)?, entry.get(at + 1..)?);
            Some((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())))
        };
        let text = read(&self.file(AROUND))?.unwrap_or_default();
        Ok(text.split(|byte| *byte == 0).filter_map(entry).collect())
    }

    /// Where the program starts.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn directory(&self) -> io::Result<PathBuf> {
        Ok(read(&self.file(DIRECTORY))?.map_or_else(|| "/".into(), |path| OsString::from_vec(path).into()))
    }

    /// The transcript's file, whoever named it.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    pub fn transcript(&self) -> io::Result<PathBuf> {
        let stated = self.start()?.and_then(|start| start.transcript).map(PathBuf::from);
        Ok(stated.unwrap_or_else(|| self.file(TRANSCRIPT)))
    }

    /// How long the transcript was before this session, in bytes.
    #[must_use]
    pub fn before(&self) -> u64 {
        fs::read_to_string(self.file(BEFORE)).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// The live sessions of a state folder whose names begin so; with a file's name only those whose folder holds one.
    ///
    /// # Errors
    /// When it cannot be told of one: no name may then be taken for absent.
    pub fn running(state: &Path, prefix: &str, with: Option<&str>) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(name) = read(&path.join(NAME)).ok().flatten().and_then(|name| String::from_utf8(name).ok()) else {
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

    /// The lock that whoever types into the session holds; `None` when others do for longer than `limit`.
    ///
    /// # Errors
    /// When the session is not there, or cannot be locked.
    pub fn input_lock(&self, limit: Duration) -> io::Result<Option<FileLock>> {
        FileLock::acquire_within(&self.file(INPUT_LOCK), limit)
    }

    fn turn(&self) -> io::Result<FileLock> {
        FileLock::acquire_within(&self.state.join(".lock"), LOCK_PATIENCE)?
            .ok_or_else(|| io::Error::other("the adapters' state folder is locked"))
    }

    pub(super) fn note(&self, name: &str, text: &[u8]) -> io::Result<()> {
        files::write_passing(&self.file(name), text, 0o600)
    }

    fn set_root(&self, root: &ProcessKey) -> io::Result<()> {
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
    }

    /// Ends the session's whole tree, also what left it, and forgets the session. One that is not there is no failure.
    ///
    /// # Errors
    /// When something would not die.
    pub fn kill_tree(&self) -> io::Result<()> {
        self.kill_within(GRACE)
    }

    /// The same for a start that is taken back: whoever gave it up does not wait long. A session that another call has
    /// started is left alone.
    ///
    /// # Errors
    /// When something would not die.
    pub fn roll_back(&self) -> io::Result<()> {
        if self.is_started_here() { self.kill_within(ROLL_BACK) } else { Ok(()) }
    }

    fn kill_within(&self, grace: Duration) -> io::Result<()> {
        if !self.path.exists() {
            return Ok(());
        }
        self.end_tree(grace)?;
        let _turn = self.turn()?;
        // One that was just coming up has its root by now, or will find nothing to be the root of.
        self.end_tree(grace)?;
        self.remove()
    }

    fn end_tree(&self, grace: Duration) -> io::Result<()> {
        let root = self.root();
        let mark = self.start()?.and_then(|start| mark(&start));
        let left = tree::end(grace, || {
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
        Ok(())
    }

    /// The root's last word: what must not outlive the session is forgotten, and all of it with `forgets`. While the start
    /// still goes on that is left to it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn conclude(&self, own: &ProcessKey, forgets: bool) -> io::Result<()> {
        let _turn = self.turn()?;
        if self.root().as_ref() != Some(own) {
            return Ok(());
        }
        if self.is_starting() {
            return self.note(CONCLUDED, forgets.to_string().as_bytes());
        }
        self.close(forgets)
    }

    /// The start is over: from now on the session may be recycled when it dies.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn settle(&self) -> io::Result<()> {
        let _turn = self.turn()?;
        let _ = fs::remove_file(self.file(STARTER));
        match fs::read_to_string(self.file(CONCLUDED)) {
            Ok(forgets) => self.close(forgets == true.to_string()),
            Err(_) => Ok(()),
        }
    }

    fn close(&self, forgets: bool) -> io::Result<()> {
        if forgets {
            return self.remove();
        }
        for name in [START, STARTER, AROUND, INPUT] {
            let _ = fs::remove_file(self.file(name));
        }
        let _ = fs::remove_dir_all(self.file(META));
        Ok(())
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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

/// A name as the name of one folder; what is too long for a file system is told by its digest.
fn file_name(name: &str) -> String {
    let safe = format!("s-{}", token(name));
    if safe.len() > 200 { format!("l-{}", crate::adapters::builtin::digest(name.as_bytes())) } else { safe }
}

/// Any text as a word of letters, digits, `_`, `-` and `%`, which only this text has.
pub(super) fn token(name: &str) -> String {
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
        let unpack = |starter: Option<&ProcessKey>| {
            let (start, around) = (StartConfig::default(), BTreeMap::new());
            folder.unpack(&Unpacked { start: &start, around: &around, directory: Path::new("/"), starter })
        };
        unpack(Some(&own)).unwrap();
        assert!(unpack(None).unwrap_err().to_string().contains("already exists"));
        folder.claim(&own).unwrap();
        assert!(folder.is_alive().unwrap());
        assert!(folder.claim(&own).is_err());
        assert!(unpack(None).is_err());
        folder.set_root(&ProcessKey { started: own.started + 1, ..own.clone() }).unwrap();
        assert!(!folder.is_alive().unwrap());
        // Still being started by a live process.
        assert!(unpack(None).is_err());
        folder.settle().unwrap();
        unpack(None).unwrap();
        // Never a signal to what only shares the number.
        folder.set_root(&ProcessKey { started: own.started + 1, ..own }).unwrap();
        folder.kill_tree().unwrap();
        folder.kill_tree().unwrap();
    }
}
