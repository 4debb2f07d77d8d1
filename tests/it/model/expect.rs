//! What is expected: the rules of `claim`, the moves, the leases, the fences, the sessions and reconcile, as the design
//! says them, on a handful of plain values.

use std::collections::BTreeMap;

use super::op::{ATTACHED, BEGINNING, Op, SESSIONS, Seen, SessionSeen, TASKS, TaskSeen, Verb, Who};

/// One deliberate mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A second claim wins too.
    TwoWinners,
    /// A claim keeps the epoch of the one before.
    EpochStays,
    /// Stealing needs an expired lease.
    StealWaits,
    /// An expired lease frees the task for nobody.
    LeaseForEver,
    /// A lease is over only a moment after its end.
    LeaseOneMore,
    /// Anybody releases.
    AnybodyReleases,
    /// Whoever once held it may go on writing.
    NoFence,
    /// A wrong token is ignored.
    TokenIgnored,
    /// Submit and block keep the lease.
    LeaseStays,
    /// A session's writes renew nothing.
    NoRenewal,
    /// What was refused is a sign of life all the same.
    RefusedCounts,
    /// A repeat is a conflict.
    RepeatFails,
    /// Reconcile gives the tasks of the stale back.
    ReconcileReleases,
    /// Reconcile marks them all when all are silent.
    NoBrake,
    /// Reconcile leaves a word each time.
    WordTwice,
    /// Reconcile leaves a word on a task that another holds.
    WordForOthers,
    /// A dry run writes.
    DryRunWrites,
    /// A heartbeat revives the dead.
    DeadRevive,
    /// A dead session claims.
    DeadClaim,
    /// A clock that steps back ages everything.
    BackwardsAges,
    /// A task whose dependencies are open can be claimed.
    DependenciesIgnored,
}

impl Mutant {
    pub const ALL: &'static [Self] = &[
        Self::TwoWinners,
        Self::EpochStays,
        Self::StealWaits,
        Self::LeaseForEver,
        Self::LeaseOneMore,
        Self::AnybodyReleases,
        Self::NoFence,
        Self::TokenIgnored,
        Self::LeaseStays,
        Self::NoRenewal,
        Self::RefusedCounts,
        Self::RepeatFails,
        Self::ReconcileReleases,
        Self::NoBrake,
        Self::WordTwice,
        Self::WordForOthers,
        Self::DryRunWrites,
        Self::DeadRevive,
        Self::DeadClaim,
        Self::BackwardsAges,
        Self::DependenciesIgnored,
    ];
}

