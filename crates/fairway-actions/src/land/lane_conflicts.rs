//! Lanes that conflict with a base since work landed in it, judged with their uncommitted changes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::candidate;
use crate::App;
use crate::core::other_host;
use crate::land::overlap::{self, Scope};
use crate::mail::send::send_to_workers;
use crate::queue::landing_unit::{self, MAX_EARLIER, Unit, project_git};
use crate::queue::lane::checkout;
use fairway_core::config::OverlapAction;
use fairway_core::domain::LaneName;
use fairway_core::domain::landing::Landing;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::message::{LAND_SOURCE, Priority};
use fairway_core::domain::overlap::LaneSnapshot;
use fairway_core::os::git::{ListedWorktree, MergeOutcome, Repository};
use fairway_core::store::{WriteTx, landings, lanes};
use fairway_core::wire::LandToldView;

/// Time limit for looking at worktrees. A lane that is not reached in time is judged by its last commit.
const LOOK_LIMIT: Duration = Duration::from_secs(20);

const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// A move of a base by a landing.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) landing: i64,
    label: String,
    lane: Option<LaneName>,
    base: String,
    old: String,
    new: String,
}

impl Move {
    pub(super) fn of(unit: &Unit, landing: &Landing) -> Self {
        let new = landing.candidate.clone().unwrap_or_default();
        let (lane, base, old) = (unit.lane_name().cloned(), unit.base.clone(), landing.base_before.clone());
        Self { landing: landing.id, label: unit.label(), lane, base, old, new }
    }

