//! Whether a task may be claimed: every rule of the queue, each with its own code.

use crate::domain::actor::is_same_claimant;
use crate::domain::claim::Takeover;
use crate::domain::lane::{Lane, LaneStatus};
use crate::domain::rules::globs;
use crate::domain::string_enum::string_enum;
use crate::domain::task::{NotReadyReason, Task, TaskState};
use crate::domain::{Actor, LaneName, Refusal, Role, TaskId};
use crate::env::Timestamp;

/// The facts about the claimer and its request.
#[derive(Debug, Clone)]
pub struct ClaimantFacts<'a> {
    pub actor: &'a Actor,
    pub role: Option<&'a Role>,
    /// The lane in which the claimer works; `None` may claim from any lane.
    pub lane: Option<&'a LaneName>,
    /// Whether tasks of every role may be claimed.
    pub any_role: bool,
    /// Whether tasks of every lane may be claimed.
    pub any_lane: bool,
    /// The reason for taking the task from its claimant; `None` when it must not be taken.
    pub steal: Option<&'a str>,
}

/// The paths of another claimant's task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPaths {
    pub task: TaskId,
    pub claimant: String,
    pub paths: Vec<String>,
}

string_enum! {
    /// The policy of `[claims] path_conflicts` for an overlap: the claim is refused, goes through with a note, or overlaps are
    /// not checked.
    PathPolicy { Refuse => "refuse", Warn => "warn", Off => "off" }
}

/// The facts around a task that its claim depends on.
#[derive(Debug)]
pub struct ClaimFacts<'a> {
    /// The lane in which the task would be, and how many *other* tasks are claimed in it.
    pub lane: Option<(&'a Lane, i64)>,
    pub waiting: &'a [NotReadyReason],
    pub held_paths: &'a [HeldPaths],
    pub path_policy: PathPolicy,
}

/// A claim that is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGrant {
    /// How the claim comes to its claimant.
    pub takeover: Takeover,
    /// The overlap that `warn` lets pass.
    pub conflict: Option<Refusal>,
}

/// Decides whether `claimer` may claim the task in the way that `takeover` describes. `task_lane` is the lane that the task would
/// have without its previous claim: a lane that only that claim had set does not count.
///
/// # Errors
/// The first rule that forbids the claim: dependencies, role and lane, capacity, paths.
pub fn decide(
    task: &Task,
    task_lane: Option<&LaneName>,
    takeover: Takeover,
    claimer: &ClaimantFacts<'_>,
    facts: &ClaimFacts<'_>,
) -> Result<ClaimGrant, Refusal> {
    if !facts.waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting: facts.waiting.to_vec() });
    }
    check_role_and_lane(task, task_lane, claimer)?;
    if let Some((lane, held)) = facts.lane {
        check_capacity(lane, held)?;
    }
    // A session that continues takes over the paths of the claimant before it, too.
    let before = match &takeover {
        Takeover::Continued { from } => from.as_str(),
        _ => &claimer.actor.name,
    };
    let conflict = path_conflict(task, &[&claimer.actor.name, before], facts);
    match conflict {
        Some(refusal) if facts.path_policy == PathPolicy::Refuse => Err(refusal),
        conflict => Ok(ClaimGrant { takeover, conflict }),
    }
}

/// Decides whether the claimer would get a fresh claim, or take the claim over from its claimant, and in which way. `continues`:
/// the claimant's session is proven to be dead, and the claimer's session is of the lane in which that claim was made.
/// Fails with `wrong_state`, `already_claimed`, `already_yours`.
pub fn takeover(
    task: &Task,
    claimer: &ClaimantFacts<'_>,
    continues: bool,
    now: Timestamp,
) -> Result<Takeover, Refusal> {
    let wrong = || Refusal::WrongState { task: task.id.clone(), status: task.state.status(), verb: "claimed" };
    match &task.state {
        TaskState::Todo => Ok(Takeover::Fresh),
        TaskState::Done(_) | TaskState::Cancelled(_) => Err(wrong()),
        TaskState::InProgress(claim) | TaskState::Blocked(claim, _) | TaskState::Review(claim) => {
            if let Some(reason) = claimer.steal {
                return if claimer.actor.is_named(&claim.claimant) {
                    Err(Refusal::AlreadyClaimedByYou { task: task.id.clone(), epoch: claim.epoch })
                } else {
                    Ok(Takeover::Stolen { from: claim.claimant.clone(), reason: reason.to_owned() })
                };
            }
            if continues && claim.claimant != claimer.actor.name {
                return Ok(Takeover::Continued { from: claim.claimant.clone() });
            }
            if claim.is_expired(now) {
                return Ok(Takeover::Expired { from: claim.claimant.clone() });
            }
            if claimer.actor.is_named(&claim.claimant) {
                return Err(Refusal::AlreadyClaimedByYou { task: task.id.clone(), epoch: claim.epoch });
            }
            Err(Refusal::AlreadyClaimed { task: task.id.clone(), by: claim.claimant.clone(), since: claim.claimed_at })
        }
    }
}

/// Checks that a task's role and lane fit those of the claimer. A task without a role or lane fits every claimer. A claimer
/// without a role may claim only tasks without one, unless `any_role` is set; a claimer without a lane, or with `any_lane` set,
/// may claim from every lane.
/// Fails with `role_mismatch`, `lane_mismatch`.
pub fn check_role_and_lane(
    task: &Task,
    task_lane: Option<&LaneName>,
    claimer: &ClaimantFacts<'_>,
) -> Result<(), Refusal> {
    if let Some(wants) = &task.fields.role
        && !claimer.any_role
        && claimer.role != Some(wants)
    {
        return Err(Refusal::RoleMismatch { task: task.id.clone(), wants: wants.clone(), have: claimer.role.cloned() });
    }
    if let (Some(wants), Some(have)) = (task_lane, claimer.lane)
        && !claimer.any_lane
        && wants != have
    {
        return Err(Refusal::LaneMismatch { task: task.id.clone(), wants: wants.clone(), have: have.clone() });
    }
    Ok(())
}

/// Checks that a lane in which `held` tasks are claimed may have one more.
/// Fails with `lane_paused`, `lane_closed`, `lane_full`.
pub fn check_capacity(lane: &Lane, held: i64) -> Result<(), Refusal> {
    match lane.status {
        LaneStatus::Paused => return Err(Refusal::LanePaused { lane: lane.name.clone() }),
        LaneStatus::Closed => return Err(Refusal::LaneClosed { lane: lane.name.clone() }),
        LaneStatus::Open => {}
    }
    match lane.wip_limit {
        Some(limit) if held >= limit => Err(Refusal::LaneFull { lane: lane.name.clone(), held, limit }),
        _ => Ok(()),
    }
}

/// The first overlap between a task's paths and those of another task whose claimant is not one of `own`. Returns `None` when
/// there is none, and when the path policy is `Off`.
pub fn path_conflict(task: &Task, own: &[&str], facts: &ClaimFacts<'_>) -> Option<Refusal> {
    if facts.path_policy == PathPolicy::Off {
        return None;
    }
    let is_own = |held: &HeldPaths| own.iter().any(|name| is_same_claimant(name, &held.claimant));
    facts.held_paths.iter().filter(|held| !is_own(held) && held.task != task.id).find_map(|held| {
        globs::first_overlap(&task.fields.paths, &held.paths).map(|(path, other_path)| Refusal::PathConflict {
            task: task.id.clone(),
            path: path.to_owned(),
            other: held.task.clone(),
            other_path: other_path.to_owned(),
            by: held.claimant.clone(),
        })
    })
}
