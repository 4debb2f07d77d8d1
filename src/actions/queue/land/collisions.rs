//! The lanes that conflict with a base since work landed in it, judged with what is not committed in them yet.

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use serde_json::json;

use super::{
    candidate,
    unit::{self, Unit, project_git},
};
use crate::{
    actions::{
        App,
        mail::send::send_system,
        queue::overlap::{self, Scope},
    },
    config::OverlapAction,
    domain::{
        LaneName, SessionId,
        landing::Landing,
        lane::{Lane, LaneStatus},
        message::{Priority, Recipient},
        overlap::LaneSnapshot,
    },
    os::git::MergeOutcome,
    store::{WriteTx, lanes, sessions},
    wire::LandToldView,
};

/// The time limit of a look at the worktrees. A lane that is not looked at in time is judged by its commit.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

/// The time limit of all merges together.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// The sessions of so many landings are told that other work was sent back after them.
const MAX_TOLD: usize = 3;

/// The source of messages about landings.
const SOURCE: &str = "land";

/// A lane that conflicts with the base.
#[derive(Debug, Clone)]
pub(super) struct Collision {
    lane: LaneName,
    files: Vec<String>,
    command: String,
    /// Whether its worktree was looked at, as `fairway overlap` does.
    is_snapshot: bool,
}

/// The work of a lane that is judged.
struct Work {
    lane: LaneName,
    commit: String,
    is_snapshot: bool,
}

/// The open lanes of a base whose work conflicts with its new commit and did not with the old one.
pub(super) fn find(app: &App, unit: &Unit, old: &str, new: &str) -> Result<Vec<Collision>> {
    let git = project_git(app)?;
    let all = app.read(|tx| Ok(lanes::all(tx)?))?;
    let is_other = |lane: &&Lane| {
        let base = lane.base.as_ref().unwrap_or(&app.settings.project.base_branch);
        lane.status != LaneStatus::Closed && unit.lane_name() != Some(&lane.name) && *base == unit.base
    };
    let others: Vec<&Lane> = all.iter().filter(is_other).collect();
    if others.is_empty() || old == new {
        return Ok(Vec::new());
    }
    let snapshots = snapshots(app);
    let mut known = Vec::new();
    for lane in others {
        // A lane without a branch or worktree has no work.
        let Ok(tip) = unit::tip(app, lane) else { continue };
        let snapshot = snapshots.iter().find(|one| one.lane == lane.name && one.tip.as_ref() == Some(&tip));
        let changed = snapshot.and_then(|one| one.commit.clone()).filter(|commit| *commit != tip);
        if changed.is_some() || git.is_ancestor(&tip, new) == Some(false) {
            let (lane, is_snapshot) = (lane.name.clone(), snapshot.is_some_and(|one| one.commit.is_some()));
            known.push(Work { lane, commit: changed.unwrap_or(tip), is_snapshot });
        }
    }
    let pairs: Vec<(String, String)> =
        known.iter().flat_map(|one| [old, new].map(|base| (base.to_owned(), one.commit.clone()))).collect();
    let objects: Vec<PathBuf> =
        known.iter().filter(|one| one.is_snapshot).map(|one| overlap::objects(app, &one.lane)).collect();
    let merges = candidate::open_merges(app, &git)?.reading(&objects).with_attributes_of(new);
    let outcomes = merges.merge_all(&pairs, MERGE_TIMEOUT)?;
    let mut collisions = Vec::new();
    for (Work { lane, is_snapshot, .. }, outcome) in known.into_iter().zip(outcomes.chunks(2)) {
        if let [MergeOutcome::Clean { .. }, MergeOutcome::Conflict { files, .. }] = outcome {
            let command = format!("fairway lane sync {lane} --rebase");
            collisions.push(Collision { lane, files: files.clone(), command, is_snapshot });
        }
    }
    Ok(collisions)
}

