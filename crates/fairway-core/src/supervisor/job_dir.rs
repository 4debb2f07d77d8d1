//! A job's directory, `.fairway/runs/ID`, with mode 0700: the supervisor's lock, the start file, the output segments and the
//! result.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::job::{JobId, JobResult, JobStatus};
use crate::os::lock::InheritableLock;
use crate::os::opened_dir::OpenedDir;
use crate::os::{files, notify};

/// Locked by the job's supervisor.
const LOCK_FILE: &str = "lock";
/// The start file: working directory, arguments, environment. Removed when the job is final.
const START_FILE: &str = "start";
/// The program's stdin. Removed when the job is final.
const STDIN_FILE: &str = "stdin";
/// Exists from just before the program is released.
const STARTED_FILE: &str = "begun";
/// The result, written before the store gets it.
const RESULT_FILE: &str = "ended";
/// The directory of the waiters' sockets.
const WAKE_DIR: &str = "wake";
/// The first and last bytes of a complete start file.
const START_FILE_MAGIC: &[u8] = b"fairway-run-1";

/// The directory of one job.
#[derive(Debug, Clone)]
pub struct JobDir {
    path: PathBuf,
    /// The open directory behind `path`, when it is kept open.
    opened: Option<Arc<OpenedDir>>,
}

/// The content of the start file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartSpec {
    /// The working directory.
    pub cwd: PathBuf,
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The complete environment, as names and values.
    pub env: Vec<(OsString, OsString)>,
}

impl JobDir {
    /// The directory of the job `id` below `runs`, the directory that has one subdirectory for each job. Creates nothing.
    pub fn of(runs: &Path, id: &JobId) -> Self {
        Self { path: runs.join(id.to_string()), opened: None }
    }

    /// Keeps the directory open, so that its files are found even after the directory was moved. When it cannot be opened,
    /// returns `self` unchanged.
    #[must_use]
    pub fn kept_open(self) -> Self {
        match OpenedDir::open(&self.path) {
            Ok(opened) => Self { path: opened.path(), opened: Some(Arc::new(opened)) },
            Err(_) => self,
        }
    }

    pub fn is_gone(&self) -> bool {
        self.opened.as_ref().map_or_else(|| !self.path.exists(), |opened| opened.is_removed())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the directory with the job's start file and its stdin. Fails when the directory exists, because it then belongs to
    /// another job. After any other error, the directory is removed again.
    pub fn create(&self, start: &StartSpec, stdin: Option<&[u8]>) -> io::Result<()> {
        if let Some(runs) = self.path.parent() {
            files::private_dir(runs)?;
        }
        // Fails when the directory exists: it then belongs to another job.
        DirBuilder::new().mode(0o700).create(&self.path)?;
        self.write_start_files(start, stdin).inspect_err(|_| drop(self.remove()))
    }

    fn write_start_files(&self, start: &StartSpec, stdin: Option<&[u8]>) -> io::Result<()> {
        files::private_dir(&self.path)?;
        let mut text = Vec::new();
        let mut field = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            text.push(0);
        };
        field(START_FILE_MAGIC);
        field(start.cwd.as_os_str().as_bytes());
        field(start.argv.len().to_string().as_bytes());
        start.argv.iter().for_each(|word| field(word.as_bytes()));
        for (name, value) in &start.env {
            field(&[name.as_bytes(), b"=", value.as_bytes()].concat());
        }
        field(START_FILE_MAGIC);
        if let Some(stdin) = stdin {
            files::write_atomic_nosync(&self.path.join(STDIN_FILE), stdin, 0o600)?;
        }
        files::write_atomic_nosync(&self.path.join(START_FILE), &text, 0o600)
    }

