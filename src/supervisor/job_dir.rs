//! A run's folder, `.fairway/runs/ID`, for its user alone: the lock of whoever looks after it, what it is started with, the
//! bytes that it printed, and how it ended.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::DirBuilderExt,
    },
    path::{Path, PathBuf},
};

use crate::{
    domain::run::{Ending, RunId, RunStatus},
    os::{files, lock::Hold, notify},
};

/// Held by whoever looks after the run.
const LOCK: &str = "lock";
/// What the run is started with: working directory, arguments, environment. Gone when it is final.
const START: &str = "start";
/// What the program reads. Gone when it is final.
const STDIN: &str = "stdin";
/// There from just before the program's first instruction.
const BEGUN: &str = "begun";
/// How it ended, known before the store knows.
const ENDED: &str = "ended";
/// Where its waiters are.
const WAKE: &str = "wake";
/// What a whole start file begins and ends with.
const HEAD: &[u8] = b"fairway-run-1";

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
}

/// What a run is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Its working directory.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Its whole environment, as `NAME=value`.
    pub env: Vec<(OsString, OsString)>,
}

impl RunFolder {
    /// The folder of a run, under the folder of all runs.
    #[must_use]
    pub fn of(runs: &Path, id: &RunId) -> Self {
        Self { path: runs.join(id.to_string()) }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, with what the run is started with: all of it or nothing.
    ///
    /// # Errors
    /// When it cannot be made, or is there already.
    pub fn create(&self, start: &Start, stdin: Option<&[u8]>) -> io::Result<()> {
        if let Some(runs) = self.path.parent() {
            files::private_dir(runs)?;
        }
        // Nobody else's: what is there already is another run's, and stays.
        DirBuilder::new().mode(0o700).create(&self.path)?;
        self.fill(start, stdin).inspect_err(|_| drop(self.remove()))
    }

    fn fill(&self, start: &Start, stdin: Option<&[u8]>) -> io::Result<()> {
        files::private_dir(&self.path)?;
        let mut text = Vec::new();
        let mut field = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            text.push(0);
        };
        field(HEAD);
        field(start.cwd.as_os_str().as_bytes());
        field(start.argv.len().to_string().as_bytes());
        start.argv.iter().for_each(|word| field(word.as_bytes()));
        for (name, value) in &start.env {
            field(&[name.as_bytes(), b"=", value.as_bytes()].concat());
        }
        field(HEAD);
        if let Some(stdin) = stdin {
            files::write_passing(&self.path.join(STDIN), stdin, 0o600)?;
        }
        files::write_passing(&self.path.join(START), &text, 0o600)
    }

    /// What the run is started with; `None` when that is not there any more, or not whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn start(&self) -> io::Result<Option<Start>> {
        let text = match fs::read(self.path.join(START)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(parse(&text))
    }

    /// What the program reads, when it was given something.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn stdin(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path.join(STDIN)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes the lock of whoever looks after the run; `None` when somebody has it.
    ///
    /// # Errors
    /// When it cannot be asked for.
    pub fn hold(&self) -> io::Result<Option<Hold>> {
        Hold::try_take(&self.path.join(LOCK))
    }

    /// The lock that this process was started with, as its stdin: so a run is looked after without a break. `None` when that
    /// is another file, or somebody else has it. Whoever starts the process gives it [`Hold::into_file`].
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn handed_on(&self) -> io::Result<Option<Hold>> {
        Hold::handed_on(&self.path.join(LOCK))
    }

