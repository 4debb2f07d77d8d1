//! Claims a task, continues the claim of a dead session, or renews a lease.

use std::cell::OnceCell;
use std::time::Duration;

use anyhow::Result;

use super::claim_order::Candidates;
pub use super::claim_order::LaneScope;
use super::claim_place::{self, PlannedPlace};
use super::open_reviews::{self, OpenReviewsCache};
use crate::core::dead_session::DeadSession;
use crate::core::{inside_session, lookup};
use crate::queue::landed_here;
use crate::{Answer, App};
use fairway_core::domain::claim::{Claim, Takeover};
use fairway_core::domain::refusal::SkippedTask;
use fairway_core::domain::rules::claim::{self as rule, ClaimFacts, ClaimGrant, ClaimantFacts, PathPolicy};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::{Task, TaskState, TaskStatus};
use fairway_core::domain::{Actor, Event, EventKind, LaneName, Refusal, Role, TaskId, text_limits};
use fairway_core::store::tasks::{self, ListScope, ReadyRole};
use fairway_core::store::{ReadTx, WriteTx, claims, events, lanes};
use fairway_core::wire::ClaimedView;

/// How many of the ready tasks that rules exclude a refusal names.
const MAX_SKIPPED: usize = 100;

#[derive(Debug, Clone, Default)]
pub struct ClaimRequest {
    /// The task; `None` for the acting session's task, else the next ready task that fits.
    pub id: Option<TaskId>,
    /// Whether to ignore the task that the acting session was started for.
    pub any: bool,
    /// The claimant's role; `None` for that of the acting session.
    pub role: Option<Role>,
    /// The claimant's lane; `None` for that of the acting session.
    pub lane: Option<LaneName>,
    /// Whether tasks of any role fit.
    pub any_role: bool,
    /// The lanes whose tasks fit.
    pub lane_scope: LaneScope,
    /// The lease: another actor may take over the claim after this time without a heartbeat. `None` for the configured time.
    pub lease: Option<Duration>,
    /// The reason for a takeover from the claimant.
    pub steal: Option<String>,
}

/// The claimant, as the request and its session's row describe it.
struct Claimant<'a> {
    actor: &'a Actor,
    request: &'a ClaimRequest,
    role: Option<Role>,
    lane: Option<LaneName>,
    any_role: bool,
    /// The lane of the acting session. The work is done there, from whatever lane the claimed task comes.
    home: Option<LaneName>,
    /// The dead sessions of that lane whose claims this one may continue.
    dead: &'a [DeadSession],
}

/// Claims a task. `dead` are the dead sessions of the acting session's lane, with their proofs: their claims are continued.
///
/// # Errors
/// The code of the rule that excludes the task; `nothing_ready` if no task can be claimed.
pub fn claim(app: &App, request: &ClaimRequest, dead: &[DeadSession]) -> Result<Answer> {
    if let Some(reason) = &request.steal {
        text_limits::check_line("reason", reason)?;
    }
    if request.lease.is_some_and(|lease| lease.is_zero()) {
        return Err(Refusal::invalid("lease", "must be greater than zero").into());
    }
    let any_role = request.any_role || names_task_as_person(app, request)?;
    app.landed_here.forget_missing();
    let done = loop {
        let done = claim_once(app, request, dead, any_role);
        // What other hosts have landed is looked up outside of the write.
        if done.is_ok() || !landed_here::look(app)? {
            break done;
        }
    };
    let is_held = |refusal: &Refusal| matches!(refusal, Refusal::AlreadyClaimed { .. } | Refusal::NothingReady { .. });
    if done.as_ref().is_err_and(|error| error.downcast_ref().is_some_and(is_held)) {
        // A claim that was made by a clock that was ahead ends after its lease, not at that clock's time.
        app.count_future_times_from_now()?;
    }
    done
}

