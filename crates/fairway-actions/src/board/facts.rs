//! The facts behind the board, read in one transaction: rows that are small in number each time, the others when an event or
//! the row of their session says that they have changed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;

use super::changed_subjects::News;
use super::day_costs::DayCosts;
use super::sent_back::{self, SentBack};
use super::task_counts::KeptCounts;
use super::watched_processes::Watches;
use super::{reviewed_executables, sessions, shown_dialogs};
use crate::App;
use crate::core::session_process::RunProcesses;
use crate::core::{approval_state, awaited_answer};
use crate::jobs::output::{JobReader, last_line};
use crate::land::shared_base::{self, BaseAnswers, SharedBase};
use crate::land::{self, LandPause, at_work};
use crate::queue::gates;
use crate::sessions::budget;
use crate::sessions::liveness::silence;
use crate::sessions::report::{shown_idle, turn_end};
use fairway_core::domain::approval::{Approval, Offers};
use fairway_core::domain::blocker::Blocker;
use fairway_core::domain::budget::Budget;
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::handoff::Handoff;
use fairway_core::domain::job::Job;
use fairway_core::domain::landing::Landing;
use fairway_core::domain::lane::{Lane, LaneStatus, SetupState};
use fairway_core::domain::message::{HUMAN_SOURCES, Message, Recipient};
use fairway_core::domain::overlap::LaneOverlap;
use fairway_core::domain::pull_request::LanePullRequest;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::session_facts::{HeldTask, SessionOverview};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{EventKind, LaneName, PersonName, SessionId, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::os::host;
use fairway_core::store::event_facts::{self, RefusedHostRow};
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::hosts::{self, Host};
use fairway_core::store::overlaps::{self, LaneDiffstat};
use fairway_core::store::overview::{self, ChangedIssue, ExpiredMessage, FailedJob, RefusedTask, WrittenCheckpoint};
use fairway_core::store::{ReadTx, handoffs, jobs, landings, lanes, messages, pull_requests, session_reports, tasks};
use fairway_core::wire::{LandAtWorkView, LaneSetupView, WaitingCheckView};

/// How long after its start an agent should have called its first hook.
pub(super) const FIRST_HOOK_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a decision may be on its way to an agent.
pub(super) const DELIVERY_TIME: Duration = Duration::from_secs(10);
const EXPIRED_FOR: Duration = Duration::from_secs(60 * 60);
/// How long a failed job is shown.
const FAILED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
const MAX_FAILED_JOBS: i64 = 5;
/// How often the output of a landing at work is read again, and the end of a setup is looked for.
const LANDING_PAUSE: Duration = Duration::from_secs(1);
/// How often an open pull request is looked at again.
const PULL_PAUSE: Duration = Duration::from_secs(60);
/// The maximum number of submitted tasks whose gates are evaluated. For the others the board only says that they are submitted.
const MAX_EVALUATED_TASKS: usize = 100;
/// The number of claimed tasks above which all checkpoints are read in one statement.
const MAX_SINGLE_READS: usize = 2;

/// The facts from the store, and which sessions are alive.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub now: Timestamp,
    pub seq: i64,
    /// Sessions that are not final, and final ones with a claim; oldest first.
    pub sessions: Vec<SessionOverview>,
    pub held: Vec<HeldTask>,
    pub counts: KeptCounts,
    pub lanes: Vec<Lane>,
    /// The setups of lanes that are not ready.
    pub setups: BTreeMap<LaneName, LaneSetupView>,
    /// The checks that wait for a slot on this host, each with its lane.
    pub waiting_checks: Vec<(String, WaitingCheckView)>,
    /// The size of each lane's changes, as last looked at.
    pub diffstats: Vec<LaneDiffstat>,
    /// The lanes whose changed programs a review has approved.
    pub approved_later: Vec<LaneName>,
    /// The overlaps as last judged.
    pub overlaps: Vec<LaneOverlap>,
    /// The landings that stopped all others in their base.
    pub stopped: Vec<Landing>,
    /// The landings at work.
    pub landing: LandAtWorkView,
    /// Set while landing is paused on this host.
    pub paused: Option<LandPause>,
    pub approvals: Vec<(Approval, Offers)>,
    /// Those of them that the dialog on the agent's screen takes an answer to.
    pub shown_dialogs: BTreeSet<i64>,
    /// When to look again for a dialog that is not shown.
    next_dialog: Option<Timestamp>,
    /// What agents that have to ask were seen to run unasked or although it was denied, by their sessions.
    pub bypasses: BTreeMap<SessionId, LoggedEvent>,
    pub handoffs: Vec<Handoff>,
    /// Sessions and tasks whose newest written checkpoint awaits input.
    pub questions: Vec<(SessionId, TaskId, WrittenCheckpoint)>,
    /// The blockers of submitted tasks that the store knows; `None` for a task that was not evaluated.
    pub submitted: BTreeMap<TaskId, Option<Vec<Blocker>>>,
    /// Open messages to dead sessions.
    unread: Vec<Message>,
    /// Messages of people to dead sessions, and those that have just expired unread.
    pub undelivered: Vec<Message>,
    /// Open messages to sessions that tell what was decided about their work.
    pub decisions: Vec<Message>,
    /// Messages of people that expired lately.
    pub expired: Vec<ExpiredMessage>,
    /// When to look again at a screen that may show an interrupted turn.
    next_judgement: Option<Timestamp>,
    next_expiry: Option<Timestamp>,
    /// How many unread messages the acting person has; `None` for a session.
    pub inbox: Option<usize>,
    /// Sessions with a provider that have called no hook yet. Read only while there are guard rules.
    pub silent: BTreeSet<SessionId>,
    /// Sessions whose agent's shell does not find `fairway`, each with the time of that report.
    pub program_missing: Vec<(SessionId, Timestamp)>,
    /// The other hosts that use the store.
    pub hosts: Vec<Host>,
    pub active_jobs: Vec<Job>,
    pub failed_jobs: Vec<ShownFailure>,
    /// Landings whose work was sent back and not settled since.
    pub sent_back: Vec<SentBack>,
    pub refused: Vec<RefusedTask>,
    pub changed_issues: Vec<ChangedIssue>,
    /// The newest pull request of each lane, unless it was merged.
    pub pulls: Vec<LanePullRequest>,
    /// Closed network hosts that programs in a sandbox asked for. Read only while a session has a sandbox.
    pub refused_hosts: Vec<RefusedHostRow>,
    pub shared_base: SharedBase,
    /// The budgets that are nearly or completely used, or cannot hold.
    pub budgets: Vec<Budget>,
    pub costs: DayCosts,
    /// The leftover processes of dead sessions.
    pub processes: RefCell<RunProcesses>,
}