    /// Whether somebody looks after the run. Asking takes nothing.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn is_held(&self) -> io::Result<bool> {
        Hold::is_taken(&self.path.join(LOCK))
    }

    /// Notes that the program is about to begin.
    ///
    /// # Errors
    /// When it cannot be noted; the program must then not begin.
    pub fn note_begun(&self) -> io::Result<()> {
        files::private_file(&self.path.join(BEGUN)).map(drop)
    }

    /// Whether the program may have begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.path.join(BEGUN).exists()
    }

    /// Forgets an earlier beginning, before the run is put back into its queue.
    ///
    /// # Errors
    /// When it cannot be forgotten.
    pub fn forget_begun(&self) -> io::Result<()> {
        remove(&self.path.join(BEGUN))?;
        remove(&self.path.join(ENDED))
    }

    /// Notes how the program ended, for whoever comes after a supervisor that dies before the store knows.
    ///
    /// # Errors
    /// When it cannot be noted.
    pub fn note_ended(&self, ending: &Ending) -> io::Result<()> {
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        let text = format!(
            "{}\n{}\n{}\n{}",
            ending.status,
            number(ending.exit_code),
            number(ending.signal),
            ending.error_message.as_deref().unwrap_or_default()
        );
        files::write_passing(&self.path.join(ENDED), text.as_bytes(), 0o600)
    }

    /// How the program ended, when that was noted.
    #[must_use]
    pub fn ended(&self) -> Option<Ending> {
        let text = fs::read_to_string(self.path.join(ENDED)).ok()?;
        let mut lines = text.splitn(4, '\n');
        let status = RunStatus::parse(lines.next()?).filter(|status| status.is_final())?;
        let (exit_code, signal) = (lines.next()?.parse().ok(), lines.next()?.parse().ok());
        let error_message = lines.next().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(Ending { status, exit_code, signal, error_message })
    }

    /// Forgets what the run was started with: it will not be started again.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn forget_start(&self) -> io::Result<()> {
        remove(&self.path.join(START))?;
        remove(&self.path.join(STDIN))
    }

    /// Whether something of what the run was started with is there.
    #[must_use]
    pub fn has_start(&self) -> bool {
        self.path.join(START).exists() || self.path.join(STDIN).exists()
    }

    /// Removes it with everything in it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The folder where those who wait for the run bind their sockets.
    #[must_use]
    pub fn wake_folder(&self) -> PathBuf {
        self.path.join(WAKE)
    }

    /// Wakes all who wait for the run: after everything that was written about it.
    pub fn wake(&self) {
        notify::wake_all(&self.wake_folder());
    }

    /// The path of a file of this name in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn parse(text: &[u8]) -> Option<Start> {
    let mut fields = text.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    if fields.next()? != HEAD {
        return None;
    }
    let cwd = PathBuf::from(own(fields.next()?));
    let count: usize = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let mut argv = Vec::new();
    for _ in 0..count {
        argv.push(own(fields.next()?));
    }
    let mut env: Vec<&[u8]> = fields.collect();
    if env.pop()? != HEAD {
        return None;
    }
    let entry = |bytes: &[u8]| {
        // A name may begin with '=', so the first letter is never the separator.
        let at = bytes.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((own(bytes.get(..at)?), own(bytes.get(at + 1..)?)))
    };
    Some(Start { cwd, argv, env: env.into_iter().map(entry).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_is_started_with_is_read_back_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let id = RunId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
        let folder = RunFolder::of(&home.path().join("runs"), &id);
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let start = Start {
            cwd: "/tmp/a b".into(),
            argv: vec![text(b"sh"), text(b""), text(b"\xff\n=x")],
            env: vec![(text(b"A"), text(b"")), (text(b"B"), text(b"1=2\n\xfe"))],
        };
        folder.create(&start, Some(b"\0in")).unwrap();
        assert_eq!(folder.start().unwrap(), Some(start.clone()));
        let twice = folder.create(&Start { argv: Vec::new(), ..start.clone() }, None).unwrap_err();
        assert_eq!((twice.kind(), folder.start().unwrap()), (io::ErrorKind::AlreadyExists, Some(start)));
        assert_eq!(folder.stdin().unwrap().as_deref(), Some(b"\0in".as_slice()));
        let whole = fs::read(folder.file(START)).unwrap();
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
        folder.forget_start().unwrap();
        assert_eq!((folder.start().unwrap(), folder.stdin().unwrap()), (None, None));
        let ending = Ending {
            status: RunStatus::Failed,
            exit_code: None,
            signal: Some(9),
            error_message: Some("two\nlines".into()),
        };
        folder.note_ended(&ending).unwrap();
        assert_eq!(folder.ended(), Some(ending));
    }

    #[test]
    fn one_looks_after_a_run_and_asking_takes_nothing() {
        let home = tempfile::tempdir().unwrap();
        let id = RunId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
        let folder = RunFolder::of(home.path(), &id);
        folder.create(&Start { cwd: "/".into(), argv: Vec::new(), env: Vec::new() }, None).unwrap();
        assert!(!folder.is_held().unwrap());
        let held = folder.hold().unwrap().unwrap();
        assert!(folder.is_held().unwrap() && folder.hold().unwrap().is_none());
        let again = held.into_file();
        assert!(folder.hold().unwrap().is_none());
        drop(again);
        assert!(folder.hold().unwrap().is_some());
    }
}
