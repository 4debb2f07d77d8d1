//! Overlap as a document, with the claimed tasks whose paths overlap.

use anyhow::Result;

use super::Refreshed;
use crate::App;
use crate::core::{lookup, other_host};
use crate::queue::lane::checkout;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::overlap::{LaneOverlap, LaneSnapshot, OverlapFile, OverlapLevel};
use fairway_core::domain::rules::globs;
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, lanes};
use fairway_core::wire::{CommandView, OverlapFileView, OverlapLaneView, OverlapPairView, OverlapView};

/// The lane or the task that a call asks about; without both, everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    pub lane: Option<LaneName>,
    pub task: Option<TaskId>,
}

impl Selection {
    /// Finds the lane of this name, else the task of this id and its lane.
    ///
    /// # Errors
    /// `not_found` when there is neither; `lane_elsewhere`.
    pub fn read(app: &App, name: &str) -> Result<Self> {
        app.read(|tx| {
            let lane = LaneName::parse(name).ok().map(|lane| lookup::lane(tx, &lane));
            match (lane, TaskId::parse(name)) {
                (Some(Ok(lane)), _) if other_host::has_worktree(app, &lane) => {
                    Err(other_host::lane_refusal(tx, &lane, &["overlap", lane.name.as_str()])?.into())
                }
                (Some(Ok(lane)), _) => Ok(Self { lane: Some(lane.name), task: None }),
                (_, Ok(id)) => {
                    let task = lookup::task(tx, &id)?;
                    Ok(Self { lane: task.fields.lane, task: Some(id) })
                }
                (Some(Err(error)), Err(_)) => Err(error),
                (None, Err(error)) => Err(error.into()),
            }
        })
    }

    fn has_lane(&self, lane: &LaneName) -> bool {
        if self.task.is_some() {
            self.lane.as_ref() == Some(lane)
        } else {
            self.lane.as_ref().is_none_or(|own| own == lane)
        }
    }

    fn has_task(&self, task: &TaskId, lane: Option<&LaneName>) -> bool {
        match &self.task {
            Some(own) => own == task,
            None => self.lane.as_ref().is_none_or(|own| lane == Some(own)),
        }
    }
}

/// The overlaps as a document, the most serious first.
pub fn view(app: &App, found: &Refreshed, asked: &Selection) -> Result<OverlapView> {
    let (planned, lanes) = app.read(|tx| Ok((planned_views(tx, found, asked)?, lanes::all(tx)?)))?;
    let is_asked =
        |one: &&LaneOverlap| asked.has_lane(&one.lane) || one.other.as_ref().is_some_and(|lane| asked.has_lane(lane));
    let mut overlaps: Vec<OverlapPairView> =
        found.overlaps.iter().filter(is_asked).map(|one| pair_view(app, &lanes, one, asked)).collect();
    overlaps.extend(planned);
    let unknown = found.snapshots.iter().filter(|one| asked.has_lane(&one.lane));
    overlaps.extend(unknown.filter_map(unknown_view));
    let rank = |one: &OverlapPairView| one.level.rank();
    overlaps.sort_by(|a, b| {
        let key = |one: &OverlapPairView| (rank(one), one.lane.clone(), one.other_lane.clone(), one.task_id.clone());
        key(a).cmp(&key(b))
    });
    Ok(OverlapView {
        at: app.env.now().to_string(),
        problem: found.problem.clone(),
        overlaps,
        lanes: found.snapshots.iter().map(lane_view).collect(),
    })
}

fn lane_view(snapshot: &LaneSnapshot) -> OverlapLaneView {
    OverlapLaneView {
        lane: snapshot.lane.to_string(),
        taken_at: snapshot.taken_at.to_string(),
        is_local: snapshot.host == super::worktree_snapshots::local_host(),
        commit: snapshot.tip.clone(),
        files: snapshot.paths.len(),
        added: snapshot.added,
        deleted: snapshot.deleted,
        unknown: snapshot.unknown.clone(),
    }
}

fn file_view(file: &OverlapFile) -> OverlapFileView {
    OverlapFileView {
        path: file.path.clone(),
        level: file.level,
        lines: file.lines.iter().map(|lines| [lines.0, lines.1]).collect(),
        in_list: file.in_list,
    }
}

/// One overlap as a document. The lane that was asked about comes first.
fn pair_view(app: &App, lanes: &[Lane], overlap: &LaneOverlap, asked: &Selection) -> OverlapPairView {
    let first = asked.lane.as_ref().filter(|lane| overlap.involves(lane)).unwrap_or(&overlap.lane);
    let other = overlap.counterpart(first);
    OverlapPairView {
        level: overlap.level,
        lane: Some(first.to_string()),
        other_lane: other.map(ToString::to_string),
        task_id: None,
        other_task_id: None,
        files: overlap.files.iter().map(file_view).collect(),
        why: overlap.why.clone(),
        since: Some(overlap.since.to_string()),
        commands: commands(app, lanes, overlap.level, first, other),
    }
}