fn claim_once(app: &App, request: &ClaimRequest, dead: &[DeadSession], any_role: bool) -> Result<Answer> {
    // A claim that finds nothing must not keep others from writing: idle agents repeat it.
    if request.id.is_none()
        && let Some(refusal) = app.read_together(|tx| refusal_without_candidates(app, tx, request, dead, any_role))?
    {
        return app.stored_response()?.ok_or(refusal);
    }
    app.mutate(|tx| {
        let session = acting_session(app, tx, request)?;
        let claimant = Claimant { any_role, ..Claimant::new(app, tx, request, session.as_ref(), dead)? };
        claimant.check_scope()?;
        let (task, granted) = match claimant.task(tx, session.as_ref())? {
            Some(id) => {
                let task = lookup::task(tx, &id)?;
                if let Some(claim) = own_claim(app, tx, &task)? {
                    return renew(app, tx, request, &task, claim);
                }
                let granted = decide(app, tx, &claimant, &task, &ClaimCache::default())?;
                (task, granted)
            }
            None => next(app, tx, &claimant)?,
        };
        grant(app, tx, &claimant, &task, &granted)
    })
}

/// The acting session, which must not have ended. The lane of the request must exist.
fn acting_session(app: &App, tx: &ReadTx<'_>, request: &ClaimRequest) -> Result<Option<Session>> {
    if let Some(lane) = &request.lane {
        lookup::lane(tx, lane)?;
    }
    let session = app.actor.session.as_ref().map(|session| lookup::session(tx, session)).transpose()?;
    if let Some(session) = &session {
        session.check_open()?;
    }
    Ok(session)
}

/// The refusal of a claim without an id for which there is no candidate; `None` when there is one.
fn refusal_without_candidates(
    app: &App,
    tx: &ReadTx<'_>,
    request: &ClaimRequest,
    dead: &[DeadSession],
    any_role: bool,
) -> Result<Option<anyhow::Error>> {
    let session = acting_session(app, tx, request)?;
    let claimant = Claimant { any_role, ..Claimant::new(app, tx, request, session.as_ref(), dead)? };
    claimant.check_scope()?;
    let has_candidate = claimant.task(tx, session.as_ref())?.is_some()
        || claimant.candidates(app).exist(tx)?
        || !left_by_predecessors(tx, &claimant)?.is_empty()
        || !tasks::expired(tx, app.env.now())?.is_empty();
    if has_candidate { Ok(None) } else { nothing_ready(app, tx, &claimant).map(Some) }
}

/// The claim of a session that starts.
#[derive(Debug, Clone)]
pub struct StartClaim {
    pub task: TaskId,
    /// The claim's epoch.
    pub epoch: i64,
    /// Whether the claim continues that of a dead session.
    pub is_continued: bool,
    pub notes: Vec<String>,
}

/// Claims a task for a session, in the transaction that records the start of the session. The session is the actor of `app`;
/// the transaction is that of the person who starts it.
///
/// # Errors
/// The code of the rule that excludes the task.
pub fn claim_at_start(
    app: &App,
    tx: &WriteTx<'_>,
    session: &Session,
    id: &TaskId,
    dead: &[DeadSession],
) -> Result<StartClaim> {
    let request = ClaimRequest { id: Some(id.clone()), ..ClaimRequest::default() };
    let claimant = Claimant::new(app, tx, &request, Some(session), dead)?;
    let task = lookup::task(tx, id)?;
    let granted = decide(app, tx, &claimant, &task, &ClaimCache::default())?;
    let is_continued = matches!(granted.rule.takeover, Takeover::Continued { .. });
    let mut notes = grant(app, tx, &claimant, &task, &granted)?.notes;
    // A start itself says which lane it uses.
    let about_lane = assignment_note(&task, &granted);
    notes.retain(|note| about_lane.as_ref() != Some(note));
    Ok(StartClaim { task: id.clone(), epoch: lookup::task(tx, id)?.epoch, is_continued, notes })
}

