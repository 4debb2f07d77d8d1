//! Processes, identified by pid, start time and boot id: the kernel reuses a pid alone.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::LazyLock;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::host;
use super::poll_until::poll_until;

/// How long the kernel may take to put another program in the place of a process.
const EXEC_TIMEOUT: Duration = Duration::from_millis(250);

/// The permanent identity of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    /// The pid, in this process's pid namespace.
    pub pid: i32,
    /// The start time, in clock ticks since boot.
    pub started: u64,
    /// The boot id to which both belong.
    pub boot: String,
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcStat {
    pub pid: i32,
    /// The state character; `Z` and `X` are dead.
    pub state: char,
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    pub session: i32,
    /// When it started, in ticks since boot.
    pub started: u64,
}

/// Whether a process exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessStatus {
    /// It is alive.
    Alive,
    /// It is gone, for this reason.
    Gone(String),
    /// Its state is unknown.
    Unknown(String),
}

/// The fields of `/proc/PID/stat`; `None` when there is no such process.
pub fn stat(pid: i32) -> io::Result<Option<ProcStat>> {
    // To `kill`, 0, -1 and smaller numbers mean groups; they are never the pid of a process.
    if pid <= 0 {
        return Ok(None);
    }
    let text = match read_stat(pid) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) => {
            // Without a mounted /proc every process would look gone.
            fs::metadata("/proc/self/stat")?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    parse_stat(pid, &text).map(Some).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat cannot be read")))
}

/// Reads the whole line in one call; the file has no size.
fn read_stat(pid: i32) -> io::Result<String> {
    // The name has at most 64 bytes, and each of the fifty numbers at most twenty digits.
    let mut buffer = [0; 2048];
    let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut buffer)?;
    Ok(String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned())
}