/// A job that failed lately.
#[derive(Debug, Clone)]
pub(super) struct ShownFailure {
    pub job: FailedJob,
    /// The last line of the job's output.
    pub last_line: Option<String>,
    /// Whether the same command has succeeded since.
    pub is_mended: bool,
}

impl Facts {
    /// Reads again the facts that have changed according to `news`, and those that are cheap to read.
    pub(super) fn advance(
        &mut self,
        app: &App,
        tx: &ReadTx<'_>,
        now: Timestamp,
        news: &News,
        watches: &mut Watches,
        bases: &mut BaseAnswers,
    ) -> Result<()> {
        (self.now, self.seq) = (now, news.seq);
        self.held = overview::held(tx)?;
        let changed = sessions::advance(&mut self.sessions, tx, &self.held, news, now, watches)?;
        self.next_judgement = shown_idle::judge(app, tx, &mut self.sessions)?;
        turn_end::judge(app, tx, &mut self.sessions)?;
        let has_death = self.sessions.iter().any(|one| one.is_over() && changed.contains(&one.session.id));
        if has_death {
            self.processes.take();
        }
        self.counts.advance(tx, news)?;
        if news.everything || news.lanes {
            self.lanes = lanes::all(tx)?;
        }
        self.diffstats = overlaps::diffstats(tx)?;
        self.approved_later = reviewed_executables::find(tx, &self.diffstats, &self.held)?;
        self.overlaps = self.live_overlaps(tx)?;
        self.stopped = landings::stopped(tx)?;
        self.landing = at_work::find(app, tx)?;
        self.paused = land::paused(app);
        let pending = awaited_answer::pending(app, tx)?.into_iter();
        self.approvals =
            pending.map(|one| Ok((one.clone(), approval_state::offers(tx, &one)?))).collect::<Result<_>>()?;
        (self.shown_dialogs, self.next_dialog) = shown_dialogs::find(app, &self.approvals, &self.sessions, now);
        self.handoffs = handoffs::all(tx, true)?;
        self.read_questions(tx, &changed)?;
        self.read_submitted(app, tx, news, &changed)?;
        self.read_messages(app, tx, news.everything || news.messages || has_death)?;
        self.read_silent(app, tx, &changed)?;
        self.read_bypasses(tx)?;
        self.program_missing = session_reports::program_missing(tx)?;
        self.active_jobs = jobs::active(tx)?;
        self.hosts = other_hosts(app, tx)?;
        self.read_failed_jobs(app, tx)?;
        self.read_refused_hosts(tx, &changed)?;
        self.pulls = pull_requests::newest(tx)?;
        self.shared_base = shared_base::find(app, tx, bases)?;
        self.budgets = budget::used_up(app, tx, now)?;
        if news.everything || news.lanes || !news.tasks.is_empty() {
            self.sent_back = sent_back::find(tx, &self.held, &self.lanes)?;
            self.refused = overview::refused_unclaimed(tx)?;
            self.changed_issues = overview::changed_issues(tx)?;
        }
        let reporters = (!news.everything).then(|| changed.union(&news.sessions));
        self.costs.advance(tx, now, reporters)
    }

