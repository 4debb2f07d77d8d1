//! Shared parts of measuring programs: builds, projects, medians of whole processes in turns, and rows of a table.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::mkfifo;
use rusqlite::Connection;
use tempfile::TempDir;

/// The programs of one kind of build.
#[derive(Clone)]
pub struct Build {
    pub folder: PathBuf,
}

/// Commands that read, whatever the number of tasks: few rows of a large store.
pub const READS: [&[&str]; 4] = [
    &["ready", "--limit", "10"],
    &["task", "show", "S-995"],
    &["task", "list", "--limit", "10"],
    &["task", "list", "--held"],
];

/// Whether a row is wanted: one of the program's arguments is a part of its name, or there are none.
pub fn wanted(name: &str) -> bool {
    let mut chosen = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    chosen.peek().is_none() || chosen.any(|word| name.contains(word.as_str()))
}

impl Build {
    /// The build that this program belongs to: it is `target/release/deps/NAME-…`.
    pub fn own() -> Self {
        Self::installed(std::env::current_exe().unwrap().ancestors().nth(2).unwrap())
    }

    /// A build's programs, copied as an installation copies them. What the linker has just written lies in the page cache in single
    /// pages, and each page fault of a start costs more than in a file that was copied or read from the disk.
    pub fn installed(built: &Path) -> Self {
        let folder = built.join("installed");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("examples")).unwrap();
        let is_program = |name: &str| name.starts_with("bench_") && !name.contains(['-', '.']);
        let examples = fs::read_dir(built.join("examples")).into_iter().flatten();
        let examples = examples.map(|entry| PathBuf::from("examples").join(entry.unwrap().file_name()));
        let examples = examples.filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_program));
        for name in examples.chain([PathBuf::from("fairway")]) {
            fs::copy(built.join(&name), folder.join(&name)).unwrap();
        }
        Self { folder }
    }

    /// The command with these words, in a project.
    pub fn fairway(&self, project: &Path, words: &[&str]) -> Command {
        self.command(&self.folder.join("fairway"), project, words)
    }

    /// A program of comparison.
    pub fn example(&self, name: &str, project: &Path, words: &[&str]) -> Command {
        self.command(&self.program(name), project, words)
    }

    /// Where a program of comparison lies.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("examples").join(name)
    }

    fn command(&self, program: &Path, project: &Path, words: &[&str]) -> Command {
        assert!(program.exists(), "{} is missing: run `just bench`", program.display());
        let mut command = Command::new(program);
        command.args(words).current_dir(project).env_clear().env("HOME", project).env("PATH", "/usr/bin:/bin");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// A project of its own with so many ready tasks, and so many that are done.
pub fn project(build: &Build, ready: u32, done: u32) -> TempDir {
    let folder = tempfile::Builder::new().prefix("fairway-bench").tempdir().unwrap();
    assert!(build.fairway(folder.path(), &["init", "--quiet"]).status().unwrap().success());
    let conn = Connection::open(store(&folder)).unwrap();
    let all = ready + done;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = OFF; BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {all})
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, closed_at)
         SELECT 'S-' || i, 'task number ' || i, iif(i > {done}, 'todo', 'done'), 2, i, i, iif(i > {done}, NULL, i) FROM n
         WHERE {all} > 0;
         COMMIT;"
    ))
    .unwrap();
    folder
}

/// A project's store.
pub fn store(project: &TempDir) -> PathBuf {
    project.path().join(".fairway/fairway.db")
}

/// How long a command takes; it must succeed.
pub fn took(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap();
    let took = start.elapsed();
    assert!(status.success(), "{command:?}");
    took
}

/// Valgrind's own word for no file beside its log.
pub const DISCARD: &str = "--cachegrind-out-file=/dev/null";