/// Moves the claims of ended sessions to the session that takes their place, in the transaction that records its start. The
/// session is the actor of `app`. The rules for a claim were checked when it was made, and are not checked again.
pub fn continue_at_relaunch(
    app: &App,
    tx: &WriteTx<'_>,
    session: &Session,
    predecessors: &[Session],
) -> Result<Vec<TaskId>> {
    let actor = Actor { role: Some(session.role.clone()), ..app.actor.clone() };
    let mut continued = Vec::new();
    for task in held_by(tx, predecessors)? {
        let Some(claim) = task.state.claim() else { continue };
        let takeover = Takeover::Continued { from: claim.claimant.clone() };
        let place = claim_place::plan(tx, &task, &takeover, &actor, session.lane.as_ref())?;
        let own = task.new_claim(&actor, tx.now(), claim.lease.or(app.settings.claims.lease));
        claim_place::install(app, tx, &task, &own, &takeover, &place)?;
        continued.push(task.id);
    }
    Ok(continued)
}

pub fn held_by(tx: &ReadTx<'_>, sessions: &[Session]) -> Result<Vec<Task>> {
    let mut held = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        let claimant = task.state.claim().and_then(|claim| claim.session.as_ref());
        if claimant.is_some_and(|id| sessions.iter().any(|session| session.id == *id)) {
            held.push(task);
        }
        Ok(true)
    })?;
    Ok(held)
}

/// Checks that [`claim_at_start`] would claim the task. The session need not be recorded, nor its lane.
///
/// # Errors
/// The code of the rule that excludes the task.
pub fn check_at_start(app: &App, tx: &ReadTx<'_>, session: &Session, task: &Task, dead: &[DeadSession]) -> Result<()> {
    let request = ClaimRequest { id: Some(task.id.clone()), ..ClaimRequest::default() };
    let claimant = Claimant::new(app, tx, &request, Some(session), dead)?;
    landed_here::not_ready_reasons_now(app, tx, task)?;
    decide(app, tx, &claimant, task, &ClaimCache::default()).map(drop)
}

/// Whether a person without a role names a task that needs a role. People may claim any task by its id.
fn names_task_as_person(app: &App, request: &ClaimRequest) -> Result<bool> {
    let Some(id) = request.id.as_ref().filter(|_| request.role.is_none() && app.actor.session.is_none()) else {
        return Ok(false);
    };
    let needs_role = app.read(|tx| Ok(tasks::find(tx, id)?.is_some_and(|task| task.fields.role.is_some())))?;
    Ok(needs_role && !inside_session::is_inside(app))
}

impl<'a> Claimant<'a> {
    fn new(
        app: &'a App,
        tx: &ReadTx<'_>,
        request: &'a ClaimRequest,
        session: Option<&Session>,
        dead: &'a [DeadSession],
    ) -> Result<Self> {
        let home = session.and_then(|session| session.lane.clone());
        // A session that moved itself into the lane has no predecessors there.
        let moved = match session.filter(|_| !dead.is_empty()) {
            Some(session) => has_moved_itself(tx, session)?,
            None => false,
        };
        Ok(Self {
            actor: &app.actor,
            request,
            role: request.role.clone().or_else(|| session.map(|session| session.role.clone())),
            lane: request.lane.clone().or_else(|| home.clone()),
            any_role: request.any_role,
            home,
            dead: if moved { &[] } else { dead },
        })
    }

    /// The task that is named, or that the acting session was started for and that is still open.
    fn task(&self, tx: &ReadTx<'_>, session: Option<&Session>) -> Result<Option<TaskId>> {
        if self.request.id.is_some() || self.request.any {
            return Ok(self.request.id.clone());
        }
        let own =
            session.and_then(|session| session.task.as_ref()).map(|id| tasks::find(tx, id)).transpose()?.flatten();
        Ok(own.filter(|task| !task.state.status().is_closed()).map(|task| task.id))
    }

    fn check_scope(&self) -> Result<()> {
        if self.request.lane_scope == LaneScope::Own && self.lane.is_none() {
            let why = "--own-lane needs a lane: act as a session of a lane, or name one with --lane".to_owned();
            return Err(Refusal::Usage { why }.into());
        }
        Ok(())
    }

