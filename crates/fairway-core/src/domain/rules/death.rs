//! Whether a session is dead, and how its claims go on then. A session of unknown state is never called dead.

use super::staleness::{BackendObservation, ProcessObservation};
use crate::domain::session::{SHELL_PROVIDER, Session, SessionStatus};
use crate::domain::session_facts::{AliveSource, Aliveness, NextCommand};
use crate::domain::task::TaskStatus;
use crate::domain::{SessionId, TaskId};

/// Judges, by a session's row and its process, whether the session is alive. `is_local`: the recorded process belongs to this
/// host.
pub fn judge(session: &Session, is_local: bool, process: &ProcessObservation) -> Aliveness {
    let proven = |alive, reason| Aliveness { alive: Some(alive), source: AliveSource::Process, reason };
    let unknown = |reason| Aliveness { alive: None, source: AliveSource::None, reason };
    let pid = session.pid.unwrap_or_default();
    let end = session.status.is_final();
    match process {
        ProcessObservation::Alive if is_local && end => {
            proven(true, format!("process {pid} is running, though the session is recorded as {}", session.status))
        }
        ProcessObservation::Orphaned(why) if is_local => {
            Aliveness { alive: Some(true), source: AliveSource::Program, reason: why.clone() }
        }
        _ if end => {
            let verb = if session.status == SessionStatus::Failed { "failed" } else { "ended" };
            let reason = session.reason.clone().unwrap_or_else(|| format!("its session {verb}"));
            Aliveness { alive: Some(false), source: AliveSource::End, reason }
        }
        _ if !is_local => unknown(format!("it runs on {}", session.host)),
        ProcessObservation::Alive => proven(true, format!("process {pid} is running")),
        ProcessObservation::Gone(why) => proven(false, why.clone()),
        // Its arm is above.
        ProcessObservation::Orphaned(why) => unknown(why.clone()),
        ProcessObservation::NotRecorded => unknown("no process is recorded".to_owned()),
        ProcessObservation::Unknown(why) => unknown(why.clone()),
    }
}

/// Decides whether a session is over, so that its claims may go on without it: its end is recorded or was observed, and nothing
/// of its run is seen alive. Every command and every hint asks this. `backend` is `NotRecorded` for one that was not
/// asked, and `remaining` is the number of processes of the session run that are alive on this host.
///
/// # Errors
/// The reason why something of it may be alive, as a clause.
pub fn proof(alive: &Aliveness, backend: &BackendObservation, remaining: usize) -> Result<String, String> {
    match (alive.alive, backend) {
        (Some(true), _) => Err(alive.reason.clone()),
        (_, BackendObservation::Alive) => Err("its backend reports that it is running".to_owned()),
        _ if remaining == 1 => Err("a process of its session run is alive".to_owned()),
        _ if remaining > 1 => Err(format!("{remaining} processes of its session run are alive")),
        (Some(false), _) => Ok(alive.reason.clone()),
        (None, BackendObservation::Gone(why)) => Ok(why.clone()),
        (None, BackendObservation::Unknown(why)) => Err(why.clone()),
        (None, BackendObservation::NotRecorded) => Err(alive.reason.clone()),
    }
}

/// A claimant whose claims may need another session, with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Claimant<'a> {
    pub session: &'a Session,
    pub alive: &'a Aliveness,
    /// Whether it can be relaunched by its id alone.
    pub can_relaunch: bool,
    /// The number of processes of its session run that are alive on this host.
    pub remaining: usize,
    /// A live session of its role in its lane.
    pub in_lane: Option<&'a SessionId>,
}

