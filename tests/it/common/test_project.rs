//! A world of its own for each test: home, temporary folder, project and store; a cleared environment; a clock that
//! ticks once per command; ids that count. When it is dropped, the invariants are checked.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64};

use fairway_core::env::Timestamp;
use rusqlite::OpenFlags;
use serde_json::Value;
use tempfile::TempDir;

#[cfg(feature = "postgres")]
use super::postgres_server::{self, PostgresServer};
use super::{error_codes, invariants, published_schemas, scratch};

/// The real binary.
pub const FAIRWAY: &str = env!("CARGO_BIN_EXE_fairway");

/// When a world begins: 2026-01-01T00:00:00Z.
const START_MILLIS: i64 = 1_767_225_600_000;

/// A project, and everything around it that a command could touch.
pub struct TestProject {
    dir: TempDir,
    pub(super) commands: AtomicI64,
    /// What its ids count from.
    first_id: u64,
    real_time: AtomicBool,
    vars: Vec<(OsString, OsString)>,
    /// The server and the schema of the store, when it is in none of the files here.
    #[cfg(feature = "postgres")]
    pub(crate) on_server: Option<(PostgresServer, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl CommandOutput {
    /// The document on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The error document on stderr.
    #[track_caller]
    pub fn error(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        let document: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:#?}"));
        published_schemas::check_error(&document);
        document["error"].clone()
    }

    /// Fails unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Fails unless it failed with this exit code and error code (asked with `--json`).
    #[track_caller]
    pub fn refuses(self, exit: i32, code: &str) -> Self {
        let this = self.exits(exit);
        assert_eq!(this.error()["code"], code, "{this:#?}");
        assert_eq!(error_codes::exit_of(code), Some(exit), "docs/reference/codes.md has another exit for {code}");
        this
    }
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl TestProject {
    /// A world with an empty project folder, not yet initialised.
    pub fn uninitialized() -> Self {
        let dir = scratch::directory("fw");
        for name in ["home", "tmp", "project"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let world = Self {
            first_id: first_id(dir.path()),
            dir,
            commands: AtomicI64::new(0),
            real_time: AtomicBool::new(false),
            vars: Vec::new(),
            #[cfg(feature = "postgres")]
            on_server: None,
        };
        #[cfg(feature = "postgres")]
        if std::env::var("FAIRWAY_TEST_ENGINE").is_ok_and(|engine| engine == "postgres") {
            return world.move_to_server().expect("a server");
        }
        world
    }

    /// A world whose store is on a server; `None` where none can be started.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub fn on_postgres() -> Option<Self> {
        let world = Self::uninitialized().move_to_server()?;
        world.run(["init", "--quiet"]).exits(0);
        Some(world)
    }

    /// A world whose store is on this server.
    #[cfg(feature = "postgres")]
    #[track_caller]
    pub fn on_server_of_its_own(server: &PostgresServer) -> Self {
        let world = Self::uninitialized().move_to(server.clone());
        world.run(["init", "--quiet"]).exits(0);
        world
    }

    #[cfg(feature = "postgres")]
    fn move_to_server(self) -> Option<Self> {
        postgres_server::shared().map(|server| self.move_to(server))
    }

    #[cfg(feature = "postgres")]
    fn move_to(mut self, server: PostgresServer) -> Self {
        static WORLDS: AtomicI64 = AtomicI64::new(0);
        // A process id comes again; the name of the directory too, when only its capitals differ.
        let name = self.dir.path().file_name().unwrap().to_string_lossy().to_lowercase();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let schema = format!("{name}_{}_{}", std::process::id(), WORLDS.fetch_add(1, Relaxed));
        self.set("FAIRWAY_STORE_URL", server.address(&schema));
        self.on_server = Some((server, schema));
        self
    }

    /// A world with an initialised project.
    #[track_caller]
    pub fn new() -> Self {
        let world = Self::uninitialized();
        world.run(["init", "--quiet"]).exits(0);
        world
    }

    /// The folder around everything.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    /// The store's file.
    pub fn store(&self) -> PathBuf {
        self.root().join(".fairway/fairway.db")
    }

    /// Sets a variable for every later command.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.vars.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// From now on commands see the real time.
    pub fn real_time(&self) -> &Self {
        self.real_time.store(true, Relaxed);
        self
    }

    /// Lets the clock pass so many seconds.
    pub fn advance_clock(&self, seconds: i64) {
        self.commands.fetch_add(seconds, Relaxed);
    }

    /// The time that the last command saw.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(START_MILLIS + self.commands.load(Relaxed) * 1_000)
    }

    /// A command in this world, in the project's root.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.commands.fetch_add(1, Relaxed);
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", self.dir.path().join("home"))
            .env("TMPDIR", self.dir.path().join("tmp"))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(self.root())
            .stdin(Stdio::null());
        if !self.real_time.load(Relaxed) {
            command.env("FAIRWAY_TEST_TIME", self.now().to_string());
            let counted = u64::try_from(self.commands.load(Relaxed) * 1_000).unwrap();
            command.env("FAIRWAY_TEST_SEED", (self.first_id + counted).to_string());
        }
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The binary with these arguments, not yet started.
    pub fn fairway<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>) -> Command {
        let mut command = self.command(FAIRWAY);
        command.args(args);
        command
    }

    /// Runs the binary.
    #[track_caller]
    pub fn run<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>) -> CommandOutput {
        self.fairway(args).output().unwrap().into()
    }