    fn candidates(&self, app: &App) -> Candidates<'_> {
        let role = if self.any_role { ReadyRole::Any } else { ReadyRole::Of(self.role.as_ref()) };
        Candidates::new(app, self.lane.as_ref(), self.request.lane_scope, role)
    }

    fn facts(&self) -> ClaimantFacts<'_> {
        ClaimantFacts {
            actor: self.actor,
            role: self.role.as_ref(),
            lane: self.lane.as_ref(),
            any_role: self.any_role,
            any_lane: self.request.lane_scope == LaneScope::Any,
            steal: self.request.steal.as_deref(),
        }
    }

    /// The dead session that holds the task, if the claimant may continue its claim: made in the claimant's own lane.
    fn predecessor(&self, tx: &ReadTx<'_>, task: &Task) -> Result<Option<(&'a DeadSession, Session)>> {
        let holder = task.state.claim().and_then(|claim| claim.session.as_ref());
        let Some(dead) = self.dead.iter().find(|dead| Some(&dead.id) == holder) else { return Ok(None) };
        let made_in = claims::newest(tx, &task.id)?.and_then(|claim| claim.place.lane);
        if made_in.is_none() || made_in != self.home {
            return Ok(None);
        }
        Ok(dead.confirm(tx)?.map(|session| (dead, session)))
    }
}

/// Whether the session itself was the last to change its lane.
fn has_moved_itself(tx: &ReadTx<'_>, session: &Session) -> Result<bool> {
    let moved = events::newest_of_session_matching(
        tx,
        &session.id,
        |kind| kind == EventKind::SessionUpserted,
        |event| {
            let changed = event.data.get("changed").and_then(|fields| fields.as_array());
            changed.is_some_and(|fields| fields.iter().any(|field| field == "lane"))
        },
    )?;
    Ok(moved.is_some_and(|event| event.actor == session.id.as_str()))
}

/// The actor's own claim on the task, when the actor names an epoch; `None` when it names none or has not claimed the task.
///
/// # Errors
/// `stale_claim`, `not_claimant`: an epoch stands for one claim, so it is refused after a later claim, even for a takeover.
fn own_claim<'t>(app: &App, tx: &ReadTx<'_>, task: &'t Task) -> Result<Option<&'t Claim>> {
    let Some(epoch) = app.actor.epoch else { return Ok(None) };
    if epoch != task.epoch {
        lookup::check_authority(tx, task, &app.actor, TaskWrite::Transition)?;
    }
    Ok(task.state.claim().filter(|claim| app.actor.is_named(&claim.claimant)))
}

/// Renews the lease: `claim ID --epoch N` by the claimant.
fn renew(app: &App, tx: &WriteTx<'_>, request: &ClaimRequest, task: &Task, claim: &Claim) -> Result<Answer> {
    let lease = request.lease.or(claim.lease).or(app.settings.claims.lease);
    let (TaskState::InProgress(_), Some(lease)) = (&task.state, lease) else {
        let line = format!("unchanged: {} is yours under epoch {}, without a lease", task.id, claim.epoch);
        return Answer::new(&ClaimedView::renewed(lookup::task_view(tx, &task.id)?), &task.id, line);
    };
    let until = tx.now().plus(lease);
    let renewed = Claim { lease: Some(lease), lease_until: Some(until), ..claim.clone() };
    tasks::set_state(tx, task, &TaskState::InProgress(renewed))?;
    tx.record(
        &Event::new(EventKind::TaskRenewed)
            .task(&task.id)
            .lane(task.fields.lane.as_ref())
            .with("epoch", claim.epoch)
            .with("lease_until", until.to_string()),
    )?;
    let line = format!("renewed {} until {until}", task.id);
    Answer::new(&ClaimedView::renewed(lookup::task_view(tx, &task.id)?), &task.id, line)
}

/// The grant of a claim of this task, or the rule that keeps it from the claimant.
///
/// # Errors
/// Also the refusal of a task that waits for a landing which was not looked up yet: no other must be claimed in its place.
fn judge(
    app: &App,
    tx: &ReadTx<'_>,
    claimant: &Claimant<'_>,
    task: &Task,
    cache: &ClaimCache,
) -> Result<Result<Granted, Refusal>> {
    match decide(app, tx, claimant, task, cache) {
        Ok(granted) => Ok(Ok(granted)),
        Err(error) if app.landed_here.has_unknown() => Err(error),
        Err(error) => error.downcast().map(Err),
    }
}

