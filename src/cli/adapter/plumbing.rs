//! The hidden `fairway adapter …` commands that backend scripts call. None of them needs a project.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::agents::structured_session;
use fairway_core::adapters::StartConfig;
use fairway_core::adapters::plumbing::commands::{
    control_socket, fifo_input, inspect, meta, multiplexer_call, multiplexer_server, paths, process_tree,
    script_terminal, start, structured,
};
use fairway_core::adapters::plumbing::probe_program::{self, ProbeOptions};
use fairway_core::adapters::plumbing::transcript::MAX_TRANSCRIPT_BYTES;
use fairway_core::adapters::plumbing::{IoMode, ReaderState, SocketDir, StartedPane};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::terminal::Size;
use fairway_core::render::{Relay, escape_line};

/// The exit codes of shells and of `timeout`.
const TIMED_OUT: Exit = 124;
const NO_PROGRAM: Exit = 127;
const SIGNAL: i32 = 128;
/// `EX_TEMPFAIL`: the call may succeed later.
const TEMPORARY_FAILURE: Exit = 75;

/// Commands for backend scripts.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Plumbing {
    /// Store the start configuration on stdin for a session
    #[command(hide = true)]
    Unpack {
        /// Session name
        name: String,
    },
    /// Run a session's program; exits with its exit code
    #[command(hide = true)]
    Run {
        /// Session name
        name: String,
        /// Run it in a process of its own and return once it started
        #[arg(long, conflicts_with = "apart")]
        detach: bool,
        /// Give it a terminal and record its output
        #[arg(long, conflicts_with_all = ["detach", "apart"])]
        record: bool,
        /// Be the process of --detach
        #[arg(long, hide = true)]
        apart: bool,
        /// Speak the Agent Client Protocol with it
        #[arg(long, conflicts_with = "record")]
        structured: bool,
    },
    /// Give the text on stdin as a prompt to a structured session
    #[command(hide = true)]
    Prompt {
        /// Session name
        name: String,
    },
    /// End the turn of a structured session
    #[command(hide = true)]
    Cancel {
        /// Session name
        name: String,
    },
    /// Wait until a new session is ready and print its report
    #[command(hide = true)]
    FinishStart {
        /// Session name
        name: String,
        /// Backend script, called to peek and to type
        script: PathBuf,
        /// Pane of the session
        #[arg(long, value_name = "PANE")]
        pane: Option<String>,
        /// Socket of its multiplexer
        #[arg(long, value_name = "PATH")]
        socket: Option<String>,
    },
    /// Print one fact about an unpacked session, no newline
    #[command(hide = true)]
    Get {
        /// Session name
        name: String,
        /// Fact to print
        fact: Fact,
    },
    /// Copy stdin to a private transcript of limited size
    #[command(hide = true)]
    Transcript {
        /// Transcript
        file: PathBuf,
        /// Size at which the file starts anew
        #[arg(long, value_name = "BYTES", default_value_t = MAX_TRANSCRIPT_BYTES)]
        limit: u64,
    },
    /// Kill a session's process tree and forget the session
    #[command(hide = true)]
    KillTree {
        /// Session name
        name: String,
        /// Only if the calling script is starting the session now
        #[arg(long)]
        own_start: bool,
    },
    /// Print whether a session's root process is alive
    #[command(hide = true)]
    Alive {
        /// Session name
        name: String,
    },
    /// Print whether a program named on stdin runs in a session
    #[command(hide = true)]
    ProcessAlive {
        /// Session name
        name: String,
    },
    /// Print the names of live sessions, one per line
    #[command(hide = true)]
    ListRunning {
        /// Prefix of the names
        #[arg(default_value = "")]
        prefix: String,
        /// Only sessions whose directory holds this file
        #[arg(long, value_name = "FILE")]
        with: Option<String>,
    },
    /// Print the time of a session's last output, if known
    #[command(hide = true)]
    LastActivity {
        /// Session name
        name: String,
    },
    /// Print the last lines of a session's transcript
    #[command(hide = true)]
    Peek {
        /// Session name
        name: String,
        /// Number of lines; 0 for all
        #[arg(default_value_t = 0, allow_negative_numbers = true)]
        lines: i64,
    },
    /// Print whether a session's root process is alive, and where
    #[command(hide = true)]
    Find {
        /// Session name
        name: String,
    },
    /// Print the socket of this state directory's private server
    #[command(hide = true)]
    SocketPath {
        /// Program of the server
        program: String,
    },
    /// Print the directory of the sessions' directories
    #[command(hide = true)]
    StateDir,
    /// Call a multiplexer with a time limit and a clean environment
    #[command(hide = true)]
    Call {
        /// Time limit in milliseconds
        #[arg(long, value_name = "N", default_value_t = 1_500)]
        limit_ms: u64,
        /// Lock file shared by the callers of one server
        #[arg(long, value_name = "FILE")]
        turn: Option<PathBuf>,
        /// Pass this command's stdin on
        #[arg(long)]
        stdin: bool,
        /// Command and arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Replace this process by a server's start command, clean
    #[command(hide = true)]
    ExecClean {
        /// Command and arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Type the text on stdin into a session and submit it
    #[command(hide = true)]
    Submit {
        /// Session name
        name: String,
        /// Backend script, called to look, paste and press
        script: PathBuf,
    },
    /// Write the text on stdin to a program without a terminal
    #[command(hide = true)]
    Input {
        /// Session name
        name: String,
    },
    /// Copy a file or directory content to a session's directory
    #[command(hide = true)]
    CopyTo {
        /// Session name
        name: String,
        /// File or directory to copy
        source: PathBuf,
        /// Destination below the session's working directory
        #[arg(default_value = "")]
        destination: String,
    },
    /// Press keys in a session without a terminal
    #[command(hide = true)]
    Press {
        /// Session name
        name: String,
        /// Keys by name; other words are typed
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        keys: Vec<String>,
    },
    /// Interrupt a session's program as Ctrl-C would
    #[command(hide = true)]
    Interrupt {
        /// Session name
        name: String,
    },
    /// Print a session's output until it ends
    #[command(hide = true)]
    Follow {
        /// Session name
        name: String,
        /// Print whether a reader follows it: true or false
        #[arg(long)]
        ask: bool,
    },
    /// Type the text on stdin into a recorded session, submit it
    #[command(hide = true)]
    Type {
        /// Session name
        name: String,
    },
    /// Run a command in an off-screen terminal until it ends
    #[command(hide = true)]
    RunOffscreen {
        /// Height of the terminal in cells
        rows: u16,
        /// Width of the terminal in cells
        cols: u16,
        /// Command and arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Press keys in a recorded session
    #[command(hide = true)]
    PressKeys {
        /// Session name
        name: String,
        /// Keys by name; other words are typed
        #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
        keys: Vec<String>,
    },
    /// Print the screen of a recorded session with its history
    #[command(hide = true)]
    Replay {
        /// Session name
        name: String,
        /// Number of lines; 0 for all
        #[arg(default_value_t = 0, allow_negative_numbers = true)]
        lines: i64,
        /// Print nothing; clear the history
        #[arg(long, conflicts_with = "lines")]
        clear: bool,
    },
    /// Print name, environment tag and socket directory of a server
    #[command(hide = true)]
    ServerAddress(ServerArgs),
    /// End the rest of an ended session's own server
    #[command(hide = true)]
    ServerCleanup(ServerArgs),
    /// Read and write values stored with a session
    #[command(hide = true, subcommand)]
    Meta(Meta),
    /// Be the program of a checked session and record its input
    #[command(hide = true)]
    Probe {
        /// Directory of the records
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// Number of lines to print first
        #[arg(long, value_name = "N", default_value_t = 0)]
        lines: u32,
        /// Prompt to print once it reads input
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// Words to record
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

// No doc comment: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct ServerArgs {
    /// Its sockets have a directory of their own
    #[arg(long)]
    alone: bool,
    /// Multiplexer
    program: String,
    /// Session name
    name: String,
}

impl ServerArgs {
    const fn neighbours(&self) -> SocketDir {
        if self.alone { SocketDir::Private } else { SocketDir::Shared }
    }
}

/// A fact about an unpacked session.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Fact {
    /// Height of the terminal in cells
    Rows,
    /// Width of the terminal in cells
    Cols,
    /// Transcript
    Transcript,
    /// Working directory of the program
    Directory,
    /// Private directory of the session
    SessionDir,
    /// Word of letters, digits, `_`, `-` and `%` that is unique to the session
    Token,
}

/// Values that are stored with a session.
#[derive(Debug, Subcommand)]
pub enum Meta {
    /// Print a value or start variable; nothing if it is unset
    Get(MetaKey),
    /// Store the value on stdin
    Set(MetaKey),
    /// Delete a value
    Remove(MetaKey),
}

// Like `ServerArgs`, without a doc comment.
#[derive(Debug, clap::Args)]
pub struct MetaKey {
    /// Session name
    name: String,
    /// Key
    key: String,
}

impl Plumbing {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let env = &ctx.env;
        let mut warn = |why: &str| ctx.out.write_error(&escape_line(why));
        match self {
            Self::Unpack { name } => start::unpack(env, &name, io::stdin().lock(), &mut warn)?,
            Self::Run { name, detach: true, structured: false, .. } => start::detach(env, &name)?,
            Self::Run { name, detach: true, structured: true, .. } => structured::detach(env, &name)?,
            Self::Run { name, structured: true, .. } => {
                let open = |start: &StartConfig| structured_session::open_sink(env, start);
                let record = fairway_actions::sessions::liveness::record_exit::record;
                let code = structured::run(env, &name, open, record, warn)?;
                return Ok(Exit::try_from(code).unwrap_or(1));
            }
            Self::Prompt { name } => structured::prompt(env, &name, io::stdin().lock())?,
            Self::Cancel { name } => structured::cancel(env, &name)?,
            Self::Run { name, record, apart, .. } => {
                let how = match (apart, record) {
                    (true, _) => IoMode::Detached,
                    (_, true) => IoMode::PtyProxy,
                    _ => IoMode::Inherit,
                };
                let code = start::run(env, &name, how, fairway_actions::sessions::liveness::record_exit::record, warn)?;
                return Ok(Exit::try_from(code).unwrap_or(1));
            }
            Self::FinishStart { name, script, pane, socket } => {
                let report = start::finish_start(env, &name, &script, StartedPane { pane, socket }, &mut warn)?;
                ctx.out.document(&report)?;
            }
            Self::Get { name, fact } => ctx.out.bytes(&fact_of(ctx, &name, fact)?)?,
            Self::Transcript { file, limit } => process_tree::tee(&env.cwd.join(file), limit, io::stdin().lock())?,
            Self::KillTree { name, own_start: true } => process_tree::roll_back(env, &name)?,
            Self::KillTree { name, own_start: false } => process_tree::kill_tree(env, &name)?,
            Self::Alive { name } => ctx.out.line(truth(inspect::is_alive(env, &name)?))?,
            Self::ProcessAlive { name } => {
                ctx.out.line(truth(inspect::runs_one_of(env, &name, io::stdin().lock())?))?;
            }
            Self::ListRunning { prefix, with } => {
                let names = inspect::list_running(env, &prefix, with.as_deref())?;
                ctx.out.text(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
            }
            Self::LastActivity { name } => {
                if let Some(at) = inspect::last_activity(env, &name)? {
                    ctx.out.line(&at.to_string())?;
                }
            }
            Self::Peek { name, lines } => ctx.out.text(&inspect::peek(env, &name, lines)?)?,
            Self::Find { name } => {
                if let Some((is_alive, dir)) = paths::find_session(env, &name)? {
                    ctx.out.bytes(&[truth(is_alive).as_bytes(), b"\n", dir.as_os_str().as_bytes(), b"\n"].concat())?;
                }
            }
            Self::SocketPath { program } => {
                ctx.out.text(&format!("{}\n", paths::socket_path(env, &program)?.display()))?;
            }
            Self::StateDir => ctx.out.bytes(&[paths::state_dir(env)?.as_os_str().as_bytes(), b"\n"].concat())?,
            Self::Call { limit_ms, turn, stdin, words } => return call(ctx, limit_ms, turn, stdin, &words),
            Self::ExecClean { words } => multiplexer_call::exec_clean(env, &words)?,
            Self::Submit { name, script } => {
                return Ok(submitted(script_terminal::submit(env, &name, &script, io::stdin().lock())?, &mut warn));
            }
            Self::Input { name } => fifo_input::send_line(env, &name, io::stdin().lock())?,
            Self::CopyTo { name, source, destination } => {
                start::copy_to(env, &name, &source, &destination, &mut warn)?;
            }
            Self::Press { name, keys } => fifo_input::press_keys(env, &name, &keys)?,
            Self::Interrupt { name } => fifo_input::interrupt(env, &name)?,
            Self::Follow { name, ask: true } => ctx.out.line(truth(inspect::is_followed(env, &name)?))?,
            Self::Follow { name, ask: false } => follow(ctx, &name)?,
            Self::Type { name } => {
                return Ok(submitted(control_socket::submit_text(env, &name, io::stdin().lock())?, &mut warn));
            }
            Self::RunOffscreen { rows, cols, words } => {
                multiplexer_server::run_offscreen(env, Size { rows, cols }, &words)?;
            }
            Self::PressKeys { name, keys } => control_socket::press_keys(env, &name, keys)?,
            Self::Replay { name, clear: true, .. } => inspect::clear_scrollback(env, &name)?,
            Self::Replay { name, lines, clear: false } => ctx.out.text(&inspect::peek_screen(env, &name, lines)?)?,
            Self::ServerAddress(args) => {
                let server = multiplexer_server::prepare_address(env, &args.program, &args.name, args.neighbours())?;
                ctx.out.line(&format!("{}\n{}\n{}", server.name, server.env_tag, server.dir.display()))?;
            }
            Self::ServerCleanup(args) => {
                multiplexer_server::end_server(env, &args.program, &args.name, args.neighbours())?;
            }
            Self::Meta(Meta::Get(MetaKey { name, key })) => {
                if let Some(value) = meta::get(env, &name, &key)? {
                    ctx.out.bytes(&value)?;
                }
            }
            Self::Meta(Meta::Set(MetaKey { name, key })) => meta::set(env, &name, &key, io::stdin().lock())?,
            Self::Meta(Meta::Remove(MetaKey { name, key })) => meta::remove(env, &name, &key)?,
            Self::Probe { dir, lines, prompt, words } => {
                probe_program::run(env, &env.cwd.join(dir), &ProbeOptions { lines, prompt, args: words })?;
            }
        }
        Ok(0)
    }
}

/// The exit code after a text was typed: 0, or [`TEMPORARY_FAILURE`] when a question is on the screen, which is then printed
/// as a warning.
fn submitted(question: Option<String>, warn: &mut dyn FnMut(&str)) -> Exit {
    let Some(sign) = question else { return 0 };
    warn(&format!("the program asks: {sign}"));
    TEMPORARY_FAILURE
}

const fn truth(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

fn fact_of(ctx: &Context, name: &str, fact: Fact) -> Result<Vec<u8>> {
    let facts = inspect::info(&ctx.env, name)?;
    let path = |path: &OsStr| path.as_bytes().to_vec();
    Ok(match fact {
        Fact::Rows => facts.terminal.rows.to_string().into_bytes(),
        Fact::Cols => facts.terminal.cols.to_string().into_bytes(),
        Fact::Transcript => path(facts.transcript.as_os_str()),
        Fact::Directory => path(facts.working_dir.as_os_str()),
        Fact::SessionDir => path(facts.session_dir.as_os_str()),
        Fact::Token => facts.session_dir.file_name().map(path).unwrap_or_default(),
    })
}

/// Calls a multiplexer and prints its output. Returns its exit code. When it has none, returns the code that `timeout` or a
/// shell would return.
fn call(ctx: &Context, limit_ms: u64, turn: Option<PathBuf>, stdin: bool, words: &[OsString]) -> Result<Exit> {
    let mut from = io::stdin().lock();
    let stdin = stdin.then_some(&mut from as &mut dyn Read);
    let _turn = match &turn {
        Some(file) => match multiplexer_call::acquire_lock(file)? {
            Some(turn) => Some(turn),
            None => {
                ctx.out.write_error(&format!("other callers hold the lock {}", file.display()));
                return Ok(TIMED_OUT);
            }
        },
        None => None,
    };
    let Some(done) = multiplexer_call::call_with_timeout(&ctx.env, words, Duration::from_millis(limit_ms), stdin)?
    else {
        let first = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        ctx.out.write_error(&format!("there is no program '{first}'"));
        return Ok(NO_PROGRAM);
    };
    ctx.out.bytes(&done.stdout)?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    if !stderr.trim().is_empty() {
        ctx.out.write_error(stderr.trim());
    }
    Ok(match done.exit {
        ExitReason::Code(code) => Exit::try_from(code).unwrap_or(1),
        ExitReason::Signal(signal) => Exit::try_from(SIGNAL + signal).unwrap_or(1),
        ExitReason::TimedOut => TIMED_OUT,
    })
}

/// Prints a session's output as it comes: for a terminal as plain text, else byte for byte.
fn follow(ctx: &Context, name: &str) -> Result<()> {
    let stdout = io::stdout();
    if ctx.env.terminal.stdout {
        let relay = Relay::new(&ctx.out, true, ctx.env.terminal.stderr);
        return inspect::follow(&ctx.env, name, stdout.as_fd(), |bytes| {
            relay.out(bytes);
            ReaderState::Open
        });
    }
    inspect::follow(&ctx.env, name, stdout.as_fd(), |bytes| {
        let mut stdout = stdout.lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Ok(()) => ReaderState::Open,
            Err(_) => ReaderState::Closed,
        }
    })
}
