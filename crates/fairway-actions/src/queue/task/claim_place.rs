//! Where a claim is worked on, and its record there: in the lane of its session, or the worktree in which it was made. A claim
//! puts a task without a lane into the lane of its session.

use anyhow::Result;

use crate::App;
use crate::queue::task_worktree;
use fairway_core::domain::claim::{Claim, Takeover};
use fairway_core::domain::task::{Task, TaskFields, TaskState};
use fairway_core::domain::{Actor, Event, EventKind, LaneName};
use fairway_core::store::claims::{self, ClaimPlace};
use fairway_core::store::{ReadTx, WriteTx, lanes, tasks};

/// The place of a claim that is not made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPlace {
    /// The lane of the claiming session.
    home: Option<LaneName>,
    /// The task's lane, but not one that the previous claim had set and that ends with that claim.
    pub lane_before: Option<LaneName>,
    /// The lane in which the task is under the claim.
    pub task_lane: Option<LaneName>,
    /// Whether a release of the claim takes the task out of that lane.
    is_assigned: bool,
}

/// Plans in which lane a claim is worked on, and whether it puts the task there. `home` is the lane of the claiming session;
/// `None` for a session without a lane and for a person.
pub fn plan(
    tx: &ReadTx<'_>,
    task: &Task,
    takeover: &Takeover,
    actor: &Actor,
    home: Option<&LaneName>,
) -> Result<PlannedPlace> {
    let lane = &task.fields.lane;
    let was_assigned = task.state.claim().is_some()
        && claims::newest(tx, &task.id)?.is_some_and(|claim| claim.place.assigned_lane && claim.place.lane == *lane);
    // A person who takes over finds the work in that lane.
    let is_person = actor.session.is_none();
    if matches!(takeover, Takeover::Continued { .. }) || (was_assigned && is_person) {
        return Ok(PlannedPlace {
            home: home.cloned(),
            lane_before: lane.clone(),
            task_lane: lane.clone(),
            is_assigned: was_assigned,
        });
    }
    let lane_before = lane.clone().filter(|_| !was_assigned);
    Ok(PlannedPlace {
        home: home.cloned(),
        task_lane: lane_before.clone().or_else(|| home.cloned()),
        is_assigned: lane_before.is_none() && home.is_some(),
        lane_before,
    })
}

impl PlannedPlace {
    /// Returns this place with the task in `lane` for good: a later release leaves it there.
    #[must_use]
    pub fn put_in(self, lane: &LaneName) -> Self {
        Self { task_lane: Some(lane.clone()), is_assigned: false, ..self }
    }

    /// The lane into which this claim puts the task; `None` when the task's lane does not change.
    pub fn newly_assigned(&self) -> Option<&LaneName> {
        self.task_lane.as_ref().filter(|_| self.lane_before.is_none())
    }

    /// The place as the claim's row has it.
    fn record(&self, app: &App, tx: &ReadTx<'_>) -> Result<ClaimPlace> {
        let lane = self.home.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
        let has_worktree = lane.is_some_and(|lane| lane.worktree.is_some());
        Ok(ClaimPlace {
            lane: self.home.clone().or_else(|| self.task_lane.clone().filter(|_| self.is_assigned)),
            worktree: if has_worktree { None } else { task_worktree::of_caller(app) },
            assigned_lane: self.is_assigned,
        })
    }
}

/// Installs a claim at its place and ends the previous one, with the event. Returns the task as it is in the store afterwards.
pub fn install(
    app: &App,
    tx: &WriteTx<'_>,
    task: &Task,
    claim: &Claim,
    takeover: &Takeover,
    place: &PlannedPlace,
) -> Result<Task> {
    let recorded = place.record(app, tx)?;
    if let Some(how) = takeover.previous_end() {
        claims::end(tx, &task.id, how)?;
    }
    let state = match takeover {
        Takeover::Continued { .. } => task.continued(claim.clone()),
        _ => TaskState::InProgress(claim.clone()),
    };
    tasks::set_state(tx, task, &state)?;
    if place.task_lane != task.fields.lane {
        tasks::set_lane(tx, &task.id, place.task_lane.as_ref())?;
    }
    claims::insert(tx, &task.id, claim, &recorded)?;
    let (how, from, reason) = describe(takeover);
    let event = match (&app.actor.session, &app.actor.run_id) {
        // A person starts the claimant's session.
        (Some(session), Some(run)) if tx.actor() != app.actor.name => {
            Event::new(EventKind::TaskClaimed).session(session, run)
        }
        _ => Event::new(EventKind::TaskClaimed),
    };
    tx.record(
        &event
            .task(&task.id)
            .lane(place.task_lane.as_ref())
            .with("epoch", claim.epoch)
            .with("claimant", claim.claimant.as_str())
            .with("role", claim.role.as_ref().map(ToString::to_string))
            .with("takeover", how)
            .with("from", from)
            .with("reason", reason)
            .with("assigned_lane", place.newly_assigned().map(ToString::to_string)),
    )?;
    let fields = TaskFields { lane: place.task_lane.clone(), ..task.fields.clone() };
    let epoch = claim.epoch.max(task.epoch);
    Ok(Task { fields, state, epoch, updated_at: tx.now(), ..task.clone() })
}

/// Returns the parts of a takeover that the event records: the kind, the previous claimant and the reason.
pub(super) fn describe(takeover: &Takeover) -> (&'static str, Option<&str>, Option<&str>) {
    match takeover {
        Takeover::Fresh => ("fresh", None, None),
        Takeover::Expired { from } => ("expired", Some(from.as_str()), None),
        Takeover::Stolen { from, reason } => ("stolen", Some(from.as_str()), Some(reason.as_str())),
        Takeover::Continued { from } => ("continued", Some(from.as_str()), None),
        Takeover::HandedOver { from } => ("handed_over", from.as_deref(), None),
    }
}