/// The worktrees of this host as they are now; none where they are not to be looked at. A failure to look leaves the commits.
fn snapshots(app: &App) -> Vec<LaneSnapshot> {
    if app.settings.overlap.action == OverlapAction::Off {
        return Vec::new();
    }
    let looked = overlap::refresh(app, Scope::Snapshots, LOOK_LIMIT).unwrap_or_default();
    looked.snapshots.into_iter().filter(overlap::is_local).collect()
}

impl Collision {
    /// Leaves a message for the lane's sessions.
    pub(super) fn tell(&self, tx: &WriteTx<'_>, unit: &Unit, landing: i64) -> Result<()> {
        let Self { lane, files, command, is_snapshot } = self;
        if *is_snapshot {
            // The next look finds it recorded, and does not tell it again.
            overlap::record_rebase(tx, lane, files)?;
        }
        let text = format!(
            "{} landed in {}, and your lane {lane} conflicts with it in {}. Commit your work, then bring {} in: {command}",
            unit.label(),
            unit.base,
            files.join(", "),
            unit.base,
        );
        let metadata = json!({ "level": "rebase", "landing": landing, "files": files, "command": command });
        let key = format!("landing {landing} {lane}");
        send_system(tx, &Recipient::Lane(lane.clone()), (SOURCE, Priority::Normal), text, &metadata, &key)?;
        Ok(())
    }

    /// Its document.
    pub(super) fn view(&self) -> LandToldView {
        LandToldView {
            lane: self.lane.to_string(),
            level: "rebase",
            files: self.files.clone(),
            command: self.command.clone(),
        }
    }
}

/// Leaves a message for those who work on what was sent back: each claiming session, else the next session of the lane.
pub(super) fn tell_sent_back(tx: &WriteTx<'_>, unit: &Unit, landing: i64, error: &str, hint: &str) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    let text = format!("{} was sent back: {error}. Next: {}", unit.label(), hint.replace('\n', "; "));
    let mut is_told = false;
    for member in &unit.members {
        let Some(session) = member.task.state.claim().and_then(|claim| claim.session.clone()) else { continue };
        let key = format!("landing {landing} {}", member.task.id);
        is_told |=
            send_system(tx, &Recipient::Session(session), (SOURCE, Priority::Normal), text.clone(), &metadata, &key)?;
    }
    if let (Some(lane), false) = (unit.lane_name(), is_told) {
        let key = format!("landing {landing} {lane}");
        send_system(tx, &Recipient::Lane(lane.clone()), (SOURCE, Priority::Normal), text, &metadata, &key)?;
    }
    Ok(())
}

/// Leaves a message for each live session whose lane's work landed lately and with which the unit's work does not go together.
pub(super) fn tell_landed(tx: &WriteTx<'_>, unit: &Unit, landing: i64, error: &str, since: &[Landing]) -> Result<()> {
    let metadata = json!({ "landing": landing, "tasks": unit.task_ids() });
    let next = match (unit.lane_name(), &unit.task) {
        (Some(lane), _) => format!("fairway send lane:{lane} TEXT"),
        (None, Some(task)) => format!("fairway task show {task}"),
        (None, None) => return Ok(()),
    };
    let live = sessions::live(tx)?;
    let mut told: Vec<&SessionId> = Vec::new();
    for lane in since.iter().take(MAX_TOLD).filter_map(|one| one.lane.as_ref()) {
        for session in live.iter().filter(|one| one.lane.as_ref() == Some(lane)).map(|one| &one.id) {
            if unit.lane_name() == Some(lane) || told.contains(&session) {
                continue;
            }
            told.push(session);
            let text = format!(
                "The work of your lane {lane} landed in {}. {} was sent back after it: {error}. Talk to its \
                 author: {next}",
                unit.base,
                unit.label()
            );
            let key = format!("landing {landing} {session}");
            send_system(tx, &Recipient::Session(session.clone()), (SOURCE, Priority::Normal), text, &metadata, &key)?;
        }
    }
    Ok(())
}
