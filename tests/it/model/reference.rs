//! The expectation: the rules of `claim`, the moves, the leases, the fences, the sessions and reconcile, as the design says
//! them, on a handful of plain values.

use std::collections::BTreeMap;

use super::mutant::Mutant;
use super::operation::{
    ATTACHED, BEGINNING, COMMIT, IN_LANE, LANE, Op, Reply, SESSIONS, Seen, SessionSeen, TASKS, TaskSeen, Verb, Who,
    Word,
};

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "a model states each fact by itself")]
pub(super) struct Task {
    pub(super) status: &'static str,
    pub(super) holder: Option<Who>,
    /// Whether its holder took it in their role.
    /// The role of the claim: that of the sessions, or another one.
    pub(super) role: Option<bool>,
    /// When it was last claimed and not continued, and the epoch of that claim.
    pub(super) claimed: i64,
    pub(super) first_epoch: i64,
    /// Whether it is in the lane, and whether its claim put it there or was made there.
    pub(super) lane: bool,
    pub(super) assigned: bool,
    pub(super) made_in_lane: bool,
    pub(super) epoch: i64,
    /// Until when, and for how long each time.
    pub(super) lease: Option<(i64, i64)>,
    /// The epoch of everybody's own last claim.
    pub(super) latest: BTreeMap<Who, i64>,
    /// The last command on it, and its actor.
    pub(super) last: Option<(&'static str, Who)>,
    /// The claimant whose word reconcile left last.
    pub(super) word: Option<usize>,
    pub(super) words: i64,
    pub(super) commit: bool,
    /// Kind, result and time.
    pub(super) evidence: Vec<(&'static str, bool, i64)>,
    pub(super) reviews: i64,
    /// The actor that asked for changes last.
    pub(super) asked: Option<Who>,
    /// Who refused it and has not approved it since.
    pub(super) refusers: Vec<Who>,
}

#[derive(Debug, Clone)]
pub(super) struct Handoff {
    pub(super) task: usize,
    pub(super) from: Who,
    /// To the role of the sessions.
    pub(super) theirs: bool,
    pub(super) epoch: i64,
    pub(super) status: &'static str,
    pub(super) by: Option<Who>,
}

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) status: &'static str,
    pub(super) heartbeat: i64,
}

impl Session {
    pub(super) fn is_final(&self) -> bool {
        self.status == "ended"
    }
}

/// The expected state.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) tasks: Vec<Task>,
    pub(super) sessions: Vec<Session>,
    pub(super) handoffs: Vec<Handoff>,
    pub(super) now: i64,
    pub(super) mutant: Option<Mutant>,
}

pub(super) type Expected = Result<(), &'static str>;

/// The task that a session was started for.
fn own_task(who: Who) -> Option<usize> {
    match who {
        Who::Session(number) => ATTACHED[number],
        Who::Person => None,
    }
}

pub(super) fn is_in_lane(who: Who) -> bool {
    matches!(who, Who::Session(number) if IN_LANE[number])
}

/// A command's intended write to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intent {
    /// For the claimant alone.
    Move,
    /// For everybody while nobody holds it.
    Close,
    /// For everybody who has not lost a claim on it.
    Record,
}

impl Model {
    pub fn new(mutant: Option<Mutant>) -> Self {
        let task = Task {
            status: "todo",
            holder: None,
            role: None,
            claimed: 0,
            first_epoch: 0,
            lane: false,
            assigned: false,
            made_in_lane: false,
            epoch: 0,
            lease: None,
            latest: BTreeMap::new(),
            last: None,
            word: None,
            words: 0,
            commit: false,
            evidence: Vec::new(),
            reviews: 0,
            asked: None,
            refusers: Vec::new(),
        };
        let session = |status| Session { status, heartbeat: BEGINNING };
        Self {
            tasks: vec![task; TASKS.len()],
            sessions: ["running", "starting", "running", "running"].into_iter().map(session).collect(),
            handoffs: Vec::new(),
            now: BEGINNING,
            mutant,
        }
    }

    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub fn seen(&self) -> Seen {
        let tasks = self.tasks.iter().map(|task| TaskSeen {
            status: task.status.into(),
            claimant: task.holder.map(super::driver::name),
            lane: task.lane.then(|| LANE.to_owned()),
            epoch: task.epoch,
            lease_until: task.lease.map(|(until, _)| until),
            claims: task.holder.map(|who| (super::driver::name(who), task.epoch)).into_iter().collect(),
            checkpoints: task.words,
            commit: task.commit.then(|| COMMIT.to_owned()),
            evidence: i64::try_from(task.evidence.len()).unwrap(),
            reviews: task.reviews,
        });
        let sessions = self
            .sessions
            .iter()
            .map(|session| SessionSeen { status: session.status.into(), heartbeat: session.heartbeat });
        let handoffs = self.handoffs.iter().map(|handoff| (handoff.status.into(), handoff.by.map(super::driver::name)));
        Seen { tasks: tasks.collect(), sessions: sessions.collect(), handoffs: handoffs.collect() }
    }