/// This command below another program, which these words start. Without words, this command.
pub fn below(words: &[&str], command: &Command) -> Command {
    let all: Vec<&OsStr> =
        words.iter().map(OsStr::new).chain([command.get_program()]).chain(command.get_args()).collect();
    let mut whole = Command::new(all[0]);
    whole.args(&all[1..]).env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    whole.current_dir(command.get_current_dir().unwrap());
    whole.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    whole
}

/// The instructions that valgrind's log states.
pub fn instructions(log: &str) -> u64 {
    let (_, number) =
        log.lines().find_map(|line| line.split_once("refs:")).unwrap_or_else(|| panic!("no count: {log}"));
    number.replace(',', "").trim().parse().unwrap()
}

/// The instructions of one call.
pub fn count(command: &Command) -> u64 {
    let log = TempDir::new().unwrap();
    let file = log.path().join("log");
    let to = format!("--log-file={}", file.display());
    let mut counted = below(&["valgrind", &to, "--tool=cachegrind", "--cache-sim=no", DISCARD], command);
    assert!(counted.status().unwrap().success(), "{command:?}");
    instructions(&fs::read_to_string(file).unwrap())
}

/// The one in the middle.
pub fn median(mut spans: Vec<Duration>) -> Duration {
    spans.sort_unstable();
    spans[spans.len() / 2]
}

/// The medians of several commands that take turns.
pub fn medians<const N: usize>(rounds: usize, mut commands: [Command; N]) -> [Duration; N] {
    for command in &mut commands {
        for _ in 0..5 {
            took(command);
        }
    }
    let mut spans: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (command, spans) in commands.iter_mut().zip(&mut spans) {
            spans.push(took(command));
        }
    }
    spans.map(median)
}

/// Prints one row of the report.
pub fn row(what: &str, figure: &str, goal: &str) {
    println!("| {what} | {figure} | {goal} |");
}

/// A row that is a ratio.
pub fn against(what: &str, ours: Duration, theirs: Duration, goal: &str) {
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    row(what, &format!("{ratio:.2} × ({:.2} ms against {:.2} ms)", ms(ours), ms(theirs)), goal);
}

/// In milliseconds.
pub fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1_000.0
}

/// The clock that the programs of comparison tell.
pub fn clock() -> Duration {
    clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap().into()
}

/// A pipe with a name, in a folder.
pub fn fifo(folder: &Path) -> PathBuf {
    let path = folder.join("fifo");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    path
}

/// From the start of a command to the moment that the program which it starts reads the clock: the program writes that into
/// `fifo`.
pub fn until_stamp(command: &mut Command, fifo: &Path) -> Duration {
    let start = clock();
    let mut child = command.spawn().unwrap();
    let mut stamp = String::new();
    File::open(fifo).unwrap().read_to_string(&mut stamp).unwrap();
    assert!(child.wait().unwrap().success(), "{command:?}");
    Duration::from_nanos(stamp.trim().parse().unwrap()).checked_sub(start).unwrap()
}

/// Ten thousand more runs like the one that is there.
pub fn finished_runs(build: &Build, project: &TempDir) {
    let conn = Connection::open(store(project)).unwrap();
    conn.execute_batch(
        "PRAGMA synchronous = OFF; BEGIN IMMEDIATE;
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO exec_runs (id, status, command, cwd, background, max_output_bytes, recovery, host, boot_id, exit_code,
             actor, queued_at, started_at, finished_at, updated_at)
         SELECT printf('01900000-0000-7000-8000-%012x', i), status, command, cwd, background, max_output_bytes, recovery,
             host, boot_id, exit_code, actor, queued_at, started_at, finished_at, updated_at
         FROM n, (SELECT * FROM exec_runs WHERE status = 'succeeded' LIMIT 1);
         COMMIT;",
    )
    .unwrap();
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(conn);
    // As usual there is a log, and it is short: else each reader would pay for its length, or for making it.
    took(&mut build.fairway(project.path(), &["task", "add", "one more", "--quiet"]));
}
