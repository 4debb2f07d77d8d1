//! Calls of the programs in a sandbox, and their answers. The process outside runs some verbs of Fairway for them, outside of the
//! sandbox and as their session.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fairway_core::guard::is_sandbox_verb;
use fairway_core::os::capture::{self, Call};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::git::{Git, LaneClone};
use fairway_core::os::socket;
use fairway_core::wire::{SandboxCall, SandboxReply};

/// The name of the socket in the sandbox's directory.
pub const SOCKET: &str = "socket";
/// The socket's path inside the sandbox.
pub const INSIDE: &str = "/run/fairway.sock";

/// Whether this process is in a sandbox.
pub fn is_inside() -> bool {
    Path::new(INSIDE).exists()
}

/// Has the process outside run `fairway ARGS…` with this standard input, and waits for its end.
pub fn call(args: Vec<String>, stdin: String) -> io::Result<SandboxReply> {
    let directory = std::env::current_dir().unwrap_or_default();
    let mut stream = socket::connect_at(Path::new(INSIDE))?;
    stream.write_all(&serde_json::to_vec(&SandboxCall { args, directory, stdin })?)?;
    stream.shutdown(Shutdown::Write)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
/// The largest request, in bytes.
const MAX_REQUEST_BYTES: u64 = 16 << 20;
/// The time limit of a verb, which may have to wait for something.
const LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// How many verbs run at once.
const MAX_CALLS: usize = 16;

/// The session, lane and repository for whose sandbox calls are answered.
#[derive(Debug)]
pub struct Answering {
    pub program: PathBuf,
    pub env: BTreeMap<OsString, OsString>,
    pub worktree: PathBuf,
    pub lane: String,
    /// The directory for temporary files.
    pub scratch: PathBuf,
    pub clone: LaneClone,
    /// The largest size of new commits, in bytes.
    pub limit: Option<u64>,
    /// Locked while commits of the sandbox are brought into the lane's branch.
    pub taking: Mutex<()>,
}

/// Answers calls from the sandbox on a socket in `dir`, in threads that end with this process. A socket that is there already
/// is replaced.
pub fn listen(dir: &Path, answering: Arc<Answering>) -> io::Result<()> {
    let _ = std::fs::remove_file(dir.join(SOCKET));
    let listener = socket::listen(dir, SOCKET)?;
    listener.set_nonblocking(false)?;
    thread::Builder::new().name("sandbox".into()).spawn(move || accept(&listener, &answering)).map(drop)
}

fn accept(listener: &UnixListener, answering: &Arc<Answering>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if Arc::strong_count(answering) > MAX_CALLS {
            let _ = reply(stream, &refused("too many commands of this sandbox run at once"));
            continue;
        }
        let answering = Arc::clone(answering);
        // Without a thread the connection is closed, and the caller says so.
        let _ = thread::Builder::new().spawn(move || {
            let _ = answer(stream, &answering);
        });
    }
}

fn answer(mut stream: UnixStream, answering: &Answering) -> io::Result<()> {
    let mut bytes = Vec::new();
    (&mut stream).take(MAX_REQUEST_BYTES).read_to_end(&mut bytes)?;
    let said = match serde_json::from_slice::<SandboxCall>(&bytes) {
        Ok(call) => answering.run(&call),
        Err(error) => refused(&format!("the request cannot be read: {error}")),
    };
    reply(stream, &said)
}

fn reply(mut stream: UnixStream, said: &SandboxReply) -> io::Result<()> {
    stream.write_all(&serde_json::to_vec(said)?)?;
    stream.shutdown(Shutdown::Write)
}

fn refused(why: &str) -> SandboxReply {
    SandboxReply { exit: 5, stdout: String::new(), stderr: format!("error: {why}\n") }
}

impl Answering {
    fn run(&self, call: &SandboxCall) -> SandboxReply {
        if !is_sandbox_verb(&call.args) {
            let verb: Vec<String> = call.args.iter().take(2).map(|word| word.escape_debug().to_string()).collect();
            return refused(&format!(
                "fairway {} is not for programs in a sandbox, or not with these flags\n\
                 hint: see what is: fairway guide guard",
                verb.join(" ")
            ));
        }
        if let Err(why) = self.take_back() {
            return refused(&format!("the commits of the sandbox cannot be taken over: {why}"));
        }
        // A directory of the lane, as it is outside: no link leads away.
        let asked = call.directory.canonicalize().ok().filter(|dir| dir.starts_with(&self.worktree));
        let cwd = asked.unwrap_or_else(|| self.worktree.clone());
        let args: Vec<OsString> = call.args.iter().map(OsString::from).collect();
        let run = Call {
            program: &self.program,
            args: &args,
            env: &self.env,
            cwd: &cwd,
            stdin: call.stdin.as_bytes(),
            limit: LIMIT,
            ends_group: true,
        };
        match capture::capture(&run) {
            Ok(done) => SandboxReply {
                exit: match done.exit {
                    ExitReason::Code(code) => u8::try_from(code).unwrap_or(1),
                    ExitReason::Signal(_) | ExitReason::TimedOut => 7,
                },
                stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
            },
            Err(error) => refused(&format!("fairway cannot be run outside: {error}")),
        }
    }

    /// Brings the commits of the sandbox into the lane's branch, so that the verb sees them.
    fn take_back(&self) -> Result<(), String> {
        let Ok(_one) = self.taking.lock() else { return Err("an earlier attempt failed".to_owned()) };
        let git = Git::new(&self.env, &self.worktree);
        self.clone.take_back(&git, &self.lane, &self.scratch, self.limit).map(drop).map_err(|error| error.to_string())
    }
}