    /// Expects a command's outcome: `ok` or the code of its refusal, after which nothing has changed.
    pub fn apply(&mut self, op: &Op, clock: i64, epoch: Option<i64>) -> String {
        self.now = clock;
        let mut next = self.clone();
        match next.after(op, epoch) {
            Ok(()) => {
                *self = next;
                "ok".into()
            }
            Err(code) => {
                let is_claim = matches!(op, Op::Claim { .. } | Op::ClaimNext { .. } | Op::Renew { .. });
                if is_claim && matches!(code, "already_claimed" | "nothing_ready") {
                    self.count_future_times_from_now();
                }
                if self.is(Mutant::RefusedCounts)
                    && let Op::Move { who, .. } = op
                {
                    self.acts(*who);
                }
                if self.is(Mutant::RefusedAnswers)
                    && let Op::Answer { who, back, reply: Reply::Take } = *op
                    && let Some(handoff) = self.handoffs.iter_mut().rev().nth(back)
                    && handoff.status == "open"
                {
                    (handoff.status, handoff.by) = ("accepted", Some(who));
                }
                code.into()
            }
        }
    }

    /// A claim that finds nothing to take, and reconcile, count what a clock that was ahead has written from now.
    fn count_future_times_from_now(&mut self) {
        const TOLERANCE: i64 = 60_000;
        let latest = self.now + TOLERANCE;
        for session in self.sessions.iter_mut().filter(|session| !session.is_final() && session.heartbeat > latest) {
            session.heartbeat = self.now;
        }
        for task in self.tasks.iter_mut().filter(|task| task.holder.is_some()) {
            if let Some((until, length)) = &mut task.lease
                && *until > latest + *length
            {
                *until = self.now + *length;
            }
        }
    }

    fn after(&mut self, op: &Op, epoch: Option<i64>) -> Expected {
        match *op {
            Op::Clock(_) => Ok(()),
            Op::Claim { who, task, lease, steal } => {
                self.acts(who);
                self.may_claim(who)?;
                self.claim(who, task, lease, steal)
            }
            Op::ClaimNext { who, lease } => {
                self.acts(who);
                self.may_claim(who)?;
                // A session's own task, while it is open.
                if let Some(task) = own_task(who).filter(|task| !self.is_closed(*task)) {
                    return self.claim(who, task, lease, false);
                }
                let order = self.next_tasks(who);
                let taken = order.into_iter().any(|task| self.claim(who, task, lease, false).is_ok());
                if taken { Ok(()) } else { Err("nothing_ready") }
            }
            Op::Renew { who, task } => {
                self.acts(who);
                self.may_claim(who)?;
                let Some(epoch) = epoch else { return self.claim(who, task, None, false) };
                let now = self.now;
                if epoch != self.tasks[task].epoch {
                    // Whoever names an epoch wants this claim and no later one.
                    self.fence(who, task, Some(epoch), Intent::Move)?;
                }
                if self.tasks[task].holder != Some(who) {
                    return self.claim(who, task, None, false);
                }
                let task = &mut self.tasks[task];
                if let ("in_progress", Some((_, length))) = (task.status, task.lease) {
                    task.lease = Some((now + length, length));
                }
                Ok(())
            }
            Op::Move { who, verb, task, force, .. } => {
                self.acts(who);
                self.moves(who, verb, task, epoch, force)
            }
            Op::Record { who, task, word, .. } => {
                self.acts(who);
                self.record(who, task, word, epoch)
            }
            Op::Answer { who, back, reply } => {
                self.acts(who);
                self.answer(who, back, reply)
            }
            Op::Heartbeat { session, own } => {
                let _ = own;
                if self.sessions[session].is_final() && !self.is(Mutant::DeadRevive) {
                    return Err("session_final");
                }
                self.sessions[session].status = "running";
                self.sessions[session].heartbeat = self.now;
                self.renews(Who::Session(session));
                Ok(())
            }
            Op::Report { session, stale } => {
                let now = self.now;
                let session = &mut self.sessions[session];
                if session.is_final() {
                    return Err("session_final");
                }
                if stale {
                    session.status = "stale";
                } else {
                    *session = Session { status: "running", heartbeat: now };
                }
                Ok(())
            }
            Op::End { session, own } => {
                if own {
                    self.acts(Who::Session(session));
                }
                self.sessions[session].status = "ended";
                Ok(())
            }
            Op::Reconcile { dry_run, .. } => {
                if !dry_run || self.is(Mutant::DryRunWrites) {
                    self.count_future_times_from_now();
                    self.reconcile();
                }
                Ok(())
            }
        }
    }

