//! Queries the panes of a tmux server, all of them in one call. Used for sessions that no backend script started: panes that
//! existed before and were registered.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::clean_env;
use crate::domain::rules::staleness::BackendObservation;
use crate::domain::session::Session;
use crate::env::{Env, vars};
use crate::os::capture::{self, Call};
use crate::os::exit_reason::ExitReason;
use crate::os::process::{ProcessKey, ProcessStatus};
use crate::os::{executable, user};

/// The backend whose panes are queried here.
pub const BACKEND: &str = "tmux";

/// How long a server may take to answer: a stopped one would block its callers forever.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

const LIST_FORMAT: &str = "#{pid} #{pane_id} #{pane_dead}";

/// The answer of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panes {
    /// The server that answered.
    pub server: ProcessKey,
    /// Whether each pane is dead: its program has ended, and the pane is only kept to be looked at.
    is_dead: BTreeMap<String, bool>,
}

impl Panes {
    /// Whether the server has this pane, dead or alive.
    pub fn has(&self, pane: &str) -> bool {
        self.is_dead.contains_key(pane)
    }

    /// Fails unless the pane exists and is alive; the error says why.
    pub fn check_alive(&self, pane: &str) -> Result<(), String> {
        match self.is_dead.get(pane) {
            Some(false) => Ok(()),
            Some(true) => Err(format!("the pane {pane} is dead")),
            None => Err(format!("there is no pane {pane} in its tmux server")),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (mut pid, mut dead) = (None, BTreeMap::new());
        for line in text.lines() {
            let mut words = line.split(' ');
            let server: i32 = words.next()?.parse().ok()?;
            if *pid.get_or_insert(server) != server {
                return None;
            }
            let pane = words.next().filter(|pane| pane.starts_with('%'))?;
            dead.insert(pane.to_owned(), words.next()? != "0");
        }
        Some(Self { server: ProcessKey::of(pid?)?, is_dead: dead })
    }
}

/// Probes the panes of sessions. Each server is queried once, whatever the number of its panes.
#[derive(Debug, Default)]
pub struct PaneProber {
    servers: HashMap<ProcessKey, ProcessStatus>,
    /// The answers, by the path of the server's socket.
    panes: BTreeMap<Option<String>, Result<Panes, String>>,
}

impl PaneProber {
    /// Determines whether the tmux pane of a session is alive, for a session that no backend script started; `None` for a session
    /// without a tmux pane. Answers of tmux are kept for later calls.
    pub fn probe(&mut self, env: &Env, session: &Session) -> Option<BackendObservation> {
        let pane = session.pane.as_deref().filter(|_| session.backend.as_deref() == Some(BACKEND))?;
        let recorded = ProcessKey::from_record(session.server_pid, session.server_started, session.boot_id.as_deref());
        if let Some(server) = &recorded {
            match self.servers.entry(server.clone()).or_insert_with(|| server.status()) {
                ProcessStatus::Gone(_) => return Some(BackendObservation::Gone("its tmux server is gone".to_owned())),
                ProcessStatus::Unknown(why) => return Some(BackendObservation::Unknown(why.clone())),
                ProcessStatus::Alive => {}
            }
        }
        let panes = match self.panes.entry(session.socket.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(list_panes(env, session.socket.as_deref())),
        };
        Some(match (panes, recorded) {
            (Err(why), _) => BackendObservation::Unknown(why.clone()),
            (Ok(panes), Some(server)) if panes.server != server => {
                BackendObservation::Unknown("a different tmux server answers".to_owned())
            }
            (Ok(panes), known) => match panes.check_alive(pane) {
                Err(why) => BackendObservation::Gone(why),
                Ok(()) if known.is_some() => BackendObservation::Alive,
                Ok(()) => BackendObservation::Unknown(format!(
                    "pane {pane} exists, but the session's tmux server is not recorded"
                )),
            },
        })
    }
}

/// The socket of the tmux server in whose terminal this process runs, by the variable `TMUX`; `None` outside of one, and for the
/// server that a plain `tmux` of this user finds everywhere.
pub fn surrounding_socket(env: &Env) -> Option<String> {
    let socket = env.var(vars::TMUX)?.split(',').next().filter(|socket| socket.starts_with('/'))?;
    let usual = format!("/tmp/tmux-{}/default", user::uid());
    (socket != usual).then(|| socket.to_owned())
}

/// Asks a tmux server for its panes: the server at the path `socket`, or the one that a plain `tmux` uses.
///
/// # Errors
/// A text that says why there is no answer. It says nothing about the state of any pane.
pub fn list_panes(env: &Env, socket: Option<&str>) -> Result<Panes, String> {
    let around = clean_env(env);
    let path = around.get(OsStr::new(vars::PATH)).map(OsString::as_os_str);
    let program = executable::find(BACKEND, path, &env.cwd).ok_or("there is no program tmux")?;
    let mut args: Vec<OsString> = Vec::new();
    if let Some(socket) = socket {
        args.extend([OsString::from("-S"), socket.into()]);
    }
    args.extend(["list-panes", "-a", "-F", LIST_FORMAT].map(OsString::from));
    let call = Call {
        program: &program,
        args: &args,
        env: &around,
        cwd: &env.cwd,
        stdin: b"",
        limit: QUERY_TIMEOUT,
        ends_group: true,
    };
    let at = socket.unwrap_or("its usual socket");
    let done = capture::capture(&call).map_err(|error| format!("tmux cannot be run: {error}"))?;
    match done.exit {
        ExitReason::Code(0) => {
            let text = String::from_utf8_lossy(&done.stdout);
            Panes::parse(&text).ok_or_else(|| format!("tmux at {at} gave an invalid answer"))
        }
        ExitReason::TimedOut => Err(format!("tmux at {at} did not answer within {} s", QUERY_TIMEOUT.as_secs())),
        ExitReason::Code(_) | ExitReason::Signal(_) => {
            let said = String::from_utf8_lossy(&done.stderr);
            Err(format!("tmux at {at} failed: {}", said.lines().next().unwrap_or("no error message").trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_line_makes_the_answer_unknown() {
        let own = std::process::id();
        let panes = Panes::parse(&format!("{own} %0 0\n{own} %12 1\n")).unwrap();
        assert_eq!(panes.check_alive("%0"), Ok(()));
        assert!(panes.check_alive("%12").unwrap_err().contains("dead"));
        // A prefix of an id is another id.
        assert!(panes.check_alive("%1").unwrap_err().contains("no pane"));
        for garbage in ["", "no server", &format!("{own} %0 0\n1 %1 0"), &format!("{own} 0 0"), &format!("{own} %0")] {
            assert_eq!(Panes::parse(garbage), None, "{garbage}");
        }
    }
}
