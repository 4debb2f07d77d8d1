//! Whether a task may be claimed: every rule of the queue, each with its own code.

use crate::{
    domain::{
        Actor, LaneName, Refusal, Role, TaskId,
        claim::Takeover,
        lane::{Lane, LaneStatus},
        rules::globs,
        task::{State, Task, Waiting},
    },
    env::Timestamp,
};

/// What the claimer wants and is.
#[derive(Debug, Clone)]
pub struct Claimer<'a> {
    /// Who claims.
    pub actor: &'a Actor,
    /// In which role.
    pub role: Option<&'a Role>,
    /// In which lane; `None` takes from any.
    pub lane: Option<&'a LaneName>,
    /// Takes tasks of every role.
    pub any_role: bool,
    /// Takes it from its holder, with this reason.
    pub steal: Option<&'a str>,
}

/// What another holder's task touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldPaths {
    /// The task.
    pub task: TaskId,
    /// Its holder.
    pub claimant: String,
    /// Its globs.
    pub paths: Vec<String>,
}

/// What `[claims] path_conflicts` makes of an overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathPolicy {
    /// The claim is refused.
    Refuse,
    /// The claim goes through, with a remark.
    Warn,
    /// Nobody looks.
    Off,
}

/// The facts around a task that its claim depends on.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Its lane and how many *other* tasks are held in it.
    pub lane: Option<(&'a Lane, i64)>,
    /// What it waits for.
    pub waiting: &'a [Waiting],
    /// The globs of all tasks that somebody else holds.
    pub held_paths: &'a [HeldPaths],
    /// What to make of an overlap.
    pub path_policy: PathPolicy,
}

/// A claim that may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// How it comes to its holder.
    pub takeover: Takeover,
    /// The overlap that `warn` lets pass.
    pub conflict: Option<Refusal>,
}

/// Decides one claim.
///
/// # Errors
/// The first rule that bars it, in the order of `model.md`.
pub fn decide(task: &Task, claimer: &Claimer<'_>, facts: &Facts<'_>, now: Timestamp) -> Result<Granted, Refusal> {
    let takeover = available(task, claimer, now)?;
    if !facts.waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting: facts.waiting.to_vec() });
    }
    fits(task, claimer)?;
    if let Some((lane, held)) = facts.lane {
        takes_one_more(lane, held)?;
    }
    let conflict = conflict(task, &claimer.actor.name, facts);
    match conflict {
        Some(refusal) if facts.path_policy == PathPolicy::Refuse => Err(refusal),
        conflict => Ok(Granted { takeover, conflict }),
    }
}

fn available(task: &Task, claimer: &Claimer<'_>, now: Timestamp) -> Result<Takeover, Refusal> {
    let wrong = || Refusal::WrongState { task: task.id.clone(), status: task.state.status(), verb: "claimed" };
    match &task.state {
        State::Todo => Ok(Takeover::Fresh),
        State::Done(_) | State::Cancelled(_) => Err(wrong()),
        State::InProgress(claim) | State::Blocked(claim, _) | State::Review(claim) => {
            if let Some(reason) = claimer.steal {
                return if claim.claimant == claimer.actor.name {
                    Err(Refusal::AlreadyYours { task: task.id.clone(), epoch: claim.epoch })
                } else {
                    Ok(Takeover::Stolen { from: claim.claimant.clone(), reason: reason.to_owned() })
                };
            }
            if claim.is_expired(now) {
                return Ok(Takeover::Expired { from: claim.claimant.clone() });
            }
            if claim.claimant == claimer.actor.name {
                return Err(Refusal::AlreadyYours { task: task.id.clone(), epoch: claim.epoch });
            }
            Err(Refusal::AlreadyClaimed { task: task.id.clone(), by: claim.claimant.clone(), since: claim.claimed_at })
        }
    }
}

/// Whether a task's role and lane fit the claimer's. A task without them fits all; a claimer without a role fits tasks
/// without one, a claimer without a lane fits all.
///
/// # Errors
/// `role_mismatch`, `lane_mismatch`.
pub fn fits(task: &Task, claimer: &Claimer<'_>) -> Result<(), Refusal> {
    if let Some(wants) = &task.words.role
        && !claimer.any_role
        && claimer.role != Some(wants)
    {
        return Err(Refusal::RoleMismatch { task: task.id.clone(), wants: wants.clone(), have: claimer.role.cloned() });
    }
    if let (Some(wants), Some(have)) = (&task.words.lane, claimer.lane)
        && wants != have
    {
        return Err(Refusal::LaneMismatch { task: task.id.clone(), wants: wants.clone(), have: have.clone() });
    }
    Ok(())
}

/// Whether a lane takes one more held task besides `held`.
///
/// # Errors
/// `lane_paused`, `lane_closed`, `lane_full`.
pub fn takes_one_more(lane: &Lane, held: i64) -> Result<(), Refusal> {
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

/// The first overlap of a task's paths with those of a task that somebody other than `holder` holds.
#[must_use]
pub fn conflict(task: &Task, holder: &str, facts: &Facts<'_>) -> Option<Refusal> {
    if facts.path_policy == PathPolicy::Off {
        return None;
    }
    facts.held_paths.iter().filter(|held| held.claimant != holder && held.task != task.id).find_map(|held| {
        globs::first_overlap(&task.words.paths, &held.paths).map(|(path, other_path)| Refusal::PathConflict {
            task: task.id.clone(),
            path: path.to_owned(),
            other: held.task.clone(),
            other_path: other_path.to_owned(),
            by: held.claimant.clone(),
        })
    })
}