    /// When the board changes next without an event, for example when a lease ends, a message expires or a day is over; `None`
    /// when it does not.
    pub(super) fn next_change(&self, app: &App) -> Option<Timestamp> {
        const AFTER: Duration = Duration::from_millis(1);
        let leases = self.held.iter().filter_map(|held| held.lease_until);
        let is_silent = |one: &&SessionOverview| self.silent.contains(&one.session.id);
        let guarded = self.sessions.iter().filter(|_| app.settings.guard.is_some()).filter(is_silent);
        let first_hooks = guarded.map(|one| one.session.started_at.plus(FIRST_HOOK_TIMEOUT));
        let expired = self.expired.iter().map(|message| message.at.plus(EXPIRED_FOR + AFTER));
        let failed = self.failed_jobs.iter().map(|job| job.job.finished_at.plus(FAILED_FOR + AFTER));
        let decisions = self.decisions.iter().map(|message| message.created_at.plus(DELIVERY_TIME));
        // No event says that a running check has written, that a check has its slot, or that a setup was killed.
        let is_set_up = self.setups.values().any(|setup| setup.state == SetupState::SettingUp);
        let is_working = is_set_up || !self.waiting_checks.is_empty();
        let checks = (is_working || !self.landing.now.is_empty()).then(|| self.now.plus(LANDING_PAUSE));
        // Boards have the forge asked each minute.
        let pulls = self.pulls.iter().filter(|pull| pull.ended_at.is_none()).map(|_| self.now.plus(PULL_PAUSE));
        let ends = expired.chain(failed).chain(decisions).chain(checks).chain(pulls).chain(self.costs.end());
        let silences = self.sessions.iter().filter_map(|one| silence::deadline(app, one));
        let ended_turns = self.sessions.iter().filter_map(|one| turn_end::next_change(app, one, self.now));
        leases
            .chain(first_hooks)
            .chain(silences)
            .chain(ended_turns)
            .chain(self.next_expiry)
            .chain(self.next_judgement)
            .chain(self.next_dialog)
            .chain(ends)
            .filter(|at| *at > self.now)
            .min()
    }

    pub(super) fn session(&self, id: &SessionId) -> Option<&SessionOverview> {
        self.sessions.iter().find(|one| one.session.id == *id)
    }