/// The commands that free or continue a task whose claimant is dead or stale, best first; none while the claimant works. Each
/// can be typed by a person. A submitted task is not released: it waits for its reviewer.
pub fn ways_on(task: &TaskId, status: TaskStatus, claimant: Claimant<'_>) -> Vec<NextCommand> {
    let Claimant { session, alive, remaining, .. } = claimant;
    let id = &session.id;
    // A process that works on would be a second worker of a task that is released.
    let release = (status != TaskStatus::Review && remaining == 0)
        .then(|| NextCommand::new("release it", format!("fairway release {task} --force --reason TEXT")));
    if proof(alive, &BackendObservation::NotRecorded, remaining).is_ok() {
        let lane = session.lane.as_ref();
        let relaunch = lane.filter(|_| claimant.can_relaunch).map(|_| {
            NextCommand::new("relaunch its session, to continue it", format!("fairway session relaunch {id}"))
        });
        let continue_it = lane.map(|lane| match claimant.in_lane {
            Some(other) => NextCommand::new(
                format!("continue it, in {other} of lane {lane}"),
                format!("fairway --session {other} claim {task}"),
            ),
            None => NextCommand::new(
                format!("continue it, in a new session of lane {lane}"),
                format!("fairway start {task}{}", provider_flag(session)),
            ),
        });
        return relaunch.into_iter().chain(continue_it).chain(release).collect();
    }
    match alive.alive {
        is_alive if is_alive == Some(false) || session.status.is_final() => {
            let stop = (remaining > 0 && session.adapter_script.is_some()).then(|| {
                let what = if remaining == 1 {
                    "its remaining process".into()
                } else {
                    format!("its {remaining} remaining processes")
                };
                NextCommand::new(format!("end {what}"), format!("fairway session stop {id}"))
            });
            stop.into_iter().chain(release).collect()
        }
        // Its claim is not released while it works: the task would have two workers.
        Some(true) if alive.is_orphaned() => vec![stop_orphan(id)],
        Some(true) if session.status == SessionStatus::Stale => {
            let end = NextCommand::new("or end it, if its terminal is gone", format!("fairway session stop {id}"));
            vec![NextCommand::new("record that it is alive", "fairway session reconcile"), end]
        }
        None if session.status == SessionStatus::Stale => {
            let explain = NextCommand::new("see what is known of it", format!("fairway explain session {id}"));
            [explain].into_iter().chain(release).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a session can continue the claims of another one that is over: it is open, in its lane, and has its role.
pub fn may_continue(session: &Session, over: &Session) -> bool {
    let is_open = matches!(session.status, SessionStatus::Starting | SessionStatus::Running);
    is_open && session.id != over.id && session.lane == over.lane && session.role == over.role
}

/// The flag that starts the same agent again; empty for a program of its own.
fn provider_flag(session: &Session) -> String {
    let agent = session.provider.as_ref().filter(|provider| provider.as_str() != SHELL_PROVIDER);
    agent.map(|provider| format!(" --provider {provider}")).unwrap_or_default()
}

/// The command that stops a session's program when its supervisor is gone. Without it the program would go on.
pub fn stop_orphan(id: &SessionId) -> NextCommand {
    NextCommand::new("stop it; it works on otherwise", format!("fairway session stop {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::tests::session;

    fn gone() -> ProcessObservation {
        ProcessObservation::Gone("process 7 is gone".into())
    }

    #[test]
    fn session_is_dead_only_with_a_recorded_end_or_a_gone_local_process() {
        use ProcessObservation::{Alive, NotRecorded, Unknown};
        use SessionStatus::{Ended, Failed, Running, Stale, Starting};
        let unknown = || Unknown("no /proc".into());
        for status in [Starting, Running, Stale] {
            for (is_local, process, expected) in [
                (true, gone(), Some(false)),
                (true, Alive, Some(true)),
                (true, NotRecorded, None),
                (true, unknown(), None),
                (false, gone(), None),
                (false, Alive, None),
                (false, NotRecorded, None),
            ] {
                assert_eq!(judge(&session(status), is_local, &process).alive, expected, "{status} {process:?}");
            }
        }
        for status in [Ended, Failed] {
            for (is_local, process, expected) in [
                (true, gone(), false),
                (true, NotRecorded, false),
                (true, unknown(), false),
                (false, Alive, false),
                // Its end was recorded by hand, and it works on.
                (true, Alive, true),
            ] {
                assert_eq!(judge(&session(status), is_local, &process).alive, Some(expected), "{status} {process:?}");
            }
        }
    }

    #[test]
    fn proof_needs_an_end_and_no_sign_of_life() {
        let alive = |alive| Aliveness { alive, source: AliveSource::None, reason: "row".into() };
        let (gone, deaf) =
            (BackendObservation::Gone("no pane".into()), BackendObservation::Unknown("timed out".into()));
        let (none, lives) = (BackendObservation::NotRecorded, BackendObservation::Alive);
        for (is_alive, backend, remaining, expected) in [
            (Some(false), &none, 0, Ok("row")),
            (Some(false), &gone, 0, Ok("row")),
            // A recorded end, with a backend that cannot be asked.
            (Some(false), &deaf, 0, Ok("row")),
            (Some(false), &lives, 0, Err("its backend reports that it is running")),
            (Some(false), &none, 1, Err("a process of its session run is alive")),
            (Some(false), &gone, 2, Err("2 processes of its session run are alive")),
            (None, &none, 0, Err("row")),
            (None, &deaf, 0, Err("timed out")),
            (None, &gone, 0, Ok("no pane")),
            (None, &gone, 1, Err("a process of its session run is alive")),
            (Some(true), &gone, 0, Err("row")),
        ] {
            let proof = proof(&alive(is_alive), backend, remaining);
            let proof = proof.as_ref().map(String::as_str).map_err(String::as_str);
            assert_eq!(proof, expected, "{is_alive:?} {backend:?} {remaining}");
        }
    }

    #[test]
    fn next_commands_continue_a_claim_only_without_remaining_processes() {
        let task = TaskId::parse("T-1").unwrap();
        let lane = crate::domain::LaneName::parse("api").unwrap();
        let mut one = session(SessionStatus::Running);
        one.adapter_script = Some("/s".into());
        let other = SessionId::parse("s-2").unwrap();
        let all =
            |one: &Session, process: &ProcessObservation, status, can_relaunch, remaining, in_lane| -> Vec<String> {
                let alive = judge(one, true, process);
                let claimant = Claimant { session: one, alive: &alive, can_relaunch, remaining, in_lane };
                ways_on(&task, status, claimant).into_iter().map(|way| way.command).collect()
            };
        let ways = |one: &Session, process: &ProcessObservation, can_relaunch, remaining| {
            all(one, process, TaskStatus::InProgress, can_relaunch, remaining, None)
        };
        let (start, release) = ("fairway start T-1", "fairway release T-1 --force --reason TEXT");
        let relaunch = "fairway session relaunch s-1";
        assert_eq!(ways(&one, &gone(), true, 0), [release]);
        one.lane = Some(lane);
        assert_eq!(ways(&one, &gone(), true, 0), [relaunch, start, release]);
        let in_lane = all(&one, &gone(), TaskStatus::InProgress, false, 0, Some(&other));
        assert_eq!(in_lane, ["fairway --session s-2 claim T-1", release]);
        assert_eq!(all(&one, &gone(), TaskStatus::Review, true, 0, None), [relaunch, start]);
        assert_eq!(ways(&one, &gone(), true, 2), ["fairway session stop s-1"]);
        assert!(ways(&one, &ProcessObservation::Alive, true, 0).is_empty());
        assert!(ways(&one, &ProcessObservation::NotRecorded, true, 0).is_empty());
        // A program without its supervisor works: its claim is not given to another.
        let orphaned = ProcessObservation::Orphaned("its supervisor is gone".into());
        for status in [SessionStatus::Running, SessionStatus::Stale] {
            let one = Session { status, ..one.clone() };
            assert_eq!(ways(&one, &orphaned, true, 0), ["fairway session stop s-1"]);
            assert_eq!(judge(&one, true, &orphaned).alive, Some(true));
        }
        assert_eq!(judge(&one, false, &orphaned).alive, None);
        // Its program is not stored, or it was not launched by Fairway.
        assert_eq!(ways(&one, &gone(), false, 0), [start, release]);
        one.provider = Some(crate::domain::id::Label::parse("acme").unwrap());
        assert_eq!(ways(&one, &gone(), false, 0), ["fairway start T-1 --provider acme", release]);
        one.status = SessionStatus::Stale;
        assert_eq!(
            ways(&one, &ProcessObservation::Alive, false, 0),
            ["fairway session reconcile", "fairway session stop s-1"]
        );
        assert_eq!(ways(&one, &ProcessObservation::NotRecorded, false, 0), ["fairway explain session s-1", release]);
        // Nothing but its own report is known of it.
        one.status = SessionStatus::Ended;
        assert_eq!(
            ways(&one, &ProcessObservation::NotRecorded, false, 0),
            ["fairway start T-1 --provider acme", release]
        );
    }
}
