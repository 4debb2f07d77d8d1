//! Whether a session is alive, and how its claims are continued when it is not. A session of unknown state is never called dead.

use super::liveness::ProcessObservation;
use crate::domain::{
    SessionId, TaskId,
    session::{Session, SessionStatus},
    session_facts::{AliveSource, Aliveness, NextCommand},
    task::TaskStatus,
};

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

/// The commands that free or continue a task whose claimant is dead or stale, best first; none while the claimant works. A
/// submitted task is not released: it waits for its reviewer. `can_relaunch`: the session can be relaunched by its id alone.
/// `remaining` is the number of processes of the claimant's session run that are still alive.
pub fn ways_on(
    task: &TaskId,
    status: TaskStatus,
    session: &Session,
    alive: &Aliveness,
    can_relaunch: bool,
    remaining: usize,
) -> Vec<NextCommand> {
    let id = &session.id;
    let lane = session.lane.as_ref();
    // A process that works on would be a second worker of a task that is released.
    let release = (status != TaskStatus::Review && remaining == 0)
        .then(|| NextCommand::new("release it", format!("fairway release {task} --force --reason TEXT")));
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
            // A claim goes on in its lane once nothing of the session run is alive.
            let relaunch = lane.filter(|_| remaining == 0 && can_relaunch).map(|_| {
                NextCommand::new("relaunch its session, to continue it", format!("fairway session relaunch {id}"))
            });
            let continue_it = lane.filter(|_| remaining == 0).map(|lane| {
                NextCommand::new(
                    format!("continue it, in a new session of lane {lane}"),
                    format!("fairway claim {task}"),
                )
            });
            stop.into_iter().chain(relaunch).chain(continue_it).chain(release).collect()
        }
        // Its claim is not released while it works: the task would have two workers.
        Some(true) if alive.is_orphaned() => vec![stop_orphan(id)],
        Some(true) if session.status == SessionStatus::Stale => {
            vec![NextCommand::new("record that it is alive", "fairway session reconcile")]
        }
        None if session.status == SessionStatus::Stale => {
            let explain = NextCommand::new("see what is known of it", format!("fairway explain session {id}"));
            [explain].into_iter().chain(release).collect()
        }
        _ => Vec::new(),
    }
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
    fn next_commands_continue_a_claim_only_without_remaining_processes() {
        let task = TaskId::parse("T-1").unwrap();
        let lane = crate::domain::LaneName::parse("api").unwrap();
        let mut one = session(SessionStatus::Running);
        one.adapter_script = Some("/s".into());
        let ways = |one: &Session, process: &ProcessObservation, can_relaunch, remaining| -> Vec<String> {
            let alive = judge(one, true, process);
            ways_on(&task, TaskStatus::InProgress, one, &alive, can_relaunch, remaining)
                .into_iter()
                .map(|way| way.command)
                .collect()
        };
        let release = "fairway release T-1 --force --reason TEXT";
        let relaunch = "fairway session relaunch s-1";
        assert_eq!(ways(&one, &gone(), true, 0), [release]);
        one.lane = Some(lane);
        assert_eq!(ways(&one, &gone(), true, 0), [relaunch, "fairway claim T-1", release]);
        let alive = judge(&one, true, &gone());
        let submitted = ways_on(&task, TaskStatus::Review, &one, &alive, true, 0);
        let submitted: Vec<String> = submitted.into_iter().map(|way| way.command).collect();
        assert_eq!(submitted, [relaunch, "fairway claim T-1"]);
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
        assert_eq!(ways(&one, &gone(), false, 0), ["fairway claim T-1", release]);
        one.status = SessionStatus::Stale;
        assert_eq!(ways(&one, &ProcessObservation::Alive, false, 0), ["fairway session reconcile"]);
        assert_eq!(ways(&one, &ProcessObservation::NotRecorded, false, 0), ["fairway explain session s-1", release]);
    }
}