    /// Runs the binary with `--json` and demands success, with a document as its schema says.
    #[track_caller]
    pub fn json<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>) -> Value {
        let mut command = self.fairway(args);
        let run = CommandOutput::from(command.arg("--json").output().unwrap()).exits(0);
        let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        published_schemas::check_output(&words, &run.stdout);
        run.json()
    }

    /// Runs the binary with text on its stdin.
    #[track_caller]
    pub fn run_with_stdin<T: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = T>, stdin: &[u8]) -> CommandOutput {
        let mut child =
            self.fairway(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that refuses before it reads closes the pipe; that is its answer, not our failure.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap().into()
    }

    /// Makes a running session known, as a launch would: its row and its event.
    pub fn add_session(&self, session: &str) {
        super::fixtures::add_session(self, session, "worker", None);
    }

    /// Runs statements that write rows into the store, as one change.
    #[track_caller]
    pub fn write_rows(&self, statements: &str) {
        #[cfg(feature = "postgres")]
        if let Some((server, schema)) = &self.on_server {
            let change = format!("BEGIN; SELECT begin_write(); {statements}; SELECT end_write(); COMMIT");
            server.query(schema, &change);
            return;
        }
        rusqlite::Connection::open(self.store()).unwrap().execute_batch(statements).unwrap();
    }

    /// The first value of a query, as text.
    #[track_caller]
    pub fn value(&self, query: &str) -> String {
        #[cfg(feature = "postgres")]
        if let Some((server, schema)) = &self.on_server {
            return server.query(schema, query).remove(0);
        }
        let conn = rusqlite::Connection::open(self.store()).unwrap();
        let query = format!("SELECT CAST(({query}) AS TEXT)");
        conn.query_row(&query, [], |row| row.get(0)).unwrap()
    }

    /// Runs a whole session: lines of shell words that begin with `$`, each followed by what was printed.
    #[track_caller]
    pub fn transcript(&self, lines: &[&str]) -> String {
        let mut transcript = String::new();
        for line in lines {
            let words = shell_words(line);
            let run = self.run(words.iter().skip(1));
            transcript.push_str(&format!("$ {line}\n{}{}", run.stdout, run.stderr));
            if run.code != Some(0) {
                transcript.push_str(&format!("[exit {}]\n", run.code.unwrap_or(-1)));
            }
        }
        self.redacted(&transcript)
    }

    /// What this world's ids have between their time and their number.
    fn id_prefix(&self) -> String {
        let id = uuid::Builder::from_unix_timestamp_millis(0, &{
            let mut counted = [0; 10];
            counted[2..].copy_from_slice(&self.first_id.to_be_bytes());
            counted
        });
        id.into_uuid().to_string()[13..28].to_owned()
    }

    /// Text without what differs from run to run: this world's folder, the user, the host, and where its ids begin.
    pub fn redacted(&self, text: &str) -> String {
        let user = format!("{}@{}", fairway_core::os::user::name(), fairway_core::os::host::name());
        let text = text.replace(&*self.dir.path().to_string_lossy(), "[world]").replace(&user, "[user]");
        let text = without_machine(&text).replace(&self.id_prefix(), "-7000-8000-0000");
        // The column of a timeline's actors is as wide as the user and host are long.
        let mut is_timeline = false;
        let line = |line: &str| {
            is_timeline = line.starts_with("AGO  BY") || is_timeline && !line.is_empty() && !line.starts_with("$ ");
            let columns = || line.split("  ").map(str::trim).filter(|column| !column.is_empty());
            if is_timeline { columns().collect::<Vec<_>>().join("  ") } else { line.to_owned() }
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }
}

/// What the ids of a world count from: another number for each. A supervisor that ends what is left of its session knows
/// it by the run's id, and must not find the session of another world. The last eight digits of an id and the suffix of a
/// name stay as they are with 0.
fn first_id(dir: &Path) -> u64 {
    const STEP: u64 = 13_u64.pow(5) << 32;
    const STEPS: u64 = (1 << 62) / STEP;
    static WORLDS: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u64> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        dir.hash(&mut hasher);
        hasher.finish()
    });
    (process % STEPS + WORLDS.fetch_add(1, Relaxed)) % STEPS * STEP
}

