//! The facts about a session besides its row: whether it is alive, its claims, its activity and when it was last seen. Each fact
//! names its source.

use std::borrow::Cow;

use super::ended_turn::EndedTurn;
use super::session::{Activity, Session, SessionStatus};
use super::string_enum::string_enum;
use super::task::TaskStatus;
use super::{LaneName, SessionId, TaskId, claim};
use crate::env::Timestamp;

string_enum! {
    /// The source of the answer to whether a session is alive.
    AliveSource {
        /// The kernel: whether the recorded process on this host is alive.
        Process => "process",
        /// The kernel: whether the program of a session without a supervisor is alive.
        Program => "program",
        /// The store, in which the session's end is recorded.
        End => "end",
        /// Nothing: this host cannot tell.
        None => "none",
    }
}

/// Whether a session is alive, as far as this host can prove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aliveness {
    /// `None` when this host has no proof.
    pub alive: Option<bool>,
    pub source: AliveSource,
    /// The observation as a clause, such as `process 7 is gone`.
    pub reason: String,
}

impl Aliveness {
    /// Whether the session is dead: its end is recorded, or this host has proved that nothing of its run is alive.
    pub fn is_dead(&self) -> bool {
        self.alive == Some(false)
    }

    /// Whether the session's program works on without its supervisor.
    pub fn is_orphaned(&self) -> bool {
        self.source == AliveSource::Program
    }
}

/// A claimed task without its texts, apart from the title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTask {
    pub task: TaskId,
    pub title: String,
    pub status: TaskStatus,
    pub lane: Option<LaneName>,
    pub claimant: String,
    /// The claimant's session, if it is one.
    pub session: Option<SessionId>,
    pub epoch: i64,
    pub claimed_at: Timestamp,
    /// The end of the lease; `None` for a claim without a lease.
    pub lease_until: Option<Timestamp>,
    /// The reason of a blocked task.
    pub blocked_reason: Option<String>,
    pub updated_at: Timestamp,
}

impl HeldTask {
    /// Whether an import blocked it: no person and no session works on it.
    pub fn is_of_import(&self) -> bool {
        self.claimant == claim::IMPORT
    }
}

/// The work of a session, as it was reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doing {
    /// The summary of its newest written checkpoint, or what it waits for.
    pub text: String,
    /// `checkpoint 12`, or `activity`.
    pub source: String,
    pub at: Option<Timestamp>,
}

string_enum! {
    /// The kind of observation by which a session was last seen.
    SeenBy {
        Heartbeat => "heartbeat",
        Output => "output",
        Start => "start",
    }
}

/// The time at which a session was last seen, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub at: Timestamp,
    pub by: SeenBy,
}

impl Seen {
    /// The newest of the session's heartbeat, its output and its start.
    pub fn of(session: &Session, last_output: Option<Timestamp>) -> Self {
        let start = Self { at: session.started_at, by: SeenBy::Start };
        let heartbeat = session.last_heartbeat_at.map(|at| Self { at, by: SeenBy::Heartbeat });
        let output = last_output.map(|at| Self { at, by: SeenBy::Output });
        [heartbeat, output]
            .into_iter()
            .flatten()
            .fold(start, |seen, other| if other.at >= seen.at { other } else { seen })
    }
}

/// A session with all facts that are known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionOverview {
    pub session: Session,
    pub alive: Aliveness,
    /// The tasks that it has claimed, ordered by id.
    pub holds: Vec<HeldTask>,
    /// Its activity; `None` when it has reported none.
    pub doing: Option<Doing>,
    pub seen: Seen,
    /// Whether it can be relaunched by its id alone. This is determined only for a session that is over.
    pub can_relaunch: bool,
    /// Why it counts as stale although that is not recorded; `None` when it does not, or was not judged.
    pub silence: Option<String>,
    /// Why its agent may run a tool without asking; `None` when the agent asks, and for a session in a terminal.
    pub unguarded: Option<String>,
    /// Whether the actor that reads this overview had stopped it.
    pub is_stopped_by_reader: bool,
    /// When a board that is composed repeatedly saw its process end, before that end is recorded.
    pub noticed_at: Option<Timestamp>,
    /// What the end of its turn means; `None` when no turn has ended, when it has no task in progress, or when it was not judged.
    pub ended_turn: Option<EndedTurn>,
    /// When its running turn last showed anything; `None` without one, while a tool or job of it runs, or when it was not judged.
    pub turn_shown_at: Option<Timestamp>,
    /// Until when and why it is parked; `None` when it is not, or was not judged.
    pub parking: Option<String>,
}

impl SessionOverview {
    /// Whether the session has ended: its end is recorded, or it is proven to be dead.
    pub fn is_over(&self) -> bool {
        self.session.status.is_final() || self.alive.is_dead()
    }