fn parse_stat(pid: i32, text: &str) -> Option<ProcStat> {
    // The name may contain spaces and parentheses: the other fields follow its last parenthesis.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<i32>().ok();
    Some(ProcStat {
        pid,
        state: fields.first()?.chars().next()?,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Whether a process is an ancestor of this process. `false` also when an ancestor cannot be read.
pub fn is_own_ancestor(key: &ProcessKey) -> bool {
    let mut pid = i32::try_from(std::os::unix::process::parent_id()).unwrap_or_default();
    while let Ok(Some(found)) = stat(pid) {
        if found.key() == *key {
            return true;
        }
        pid = found.parent;
    }
    false
}

/// All ancestors of this process that are visible, its parent first.
pub fn own_ancestors() -> io::Result<Vec<ProcessKey>> {
    let mut pid = i32::try_from(std::os::unix::process::parent_id()).unwrap_or_default();
    let mut found = Vec::new();
    while let Some(ancestor) = stat(pid)? {
        pid = ancestor.parent;
        found.push(ancestor.key());
    }
    Ok(found)
}

/// The environment with which a process was started: entries `NAME=value`, each followed by a NUL byte. While the kernel
/// replaces the program of a process, its environment is incomplete. This function waits until that is over, so that a search
/// by environment misses no process that has just been started.
pub fn environ(pid: i32) -> io::Result<Vec<u8>> {
    // Cached: it is asked for every process.
    static IS_TOLD: LazyLock<bool> = LazyLock::new(tells_own_environ_range);
    let read = || fs::read(format!("/proc/{pid}/environ"));
    if !*IS_TOLD {
        return read();
    }
    let mut empty = 0;
    let mut is_whole = |found: &io::Result<Vec<u8>>| {
        let (Ok(found), Ok(stat)) = (found, read_stat(pid)) else { return true };
        match environ_range(&stat) {
            EnvironRange::Over => true,
            EnvironRange::BeingSet => false,
            // Or the kernel is just about to write its end, which it does not do each time.
            EnvironRange::Length(0) => {
                empty += 1;
                empty > 2
            }
            EnvironRange::Length(length) => length == found.len(),
        }
    };
    let found = poll_until(EXEC_TIMEOUT, Duration::from_millis(8), || Some(read()).filter(|found| is_whole(found)));
    found.unwrap_or_else(read)
}

/// Whether the kernel tells where the environment of a process is. One that is only like Linux may not, also not of this process.
fn tells_own_environ_range() -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    read_stat(own).is_ok_and(|stat| environ_range(&stat) != EnvironRange::BeingSet)
}

/// The environment of a process, as far as the kernel tells.
#[derive(Debug, PartialEq, Eq)]
enum EnvironRange {
    /// The process exits, or is a thread of the kernel: it gets none.
    Over,
    /// It has none yet.
    BeingSet,
    /// It has so many bytes.
    Length(usize),
}

fn environ_range(stat: &str) -> EnvironRange {
    const EXITS_OR_IS_OF_KERNEL: u64 = 0x4 | 0x20_0000;
    let fields: Vec<&str> =
        stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    match (number(6), number(47), number(48)) {
        (Some(flags), _, _) if flags & EXITS_OR_IS_OF_KERNEL != 0 => EnvironRange::Over,
        (_, Some(begin), Some(end)) if end != 0 => {
            EnvironRange::Length(usize::try_from(end.saturating_sub(begin)).unwrap_or_default())
        }
        _ => EnvironRange::BeingSet,
    }
}

/// The value of an environment variable with which a process was started. `None` when the process has no such variable, its
/// environment cannot be read, or the value is not UTF-8.
pub fn initial_variable(pid: i32, name: &str) -> Option<String> {
    let environment = environ(pid).ok()?;
    let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    String::from_utf8(environment.split(|byte| *byte == 0).find_map(value)?).ok()
}

/// Whether a process was started with one of these environment variables set to a value that is not empty. `None` when its
/// environment cannot be read.
pub fn has_variable(pid: i32, names: &[&str]) -> Option<bool> {
    let environment = environ(pid).ok()?;
    let is_named = |entry: &[u8]| {
        let (name, value) = entry.split_at(entry.iter().position(|byte| *byte == b'=').unwrap_or(entry.len()));
        value.len() > 1 && names.iter().any(|wanted| wanted.as_bytes() == name)
    };
    Some(environment.split(|byte| *byte == 0).any(is_named))
}

/// Whether a process runs the same executable file as this process. `false` when that is unknown.
pub fn is_same_program(pid: i32) -> bool {
    let file = |path: &str| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let own = file("/proc/self/exe");
    pid > 0 && own.is_some() && own == file(&format!("/proc/{pid}/exe"))
}

/// All processes that this process can see in `/proc`, zombies included.
pub fn all() -> io::Result<Vec<ProcStat>> {
    let pids = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.filter_map(|pid| stat(pid).ok().flatten()).collect())
}

/// The names of a process: the base names of its first argument and of its executable, and its comm name. A login shell's
/// leading `-` is removed.
pub fn names(pid: i32) -> Vec<String> {
    let base = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
    let mut names = Vec::new();
    if let Ok(words) = fs::read(format!("/proc/{pid}/cmdline")) {
        let first = words.split(|byte| *byte == 0).next().unwrap_or_default();
        let first = base(&String::from_utf8_lossy(first));
        names.extend(first.strip_prefix('-').map(str::to_owned));
        names.push(first);
    }
    if let Ok(file) = fs::read_link(format!("/proc/{pid}/exe")) {
        let file = base(&file.to_string_lossy());
        names.push(file.strip_suffix(" (deleted)").unwrap_or(&file).to_owned());
    }
    if let Ok(own) = fs::read_to_string(format!("/proc/{pid}/comm")) {
        names.push(own.trim_end_matches('\n').to_owned());
    }
    names.retain(|name| !name.is_empty());
    names
}

impl ProcStat {
    /// Whether the process has exited and is not reaped yet.
    pub const fn is_zombie(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    pub fn key(&self) -> ProcessKey {
        ProcessKey { pid: self.pid, started: self.started, boot: host::boot_id() }
    }
}

impl ProcessKey {
    /// Rebuilds a key from three stored values; `None` when one is missing or out of range.
    pub fn from_record(pid: Option<i64>, started: Option<i64>, boot: Option<&str>) -> Option<Self> {
        let (pid, started) = (i32::try_from(pid?).ok()?, u64::try_from(started?).ok()?);
        Some(Self { pid, started, boot: boot?.to_owned() })
    }

    /// The key of a running process; `None` for a zombie, and when there is no such process.
    pub fn of(pid: i32) -> Option<Self> {
        stat(pid).ok().flatten().filter(|found| !found.is_zombie()).map(|found| found.key())
    }

    /// Whether this very process still exists. Its pid may belong to another process by now.
    pub fn status(&self) -> ProcessStatus {
        let boot = host::boot_id();
        if boot.is_empty() {
            return ProcessStatus::Unknown("the kernel does not tell its boot id".into());
        }
        if self.boot != boot {
            return ProcessStatus::Gone("the machine was booted again".into());
        }
        match stat(self.pid) {
            Err(error) => ProcessStatus::Unknown(error.to_string()),
            Ok(None) => ProcessStatus::Gone(format!("process {} is gone", self.pid)),
            Ok(Some(found)) if found.started != self.started => {
                ProcessStatus::Gone(format!("process {} is another one now", self.pid))
            }
            Ok(Some(found)) if found.is_zombie() => ProcessStatus::Gone(format!("process {} has ended", self.pid)),
            Ok(Some(_)) => ProcessStatus::Alive,
        }
    }

    /// Sends a signal to this process. Returns `false`, and sends nothing, when the process is gone or its state is unknown.
    pub fn signal(&self, signal: Signal) -> io::Result<bool> {
        // The pidfd pins the process; its identity is checked after that, so no other process gets the signal.
        let Some(descriptor) = pidfd(self.pid)? else { return Ok(false) };
        if self.status() != ProcessStatus::Alive {
            return Ok(false);
        }
        send_signal(&descriptor, signal)
    }
}

impl ProcessKey {
    /// Sends a signal to the process group that this process leads. Returns `false`, and sends nothing, when the process is gone,
    /// leads no group, or its state is unknown.
    pub fn signal_group(&self, signal: Signal) -> io::Result<bool> {
        // As long as the process exists, its number is not reused.
        if self.status() != ProcessStatus::Alive {
            return Ok(false);
        }
        match killpg(Pid::from_raw(self.pid), signal) {
            Ok(()) => Ok(true),
            Err(Errno::ESRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A pidfd, which becomes readable when the process ends; `None` when there is no such process.
#[expect(unsafe_code, reason = "pidfd_open has no safe form in the crates used here")]
pub fn pidfd(pid: i32) -> io::Result<Option<OwnedFd>> {
    if pid <= 0 {
        return Ok(None);
    }
    // SAFETY: the call takes two numbers and returns a new descriptor or -1.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match Errno::result(number) {
        // SAFETY: the kernel has just made this descriptor and no other owner has it.
        Ok(number) => Ok(Some(unsafe { OwnedFd::from_raw_fd(i32::try_from(number).map_err(io::Error::other)?) })),
        Err(Errno::ESRCH | Errno::EINVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[expect(unsafe_code, reason = "pidfd_send_signal has no safe form in the crates used here")]
fn send_signal(descriptor: &OwnedFd, signal: Signal) -> io::Result<bool> {
    let none = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open, the signal is a known one, and no siginfo is passed.
    let done = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor.as_raw_fd(), signal as i32, none, 0) };
    match Errno::result(done) {
        Ok(_) => Ok(true),
        Err(Errno::ESRCH) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test needs a process of its own")]
mod tests {
    use super::*;

    #[test]
    fn tells_a_process_from_its_corpse_and_from_the_next_of_its_pid() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let key = ProcessKey::of(i32::try_from(child.id()).unwrap()).unwrap();
        assert_eq!(key.status(), ProcessStatus::Alive);

        let other = ProcessKey { started: key.started + 1, ..key.clone() };
        assert!(matches!(other.status(), ProcessStatus::Gone(_)));
        assert!(!other.signal(Signal::SIGKILL).unwrap());
        let old_boot = ProcessKey { boot: "another".into(), ..key.clone() };
        assert!(matches!(old_boot.status(), ProcessStatus::Gone(_)));

        assert!(key.signal(Signal::SIGKILL).unwrap());
        // Not yet waited for: a zombie.
        poll_until(Duration::from_secs(5), Duration::from_millis(5), || {
            (key.status() != ProcessStatus::Alive).then_some(())
        })
        .unwrap();
        assert!(ProcessKey::of(key.pid).is_none());
        child.wait().unwrap();
        assert!(matches!(key.status(), ProcessStatus::Gone(_)));
    }

    #[test]
    fn environment_is_found_while_the_program_is_exchanged() {
        // About one plain read of sixty falls between two programs.
        let script = "[ $0 -eq 0 ] || exec sh -c \"$1\" $(($0 - 1)) \"$1\"";
        let start = ["-c", script, "600", script];
        let mut child = std::process::Command::new("sh").args(start).env("MARK_OF_A_TEST", "m").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let mut reads = 0;
        while stat(pid).unwrap().is_some_and(|found| !found.is_zombie()) {
            let found = has_variable(pid, &["MARK_OF_A_TEST"]);
            // Between the two looks it may have ended.
            let has_ended = read_stat(pid).map_or(true, |text| environ_range(&text) == EnvironRange::Over);
            assert!(found == Some(true) || has_ended, "{found:?} after {reads} reads");
            reads += 1;
        }
        child.wait().unwrap();
        assert!(reads > 0);
    }

    #[test]
    fn range_of_an_environment_is_told_from_one_that_the_kernel_sets_up() {
        let line = |flags: u64, begin: u64, end: u64| {
            format!("7 (a b) R 1 2 3 0 -1 {flags} {}{begin} {end} 0", "0 ".repeat(40))
        };
        for (stat, range) in [
            (line(0, 5, 9), EnvironRange::Length(4)),
            (line(0, 5, 5), EnvironRange::Length(0)),
            (line(0, 0, 0), EnvironRange::BeingSet),
            (line(4, 0, 0), EnvironRange::Over),
            (line(0x20_0040, 0, 0), EnvironRange::Over),
            ("7 (a b) R 1".to_owned(), EnvironRange::BeingSet),
        ] {
            assert_eq!(environ_range(&stat), range, "{stat}");
        }
    }

    #[test]
    fn numbers_that_are_no_processes() {
        for pid in [-1, 0, i32::MIN] {
            assert_eq!(stat(pid).unwrap(), None);
            assert!(ProcessKey::of(pid).is_none());
        }
        let name = "1 (a) b (c)) S 1 2 3 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 0";
        assert_eq!(parse_stat(1, name).map(|found| (found.session, found.started)), Some((3, 777)));
    }
}
