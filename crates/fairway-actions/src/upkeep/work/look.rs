//! The facts for the next step of `work`: who has a place, what is ready, and why something waits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;

use super::request::WorkRequest;
use crate::core::session_overview::SessionScope;
use crate::core::{launch_event, session_process};
use crate::queue::gates;
use crate::queue::task::ready::{self, ReadyFor};
use crate::sessions::launch::purpose;
use crate::sessions::liveness::backend_probe::BackendProber;
use crate::sessions::liveness::{dead, silence};
use crate::sessions::report::idle_screen;
use crate::sessions::{budget, list, parking, start};
use crate::{App, land};
use fairway_core::domain::TaskId;
use fairway_core::domain::budget::Budget;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::work::{Candidate, Death, Facts, PlaceState, ProviderParking, TakenPlace, Work};
use fairway_core::domain::session::{Activity, NO_END, SessionStatus};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::task::{Task, TaskState, TaskStatus};
use fairway_core::env::Timestamp;
use fairway_core::store::{overview, tasks};

/// When it is looked whether a busy session is at its usage limit.
const LIMIT_TIME: Duration = Duration::from_secs(30);
/// When a session is looked at again that is over with processes left, or is starting.
const SETTLE_TIME: Duration = Duration::from_secs(2);

pub(super) fn look(app: &App, request: &WorkRequest, work: &Work, is_landing: bool) -> Result<Facts> {
    let now = app.store_for_reading()?.time(app.env.now())?;
    let limited = app.read(|tx| Ok(parking::limited_providers(tx, now)?))?;
    let sessions = list::overviews(app, SessionScope::LiveAndHolding)?;
    let spent = budget::spent(app)?;
    let prober = BackendProber::new();
    let mut looker = Looker { app, limited: &limited, spent: &spent, prober, next_change: None, now };
    let mut taken_places = Vec::new();
    for one in sessions.iter().filter(|one| is_own(one)) {
        taken_places.extend(looker.taken_places(one)?);
    }
    let next_change = looker.next_change;
    let whom = match &request.start.role {
        Some(role) => ReadyFor::Caller { role: Some(role), lane: None },
        None => ReadyFor::Anyone,
    };
    let (mut ready, held_back) = ready::claimable(app, whom)?;
    let mut held_back = held_back.map(|refusal| refusal.to_string());
    ready.retain(|task| {
        let why = budget::refusal_of_start(&spent, Some(&task.id), &format!("{} does not start", task.id));
        held_back = held_back.take().or_else(|| why.as_ref().map(ToString::to_string));
        why.is_none()
    });
    let ready = ready.iter().map(|task| candidate(app, request, &limited, task)).collect();
    let mut facts = Facts { now, ready, is_landing, next_change, ..Facts::default() };
    facts.held_back = held_back;
    for task in work.tasks().filter(|task| taken_places.iter().all(|place| place.task != **task)) {
        facts.freed.insert(task.clone(), freed(app, &sessions, task)?);
    }
    facts.taken_places = taken_places;
    if request.plan.lands && land::paused(app).is_none() {
        facts.landable = app.read(|tx| {
            let submitted = overview::held(tx)?.into_iter().filter(|held| held.status == TaskStatus::Review);
            let mut landable = BTreeSet::new();
            for held in submitted {
                let Some(task) = tasks::find(tx, &held.task)? else { continue };
                if gates::stored_blockers(app, tx, &task)?.is_empty() {
                    landable.insert(held.task);
                }
            }
            Ok(landable)
        })?;
    }
    Ok(facts)
}

/// Whether the session is one of this host that Fairway has launched, and that no person has stopped.
fn is_own(one: &SessionOverview) -> bool {
    let session = &one.session;
    session.adapter_script.is_some() && session_process::is_local(session) && one.stopped_by().is_none()
}

struct Looker<'a> {
    app: &'a App,
    limited: &'a BTreeMap<Label, ProviderParking>,
    spent: &'a [Budget],
    prober: BackendProber,
    next_change: Option<Timestamp>,
    now: Timestamp,
}

