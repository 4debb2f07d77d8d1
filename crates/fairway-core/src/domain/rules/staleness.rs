//! Whether a session is alive, by what was observed of it. An unknown session counts neither as dead nor as idle.

use std::time::Duration;

use crate::domain::session::{Activity, Session, SessionStatus};
use crate::env::Timestamp;

/// The kernel's answer about a session's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessObservation {
    /// No process is recorded.
    NotRecorded,
    /// The recorded process is there.
    Alive,
    /// The recorded process is certainly gone: it ended, is a zombie, its pid belongs to another process, or the machine was
    /// restarted.
    Gone(String),
    /// The recorded process is the supervisor and is gone; the session's program is there.
    Orphaned(String),
    /// It cannot be determined.
    Unknown(String),
}

/// A backend's answer about a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackendObservation {
    /// The session has no pane, and no script that could be asked.
    NotRecorded,
    /// The backend answered that the pane is there, or that the session runs and has our run id.
    Alive,
    /// The backend answered that there is no such pane or session, or that it is dead.
    Gone(String),
    /// The backend was not asked, may not be run, failed, or gave an answer that cannot be parsed.
    Unknown(String),
}

/// The known facts about one session.
#[derive(Debug, Clone, Copy)]
pub struct LivenessFacts<'a> {
    /// The session as it is recorded in the store.
    pub session: &'a Session,
    /// Whether the session is one of the local host.
    pub is_local: bool,
    pub process: &'a ProcessObservation,
    pub backend: &'a BackendObservation,
    /// How long a launch may take.
    pub launch_timeout: Duration,
    /// How long it may be silent; `None` for ever.
    pub stale_after: Option<Duration>,
}

/// The cause for which a session is stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaleCause {
    /// Its process is gone.
    Exited,
    /// Its launch took too long.
    LaunchTimeout,
    /// It was silent for too long, and nothing else is known.
    NoHeartbeat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Liveness {
    /// The session is alive: a starting or stale one becomes running.
    Live(String),
    /// The session may be dead.
    Stale(StaleCause, String),
    /// It cannot be determined; nothing changes.
    Unknown(String),
    /// The session is on another host, which must judge it.
    OtherHost(String),
    /// Nothing can be observed, and nothing suggests that the session is dead.
    Unobservable,
}

/// Judges one session; the first rule that matches wins.
pub fn assess(facts: &LivenessFacts<'_>, now: Timestamp) -> Liveness {
    let session = facts.session;
    if !facts.is_local {
        return match overdue_heartbeat(facts, now) {
            Some(why) => Liveness::Stale(StaleCause::NoHeartbeat, why),
            None => Liveness::OtherHost(format!("it runs on {}", session.host)),
        };
    }
    match (facts.process, facts.backend) {
        // Its backend knows the supervisor only.
        (ProcessObservation::Orphaned(why), _) => return Liveness::Live(why.clone()),
        (ProcessObservation::Gone(why), _) | (_, BackendObservation::Gone(why)) => {
            return Liveness::Stale(StaleCause::Exited, why.clone());
        }
        (ProcessObservation::Alive, _) => {
            let pid = session.pid.unwrap_or_default();
            return Liveness::Live(format!("process {pid} is there"));
        }
        (_, BackendObservation::Alive) => return Liveness::Live("its backend reports that it is running".into()),
        _ => {}
    }
    let age = now.since(session.started_at);
    if session.status == SessionStatus::Starting && age > facts.launch_timeout {
        return Liveness::Stale(
            StaleCause::LaunchTimeout,
            format!("the launch was never confirmed in {}", format_duration(age)),
        );
    }
    match (facts.process, facts.backend) {
        (ProcessObservation::Unknown(why), _) | (_, BackendObservation::Unknown(why)) => Liveness::Unknown(why.clone()),
        _ => match overdue_heartbeat(facts, now) {
            Some(why) => Liveness::Stale(StaleCause::NoHeartbeat, why),
            None => Liveness::Unobservable,
        },
    }
}

/// Why the session has been silent for too long. A session that waits for a person or is parked may be silent.
fn overdue_heartbeat(facts: &LivenessFacts<'_>, now: Timestamp) -> Option<String> {
    let silence = now.since(facts.session.last_seen());
    let waits = facts.session.activity == Activity::RequiresAction || facts.session.is_parked(now);
    (facts.stale_after? < silence && !waits).then(|| format!("no heartbeat for {}", format_duration(silence)))
}