    /// When it ended, as it is recorded or was seen; `None` when that is not known.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.session.ended_at.or(self.noticed_at)
    }

    /// Whether the session's program works on without its supervisor.
    pub fn is_orphaned(&self) -> bool {
        self.alive.is_orphaned() && !self.session.status.is_final()
    }

    /// Whether the session may be dead: it is recorded as stale, or has been silent for too long. One that is being stopped ends on
    /// purpose.
    pub fn is_stale(&self) -> bool {
        !self.session.is_being_stopped() && (self.session.status == SessionStatus::Stale || self.silence.is_some())
    }

    /// The session's row, with the status `stale` when the session has been silent for too long.
    pub fn judged(&self) -> Cow<'_, Session> {
        match &self.silence {
            Some(_) => Cow::Owned(Session { status: SessionStatus::Stale, ..self.session.clone() }),
            None => Cow::Borrowed(&self.session),
        }
    }

    /// The name of the person or session that stopped this one on purpose, so that its end does not count as a failure. Returns
    /// `None` while the session may be alive.
    pub fn stopped_by(&self) -> Option<&str> {
        self.session.stopped_by().filter(|_| self.is_over() && self.alive.alive != Some(true))
    }

    /// The status that people see: the recorded or judged one, except that it is `dead` when the session's process is gone before
    /// its end was recorded, and `orphaned` when its program works on without its supervisor.
    pub fn shown_status(&self) -> &'static str {
        let status = self.session.status;
        if self.is_orphaned() {
            return "orphaned";
        }
        if self.alive.is_dead() && !status.is_final() {
            return "dead";
        }
        self.judged().status.as_str()
    }

    /// The reported activity; `None` when the report may no longer hold, because the session is dead, stale or has ended.
    pub fn current_activity(&self) -> Option<Activity> {
        let session = &self.session;
        (!self.is_over() && !self.is_stale()).then_some(session.activity)
    }

    /// What the end of its turn means, while it may be alive and is not stale.
    pub fn ended_turn(&self) -> Option<&EndedTurn> {
        self.ended_turn.as_ref().filter(|_| self.current_activity() == Some(Activity::Idle))
    }

    /// The input that the session waits for; `None` when no person must act now.
    pub fn waiting_for(&self) -> Option<&str> {
        (self.current_activity() == Some(Activity::RequiresAction))
            .then(|| self.session.waiting_for.as_deref().unwrap_or("it requires action"))
    }
}

/// A command that a person can run, with its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCommand {
    /// The purpose: `release it`.
    pub purpose: String,
    pub command: String,
}

impl NextCommand {
    pub fn new(purpose: impl Into<String>, command: impl Into<String>) -> Self {
        Self { purpose: purpose.into(), command: command.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ended_by::STOP_SOURCE;
    use crate::domain::session::tests::session;

    fn overview(status: SessionStatus, alive: Option<bool>) -> SessionOverview {
        let now = Timestamp::from_millis(5);
        let session = session(status).with_activity(Activity::RequiresAction, Some("which?"), "test", now);
        let seen = Seen::of(&session, None);
        let alive = Aliveness { alive, source: AliveSource::None, reason: String::new() };
        SessionOverview {
            session,
            alive,
            holds: Vec::new(),
            doing: None,
            seen,
            can_relaunch: false,
            silence: None,
            unguarded: None,
            is_stopped_by_reader: false,
            noticed_at: None,
            ended_turn: None,
            turn_shown_at: None,
            parking: None,
        }
    }

    #[test]
    fn activity_is_shown_of_sessions_that_may_be_alive_and_are_not_stale() {
        for alive in [None, Some(true)] {
            assert_eq!(overview(SessionStatus::Running, alive).waiting_for(), Some("which?"));
        }
        for (status, alive) in [
            (SessionStatus::Running, Some(false)),
            (SessionStatus::Stale, None),
            (SessionStatus::Ended, Some(true)),
            (SessionStatus::Failed, Some(false)),
        ] {
            assert_eq!(overview(status, alive).current_activity(), None);
            assert_eq!(overview(status, alive).waiting_for(), None);
        }
    }

    #[test]
    fn dead_is_a_word_for_a_death_that_is_not_recorded() {
        assert_eq!(overview(SessionStatus::Running, Some(false)).shown_status(), "dead");
        assert_eq!(overview(SessionStatus::Stale, Some(false)).shown_status(), "dead");
        assert_eq!(overview(SessionStatus::Failed, Some(false)).shown_status(), "failed");
        assert_eq!(overview(SessionStatus::Stale, None).shown_status(), "stale");
    }

    #[test]
    fn silence_makes_a_session_stale_for_readers() {
        let mut silent = overview(SessionStatus::Running, None);
        silent.silence = Some("no heartbeat for more than 30m".into());
        assert_eq!((silent.shown_status(), silent.current_activity()), ("stale", None));
        assert_eq!(silent.judged().status, SessionStatus::Stale);
        silent.session = silent.session.to_stopping("ann", Timestamp::from_millis(9)).unwrap();
        assert!(!silent.is_stale());
    }

    #[test]
    fn end_by_a_stop_is_told_from_a_death() {
        let mut stopped = overview(SessionStatus::Failed, Some(false));
        assert_eq!(stopped.stopped_by(), None);
        stopped.session.reason = Some("stopped by ada".into());
        assert_eq!(stopped.stopped_by(), None);
        stopped.session.activity_source = Some(STOP_SOURCE.into());
        assert_eq!(stopped.stopped_by(), Some("ada"));
        // Something of it runs on, or it has stopped itself.
        stopped.alive.alive = Some(true);
        assert_eq!(stopped.stopped_by(), None);
        stopped.alive.alive = Some(false);
        stopped.session.reason = Some("stopped by s-1".into());
        assert_eq!(stopped.stopped_by(), None);
    }

    #[test]
    fn newest_report_says_when_a_session_was_seen() {
        let at = Timestamp::from_millis;
        let mut one = session(SessionStatus::Running);
        one.started_at = at(10);
        assert_eq!(Seen::of(&one, None), Seen { at: at(10), by: SeenBy::Start });
        one.last_heartbeat_at = Some(at(30));
        assert_eq!(Seen::of(&one, Some(at(20))), Seen { at: at(30), by: SeenBy::Heartbeat });
        assert_eq!(Seen::of(&one, Some(at(40))), Seen { at: at(40), by: SeenBy::Output });
    }
}