    fn live_overlaps(&self, tx: &ReadTx<'_>) -> Result<Vec<LaneOverlap>> {
        let mut found = overlaps::all(tx)?;
        let is_live =
            |name: &LaneName| self.lanes.iter().any(|one| one.name == *name && one.status != LaneStatus::Closed);
        found.retain(|one| is_live(&one.lane) && one.other.as_ref().is_none_or(is_live));
        Ok(found)
    }

    /// Reads which jobs failed, and the end of each one's output once.
    fn read_failed_jobs(&mut self, app: &App, tx: &ReadTx<'_>) -> Result<()> {
        let mut before = std::mem::take(&mut self.failed_jobs);
        let mut reader = JobReader::new();
        for job in overview::failed_jobs(tx, self.now.minus(FAILED_FOR), MAX_FAILED_JOBS)? {
            let known = before.iter().position(|known| known.job.id == job.id).map(|at| before.swap_remove(at));
            let last_line = match known {
                Some(known) => known.last_line,
                None => jobs::find(tx, &job.id)?.and_then(|whole| last_line(app, &mut reader, &whole)),
            };
            let is_mended = overview::succeeded_since(tx, &job)?;
            self.failed_jobs.push(ShownFailure { job, last_line, is_mended });
        }
        Ok(())
    }

    fn read_bypasses(&mut self, tx: &ReadTx<'_>) -> Result<()> {
        self.bypasses.clear();
        let may_lack_it = |one: &&SessionOverview| one.unguarded.is_some() || self.silent.contains(&one.session.id);
        for one in self.sessions.iter().filter(|one| may_work(one)).filter(may_lack_it) {
            let is_bypass = |kind| kind == EventKind::GuardBypassed;
            if let Some(bypass) = events::newest_of_session(tx, &one.session.id, is_bypass)? {
                self.bypasses.insert(one.session.id.clone(), bypass);
            }
        }
        Ok(())
    }

    fn read_refused_hosts(&mut self, tx: &ReadTx<'_>, changed: &BTreeSet<SessionId>) -> Result<()> {
        let is_in_one = |one: &&SessionOverview| one.session.sandbox.is_some_and(|class| class != SandboxClass::Off);
        let mut inside = self.sessions.iter().filter(is_in_one).peekable();
        if inside.peek().is_none() {
            self.refused_hosts.clear();
        } else if inside.any(|one| changed.contains(&one.session.id)) {
            self.refused_hosts = event_facts::refused_hosts(tx)?;
        }
        Ok(())
    }

    fn read_questions(&mut self, tx: &ReadTx<'_>, changed: &BTreeSet<SessionId>) -> Result<()> {
        let sessions = &self.sessions;
        self.questions.retain(|(id, ..)| !changed.contains(id) && sessions.iter().any(|one| one.session.id == *id));
        let asked = || sessions.iter().filter(|one| may_work(one) && changed.contains(&one.session.id));
        // For many sessions all checkpoints are read at once, because each statement is an exchange with a server.
        let is_many = asked().map(|one| one.holds.len()).sum::<usize>() > MAX_SINGLE_READS;
        let known = if is_many { Some(overview::newest_of_held(tx)?) } else { None };
        for one in asked() {
            for held in &one.holds {
                let newest = match &known {
                    Some(known) => known.get(&held.task).cloned(),
                    None => overview::newest_written(tx, &held.task)?,
                };
                if let Some(newest) = newest.filter(|newest| newest.state == CheckpointState::AwaitingInput) {
                    self.questions.push((one.session.id.clone(), held.task.clone(), newest));
                }
            }
        }
        Ok(())
    }

    fn read_submitted(&mut self, app: &App, tx: &ReadTx<'_>, news: &News, changed: &BTreeSet<SessionId>) -> Result<()> {
        let mut before = std::mem::take(&mut self.submitted);
        for held in self.held.iter().filter(|held| held.status == TaskStatus::Review) {
            let is_same = !news.everything
                && !news.tasks.contains(&held.task)
                && held.session.as_ref().is_none_or(|session| !changed.contains(session));
            // The text about a question contains its age.
            let is_timeless = |all: &Vec<Blocker>| all.iter().all(|one| one.code != "open_question");
            let known = before.remove(&held.task).flatten().filter(|known| is_same && is_timeless(known));
            let blockers = match known {
                _ if self.submitted.len() >= MAX_EVALUATED_TASKS => None,
                Some(known) => Some(known),
                None => match tasks::find(tx, &held.task)? {
                    Some(task) => Some(gates::stored_blockers(app, tx, &task)?),
                    None => None,
                },
            };
            self.submitted.insert(held.task.clone(), blockers);
        }
        Ok(())
    }