#[derive(Debug, Clone)]
struct Task {
    status: &'static str,
    holder: Option<Who>,
    epoch: i64,
    /// Until when, and for how long each time.
    lease: Option<(i64, i64)>,
    /// The epoch of everybody's own last claim.
    latest: BTreeMap<Who, i64>,
    /// What was last done with it, and by whom.
    last: Option<(&'static str, Who)>,
    /// Whose word reconcile left last.
    word: Option<usize>,
    words: i64,
}

#[derive(Debug, Clone)]
struct Session {
    status: &'static str,
    heartbeat: i64,
}

impl Session {
    fn is_final(&self) -> bool {
        self.status == "ended"
    }
}

/// What is expected to be seen.
#[derive(Debug, Clone)]
pub struct Model {
    tasks: Vec<Task>,
    sessions: Vec<Session>,
    now: i64,
    mutant: Option<Mutant>,
}

type Expected = Result<(), &'static str>;

impl Model {
    pub fn new(mutant: Option<Mutant>) -> Self {
        let task = Task {
            status: "todo",
            holder: None,
            epoch: 0,
            lease: None,
            latest: BTreeMap::new(),
            last: None,
            word: None,
            words: 0,
        };
        let session = |status| Session { status, heartbeat: BEGINNING };
        Self {
            tasks: vec![task; TASKS.len()],
            sessions: ["running", "starting", "running", "running"].into_iter().map(session).collect(),
            now: BEGINNING,
            mutant,
        }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub fn seen(&self) -> Seen {
        let tasks = self.tasks.iter().map(|task| TaskSeen {
            status: task.status.into(),
            claimant: task.holder.map(super::driver::name),
            epoch: task.epoch,
            lease_until: task.lease.map(|(until, _)| until),
            claims: task.holder.map(|who| (super::driver::name(who), task.epoch)).into_iter().collect(),
            checkpoints: task.words,
        });
        let sessions = self
            .sessions
            .iter()
            .map(|session| SessionSeen { status: session.status.into(), heartbeat: session.heartbeat });
        Seen { tasks: tasks.collect(), sessions: sessions.collect() }
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
                if self.is(Mutant::RefusedCounts)
                    && let Op::Move { who, .. } = op
                {
                    self.acts(*who);
                }
                code.into()
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
                let ready = (0..TASKS.len()).filter(|task| self.tasks[*task].status == "todo");
                let expired = (0..TASKS.len()).filter(|task| self.is_expired(*task));
                let order: Vec<usize> = ready.chain(expired).collect();
                let taken = order.into_iter().any(|task| self.claim(who, task, lease, false).is_ok());
                if taken { Ok(()) } else { Err("nothing_ready") }
            }
            Op::Renew { who, task } => {
                self.acts(who);
                self.may_claim(who)?;
                let Some(epoch) = epoch else { return self.claim(who, task, None, false) };
                self.fence(who, task, Some(epoch), false)?;
                let now = self.now;
                let task = &mut self.tasks[task];
                match (task.status, task.lease) {
                    ("in_progress", Some((_, length))) => task.lease = Some((now + length, length)),
                    ("in_progress" | "blocked" | "review", _) => {}
                    _ => return Err("wrong_state"),
                }
                Ok(())
            }
            Op::Move { who, verb, task, force, .. } => {
                self.acts(who);
                self.moves(who, verb, task, epoch, force)
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
                    self.reconcile();
                }
                Ok(())
            }
        }
    }

    /// A session that acts lives, and its leases are renewed.
    fn acts(&mut self, who: Who) {
        if let Who::Session(number) = who {
            let session = &mut self.sessions[number];
            if !session.is_final() {
                *session = Session { status: "running", heartbeat: self.now };
            }
            self.renews(who);
        }
    }

    fn renews(&mut self, who: Who) {
        if self.is(Mutant::NoRenewal) {
            return;
        }
        for task in self.tasks.iter_mut().filter(|task| task.holder == Some(who)) {
            task.lease = task.lease.map(|(_, length)| (self.now + length, length));
        }
    }

    fn may_claim(&self, who: Who) -> Expected {
        match who {
            Who::Session(number) if self.sessions[number].is_final() && !self.is(Mutant::DeadClaim) => {
                Err("session_final")
            }
            _ => Ok(()),
        }
    }

    fn is_expired(&self, task: usize) -> bool {
        let grace = i64::from(self.is(Mutant::LeaseOneMore));
        self.tasks[task].lease.is_some_and(|(until, _)| until + grace <= self.now) && !self.is(Mutant::LeaseForEver)
    }

    fn claim(&mut self, who: Who, number: usize, lease: Option<u32>, steal: bool) -> Expected {
        let expired = self.is_expired(number);
        let two = self.is(Mutant::TwoWinners);
        let steal = steal && (expired || !self.is(Mutant::StealWaits));
        let waits = number == 2 && !self.is(Mutant::DependenciesIgnored);
        let task = &self.tasks[number];
        match (task.status, task.holder) {
            ("done" | "cancelled", _) => return Err("wrong_state"),
            (_, Some(holder)) if steal && holder == who => return Err("already_yours"),
            (_, Some(_)) if steal || expired => {}
            (_, Some(holder)) if holder == who => return Err("already_yours"),
            (_, Some(_)) if !two => return Err("already_claimed"),
            _ => {}
        }
        if waits {
            return Err("deps_open");
        }
        let step = i64::from(!(self.is(Mutant::EpochStays) && task.holder.is_some()));
        let now = self.now;
        let task = &mut self.tasks[number];
        task.status = "in_progress";
        task.holder = Some(who);
        task.epoch += step;
        task.lease = lease.map(|seconds| (now + i64::from(seconds) * 1_000, i64::from(seconds) * 1_000));
        task.latest.insert(who, task.epoch);
        task.last = Some(("claim", who));
        Ok(())
    }

    /// `closing`: for everybody while nobody holds it.
    fn fence(&self, who: Who, task: usize, token: Option<i64>, closing: bool) -> Expected {
        let task = &self.tasks[task];
        if token.is_some_and(|token| token != task.epoch) && !self.is(Mutant::TokenIgnored) {
            return Err("stale_claim");
        }
        if closing && task.holder.is_none() {
            return Ok(());
        }
        if task.holder == Some(who) {
            return Ok(());
        }
        if task.latest.get(&who).is_some_and(|latest| *latest < task.epoch) {
            return if self.is(Mutant::NoFence) { Ok(()) } else { Err("stale_claim") };
        }
        if task.holder.is_some() { Err("not_claimant") } else { Ok(()) }
    }

    fn moves(&mut self, who: Who, verb: Verb, number: usize, token: Option<i64>, force: bool) -> Expected {
        let word = match verb {
            Verb::Release => "release",
            Verb::Submit => "submit",
            Verb::Block => "block",
            Verb::Unblock => "unblock",
            Verb::Cancel => "cancel",
            Verb::Reopen => "reopen",
        };
        let task = &self.tasks[number];
        let wrong = token.is_some_and(|token| token != task.epoch);
        if task.last == Some((word, who)) && !wrong {
            return if self.is(Mutant::RepeatFails) { Err("wrong_state") } else { Ok(()) };
        }
        let closing = matches!(verb, Verb::Cancel | Verb::Reopen);
        let anybody = verb == Verb::Release && self.is(Mutant::AnybodyReleases);
        // Reopening is for everybody, as force makes the others; only a token stands in the way.
        let forced = (force || verb == Verb::Reopen) && !wrong;
        if !forced && !anybody {
            self.fence(who, number, token, closing)?;
        }
        let keeps = self.is(Mutant::LeaseStays);
        let task = &mut self.tasks[number];
        let status = match (verb, task.status) {
            (Verb::Release, "in_progress" | "blocked" | "review") => "todo",
            (Verb::Submit, "in_progress") => "review",
            (Verb::Block, "in_progress") => "blocked",
            (Verb::Unblock, "blocked") => "in_progress",
            (Verb::Cancel, "todo" | "in_progress" | "blocked" | "review") => "cancelled",
            (Verb::Reopen, "done" | "cancelled") => "todo",
            _ => return Err("wrong_state"),
        };
        task.status = status;
        if !keeps || matches!(status, "todo" | "cancelled") {
            task.lease = None;
        }
        if matches!(status, "todo" | "cancelled") {
            task.holder = None;
        }
        task.last = Some((word, who));
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
            if task.status != "cancelled" && (!theirs || anyones) && (task.word != Some(number) || twice) {
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
