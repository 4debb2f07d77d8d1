//! A session: a registered agent process over its life. Its status says whether it is alive, its activity what it is doing.

use super::ended_by::{self, EndedBy, STOP_SOURCE};
use super::id::Label;
use super::parking::{ParkingCause, ParkingKind};
use super::sandbox::SandboxClass;
pub use super::status::SessionStatus;
use super::string_enum::string_enum;
use super::{LaneName, Refusal, Role, RunId, SessionId, TaskId};
use crate::env::Timestamp;

string_enum! {
    /// The activity as it was reported; Fairway never guesses it.
    Activity {
        Unknown => "unknown",
        Idle => "idle",
        Busy => "busy",
        RequiresAction => "requires_action",
        Stopping => "stopping",
    }
}

/// The source of an activity that the hook of a provider reports.
pub const HOOK_SOURCE: &str = "hook";
/// The source of an activity that the screen shows.
pub const SCREEN_SOURCE: &str = "screen";
/// The source of the activity of a session that waits for a permission request.
pub const APPROVAL_SOURCE: &str = "approval";
/// The source of the activity of a session that got an answer.
pub const ANSWER_SOURCE: &str = "answer";
/// The sources of questions that are a dialog of the provider's program.
pub const ANSWERED_IN_WINDOW: &[&str] = &[HOOK_SOURCE, SCREEN_SOURCE];
/// The source of the activity that the agent of a structured session reports by its protocol.
pub const PROTOCOL_SOURCE: &str = "protocol";
/// The provider of a session whose program is no agent's.
pub const SHELL_PROVIDER: &str = "shell";
/// The backend whose sessions speak the Agent Client Protocol.
pub const STRUCTURED_BACKEND: &str = "acp";

/// The end of a parking that no time ends: the end of the year 9999.
pub const NO_END: Timestamp = Timestamp::from_millis(253_402_300_799_999);

#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its short id, which is also its name in the backend unless `session_name` is set.
    pub id: SessionId,
    /// The id of its run, which lasts from launch to exit.
    pub run_id: RunId,
    pub role: Role,
    pub lane: Option<LaneName>,
    pub task: Option<TaskId>,
    pub provider: Option<Label>,
    /// The name of a built-in or configured backend, or `exec:/path`.
    pub backend: Option<String>,
    /// Its name in the backend, when that is not its id.
    pub session_name: Option<String>,
    /// The provider's own id for it.
    pub external_session_id: Option<String>,
    pub status: SessionStatus,
    pub activity: Activity,
    /// The input that it waits for, when it requires action.
    pub waiting_for: Option<String>,
    /// The source that reported the activity.
    pub activity_source: Option<String>,
    /// Since when it has this activity, as reported.
    pub activity_at: Option<Timestamp>,
    /// The host and pid namespace it runs in.
    pub host: String,
    /// The id of that host; `None` in a row of an earlier version, which matches by name.
    pub host_id: Option<String>,
    /// Its root process.
    pub pid: Option<i64>,
    /// That process's start time, in the kernel's ticks since boot.
    pub pid_started: Option<i64>,
    /// The boot that pid and start time belong to.
    pub boot_id: Option<String>,
    pub socket: Option<String>,
    pub pane: Option<String>,
    /// The server that the pane belongs to: a server that is started again gives out the same pane ids again.
    pub server_pid: Option<i64>,
    /// The start time of that server, in the kernel's ticks since boot.
    pub server_started: Option<i64>,
    pub transcript: Option<String>,
    pub worktree: Option<String>,
    pub branch: Option<String>,
    /// The backend script that started it; every later call uses the same script.
    pub adapter_script: Option<String>,
    /// The state directory that the script was started with; every later call uses it.
    pub adapter_state: Option<String>,
    pub started_at: Timestamp,
    pub last_heartbeat_at: Option<Timestamp>,
    /// When its backend last saw output of it.
    pub last_output_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub exit_code: Option<i64>,
    /// Why it is stale, failed or ended.
    pub reason: Option<String>,
    /// How full its context is, 0 to 1.
    pub context_usage: Option<f64>,
    /// The session whose work this one continues.
    pub relaunch_of: Option<SessionId>,
    /// The message with its first prompt.
    pub first_prompt: Option<i64>,
    /// How many questions it has asked by its activity: the number of the last one.
    pub questions: i64,
    /// The sandbox around its program; `None` for one that Fairway did not launch.
    pub sandbox: Option<SandboxClass>,
    /// Until when it is parked.
    pub parked_until: Option<Timestamp>,
    /// Why it is parked.
    pub parked_why: Option<ParkingCause>,
    /// The version of the row, which grows with every change. An update from an older version fails.
    pub version: i64,
}