/// The first of the candidates that passes every rule: tasks that dead sessions of the own lane hold, then ready ones.
fn next(app: &App, tx: &WriteTx<'_>, claimant: &Claimant<'_>) -> Result<(Task, Granted)> {
    let cache = ClaimCache::default();
    let mut chosen = Ok(None);
    let mut consider = |task: Task| {
        chosen = judge(app, tx, claimant, &task, &cache).map(|judged| judged.ok().map(|granted| (task, granted)));
        matches!(chosen, Ok(None))
    };
    if left_by_predecessors(tx, claimant)?.into_iter().all(&mut consider) {
        claimant.candidates(app).for_each(tx, consider)?;
    }
    match chosen? {
        Some(chosen) => Ok(chosen),
        None => Err(nothing_ready(app, tx, claimant)?),
    }
}

/// The refusal of a claim for which no task is left, with the rules that exclude the first ready tasks. The limit of open reviews
/// says more than that nothing is ready.
fn nothing_ready(app: &App, tx: &ReadTx<'_>, claimant: &Claimant<'_>) -> Result<anyhow::Error> {
    let (candidates, cache) = (claimant.candidates(app), ClaimCache::default());
    let mut ready = Vec::new();
    tasks::for_each_ready(tx, None, None, MAX_SKIPPED, |task| {
        ready.push(task);
        Ok(ready.len() < MAX_SKIPPED)
    })?;
    let mut excluded = ready.len();
    if excluded == MAX_SKIPPED {
        excluded = usize::try_from(tasks::count_ready(tx)?)?;
    }
    let mut skipped = Vec::new();
    for task in ready {
        let code = match judge(app, tx, claimant, &task, &cache)? {
            Err(full @ Refusal::ReviewFull { .. }) => return Ok(full.into()),
            Err(refusal) => refusal.code(),
            Ok(_) if !candidates.includes_lane(task.fields.lane.as_ref()) => "lane_mismatch",
            Ok(_) => continue,
        };
        skipped.push(SkippedTask { task: task.id, code });
    }
    Ok(Refusal::NothingReady { skipped, excluded }.into())
}

/// The tasks that dead sessions of the own lane hold: work in progress first, then blocked tasks, then those in review.
fn left_by_predecessors(tx: &ReadTx<'_>, claimant: &Claimant<'_>) -> Result<Vec<Task>> {
    let Some(home) = claimant.home.as_ref().filter(|_| !claimant.dead.is_empty()) else { return Ok(Vec::new()) };
    let mut left = Vec::new();
    for id in claims::live_in_lane(tx, home)? {
        let task = lookup::task(tx, &id)?;
        if claimant.predecessor(tx, &task)?.is_some() {
            left.push(task);
        }
    }
    let order = |status| match status {
        TaskStatus::InProgress => 0,
        TaskStatus::Blocked => 1,
        _ => 2,
    };
    left.sort_by_key(|task| (order(task.state.status()), task.fields.priority, task.created_at));
    Ok(left)
}

/// Facts by which several tasks are judged. Each is loaded when the first task needs it.
#[derive(Default)]
struct ClaimCache {
    /// The paths of all tasks that others have claimed.
    held_paths: OnceCell<Vec<rule::HeldPaths>>,
    open_reviews: OpenReviewsCache,
}

/// A claim that may be made, and where it is worked on.
struct Granted {
    rule: ClaimGrant,
    place: PlannedPlace,
}

