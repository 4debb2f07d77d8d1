//! Whether a session lives, from what was seen of it. What cannot be told is neither dead nor idle.

use std::time::Duration;

use crate::{
    domain::session::{Activity, Session, SessionStatus},
    env::Timestamp,
};

/// What the kernel says about a session's process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Process {
    /// None was recorded.
    NotRecorded,
    /// This very process is there.
    Alive,
    /// It is certain that it is not: gone, a zombie, another one of its pid, another boot.
    Gone(String),
    /// It cannot be told.
    Unknown(String),
}

/// What a session's backend says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// It has no pane, and no script that could be asked.
    Nothing,
    /// It answered: the pane is there, or the session runs and names our run.
    Alive,
    /// It answered: there is no such pane or session, or it is dead.
    Gone(String),
    /// It was not asked, may not be run, failed, or answered what nobody understands.
    Unknown(String),
}

/// What is known of one session.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The session as it stands in the store.
    pub session: &'a Session,
    /// The host and pid namespace that look.
    pub here: &'a str,
    /// Its process.
    pub process: &'a Process,
    /// Its backend.
    pub backend: &'a Backend,
    /// How long a launch may take.
    pub launch_limit: Duration,
    /// How long it may be silent; `None` for ever.
    pub silence_limit: Option<Duration>,
}

/// What makes a session stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// It was seen to be gone.
    Seen,
    /// Its launch took too long.
    Launch,
    /// It was silent for too long, and nothing else.
    Silence,
}

/// What is made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It lives: what was starting or stale runs.
    Live(String),
    /// It is suspected to be gone.
    Stale(Ground, String),
    /// It cannot be told; nothing changes.
    Unknown(String),
    /// It is another host's to tell.
    Elsewhere(String),
    /// Nothing to look at, and nothing against it.
    Quiet,
}

/// Judges one session; the first row of the table that matches wins.
#[must_use]
pub fn judge(facts: &Facts<'_>, now: Timestamp) -> Verdict {
    let session = facts.session;
    if session.host != facts.here {
        return match silent(facts, now) {
            Some(why) => Verdict::Stale(Ground::Silence, why),
            None => Verdict::Elsewhere(format!("it runs on {}", session.host)),
        };
    }
    match (facts.process, facts.backend) {
        (Process::Gone(why), _) | (_, Backend::Gone(why)) => return Verdict::Stale(Ground::Seen, why.clone()),
        (Process::Alive, _) => {
            let pid = session.pid.unwrap_or_default();
            return Verdict::Live(format!("process {pid} is there"));
        }
        (_, Backend::Alive) => return Verdict::Live("its backend says that it runs".into()),
        _ => {}
    }
    let age = now.since(session.started_at);
    if session.status == SessionStatus::Starting && age > facts.launch_limit {
        return Verdict::Stale(Ground::Launch, format!("the launch was never confirmed in {}", span(age)));
    }
    match (facts.process, facts.backend) {
        (Process::Unknown(why), _) | (_, Backend::Unknown(why)) => Verdict::Unknown(why.clone()),
        _ => match silent(facts, now) {
            Some(why) => Verdict::Stale(Ground::Silence, why),
            None => Verdict::Quiet,
        },
    }
}

/// Why it has been silent for too long. One that waits for a person may wait.
fn silent(facts: &Facts<'_>, now: Timestamp) -> Option<String> {
    let silence = now.since(facts.session.last_sign());
    let waits = facts.session.activity == Activity::RequiresAction;
    (facts.silence_limit? < silence && !waits).then(|| format!("no heartbeat for {}", span(silence)))
}

/// A span to the second, as people say it.
fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

/// Whether a verdict would mark this session.
#[must_use]
pub const fn marks(session: &Session, verdict: &Verdict) -> bool {
    matches!((session.status, verdict), (SessionStatus::Starting | SessionStatus::Running, Verdict::Stale(..)))
}