    pub(super) fn of_upstream(label: String, landing: &Landing) -> Self {
        let new = landing.candidate.clone().unwrap_or_default();
        let (base, old) = (landing.base.clone(), landing.base_before.clone());
        Self { landing: landing.id, label, lane: None, base, old, new }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Collision {
    /// The first landing with which the lane conflicts.
    pub(super) landing: i64,
    lane: LaneName,
    files: Vec<String>,
    command: String,
    /// Whether uncommitted work was taken into account, as `fairway overlap` does.
    is_snapshot: bool,
}

struct Work {
    lane: LaneName,
    commit: String,
    is_snapshot: bool,
    command: String,
}

/// Finds the open lanes whose work conflicts with their base because of one of these moves of a base, and leaves a message for
/// each lane. The lanes in `but` get another one. Lanes whose work has landed whole have nothing to do.
pub(super) fn tell_all(app: &App, moves: &[Move], but: &[LaneName]) -> Result<Vec<Collision>> {
    let moves: Vec<&Move> = moves.iter().filter(|one| one.old != one.new).collect();
    let bases: BTreeSet<&str> = moves.iter().map(|one| one.base.as_str()).collect();
    if bases.is_empty() {
        return Ok(Vec::new());
    }
    let lanes = app.read(|tx| Ok(lanes::all(tx)?))?;
    let is_open = |lane: &&Lane| lane.status != LaneStatus::Closed && !but.contains(&lane.name);
    let open: Vec<&Lane> = lanes.iter().filter(is_open).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let (snapshots, listed) = (snapshots(app), Repository::of(project_git(app)?).worktrees()?);
    let mut collisions = Vec::new();
    for base in bases {
        let is_of = |lane: &&&Lane| lane.base.as_ref().unwrap_or(&app.settings.project.base_branch) == base;
        let landed = app.read(|tx| Ok(landings::landed_in(tx, base, MAX_EARLIER)?))?;
        let mut works = works(app, open.iter().filter(is_of).copied(), &snapshots, &listed);
        works.retain(|work| landed.iter().all(|landing| landing.commit != work.commit));
        let moves: Vec<&Move> = moves.iter().filter(|one| one.base == base).copied().collect();
        collisions.extend(find(app, &moves, &works)?);
    }
    app.transaction(|tx| {
        for collision in &collisions {
            if let Some(after) = moves.iter().find(|one| one.landing == collision.landing) {
                collision.tell(tx, after)?;
            }
        }
        Ok::<_, anyhow::Error>(())
    })?;
    Ok(collisions)
}

/// The work of lanes: a snapshot of the worktree where there is one, else the commit that is checked out there, or the tip of
/// the branch.
fn works<'a>(
    app: &App,
    lanes: impl Iterator<Item = &'a Lane>,
    snapshots: &[LaneSnapshot],
    listed: &[ListedWorktree],
) -> Vec<Work> {
    let work = |lane: &Lane| {
        // One call of git has listed all of them.
        let is_own = |one: &&ListedWorktree| Some(one.path.as_os_str()) == lane.worktree.as_deref().map(OsStr::new);
        let head = listed.iter().find(is_own).and_then(|one| one.head.clone());
        let tip = match head {
            Some(head) if !other_host::has_worktree(app, lane) => head,
            _ => landing_unit::tip(app, lane).ok()?,
        };
        let snapshot = snapshots.iter().find(|one| one.lane == lane.name && one.tip.as_ref() == Some(&tip));
        let by_hand = checkout::bring_in_by_hand(app, lane);
        let command = by_hand.unwrap_or_else(|| format!("fairway lane repair {}", lane.name));
        let (lane, commit) = (lane.name.clone(), snapshot.and_then(|one| one.commit.clone()));
        Some(Work { lane, is_snapshot: commit.is_some(), commit: commit.unwrap_or(tip), command })
    };
    lanes.filter_map(work).collect()
}

/// Finds the work that conflicts with the newest commit of a base but not with the oldest one, and the first move after which it
/// does.
fn find(app: &App, moves: &[&Move], works: &[Work]) -> Result<Vec<Collision>> {
    let (Some(first), Some((last, earlier))) = (moves.first(), moves.split_last()) else { return Ok(Vec::new()) };
    let objects: Vec<PathBuf> =
        works.iter().filter(|one| one.is_snapshot).map(|one| overlap::objects(app, &one.lane)).collect();
    let git = project_git(app)?;
    let merges = candidate::open_merges(app, &git)?.reading(&objects).with_attributes_of(&last.new);
    let merge = |works: &[&Work], bases: &[&str]| {
        let pairs: Vec<(String, String)> =
            works.iter().flat_map(|work| bases.iter().map(|base| ((*base).to_owned(), work.commit.clone()))).collect();
        merges.merge_all(&pairs, MERGE_TIMEOUT)
    };
    let all: Vec<&Work> = works.iter().collect();
    let ends = merge(&all, &[&first.old, &last.new])?;
    let mut found = Vec::new();
    for (work, outcome) in all.into_iter().zip(ends.chunks(2)) {
        if let [MergeOutcome::Clean { .. }, MergeOutcome::Conflict { files, .. }] = outcome
            && !app.settings.land.are_generated(files)
        {
            found.push((work, files.clone()));
        }
    }
    let colliding: Vec<&Work> = found.iter().map(|(work, _)| *work).collect();
    let between: Vec<&str> = earlier.iter().map(|one| one.new.as_str()).collect();
    let outcomes = merge(&colliding, &between)?;
    let mut collisions = Vec::new();
    for (number, (work, files)) in found.into_iter().enumerate() {
        let own = outcomes.get(number * between.len()..).unwrap_or_default();
        let is_conflict = |outcome: &&MergeOutcome| matches!(outcome, MergeOutcome::Conflict { .. });
        let after = earlier.iter().zip(own).find(|(_, outcome)| is_conflict(outcome)).map_or(last, |(one, _)| one);
        // A lane needs no message about its own landing.
        if after.lane.as_ref() == Some(&work.lane) {
            continue;
        }
        let (lane, is_snapshot) = (work.lane.clone(), work.is_snapshot);
        let command = work.command.clone();
        collisions.push(Collision { landing: after.landing, lane, files, command, is_snapshot });
    }
    Ok(collisions)
}

/// Snapshots of this host's worktrees as they are now. Without them, or when a look fails, only commits are judged.
fn snapshots(app: &App) -> Vec<LaneSnapshot> {
    if app.settings.overlap.action == OverlapAction::Off {
        return Vec::new();
    }
    let looked = overlap::refresh(app, Scope::Snapshots, LOOK_LIMIT).unwrap_or_default();
    looked.snapshots.into_iter().filter(overlap::is_local).collect()
}

impl Collision {
    fn tell(&self, tx: &WriteTx<'_>, after: &Move) -> Result<()> {
        let Self { landing, lane, files, command, is_snapshot } = self;
        if *is_snapshot {
            // The next look finds it recorded, and sends no second message.
            if !overlap::record_rebase(tx, lane, files)? {
                return Ok(());
            }
        }
        let text = format!(
            "{} landed in {}, and your lane {lane} conflicts with it in {}. Commit your work, then bring {} in: {command}",
            after.label,
            after.base,
            files.join(", "),
            after.base,
        );
        let metadata = json!({ "level": "rebase", "landing": landing, "files": files, "command": command });
        let key = format!("landing {landing} {lane}");
        send_to_workers(tx, [], Some(lane), (LAND_SOURCE, Priority::Normal), &text, &metadata, &key)
    }

    pub(super) fn view(&self) -> LandToldView {
        LandToldView {
            lane: self.lane.to_string(),
            level: "rebase",
            files: self.files.clone(),
            command: self.command.clone(),
        }
    }
}