    /// A session that acts lives, and its leases are renewed.
    pub(super) fn acts(&mut self, who: Who) {
        if let Who::Session(number) = who {
            let session = &mut self.sessions[number];
            if !session.is_final() {
                *session = Session { status: "running", heartbeat: self.now };
            }
            self.renews(who);
        }
    }

    pub(super) fn renews(&mut self, who: Who) {
        if self.is(Mutant::NoRenewal) {
            return;
        }
        for task in self.tasks.iter_mut().filter(|task| task.holder == Some(who)) {
            task.lease = task.lease.map(|(_, length)| (self.now + length, length));
        }
    }

    fn fence(&self, who: Who, task: usize, token: Option<i64>, intent: Intent) -> Expected {
        let is_record = intent == Intent::Record;
        let task = &self.tasks[task];
        if token.is_some_and(|token| token != task.epoch) && !self.is(Mutant::TokenIgnored) {
            return Err("stale_claim");
        }
        if intent == Intent::Close && task.holder.is_none() {
            return Ok(());
        }
        if task.holder == Some(who) {
            return Ok(());
        }
        if task.latest.get(&who).is_some_and(|latest| *latest < task.epoch) {
            let is_free = is_record
                && (self.is(Mutant::RecordsUnfenced) || (who == Who::Person && !self.is(Mutant::PersonsFenced)));
            return if self.is(Mutant::NoFence) || is_free { Ok(()) } else { Err("stale_claim") };
        }
        if task.holder.is_some() && !is_record { Err("not_claimant") } else { Ok(()) }
    }

    fn moves(&mut self, who: Who, verb: Verb, number: usize, token: Option<i64>, force: bool) -> Expected {
        let word = match verb {
            Verb::Release => "release",
            Verb::Submit | Verb::SubmitAt => "submit",
            Verb::Resume => "resume",
            Verb::Done => "done",
            Verb::Block => "block",
            Verb::Unblock => "unblock",
            Verb::Cancel => "cancel",
            Verb::Reopen => "reopen",
        };
        let task = &self.tasks[number];
        let wrong = token.is_some_and(|token| token != task.epoch);
        // Whoever resumed it, it is resumed: a review that refuses the work does so for the claimant.
        let is_resumed = verb == Verb::Resume && task.last.is_some_and(|(last, _)| last == word);
        // Another commit of submitted work is submitted again.
        let is_again = verb == Verb::SubmitAt && task.status == "review" && !task.commit;
        if (task.last == Some((word, who)) || is_resumed) && !wrong && !is_again {
            return if self.is(Mutant::RepeatFails) { Err("wrong_state") } else { Ok(()) };
        }
        let intent = match verb {
            Verb::Cancel | Verb::Reopen => Intent::Close,
            // The reviewer who asked for changes may, too; see below.
            Verb::Resume => Intent::Record,
            _ => Intent::Move,
        };
        let anybody = verb == Verb::Release && self.is(Mutant::AnybodyReleases);
        // Reopening is for everybody, as force makes the others; only a token stands in the way.
        let forced = (force || verb == Verb::Reopen) && !wrong;
        if !forced && !anybody {
            self.fence(who, number, token, intent)?;
        }
        let keeps = self.is(Mutant::LeaseStays);
        let (forgets, stays) = (self.is(Mutant::CommitForgotten), self.is(Mutant::DoneKeepsHolder));
        let takes = self.is(Mutant::ResumeTakes);
        let stays_in_lane = self.is(Mutant::LaneStays);
        let is_refused = !self.tasks[number].refusers.is_empty() && !self.is(Mutant::RefusalIgnored);
        let passes = (self.is(Mutant::GateIgnored) || self.passes(number)) && !is_refused;
        let asked = self.tasks[number].asked == Some(who) && !self.is(Mutant::OnlyHolderResumes);
        let resumes = self.tasks[number].holder == Some(who) || asked || self.is(Mutant::AnybodyResumes);
        let task = &mut self.tasks[number];
        let status = match (verb, task.status) {
            (Verb::Release, "in_progress" | "blocked" | "review") => "todo",
            (Verb::Submit | Verb::SubmitAt, "in_progress") => "review",
            (Verb::SubmitAt, "review") if is_again => "review",
            (Verb::Resume, "review") => "in_progress",
            (Verb::Done, "in_progress" | "review") => "done",
            (Verb::Block, "in_progress") => "blocked",
            (Verb::Unblock, "blocked") => "in_progress",
            (Verb::Cancel, "todo" | "in_progress" | "blocked" | "review") => "cancelled",
            (Verb::Reopen, "done" | "cancelled") => "todo",
            _ => return Err("wrong_state"),
        };
        if verb == Verb::Done && !passes {
            return Err("gate_blocked");
        }
        if verb == Verb::Resume && !forced && !resumes {
            return Err("not_claimant");
        }
        let closes = matches!(status, "todo" | "done" | "cancelled");
        if verb == Verb::Release && task.assigned {
            task.lane = stays_in_lane;
        }
        task.status = status;
        task.commit |= verb == Verb::SubmitAt && !forgets;
        if !keeps || closes {
            task.lease = None;
        }
        if closes && !(stays && status == "done") {
            task.holder = None;
        }
        if takes && verb == Verb::Resume {
            task.holder = Some(who);
        }
        task.last = Some((word, who));
        Ok(())
    }