    /// Reads the job's start file; `None` when the file is missing or incomplete.
    pub fn start_spec(&self) -> io::Result<Option<StartSpec>> {
        let text = match fs::read(self.path.join(START_FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(parse_start_spec(&text))
    }

    /// Reads the text for the program's stdin; `None` when the job got none, or when it was removed.
    pub fn stdin(&self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path.join(STDIN_FILE)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires the supervisor's lock; `None` when another process has it.
    pub fn try_lock(&self) -> io::Result<Option<InheritableLock>> {
        InheritableLock::try_acquire(&self.path.join(LOCK_FILE))
    }

    /// Takes over the supervisor's lock from a parent process that has passed it as stdin ([`InheritableLock::into_file`]), so
    /// that the job has a lock at every moment. `None` when stdin is another file, or another process has the lock.
    pub fn lock_from_stdin(&self) -> io::Result<Option<InheritableLock>> {
        InheritableLock::from_stdin(&self.path.join(LOCK_FILE))
    }

    /// Whether the job has a live supervisor: whether a process has the supervisor's lock. Does not acquire the lock.
    pub fn is_locked(&self) -> io::Result<bool> {
        InheritableLock::is_locked(&self.path.join(LOCK_FILE))
    }

    /// Marks the job's program as started. To be called just before the held process is released to execute the program.
    ///
    /// # Errors
    /// When the file cannot be written; the process must then not be released.
    pub fn mark_started(&self) -> io::Result<()> {
        files::private_file(&self.path.join(STARTED_FILE)).map(drop)
    }

    /// Whether the job's program may have been started. The mark is written just before the start, so a marked program may still
    /// not have run.
    pub fn has_started(&self) -> bool {
        self.path.join(STARTED_FILE).exists()
    }

    /// Removes the start mark and the result of an earlier attempt. To be called before the job is requeued.
    pub fn clear_started(&self) -> io::Result<()> {
        remove_if_exists(&self.path.join(STARTED_FILE))?;
        remove_if_exists(&self.path.join(RESULT_FILE))
    }

    /// Writes the job's result to its directory, from which recovery reads it when the supervisor dies before the result is in
    /// the store.
    pub fn write_result(&self, ending: &JobResult) -> io::Result<()> {
        let number = |number: Option<i64>| number.map(|number| number.to_string()).unwrap_or_default();
        let text = format!(
            "{}\n{}\n{}\n{}",
            ending.status,
            number(ending.exit_code),
            number(ending.signal),
            ending.error_message.as_deref().unwrap_or_default()
        );
        files::write_atomic_nosync(&self.path.join(RESULT_FILE), text.as_bytes(), 0o600)
    }

    /// Reads the result from the job's directory; `None` when it is missing or invalid.
    pub fn read_result(&self) -> Option<JobResult> {
        let text = fs::read_to_string(self.path.join(RESULT_FILE)).ok()?;
        let mut lines = text.splitn(4, '\n');
        let status = JobStatus::parse(lines.next()?).filter(|status| status.is_final())?;
        let (exit_code, signal) = (lines.next()?.parse().ok(), lines.next()?.parse().ok());
        let error_message = lines.next().filter(|text| !text.is_empty()).map(str::to_owned);
        Some(JobResult { status, exit_code, signal, error_message })
    }

    /// Removes the start file and the stdin of a job that will not be started again.
    pub fn remove_start_spec(&self) -> io::Result<()> {
        remove_if_exists(&self.path.join(START_FILE))?;
        remove_if_exists(&self.path.join(STDIN_FILE))
    }

    /// Whether the start file or the stdin still exists.
    pub fn has_start_spec(&self) -> bool {
        self.path.join(START_FILE).exists() || self.path.join(STDIN_FILE).exists()
    }

    /// Removes the directory with all its files. A missing directory is no error.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The directory for the sockets of processes that wait for the job.
    pub fn wake_dir(&self) -> PathBuf {
        self.path.join(WAKE_DIR)
    }

    /// Wakes the processes that wait for the job. Call it only after all changes were written, because they then read them.
    pub fn notify_waiters(&self) {
        notify::notify_all(&self.wake_dir());
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn parse_start_spec(text: &[u8]) -> Option<StartSpec> {
    let mut fields = text.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    if fields.next()? != START_FILE_MAGIC {
        return None;
    }
    let cwd = PathBuf::from(own(fields.next()?));
    let count: usize = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let mut argv = Vec::new();
    for _ in 0..count {
        argv.push(own(fields.next()?));
    }
    let mut env: Vec<&[u8]> = fields.collect();
    if env.pop()? != START_FILE_MAGIC {
        return None;
    }
    let entry = |bytes: &[u8]| {
        // A name may begin with '=', so the first character is never the separator.
        let at = bytes.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        Some((own(bytes.get(..at)?), own(bytes.get(at + 1..)?)))
    };
    Some(StartSpec { cwd, argv, env: env.into_iter().map(entry).collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_file_is_read_back_whole_or_not_at_all() {
        let home = tempfile::tempdir().unwrap();
        let id = JobId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
        let dir = JobDir::of(&home.path().join("runs"), &id);
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let start = StartSpec {
            cwd: "/tmp/a b".into(),
            argv: vec![text(b"sh"), text(b""), text(b"\xff\n=x")],
            env: vec![(text(b"A"), text(b"")), (text(b"B"), text(b"1=2\n\xfe"))],
        };
        dir.create(&start, Some(b"\0in")).unwrap();
        assert_eq!(dir.start_spec().unwrap(), Some(start.clone()));
        let twice = dir.create(&StartSpec { argv: Vec::new(), ..start.clone() }, None).unwrap_err();
        assert_eq!((twice.kind(), dir.start_spec().unwrap()), (io::ErrorKind::AlreadyExists, Some(start)));
        assert_eq!(dir.stdin().unwrap().as_deref(), Some(b"\0in".as_slice()));
        let whole = fs::read(dir.file(START_FILE)).unwrap();
        for length in 0..whole.len() {
            assert_eq!(parse_start_spec(&whole[..length]), None, "{length}");
        }
        dir.remove_start_spec().unwrap();
        assert_eq!((dir.start_spec().unwrap(), dir.stdin().unwrap()), (None, None));
        let ending = JobResult {
            status: JobStatus::Failed,
            exit_code: None,
            signal: Some(9),
            error_message: Some("two\nlines".into()),
        };
        dir.write_result(&ending).unwrap();
        assert_eq!(dir.read_result(), Some(ending));
    }

    #[test]
    fn job_dir_is_locked_by_one_supervisor_and_a_query_takes_no_lock() {
        let home = tempfile::tempdir().unwrap();
        let id = JobId::parse("0193b0c0-7e6a-7a5b-8c3d-aabbccddeeff").unwrap();
        let dir = JobDir::of(home.path(), &id);
        dir.create(&StartSpec { cwd: "/".into(), argv: Vec::new(), env: Vec::new() }, None).unwrap();
        assert!(!dir.is_locked().unwrap());
        let held = dir.try_lock().unwrap().unwrap();
        assert!(dir.is_locked().unwrap() && dir.try_lock().unwrap().is_none());
        let again = held.into_file();
        assert!(dir.try_lock().unwrap().is_none());
        drop(again);
        assert!(dir.try_lock().unwrap().is_some());
    }
}