fn decide(app: &App, tx: &ReadTx<'_>, claimant: &Claimant<'_>, task: &Task, cache: &ClaimCache) -> Result<Granted> {
    let facts = claimant.facts();
    // The cheap rule first: it skips tasks of other roles without a query.
    if claimant.request.id.is_none() && task.state.claim().is_none() {
        rule::check_role_and_lane(task, task.fields.lane.as_ref(), &facts)?;
    }
    let continues = claimant.predecessor(tx, task)?.is_some();
    let takeover = rule::takeover(task, &facts, continues, app.env.now())?;
    let place = claim_place::plan(tx, task, &takeover, claimant.actor, claimant.home.as_ref())?;
    let lane = place.task_lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
    let in_lane = match &lane {
        Some(lane) => tasks::held_in_lane(tx, &lane.name, Some(&task.id))?,
        None => 0,
    };
    let waiting = landed_here::not_ready_reasons(app, tx, task)?;
    let policy = if task.fields.paths.is_empty() { PathPolicy::Off } else { app.settings.claims.path_conflicts };
    if policy != PathPolicy::Off && cache.held_paths.get().is_none() {
        let _ = cache.held_paths.set(tasks::held_paths(tx, &claimant.actor.name)?);
    }
    let around = ClaimFacts {
        lane: lane.as_ref().map(|lane| (lane, in_lane)),
        waiting: &waiting,
        held_paths: cache.held_paths.get().map(Vec::as_slice).unwrap_or_default(),
        path_policy: policy,
    };
    let rule = rule::decide(task, place.lane_before.as_ref(), takeover, &facts, &around)?;
    open_reviews::check(app, tx, task, &rule.takeover, &cache.open_reviews)?;
    Ok(Granted { rule, place })
}

/// Returns the refusal that any claim of this ready task would get because of the task's lane or paths, and `None` when there
/// is none.
pub fn blocking_rule(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Option<Refusal>> {
    let request = ClaimRequest { id: Some(task.id.clone()), any_role: true, ..ClaimRequest::default() };
    let any_actor = Claimant::new(app, tx, &request, None, &[])?;
    landed_here::not_ready_reasons_now(app, tx, task)?;
    match decide(app, tx, &any_actor, task, &ClaimCache::default()) {
        Ok(_) => Ok(None),
        Err(error) => error.downcast().map(Some),
    }
}

fn grant(app: &App, tx: &WriteTx<'_>, claimant: &Claimant<'_>, task: &Task, granted: &Granted) -> Result<Answer> {
    let actor = Actor { role: claimant.role.clone(), ..claimant.actor.clone() };
    let claim = task.new_claim(&actor, tx.now(), claimant.request.lease.or(app.settings.claims.lease));
    let takeover = &granted.rule.takeover;
    let mut why = String::new();
    if matches!(takeover, Takeover::Continued { .. })
        && let Some((dead, session)) = claimant.predecessor(tx, task)?
    {
        dead.end(tx, &session)?;
        why.clone_from(&dead.why);
    }
    let claimed = claim_place::install(app, tx, task, &claim, takeover, &granted.place)?;
    let how = match takeover {
        Takeover::Fresh => String::new(),
        Takeover::Expired { from } => format!(" (the lease of {from} had expired)"),
        Takeover::Stolen { from, .. } => format!(" from {from}"),
        Takeover::Continued { from } => format!(", continuing {from} ({why})"),
        Takeover::HandedOver { from } => from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default(),
    };
    let line = format!("claimed {}{how}: {}", task.id, task.fields.title);
    let (word, from, _) = claim_place::describe(takeover);
    let document =
        ClaimedView { task: lookup::view(tx, &claimed)?, takeover: Some(word), from: Some(from.map(str::to_owned)) };
    let mut answer = Answer::new(&document, &task.id, line)?;
    if let Some(note) = assignment_note(task, granted) {
        answer = answer.note(note);
    }
    match (&task.state, takeover) {
        (TaskState::Blocked(_, reason), Takeover::Continued { .. }) => {
            answer = answer.note(format!("{} stays blocked: {reason}", task.id));
        }
        (TaskState::Review(_), Takeover::Continued { .. }) => {
            answer = answer.note(format!("{} stays in review", task.id));
        }
        _ => {}
    }
    Ok(match &granted.rule.conflict {
        Some(conflict) => answer.note(format!("warning: {conflict}")),
        None => answer,
    })
}

/// The note about the lane into which a claim puts its task.
fn assignment_note(task: &Task, granted: &Granted) -> Option<String> {
    granted.place.newly_assigned().map(|lane| format!("{} is in the lane {lane} now", task.id))
}