    /// Whether there is evidence: something passed since the claim, and its kind has not failed later.
    fn passes(&self, number: usize) -> bool {
        let task = &self.tasks[number];
        let (old, provider) = (self.is(Mutant::OldEvidenceCounts), self.is(Mutant::ProviderCounts));
        let (forgotten, of_any) = (self.is(Mutant::FailureForgotten), self.is(Mutant::FailureOfAnyKind));
        let counts: Vec<_> = task
            .evidence
            .iter()
            .filter(|(kind, _, at)| (*at >= task.claimed || old) && (*kind != "provider" || provider))
            .collect();
        counts.iter().enumerate().any(|(place, (kind, pass, _))| {
            let undone = counts[place..].iter().any(|(other, pass, _)| !pass && (other == kind || of_any));
            *pass && (!undone || forgotten)
        })
    }

    fn record(&mut self, who: Who, number: usize, word: Word, token: Option<i64>) -> Expected {
        self.fence(who, number, token, Intent::Record)?;
        let (now, anything) = (self.now, self.is(Mutant::ClosedHandedOver));
        let offers = self.is(Mutant::OfferedTwice);
        let (stands, waits) = (self.is(Mutant::RefusalForEver), self.is(Mutant::RefusedWaits));
        let task = &mut self.tasks[number];
        match word {
            Word::Evidence { kind, pass } => task.evidence.push((kind, pass, now)),
            Word::Review { approves } => {
                task.reviews += 1;
                if approves {
                    task.refusers.retain(|refuser| *refuser != who || stands);
                    return Ok(());
                }
                task.refusers.push(who);
                task.asked = Some(who);
                if task.status == "review" && !waits {
                    (task.status, task.lease, task.last) = ("in_progress", None, Some(("resume", who)));
                }
            }
            Word::Handoff { .. } if matches!(task.status, "done" | "cancelled") && !anything => {
                return Err("wrong_state");
            }
            Word::Handoff { theirs }
                if let Some(open) =
                    self.handoffs.iter().find(|one| one.task == number && one.status == "open" && !offers) =>
            {
                return if (open.from, open.theirs) == (who, theirs) { Ok(()) } else { Err("already_offered") };
            }
            Word::Handoff { theirs } => {
                let epoch = task.epoch;
                self.handoffs.push(Handoff { task: number, from: who, theirs, epoch, status: "open", by: None });
            }
        }
        Ok(())
    }