impl Session {
    /// A session without the optional facts.
    pub const fn new(id: SessionId, run_id: RunId, role: Role, status: SessionStatus, at: Timestamp) -> Self {
        Self {
            id,
            run_id,
            role,
            lane: None,
            task: None,
            provider: None,
            backend: None,
            session_name: None,
            external_session_id: None,
            status,
            activity: Activity::Unknown,
            waiting_for: None,
            activity_source: None,
            activity_at: None,
            host: String::new(),
            host_id: None,
            pid: None,
            pid_started: None,
            boot_id: None,
            socket: None,
            pane: None,
            server_pid: None,
            server_started: None,
            transcript: None,
            worktree: None,
            branch: None,
            adapter_script: None,
            adapter_state: None,
            started_at: at,
            last_heartbeat_at: None,
            last_output_at: None,
            ended_at: None,
            exit_code: None,
            reason: None,
            context_usage: None,
            relaunch_of: None,
            first_prompt: None,
            questions: 0,
            sandbox: None,
            parked_until: None,
            parked_why: None,
            version: 1,
        }
    }

    /// The time of the last heartbeat; without one, the start.
    pub fn last_seen(&self) -> Timestamp {
        self.last_heartbeat_at.unwrap_or(self.started_at)
    }

    pub fn name(&self) -> &str {
        self.session_name.as_deref().unwrap_or(self.id.as_str())
    }

    /// Checks that the session has not ended.
    /// Fails with `session_final`.
    pub fn check_open(&self) -> Result<(), Refusal> {
        if self.status.is_final() {
            return Err(Refusal::SessionFinal { session: self.id.clone(), status: self.status });
        }
        Ok(())
    }