/// A span to the second, as people say it.
fn format_duration(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// Whether this verdict makes the session stale. Only a starting or running session can become stale; one that is being stopped
/// only when its exit was observed, which ends it.
pub fn should_mark_stale(session: &Session, verdict: &Liveness) -> bool {
    match (session.status, verdict) {
        (SessionStatus::Starting | SessionStatus::Running, Liveness::Stale(cause, _)) => {
            *cause == StaleCause::Exited || !session.is_being_stopped()
        }
        _ => false,
    }
}

/// Replaces the verdict that sessions are stale by an unknown one when more than half of the live sessions, and more than two,
/// would become stale only because they were silent: a wrong clock is then the likelier cause. Returns whether it did so.
pub fn suppress_mass_stale<'a>(judged: impl IntoIterator<Item = (&'a Session, &'a mut Liveness)>) -> bool {
    let (mut live, mut silent) = (0, Vec::new());
    for (session, verdict) in judged {
        if matches!(session.status, SessionStatus::Starting | SessionStatus::Running) {
            live += 1;
            if matches!(verdict, Liveness::Stale(StaleCause::NoHeartbeat, _)) {
                silent.push(verdict);
            }
        }
    }
    if silent.len() <= 2 || silent.len() * 2 <= live {
        return false;
    }
    let count = silent.len();
    for verdict in silent {
        if let Liveness::Stale(_, why) = verdict {
            *verdict = Liveness::Unknown(format!("{why}, like {count} of {live} sessions: the clock is suspect"));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::tests::session;

    const HOUR: i64 = 3_600_000;

    fn look(session: &Session, process: &ProcessObservation, backend: &BackendObservation, now: i64) -> Liveness {
        let facts = LivenessFacts {
            session,
            is_local: session.host == "here",
            process,
            backend,
            launch_timeout: Duration::from_secs(60),
            stale_after: Some(Duration::from_secs(1_800)),
        };
        assess(&facts, Timestamp::from_millis(now))
    }

    fn gone() -> ProcessObservation {
        ProcessObservation::Gone("process 7 is gone".into())
    }

    fn dim() -> ProcessObservation {
        ProcessObservation::Unknown("no /proc".into())
    }

    fn dead() -> BackendObservation {
        BackendObservation::Gone("no pane %5".into())
    }

    fn deaf() -> BackendObservation {
        BackendObservation::Unknown("timed out".into())
    }

    #[test]
    fn liveness_follows_the_table_row_by_row() {
        use SessionStatus::{Running, Starting};
        let stale = |ground| move |verdict: &Liveness| matches!(verdict, Liveness::Stale(found, _) if *found == ground);
        let seen = stale(StaleCause::Exited);
        for late in [1, 10 * HOUR] {
            for status in SessionStatus::ALL.iter().take(3) {
                let session = session(*status);
                // Death that was seen goes before everything, also before a backend that says yes.
                for backend in [BackendObservation::NotRecorded, BackendObservation::Alive, dead(), deaf()] {
                    assert!(seen(&look(&session, &gone(), &backend, late)));
                }
                for process in [ProcessObservation::NotRecorded, ProcessObservation::Alive, dim()] {
                    assert!(seen(&look(&session, &process, &dead(), late)));
                }
                // A proof of life overrides every timeout.
                for (process, backend) in [
                    (ProcessObservation::Alive, BackendObservation::NotRecorded),
                    (ProcessObservation::Alive, deaf()),
                    (dim(), BackendObservation::Alive),
                    (ProcessObservation::NotRecorded, BackendObservation::Alive),
                ] {
                    assert!(matches!(look(&session, &process, &backend, late), Liveness::Live(_)));
                }
            }
            // A program without its supervisor lives, whatever the backend says.
            let orphaned = ProcessObservation::Orphaned("its supervisor is gone".into());
            for backend in [BackendObservation::NotRecorded, dead(), deaf()] {
                assert!(matches!(look(&session(Running), &orphaned, &backend, late), Liveness::Live(_)));
            }
            // Unknown is unknown however old it is.
            for (process, backend) in
                [(dim(), BackendObservation::NotRecorded), (ProcessObservation::NotRecorded, deaf()), (dim(), deaf())]
            {
                assert!(matches!(look(&session(Running), &process, &backend, late), Liveness::Unknown(_)));
            }
        }
        let nothing = |status, now| {
            look(&session(status), &ProcessObservation::NotRecorded, &BackendObservation::NotRecorded, now)
        };
        assert_eq!(nothing(Starting, 60_000), Liveness::Unobservable);
        assert!(stale(StaleCause::LaunchTimeout)(&nothing(Starting, 60_001)));
        assert!(stale(StaleCause::LaunchTimeout)(&look(&session(Starting), &dim(), &deaf(), 60_001)));
        assert_eq!(nothing(Running, HOUR / 2), Liveness::Unobservable);
        assert!(stale(StaleCause::NoHeartbeat)(&nothing(Running, HOUR / 2 + 1)));
    }

    #[test]
    fn silence_is_measured_from_the_last_sign_and_excused_by_a_question_and_by_parking() {
        let mut one = session(SessionStatus::Running);
        let look =
            |one: &Session, now| look(one, &ProcessObservation::NotRecorded, &BackendObservation::NotRecorded, now);
        one.last_heartbeat_at = Some(Timestamp::from_millis(HOUR));
        assert_eq!(look(&one, HOUR + HOUR / 2), Liveness::Unobservable);
        assert!(matches!(look(&one, 2 * HOUR), Liveness::Stale(StaleCause::NoHeartbeat, _)));
        // A clock that was set back makes no silence.
        assert_eq!(look(&one, 0), Liveness::Unobservable);
        one.activity = Activity::RequiresAction;
        assert_eq!(look(&one, 20 * HOUR), Liveness::Unobservable);
        (one.activity, one.parked_until) = (Activity::Idle, Some(Timestamp::from_millis(5 * HOUR)));
        assert_eq!(look(&one, 5 * HOUR - 1), Liveness::Unobservable);
        assert!(matches!(look(&one, 5 * HOUR), Liveness::Stale(StaleCause::NoHeartbeat, _)));
    }

    #[test]
    fn silence_may_be_unlimited() {
        let one = session(SessionStatus::Running);
        let (process, backend) = (ProcessObservation::NotRecorded, BackendObservation::NotRecorded);
        let facts = LivenessFacts {
            session: &one,
            is_local: true,
            process: &process,
            backend: &backend,
            launch_timeout: Duration::from_secs(60),
            stale_after: None,
        };
        assert_eq!(assess(&facts, Timestamp::from_millis(1_000 * HOUR)), Liveness::Unobservable);
    }

    #[test]
    fn another_hosts_session_is_judged_by_its_silence_alone() {
        let mut one = session(SessionStatus::Starting);
        one.host = "there".into();
        // The pid means nothing here, nor does a start that took long.
        assert!(matches!(look(&one, &gone(), &dead(), 61_000), Liveness::OtherHost(_)));
        assert!(matches!(
            look(&one, &ProcessObservation::Alive, &BackendObservation::NotRecorded, HOUR),
            Liveness::Stale(StaleCause::NoHeartbeat, _)
        ));
    }

    #[test]
    fn mass_stale_brake_holds_above_two_and_above_half() {
        let held = |silent: usize, live: usize, stale: usize| {
            let mut judged: Vec<(Session, Liveness)> = (0..live)
                .map(|number| {
                    let quiet = Liveness::Stale(StaleCause::NoHeartbeat, "no heartbeat for 1h".into());
                    (session(SessionStatus::Running), if number < silent { quiet } else { Liveness::Unobservable })
                })
                .collect();
            // One that is stale already is neither marked nor counted.
            judged.extend((0..stale).map(|_| (session(SessionStatus::Stale), Liveness::Unobservable)));
            let braked = suppress_mass_stale(judged.iter_mut().map(|(session, verdict)| (&*session, verdict)));
            let marked = judged.iter().filter(|(session, verdict)| should_mark_stale(session, verdict)).count();
            assert_eq!(marked, if braked { 0 } else { silent });
            braked
        };
        assert!(!held(2, 2, 0));
        assert!(held(3, 3, 0));
        assert!(!held(3, 6, 0));
        assert!(held(4, 7, 0));
        assert!(held(3, 3, 9));
    }

    #[test]
    fn session_that_is_being_stopped_may_be_silent() {
        let stopping = session(SessionStatus::Running).to_stopping("ann", Timestamp::from_millis(9)).unwrap();
        let stale = |cause| Liveness::Stale(cause, "why".into());
        assert!(!should_mark_stale(&stopping, &stale(StaleCause::NoHeartbeat)));
        assert!(should_mark_stale(&stopping, &stale(StaleCause::Exited)));
    }

    #[test]
    fn deaths_that_were_seen_pass_the_brake() {
        let mut judged: Vec<(Session, Liveness)> = (0..5)
            .map(|_| (session(SessionStatus::Running), Liveness::Stale(StaleCause::Exited, "gone".into())))
            .collect();
        assert!(!suppress_mass_stale(judged.iter_mut().map(|(session, verdict)| (&*session, verdict))));
        assert!(judged.iter().all(|(session, verdict)| should_mark_stale(session, verdict)));
    }
}