    fn answer(&mut self, who: Who, back: usize, reply: Reply) -> Expected {
        let place = self.handoffs.len().checked_sub(back + 1).ok_or("not_found")?;
        let handoff = self.handoffs[place].clone();
        let status = match reply {
            Reply::Accept | Reply::Take => "accepted",
            Reply::Decline => "declined",
            Reply::Withdraw { .. } => "withdrawn",
        };
        if handoff.status == status && handoff.by == Some(who) {
            return Ok(());
        }
        if handoff.status != "open" && !self.is(Mutant::AnsweredTwice) {
            return Err("already_answered");
        }
        let is_session = who != Who::Person;
        match reply {
            Reply::Withdraw { force } => {
                if handoff.from != who && !force && !self.is(Mutant::AnybodyWithdraws) {
                    return Err("not_creator");
                }
            }
            // A person without a role answers for any.
            _ if is_session && !handoff.theirs && !self.is(Mutant::AnyRoleAnswers) => return Err("role_mismatch"),
            Reply::Take => self.take(who, &handoff)?,
            Reply::Accept if self.is(Mutant::AcceptTakes) => self.take(who, &handoff)?,
            Reply::Accept | Reply::Decline => {}
        }
        (self.handoffs[place].status, self.handoffs[place].by) = (status, Some(who));
        Ok(())
    }

    /// The claim moves to whoever accepts with it.
    fn take(&mut self, who: Who, handoff: &Handoff) -> Expected {
        let number = handoff.task;
        // A person acts in the role that the handoff is for.
        let role = Some(who != Who::Person || handoff.theirs);
        let task = &self.tasks[number];
        let is_of_chain = task.holder.is_some() && handoff.epoch >= task.first_epoch;
        if handoff.epoch != task.epoch && !is_of_chain && !self.is(Mutant::OldHandoffMoves) {
            return Err("stale_claim");
        }
        if matches!(task.status, "done" | "cancelled") {
            return Err("wrong_state");
        }
        if let Some(holder) = task.holder {
            // A claimant without a role, or in another one, may hand over to itself.
            if holder == who && task.role == role {
                return Err("already_yours");
            }
            if handoff.from == who && holder != who && !self.is(Mutant::TheftByHandoff) {
                return Err("already_claimed");
            }
        }
        if !self.is(Mutant::DeadTakes) {
            self.may_claim(who)?;
        }
        if self.waits(number) {
            return Err("deps_open");
        }
        if !self.is(Mutant::AcceptTakesNothing) {
            self.hold(who, number, None, role);
        }
        Ok(())
    }

    fn reconcile(&mut self) {
        const LAUNCH: i64 = 60_000;
        const SILENCE: i64 = 1_800_000;
        const PROCESS: usize = 3;
        let backwards = self.is(Mutant::BackwardsAges);
        let age = |since: i64| if backwards { (self.now - since).abs() } else { self.now - since };
        let live = |session: &Session| matches!(session.status, "starting" | "running");
        let late = |session: &Session| session.status == "starting" && age(BEGINNING) > LAUNCH;
        let silent = |session: &Session| !late(session) && age(session.heartbeat) > SILENCE;
        let others = self.sessions.iter().take(PROCESS).filter(|session| live(session));
        let quiet = others.filter(|session| silent(session)).count();
        let alive = self.sessions.iter().filter(|session| live(session)).count();
        let brake = quiet > 2 && quiet * 2 > alive && !self.is(Mutant::NoBrake);
        let dead: Vec<usize> = (0..PROCESS)
            .filter(|number| {
                let session = &self.sessions[*number];
                live(session) && (late(session) || (silent(session) && !brake))
            })
            .collect();
        if !self.sessions[PROCESS].is_final() {
            self.sessions[PROCESS].status = "running";
        }
        let (twice, anyones) = (self.is(Mutant::WordTwice), self.is(Mutant::WordForOthers));
        let releases = self.is(Mutant::ReconcileReleases);
        for number in dead {
            self.sessions[number].status = "stale";
            let Some(task) = ATTACHED[number] else { continue };
            let task = &mut self.tasks[task];
            let theirs = task.holder.is_some_and(|holder| holder != Who::Session(number));
            if !matches!(task.status, "done" | "cancelled")
                && (!theirs || anyones)
                && (task.word != Some(number) || twice)
            {
                task.word = Some(number);
                task.words += 1;
            }
            if releases && task.holder == Some(Who::Session(number)) {
                (task.status, task.holder, task.lease) = ("todo", None, None);
            }
        }
        debug_assert_eq!(self.sessions.len(), SESSIONS.len());
    }
}