    /// Reads the messages. With `is_new` also those to dead sessions, which seldom change.
    fn read_messages(&mut self, app: &App, tx: &ReadTx<'_>, is_new: bool) -> Result<()> {
        if is_new {
            self.decisions = messages::open_decisions(tx)?;
            self.unread.clear();
            for one in self.sessions.iter().filter(|one| one.is_over()) {
                self.unread.extend(messages::open_for(tx, &Recipient::Session(one.session.id.clone()))?);
            }
        }
        let is_dead = |message: &&Message| match &message.to {
            Recipient::Session(id) => self.session(id).is_some_and(SessionOverview::is_over),
            _ => false,
        };
        let mut undelivered = messages::expired(tx, self.now)?;
        undelivered.extend(self.unread.iter().filter(is_dead).cloned());
        undelivered.retain(|message| {
            matches!(message.to, Recipient::Session(_)) && HUMAN_SOURCES.contains(&message.source.as_str())
        });
        undelivered.sort_by_key(|message| message.id);
        undelivered.dedup_by_key(|message| message.id);
        self.undelivered = undelivered;
        self.expired = overview::expired_messages(tx, self.now.minus(EXPIRED_FOR))?
            .into_iter()
            .filter(|message| !message.is_given_up && HUMAN_SOURCES.contains(&message.source.as_str()))
            .collect();
        self.next_expiry = messages::next_expiry(tx, self.now)?;
        self.inbox = inbox(app, tx, self.now)?;
        Ok(())
    }

    fn read_silent(&mut self, app: &App, tx: &ReadTx<'_>, changed: &BTreeSet<SessionId>) -> Result<()> {
        if app.settings.guard.is_none() {
            self.silent.clear();
            return Ok(());
        }
        let before = std::mem::take(&mut self.silent);
        let mut reporting = None;
        for one in self.sessions.iter().filter(|one| may_work(one) && one.session.provider.is_some()) {
            let id = &one.session.id;
            // A session's first report is no event.
            if !changed.contains(id) && !before.contains(id) {
                continue;
            }
            let reporting = match &mut reporting {
                Some(known) => known,
                none => none.insert(session_reports::reporting(tx)?),
            };
            if !reporting.contains(id) {
                self.silent.insert(id.clone());
            }
        }
        Ok(())
    }

    /// Whether the claiming session has ended, is stale or lacks its supervisor. The board then has no other item about the
    /// task.
    pub(super) fn claimant_in_trouble(&self, held: &HeldTask) -> bool {
        held.session.as_ref().and_then(|id| self.session(id)).is_some_and(is_in_trouble)
    }
}

/// Whether a session has ended, is stale or lacks its supervisor.
pub(super) fn is_in_trouble(one: &SessionOverview) -> bool {
    one.is_over() || one.is_orphaned() || one.is_stale()
}

/// Whether a session is neither final nor proven dead.
pub(super) fn may_work(one: &SessionOverview) -> bool {
    !one.is_over()
}

/// The other hosts. A store in a file has none.
fn other_hosts(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Host>> {
    if !app.settings.store.is_on_server() {
        return Ok(Vec::new());
    }
    let own = host::identity().id;
    let mut hosts = hosts::all(tx)?;
    hosts.retain(|host| host.id != own);
    Ok(hosts)
}

fn inbox(app: &App, tx: &ReadTx<'_>, now: Timestamp) -> Result<Option<usize>> {
    let person = PersonName::of_actor(&app.actor.name).filter(|_| app.actor.session.is_none());
    let Some(person) = person else { return Ok(None) };
    let open = messages::open_for(tx, &Recipient::Person(person))?;
    Ok(Some(open.iter().filter(|message| !message.is_expired(now)).count()))
}