/// The brake: when more than half of the sessions that live, and more than two, would be marked for their silence alone,
/// the clock is the likelier culprit. None of these is marked then. Says whether it took hold.
pub fn brake<'a>(judged: impl IntoIterator<Item = (&'a Session, &'a mut Verdict)>) -> bool {
    let (mut live, mut silent) = (0, Vec::new());
    for (session, verdict) in judged {
        if matches!(session.status, SessionStatus::Starting | SessionStatus::Running) {
            live += 1;
            if matches!(verdict, Verdict::Stale(Ground::Silence, _)) {
                silent.push(verdict);
            }
        }
    }
    if silent.len() <= 2 || silent.len() * 2 <= live {
        return false;
    }
    let count = silent.len();
    for verdict in silent {
        if let Verdict::Stale(_, why) = verdict {
            *verdict = Verdict::Unknown(format!("{why}, like {count} of {live} sessions: the clock is suspect"));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::session::tests::session;

    const HOUR: i64 = 3_600_000;

    fn look(session: &Session, process: &Process, backend: &Backend, now: i64) -> Verdict {
        let facts = Facts {
            session,
            here: "here",
            process,
            backend,
            launch_limit: Duration::from_secs(60),
            silence_limit: Some(Duration::from_secs(1_800)),
        };
        judge(&facts, Timestamp::from_millis(now))
    }

    fn gone() -> Process {
        Process::Gone("process 7 is gone".into())
    }

    fn dim() -> Process {
        Process::Unknown("no /proc".into())
    }

    fn dead() -> Backend {
        Backend::Gone("no pane %5".into())
    }

    fn deaf() -> Backend {
        Backend::Unknown("timed out".into())
    }

    #[test]
    fn the_table_row_by_row() {
        use SessionStatus::{Running, Starting};
        let stale = |ground| move |verdict: &Verdict| matches!(verdict, Verdict::Stale(found, _) if *found == ground);
        let seen = stale(Ground::Seen);
        for late in [1, 10 * HOUR] {
            for status in SessionStatus::ALL.iter().take(3) {
                let session = session(*status);
                // Death that was seen goes before everything, also before a backend that says yes.
                for backend in [Backend::Nothing, Backend::Alive, dead(), deaf()] {
                    assert!(seen(&look(&session, &gone(), &backend, late)));
                }
                for process in [Process::NotRecorded, Process::Alive, dim()] {
                    assert!(seen(&look(&session, &process, &dead(), late)));
                }
                // A sign of life goes before every age.
                for (process, backend) in [
                    (Process::Alive, Backend::Nothing),
                    (Process::Alive, deaf()),
                    (dim(), Backend::Alive),
                    (Process::NotRecorded, Backend::Alive),
                ] {
                    assert!(matches!(look(&session, &process, &backend, late), Verdict::Live(_)));
                }
            }
            // What cannot be told is unknown however old it is.
            for (process, backend) in [(dim(), Backend::Nothing), (Process::NotRecorded, deaf()), (dim(), deaf())] {
                assert!(matches!(look(&session(Running), &process, &backend, late), Verdict::Unknown(_)));
            }
        }
        let nothing = |status, now| look(&session(status), &Process::NotRecorded, &Backend::Nothing, now);
        assert_eq!(nothing(Starting, 60_000), Verdict::Quiet);
        assert!(stale(Ground::Launch)(&nothing(Starting, 60_001)));
        assert!(stale(Ground::Launch)(&look(&session(Starting), &dim(), &deaf(), 60_001)));
        assert_eq!(nothing(Running, HOUR / 2), Verdict::Quiet);
        assert!(stale(Ground::Silence)(&nothing(Running, HOUR / 2 + 1)));
    }

    #[test]
    fn silence_is_measured_from_the_last_sign_and_excused_by_a_question() {
        let mut one = session(SessionStatus::Running);
        let look = |one: &Session, now| look(one, &Process::NotRecorded, &Backend::Nothing, now);
        one.last_heartbeat_at = Some(Timestamp::from_millis(HOUR));
        assert_eq!(look(&one, HOUR + HOUR / 2), Verdict::Quiet);
        assert!(matches!(look(&one, 2 * HOUR), Verdict::Stale(Ground::Silence, _)));
        // A clock that was set back makes no silence.
        assert_eq!(look(&one, 0), Verdict::Quiet);
        one.activity = Activity::RequiresAction;
        assert_eq!(look(&one, 20 * HOUR), Verdict::Quiet);
    }

    #[test]
    fn silence_may_be_unlimited() {
        let one = session(SessionStatus::Running);
        let (process, backend) = (Process::NotRecorded, Backend::Nothing);
        let facts = Facts {
            session: &one,
            here: "here",
            process: &process,
            backend: &backend,
            launch_limit: Duration::from_secs(60),
            silence_limit: None,
        };
        assert_eq!(judge(&facts, Timestamp::from_millis(1_000 * HOUR)), Verdict::Quiet);
    }

    #[test]
    fn another_hosts_session_is_judged_by_its_silence_alone() {
        let mut one = session(SessionStatus::Starting);
        one.host = "there".into();
        // The pid means nothing here, nor does a start that took long.
        assert!(matches!(look(&one, &gone(), &dead(), 61_000), Verdict::Elsewhere(_)));
        assert!(matches!(look(&one, &Process::Alive, &Backend::Nothing, HOUR), Verdict::Stale(Ground::Silence, _)));
    }

    #[test]
    fn the_brake_takes_hold_above_two_and_above_half() {
        let held = |silent: usize, live: usize, stale: usize| {
            let mut judged: Vec<(Session, Verdict)> = (0..live)
                .map(|number| {
                    let quiet = Verdict::Stale(Ground::Silence, "no heartbeat for 1h".into());
                    (session(SessionStatus::Running), if number < silent { quiet } else { Verdict::Quiet })
                })
                .collect();
            // One that is stale already is neither marked nor counted.
            judged.extend((0..stale).map(|_| (session(SessionStatus::Stale), Verdict::Quiet)));
            let braked = brake(judged.iter_mut().map(|(session, verdict)| (&*session, verdict)));
            let marked = judged.iter().filter(|(session, verdict)| marks(session, verdict)).count();
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
    fn deaths_that_were_seen_pass_the_brake() {
        let mut judged: Vec<(Session, Verdict)> =
            (0..5).map(|_| (session(SessionStatus::Running), Verdict::Stale(Ground::Seen, "gone".into()))).collect();
        assert!(!brake(judged.iter_mut().map(|(session, verdict)| (&*session, verdict))));
        assert!(judged.iter().all(|(session, verdict)| marks(session, verdict)));
    }
}