    /// Checks that a report belongs to this session, by the session run that the report names: the process of an earlier run must
    /// not report for a later one. A report that names no session run is accepted.
    /// Fails with `session_mismatch`.
    pub fn check_run_id(&self, run_id: Option<&RunId>) -> Result<(), Refusal> {
        match run_id {
            Some(run) if *run != self.run_id => Err(Refusal::SessionMismatch {
                why: format!("the session {} has the session run {}, not {run}", self.id, self.run_id),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the session's program has a terminal. The backends `shell` and `acp` give none.
    pub fn has_terminal(&self) -> bool {
        self.backend.as_deref() != Some("shell") && !self.is_structured()
    }

    /// Whether the session's supervisor speaks the Agent Client Protocol with the agent.
    pub fn is_structured(&self) -> bool {
        self.backend.as_deref() == Some(STRUCTURED_BACKEND)
    }

    /// starting, stale → running. Clears the reason of the earlier status, but not who is stopping the session.
    /// Fails with `session_final`.
    pub(in crate::domain) fn to_running(&self) -> Result<Self, Refusal> {
        self.check_open()?;
        let reason = self.reason.clone().filter(|_| self.is_being_stopped());
        Ok(Self { status: SessionStatus::Running, reason, ..self.clone() })
    }

    /// Records a heartbeat at `now`: a starting or stale session becomes running.
    /// Fails with `session_final`.
    pub(in crate::domain) fn with_heartbeat(&self, now: Timestamp) -> Result<Self, Refusal> {
        Ok(Self { last_heartbeat_at: Some(now), ..self.to_running()? })
    }

    /// starting, running → stale. A session that is already stale keeps its first reason, and one that is being stopped its status.
    /// Fails with `session_final`.
    pub(in crate::domain) fn to_stale(&self, reason: Option<&str>) -> Result<Self, Refusal> {
        self.check_open()?;
        if self.status == SessionStatus::Stale || self.is_being_stopped() {
            return Ok(self.clone());
        }
        Ok(Self { status: SessionStatus::Stale, reason: reason.map(str::to_owned), ..self.clone() })
    }

    /// Sets the status that a caller reports: starting, running or stale.
    ///
    /// # Errors
    /// `session_final`, and `session_mismatch` for a return to starting or for a final status, which only [`Self::to_finished`]
    /// sets.
    pub(in crate::domain) fn with_reported_status(&self, status: SessionStatus) -> Result<Self, Refusal> {
        match status {
            SessionStatus::Running => self.to_running(),
            SessionStatus::Stale => self.to_stale(Some("reported stale")),
            same if same == self.status && !same.is_final() => Ok(self.clone()),
            other => {
                self.check_open()?;
                let why = format!("the session {} is {}; it cannot become {other}", self.id, self.status);
                Err(Refusal::SessionMismatch { why })
            }
        }
    }

    /// starting, running, stale → ended, failed. Activity and question are cleared. The end of a session that is being stopped is
    /// that stop for every reporter.
    /// Fails with `session_final` when the session has ended already, `invalid_value` for a status that is not final.
    pub(in crate::domain) fn to_finished(
        &self,
        status: SessionStatus,
        exit_code: Option<i64>,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        self.check_open()?;
        if !status.is_final() {
            return Err(Refusal::invalid("status", format!("{status} is not final")));
        }
        let reason = reason.map(str::to_owned);
        let (status, reason) = match self.ended_by() {
            EndedBy::Stop(by) if self.is_being_stopped() => (SessionStatus::Ended, Some(ended_by::stopped_reason(by))),
            // An earlier version did not record by whom.
            _ if self.is_being_stopped() => (SessionStatus::Ended, reason),
            _ => (status, reason),
        };
        Ok(Self {
            status,
            ended_at: Some(now),
            exit_code,
            reason,
            activity: Activity::Unknown,
            waiting_for: None,
            ..self.clone()
        })
    }

    /// `by` begins to stop the session: from now on no report changes its activity or its reason.
    /// Fails with `session_final`.
    pub(in crate::domain) fn to_stopping(&self, by: &str, now: Timestamp) -> Result<Self, Refusal> {
        self.check_open()?;
        Ok(Self {
            activity: Activity::Stopping,
            activity_source: Some(STOP_SOURCE.to_owned()),
            activity_at: Some(now),
            waiting_for: None,
            reason: Some(ended_by::stopping_reason(by)),
            ..self.clone()
        })
    }

    /// The session with the facts about program, place and work of `facts`. What is known of its life stays.
    pub(in crate::domain) fn described_as(&self, facts: &Self) -> Self {
        let life = self.clone();
        Self {
            id: life.id,
            run_id: life.run_id,
            status: life.status,
            activity: life.activity,
            waiting_for: life.waiting_for,
            activity_source: life.activity_source,
            activity_at: life.activity_at,
            last_heartbeat_at: life.last_heartbeat_at,
            last_output_at: life.last_output_at,
            ended_at: life.ended_at,
            exit_code: life.exit_code,
            reason: life.reason,
            context_usage: life.context_usage,
            first_prompt: life.first_prompt,
            questions: life.questions,
            parked_until: life.parked_until,
            parked_why: life.parked_why,
            version: life.version,
            ..facts.clone()
        }
    }

    /// A stop of the session has failed: it is as `earlier`, before that stop. A session that is not being stopped stays as it is.
    pub(in crate::domain) fn to_not_stopping(&self, earlier: &Self) -> Self {
        if !self.is_being_stopped() {
            return self.clone();
        }
        Self {
            activity: earlier.activity,
            activity_source: earlier.activity_source.clone(),
            activity_at: earlier.activity_at,
            waiting_for: earlier.waiting_for.clone(),
            reason: earlier.reason.clone(),
            ..self.clone()
        }
    }

    /// Whether the session waits for a time: nothing is typed into it, and prompts stay in its queue.
    pub fn is_parked(&self, now: Timestamp) -> bool {
        self.parked_until.is_some_and(|until| now < until)
    }

    /// Whether a budget has parked the session: no turn ends that, and its tools are denied.
    pub fn is_paused(&self, now: Timestamp) -> bool {
        self.is_parked(now) && self.is_parked_by(ParkingKind::Budget)
    }

    fn is_parked_by(&self, kind: ParkingKind) -> bool {
        self.parked_why.as_ref().is_some_and(|why| why.kind() == kind)
    }

    /// When its parking ends by itself.
    pub fn parking_ends_at(&self) -> Option<Timestamp> {
        self.parked_until.filter(|until| *until != NO_END)
    }

    /// Until when and why it is parked, such as `parked until 17:00 (usage limit of NAME)` or `paused (budget of T-1)`; `None`
    /// for one that never was. The time is that of this machine, with its date on another day.
    pub fn parking(&self, now: Timestamp) -> Option<String> {
        let word = if self.is_paused(now) { "paused" } else { "parked" };
        match self.parking_ends_at() {
            Some(_) => self.parking_end(now).map(|end| format!("{word} until {end}")),
            None => self.parked_until.map(|_| format!("{word}{}", self.parking_reason())),
        }
    }

    /// What ends its parking and why it is parked, such as `17:00 (usage limit of NAME)` or `a person (budget of T-1)`.
    pub fn parking_end(&self, now: Timestamp) -> Option<String> {
        self.parked_until?;
        let until = self.parking_ends_at().map(|until| until.local_minute_or_day(now));
        Some(format!("{}{}", until.as_deref().unwrap_or("a person"), self.parking_reason()))
    }

    fn parking_reason(&self) -> String {
        self.parked_why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default()
    }

    /// The provider whose usage limit has parked the session until a time to come.
    pub fn limited_provider(&self, now: Timestamp) -> Option<&Label> {
        self.provider.as_ref().filter(|_| self.is_parked(now) && self.is_parked_by(ParkingKind::UsageLimit))
    }

    /// Whether a stop of the session has begun.
    pub fn is_being_stopped(&self) -> bool {
        self.activity == Activity::Stopping && self.activity_source.as_deref() == Some(STOP_SOURCE)
    }

    /// Who has ended the session, or is stopping it.
    pub fn ended_by(&self) -> EndedBy<'_> {
        EndedBy::parse(self.reason.as_deref(), self.activity_source.as_deref())
    }

    /// The name of the person or other session that has stopped this one on purpose, or is stopping it; `None` for one that stops
    /// itself.
    pub fn stopped_by(&self) -> Option<&str> {
        match self.ended_by() {
            // An agent that stops itself leaves its claims behind.
            EndedBy::Stop(by) if by != self.id.as_str() => Some(by),
            _ => None,
        }
    }

    /// Records the reported activity. Another activity ends an open question, and another text is a new question. A repeated
    /// report keeps the time at which the activity began. A session that is being stopped keeps its activity.
    #[must_use]
    pub(in crate::domain) fn with_activity(
        &self,
        activity: Activity,
        waiting_for: Option<&str>,
        source: &str,
        now: Timestamp,
    ) -> Self {
        if self.is_being_stopped() {
            return self.clone();
        }
        let waiting_for = waiting_for.filter(|_| activity == Activity::RequiresAction).map(str::to_owned);
        let is_same = self.activity == activity && self.waiting_for == waiting_for;
        let is_asked_anew = activity == Activity::RequiresAction && !is_same;
        Self {
            activity,
            waiting_for,
            activity_source: Some(source.to_owned()),
            activity_at: self.activity_at.filter(|_| is_same).or(Some(now)),
            questions: self.questions + i64::from(is_asked_anew),
            // A turn that begins ends the parking, but no pause.
            parked_until: self.parked_until.filter(|_| activity != Activity::Busy || self.is_paused(now)),
            parked_why: self.parked_why.clone().filter(|_| activity != Activity::Busy || self.is_paused(now)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
pub(in crate::domain) mod tests {
    use super::*;

    /// A session that runs on the host "here".
    pub fn session(status: SessionStatus) -> Session {
        let (id, role) = (SessionId::parse("s-1").unwrap(), Role::parse("backend").unwrap());
        Session {
            host: "here".into(),
            ended_at: status.is_final().then(|| Timestamp::from_millis(5)),
            ..Session::new(id, RunId::parse("run-1"), role, status, Timestamp::from_millis(0))
        }
    }

    #[test]
    fn open_session_may_become_anything_but_starting() {
        use SessionStatus::{Ended, Failed, Running, Stale, Starting};
        let now = Timestamp::from_millis(9);
        for from in [Starting, Running, Stale] {
            let session = session(from);
            assert_eq!(session.with_heartbeat(now).unwrap().status, Running);
            assert_eq!(session.with_heartbeat(now).unwrap().last_heartbeat_at, Some(now));
            assert_eq!(session.to_stale(Some("silent")).unwrap().status, Stale);
            assert_eq!(session.with_reported_status(Starting).is_ok(), from == Starting);
            assert_eq!(session.with_reported_status(Ended).unwrap_err().code(), "session_mismatch");
            for to in [Ended, Failed] {
                let finished = session.to_finished(to, Some(3), Some("why"), now).unwrap();
                assert_eq!((finished.status, finished.ended_at, finished.exit_code), (to, Some(now), Some(3)));
            }
            assert_eq!(session.to_finished(Stale, None, None, now).unwrap_err().code(), "invalid_value");
        }
    }

    #[test]
    fn final_session_cannot_change() {
        let now = Timestamp::from_millis(9);
        for from in [SessionStatus::Ended, SessionStatus::Failed] {
            let session = session(from);
            for refused in [
                session.to_running(),
                session.with_heartbeat(now),
                session.to_stale(None),
                session.with_reported_status(SessionStatus::Running),
                session.with_reported_status(SessionStatus::Starting),
                session.to_finished(SessionStatus::Ended, None, None, now),
            ] {
                assert_eq!(refused.unwrap_err().code(), "session_final");
            }
        }
    }

    #[test]
    fn stale_session_keeps_its_first_reason_until_the_next_heartbeat() {
        let stale = session(SessionStatus::Running).to_stale(Some("first")).unwrap();
        assert_eq!(stale.to_stale(Some("second")).unwrap().reason.as_deref(), Some("first"));
        assert_eq!(stale.with_heartbeat(Timestamp::from_millis(9)).unwrap().reason, None);
    }

    #[test]
    fn end_of_a_session_that_is_being_stopped_is_the_stop_for_every_reporter() {
        let (now, later) = (Timestamp::from_millis(9), Timestamp::from_millis(10));
        for from in [SessionStatus::Starting, SessionStatus::Running, SessionStatus::Stale] {
            let stopping = session(from).to_stopping("ann@host", now).unwrap();
            let reported = [
                stopping.with_activity(Activity::Busy, None, HOOK_SOURCE, later),
                stopping.with_activity(Activity::RequiresAction, Some("which?"), "upsert", later),
                stopping.with_heartbeat(later).unwrap(),
                stopping.to_stale(Some("silent")).unwrap(),
                stopping.to_running().unwrap(),
            ];
            for one in reported {
                assert!(one.is_being_stopped(), "{one:?}");
                assert_eq!((one.activity_at, one.reason.as_deref()), (Some(now), Some("being stopped by ann@host")));
                for (status, why) in [(SessionStatus::Failed, Some("process 7 is gone")), (SessionStatus::Ended, None)]
                {
                    let ended = one.to_finished(status, Some(3), why, later).unwrap();
                    assert_eq!(
                        (ended.status, ended.reason.as_deref()),
                        (SessionStatus::Ended, Some("stopped by ann@host"))
                    );
                    assert_eq!(ended.stopped_by(), Some("ann@host"));
                }
            }
            assert_eq!(session(from).to_stopping("s-1", now).unwrap().stopped_by(), None, "it stops itself");
        }
        assert_eq!(session(SessionStatus::Ended).to_stopping("ann", now).unwrap_err().code(), "session_final");
    }

    #[test]
    fn report_of_another_session_run_is_refused() {
        let session = session(SessionStatus::Stale);
        assert_eq!(session.check_run_id(None), Ok(()));
        assert_eq!(session.check_run_id(Some(&RunId::parse("run-1"))), Ok(()));
        assert_eq!(session.check_run_id(Some(&RunId::parse("run-0"))).unwrap_err().code(), "session_mismatch");
    }

    #[test]
    fn parking_ends_with_its_time_or_the_next_turn() {
        let at = Timestamp::from_millis;
        let why = Some(ParkingCause::new(ParkingKind::UsageLimit, "NAME"));
        let parked = Session { parked_until: Some(at(20)), parked_why: why, ..session(SessionStatus::Running) };
        assert!(parked.is_parked(at(19)) && !parked.is_parked(at(20)));
        assert!(parked.parking(at(0)).unwrap().ends_with("(usage limit of NAME)"));
        let text = |now| parked.parking_end(now).unwrap();
        assert_eq!(
            (text(at(0)).find(' '), text(at(400 * 86_400_000)).find(' ')),
            (Some("00:00".len()), Some("1970-01-01".len()))
        );
        let idle = parked.with_activity(Activity::Idle, None, "test", at(5));
        assert!(idle.is_parked(at(6)));
        let busy = idle.with_activity(Activity::Busy, None, "test", at(7));
        assert_eq!((busy.is_parked(at(8)), busy.parking(at(8))), (false, None));
    }

    #[test]
    fn question_is_over_with_the_next_activity() {
        let now = Timestamp::from_millis(9);
        let asks = session(SessionStatus::Running).with_activity(Activity::RequiresAction, Some("which?"), "test", now);
        assert_eq!(asks.waiting_for.as_deref(), Some("which?"));
        assert_eq!(asks.with_activity(Activity::Busy, Some("which?"), "test", now).waiting_for, None);
    }

    #[test]
    fn questions_are_counted_by_text_and_time() {
        let at = Timestamp::from_millis;
        let ask =
            |session: &Session, text, now| session.with_activity(Activity::RequiresAction, Some(text), "test", at(now));
        let first = ask(&session(SessionStatus::Running), "which?", 1);
        let repeated = ask(&first, "which?", 2);
        let other = ask(&repeated, "may I?", 3);
        let busy = other.with_activity(Activity::Busy, None, "test", at(4));
        let again = ask(&busy, "may I?", 5);
        let counts = [&first, &repeated, &other, &busy, &again].map(|session| session.questions);
        assert_eq!(counts, [1, 1, 2, 2, 3]);
    }
}
