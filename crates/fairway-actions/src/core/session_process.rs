//! A session's process as `/proc` shows it, without asking its backend.

use std::collections::BTreeMap;
use std::path::Path;

use fairway_core::adapters::plumbing::SessionDir;
use fairway_core::domain::RunId;
use fairway_core::domain::rules::death;
use fairway_core::domain::rules::staleness::{BackendObservation, ProcessObservation};
use fairway_core::domain::session::Session;
use fairway_core::domain::session_facts::Aliveness;
use fairway_core::env::vars;
use fairway_core::os::process::{self, ProcessKey, ProcessStatus};
use fairway_core::os::{host, process_tree};

/// Whether the process ids of a session are valid on this host and in this pid namespace.
pub fn is_local(session: &Session) -> bool {
    host::identity().owns(&session.host, session.host_id.as_deref())
}

/// Judges whether a session is alive: by its recorded process or, when that says nothing and the session is in a pane of this
/// host, by the multiplexer's server.
pub fn aliveness(session: &Session) -> Aliveness {
    let is_local = is_local(session);
    let process = match process_state(session) {
        ProcessObservation::NotRecorded | ProcessObservation::Unknown(_) if is_local && is_server_gone(session) => {
            ProcessObservation::Gone("the server of its pane is gone".to_owned())
        }
        observed => observed,
    };
    death::judge(session, is_local, &process)
}

/// Proves that a session is over, as far as this host can see without asking its backend, or returns the reason why something of
/// it may be alive. `alive` is the answer of [`aliveness`].
///
/// # Errors
/// The reason, as a clause.
pub fn proof_of_end(session: &Session, alive: &Aliveness, processes: &mut RunProcesses) -> Result<String, String> {
    death::proof(alive, &BackendObservation::NotRecorded, remaining(session, alive, processes))
}

/// How many processes of the run of a session that is over are alive on this host; zero for any other one, which is not looked at.
pub fn remaining(session: &Session, alive: &Aliveness, processes: &mut RunProcesses) -> usize {
    let is_over = alive.is_dead() || session.status.is_final();
    if is_over && is_local(session) { processes.count(&session.run_id) } else { 0 }
}

/// Whether the multiplexer's server is gone that was recorded with the session's pane.
fn is_server_gone(session: &Session) -> bool {
    let server = ProcessKey::from_record(session.server_pid, session.server_started, session.boot_id.as_deref());
    server.is_some_and(|server| matches!(server.status(), ProcessStatus::Gone(_)))
}

/// Processes of session runs on this host. `/proc` is searched once, at first use, for their environment.
#[derive(Debug, Clone, Default)]
pub struct RunProcesses {
    found: Option<BTreeMap<RunId, Vec<i32>>>,
}

impl RunProcesses {
    /// How many processes of a session run are alive on this host, by the first search of `/proc`. Zero when `/proc` cannot be
    /// listed.
    pub fn count(&mut self, run_id: &RunId) -> usize {
        let found = self.found.get_or_insert_with(|| {
            let mut found: BTreeMap<RunId, Vec<i32>> = BTreeMap::new();
            for (run_id, process) in process_tree::with_env_name(vars::FAIRWAY_RUN_ID).unwrap_or_default() {
                found.entry(run_id.into()).or_default().push(process.pid);
            }
            found
        });
        found.get(run_id).map_or(0, Vec::len)
    }

    /// The pids of the processes that [`Self::count`] counts; empty before the first call of it.
    pub fn known(&self, run_id: &RunId) -> &[i32] {
        self.found.as_ref().and_then(|found| found.get(run_id)).map_or(&[], Vec::as_slice)
    }
}

/// The program of a launched session whose supervisor is gone; `None` when the program is gone too.
fn orphaned_program(session: &Session, supervisor: &ProcessKey) -> Option<ProcessKey> {
    let dir = SessionDir::of(Path::new(session.adapter_state.as_deref()?), session.name());
    let program = dir.program().filter(|_| dir.root().as_ref() == Some(supervisor))?;
    (program.status() == ProcessStatus::Alive).then_some(program)
}

/// The pid of the process on which the session's life depends: the program when the supervisor is gone and the program is alive,
/// otherwise the recorded process, which may be gone. `None` when no process is recorded.
pub fn living_process(session: &Session) -> Option<i64> {
    let supervisor = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref());
    let is_gone = |key: &ProcessKey| matches!(key.status(), ProcessStatus::Gone(_));
    match supervisor.filter(is_gone).and_then(|supervisor| orphaned_program(session, &supervisor)) {
        Some(program) => Some(program.pid.into()),
        None => session.pid,
    }
}

/// The state of a session's recorded process on this machine, as `/proc` shows it. When the machine was rebooted since, the
/// process is gone.
pub fn process_state(session: &Session) -> ProcessObservation {
    // Neither a process nor a pane survives a reboot.
    let now = host::boot_id();
    if let Some(then) = &session.boot_id
        && !now.is_empty()
        && *then != now
    {
        return ProcessObservation::Gone("the machine was rebooted".into());
    }
    let Some(number) = session.pid else { return ProcessObservation::NotRecorded };
    let gone = || ProcessObservation::Gone(format!("process {number} is gone"));
    // A number that is no valid pid belongs to no process.
    let Some(pid) = i32::try_from(number).ok().filter(|pid| *pid > 0) else { return gone() };
    if let Some(key) = ProcessKey::from_record(session.pid, session.pid_started, session.boot_id.as_deref()) {
        return match key.status() {
            ProcessStatus::Alive => ProcessObservation::Alive,
            ProcessStatus::Gone(why) => match orphaned_program(session, &key) {
                Some(program) => ProcessObservation::Orphaned(format!(
                    "its supervisor is gone, its program (process {}) works",
                    program.pid
                )),
                None => ProcessObservation::Gone(why),
            },
            ProcessStatus::Unknown(why) => ProcessObservation::Unknown(why),
        };
    }
    match process::stat(pid) {
        Ok(None) => gone(),
        Ok(Some(_)) => ProcessObservation::Unknown(format!(
            "process {pid} exists, but the start time of the session's process is not recorded"
        )),
        Err(error) => ProcessObservation::Unknown(error.to_string()),
    }
}