/// The commands with which an agent or a person looks at an overlap and ends it.
pub(crate) fn commands(
    app: &App,
    lanes: &[Lane],
    level: OverlapLevel,
    lane: &LaneName,
    other: Option<&LaneName>,
) -> Vec<CommandView> {
    let by_hand = || checkout::bring_in_by_hand(app, lanes.iter().find(|one| one.name == *lane)?);
    let command = |purpose: &str, command: String| CommandView { purpose: purpose.to_owned(), command };
    match (level, other) {
        (OverlapLevel::Conflict | OverlapLevel::Adjacent, Some(other)) => vec![
            command("see the change", format!("fairway lane diff {lane}")),
            command("see the other change", format!("fairway lane diff {other}")),
            command("agree on it", format!("fairway send lane:{other} \"...\"")),
        ],
        (OverlapLevel::Rebase, _) if let Some(by_hand) = by_hand() => {
            vec![command("bring the base in by hand", by_hand)]
        }
        _ => vec![see_lane(lane)],
    }
}

fn see_lane(lane: &LaneName) -> CommandView {
    CommandView { purpose: "see the lane".to_owned(), command: format!("fairway lane show {lane}") }
}

fn unknown_view(snapshot: &LaneSnapshot) -> Option<OverlapPairView> {
    let why = snapshot.unknown.clone()?;
    Some(OverlapPairView {
        level: OverlapLevel::Unknown,
        lane: Some(snapshot.lane.to_string()),
        other_lane: None,
        task_id: None,
        other_task_id: None,
        files: Vec::new(),
        why: Some(why),
        since: None,
        commands: vec![see_lane(&snapshot.lane)],
    })
}

fn planned_views(tx: &ReadTx<'_>, found: &Refreshed, asked: &Selection) -> Result<Vec<OverlapPairView>> {
    let all = planned(tx, &found.snapshots)?;
    let is_asked = |one: &&PlannedOverlap| {
        asked.has_task(&one.task, one.lane.as_ref()) || asked.has_task(&one.other_task, one.other_lane.as_ref())
    };
    let view = |one: &PlannedOverlap| {
        let file = |path: &String| OverlapFileView {
            path: path.clone(),
            level: OverlapLevel::Planned,
            lines: Vec::new(),
            in_list: false,
        };
        let (glob, other) = &one.globs;
        let mut files = vec![file(glob)];
        if other != glob {
            files.push(file(other));
        }
        let command = |purpose: &str, id: &TaskId| CommandView {
            purpose: purpose.to_owned(),
            command: format!("fairway task show {id}"),
        };
        OverlapPairView {
            level: OverlapLevel::Planned,
            lane: one.lane.as_ref().map(ToString::to_string),
            other_lane: one.other_lane.as_ref().map(ToString::to_string),
            task_id: Some(one.task.to_string()),
            other_task_id: Some(one.other_task.to_string()),
            files,
            why: None,
            since: None,
            commands: vec![command("see the task", &one.task), command("see the other task", &one.other_task)],
        }
    };
    Ok(all.iter().filter(is_asked).map(view).collect())
}

/// Two claimed tasks whose globs of paths overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedOverlap {
    pub task: TaskId,
    pub lane: Option<LaneName>,
    pub other_task: TaskId,
    pub other_lane: Option<LaneName>,
    /// One glob of each task.
    pub globs: (String, String),
}

/// The pairs of claimed tasks of different claimants whose paths overlap, by id. A pair is left out when the lanes of both have
/// changed files there, because their actual work is judged. Needs no worktree, so it also works across hosts.
pub(super) fn planned(tx: &ReadTx<'_>, snapshots: &[LaneSnapshot]) -> Result<Vec<PlannedOverlap>> {
    let mut claimed: Vec<Task> = Vec::new();
    tasks::for_each(tx, ListScope::Claimed, |task| {
        if !task.fields.paths.is_empty() {
            claimed.push(task);
        }
        Ok(true)
    })?;
    claimed.sort_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    let has_written = |lane: Option<&LaneName>, glob: &str| {
        let snapshot = lane.and_then(|lane| snapshots.iter().find(|one| one.lane == *lane));
        snapshot.is_some_and(|one| one.paths.iter().any(|path| globs::matches(glob, &path.path)))
    };
    let mut found = Vec::new();
    for (place, one) in claimed.iter().enumerate() {
        for other in claimed.iter().skip(place + 1) {
            let claimant = |task: &Task| task.state.claim().map(|claim| claim.claimant.clone());
            if claimant(one) == claimant(other) {
                continue;
            }
            let Some((glob, other_glob)) = globs::first_overlap(&one.fields.paths, &other.fields.paths) else {
                continue;
            };
            let (lane, other_lane) = (one.fields.lane.as_ref(), other.fields.lane.as_ref());
            if has_written(lane, glob) && has_written(other_lane, other_glob) {
                continue;
            }
            found.push(PlannedOverlap {
                task: one.id.clone(),
                lane: lane.cloned(),
                other_task: other.id.clone(),
                other_lane: other_lane.cloned(),
                globs: (glob.to_owned(), other_glob.to_owned()),
            });
        }
    }
    Ok(found)
}