impl Looker<'_> {
    /// The places that a session takes: one for each task in progress.
    fn taken_places(&mut self, one: &SessionOverview) -> Result<Vec<TakenPlace>> {
        let held: Vec<_> = one.holds.iter().filter(|held| held.status == TaskStatus::InProgress).collect();
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let state = self.state(one)?;
        let place = |task: &TaskId| TakenPlace {
            task: task.clone(),
            session: one.session.id.clone(),
            lane: one.session.lane.clone(),
            state: state.clone(),
        };
        Ok(held.iter().map(|held| place(&held.task)).collect())
    }

    fn state(&mut self, one: &SessionOverview) -> Result<PlaceState> {
        let session = &one.session;
        self.change_at(silence::deadline(self.app, one));
        if let Some(clause) = &one.parking {
            self.change_at(session.parking_ends_at());
            return Ok(PlaceState::Parked(clause.clone()));
        }
        if !one.is_over() && !one.is_stale() && session.status != SessionStatus::Starting {
            let is_busy = one.current_activity() == Some(Activity::Busy);
            if is_busy && idle_screen::park_at_limit(self.app, session)? {
                self.change_at(Some(self.now));
            }
            // What an agent writes at its limit is no event.
            self.change_at(is_busy.then(|| self.now.plus(LIMIT_TIME)));
            return Ok(PlaceState::Works);
        }
        let why = match dead::prove(self.app, session, &mut self.prober) {
            Ok(proof) => session.reason.clone().filter(|_| session.status.is_final()).unwrap_or(proof.why),
            Err(_) => {
                // Neither the end of its last process nor that of its launch is an event.
                let may_settle = one.is_over() || session.status == SessionStatus::Starting;
                self.change_at(may_settle.then(|| self.now.plus(SETTLE_TIME)));
                return Ok(PlaceState::Works);
            }
        };
        let relaunches = self.app.read(|tx| Ok(purpose::chain(tx, session)?))?.len() - 1;
        let limit = session.provider.as_ref().and_then(|provider| self.limited.get(provider)).cloned();
        // A person may raise it.
        let what = format!("{} is not relaunched", session.id);
        let spent = budget::refusal_of_start(self.spent, session.task.as_ref(), &what);
        let spent = spent.map(|refusal| ProviderParking { until: NO_END, clause: refusal.to_string() });
        let parking = limit.or(spent);
        let can_relaunch = self.app.read(|tx| Ok(launch_event::can_relaunch(tx, session)?))?;
        Ok(PlaceState::Dead(Death { why, relaunches, can_relaunch, parking }))
    }

    fn change_at(&mut self, at: Option<Timestamp>) {
        self.next_change = self.next_change.into_iter().chain(at).min();
    }
}

fn candidate(app: &App, request: &WorkRequest, limited: &BTreeMap<Label, ProviderParking>, task: &Task) -> Candidate {
    let of_role = || app.settings.role(request.start.role.as_ref().or(task.fields.role.as_ref())?).lane;
    // The start itself refuses what has no provider.
    let provider = || start::provider_of(app, task, &request.start).ok().flatten();
    let parking = if limited.is_empty() || request.start.anyway { None } else { provider() };
    Candidate {
        task: task.id.clone(),
        lane: task.fields.lane.clone().or_else(of_role),
        updated_at: task.updated_at,
        parking: parking.and_then(|provider| limited.get(&provider)).cloned(),
    }
}

/// What became of a task that had a place.
fn freed(app: &App, sessions: &[SessionOverview], id: &TaskId) -> Result<String> {
    let Some(task) = app.read(|tx| Ok(tasks::find(tx, id)?))? else { return Ok("removed".to_owned()) };
    Ok(match &task.state {
        TaskState::Todo => "released".to_owned(),
        TaskState::InProgress(claim) => {
            let stopped = sessions.iter().find(|one| claim.session.as_ref() == Some(&one.session.id));
            match stopped.and_then(SessionOverview::stopped_by) {
                Some(by) => format!("left: {by} stopped {}", claim.claimant),
                None => format!("taken over by {}", claim.claimant),
            }
        }
        TaskState::Blocked(_, reason) => format!("blocked ({reason})"),
        TaskState::Review(claim) => format!("submitted by {}", claim.claimant),
        TaskState::Done(_) => "done".to_owned(),
        TaskState::Cancelled(_) => "cancelled".to_owned(),
    })
}