/// Text in which a person on a server is called as in a file: without `#` and the letters of the machine.
fn without_machine(text: &str) -> String {
    let mut parts = text.split("[user]#");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "[user]" + &part[4..])
}

/// Splits a line as a shell would: single and double quotes, no expansion.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for letter in line.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => (quote, begun) = (Some(letter), true),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ') => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

impl TestProject {
    /// Ends the background runs that have not ended.
    pub fn kill_jobs(&self) {
        #[cfg(feature = "postgres")]
        let has_store = self.on_server.is_some() || self.store().is_file();
        #[cfg(not(feature = "postgres"))]
        let has_store = self.store().is_file();
        if !self.root().join(".fairway/runs").is_dir() || !has_store || self.all_jobs_have_ended() {
            return;
        }
        let unfinished: CommandOutput =
            self.fairway(["exec", "list", "--unfinished", "--quiet"]).output().unwrap().into();
        for run in unfinished.stdout.lines() {
            let _ = self.fairway(["exec", "kill", "--grace", "100ms", run]).output();
        }
    }
}

impl TestProject {
    /// Whether the store's file says that every background run has ended; `false` when it cannot be asked.
    fn all_jobs_have_ended(&self) -> bool {
        #[cfg(feature = "postgres")]
        if self.on_server.is_some() {
            return false;
        }
        let store = rusqlite::Connection::open_with_flags(self.store(), OpenFlags::SQLITE_OPEN_READ_WRITE);
        let query = "SELECT NOT EXISTS (SELECT 1 FROM exec_runs WHERE finished_at IS NULL)";
        store.and_then(|store| store.query_row(query, [], |row| row.get(0))).unwrap_or(false)
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        self.kill_jobs();
        #[cfg(feature = "postgres")]
        if !std::thread::panicking()
            && let Some((server, schema)) = &self.on_server
        {
            server.check_invariants(schema);
        }
        if !std::thread::panicking() && self.store().is_file() {
            invariants::check(&self.store());
        }
    }
}
