//! Removes from worktrees what their setup or a build makes again, to make room on the disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::checkout::{self, Presence};
use super::removal::{self, Hold};
use super::{copies, setup, worktree};
use crate::core::{lookup, trust};
use crate::{Answer, App};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{LaneName, age, bytes, plural};
use fairway_core::os::disk_usage::DiskUsage;
use fairway_core::os::git::Git;
use fairway_core::store::events::{self, EventFilter};
use fairway_core::store::lanes;
use fairway_core::wire::{KeptLaneView, LaneTrimView, TrimmedLaneView};

/// Removes the directories of `[lanes] regenerable` from the worktrees of these lanes, or of all on this host, where git ignores
/// them, nothing tracked, no repository and no changed copy is below them, and no session or job works. With `idle`, a lane that has
/// an event of this time stays as it is. The next start sets up again.
pub fn trim(app: &App, names: &[LaneName], idle: Option<Duration>, dry_run: bool) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    trust::require(app)?;
    worktree::check_actor(app)?;
    let found: Vec<Lane> = if names.is_empty() {
        app.read(|tx| Ok(lanes::all(tx)?))?
    } else {
        app.read(|tx| names.iter().map(|name| lookup::lane(tx, name)).collect::<Result<_>>())?
    };
    let mut view = LaneTrimView { dry_run, bytes: 0, trimmed: Vec::new(), kept: Vec::new() };
    for lane in &found {
        let dir = match checkout::presence(app, lane) {
            Presence::Present(dir) => dir,
            _ if names.is_empty() => continue,
            _ => checkout::dir(app, lane, &["lane", "trim", lane.name.as_str()])?,
        };
        if !lane.owns_worktree {
            let why = "Fairway did not make its worktree".to_owned();
            let quoted = shell_words::quote(&dir.to_string_lossy()).into_owned();
            view.kept.push(KeptLaneView::new(lane, "worktree_not_owned", why, format!("git -C {quoted} clean -ndX")));
            continue;
        }
        let _held = worktree::lock(app, &lane.name)?;
        let occupied = removal::occupied(app, lane)?;
        if let Some(hold) = occupied.map_or_else(|| not_idle(app, lane, idle), |hold| Ok(Some(hold)))? {
            view.kept.push(KeptLaneView::new(lane, hold.code, hold.why, hold.command));
            continue;
        }
        view.trimmed.extend(trim_one(app, lane, &dir, dry_run)?);
    }
    view.bytes = view.trimmed.iter().map(|one| one.bytes).sum();
    let ids = view.trimmed.iter().map(|one| one.lane.clone()).collect();
    let answer = Answer { ids, ..Answer::new(&view, "", text(&view))? };
    if dry_run { Ok(answer) } else { app.mutate(|_| Ok(answer)) }
}

/// The newest event of a lane, when it is younger than `idle`.
fn not_idle(app: &App, lane: &Lane, idle: Option<Duration>) -> Result<Option<Hold>> {
    let Some(idle) = idle else { return Ok(None) };
    let now = app.store_for_reading()?.time(app.env.now())?;
    let newest = EventFilter { lane: Some(lane.name.clone()), since: Some(now.minus(idle)), ..EventFilter::default() };
    let mut last = None;
    app.read(|tx| {
        events::for_each_matching(tx, &newest, 0, |event| {
            last = Some(event);
            Ok(true)
        })?;
        Ok(())
    })?;
    Ok(last.map(|event| Hold {
        code: "active",
        why: format!("its last event, {}, was {} ago", event.kind, age::rough(now.since(event.at))),
        command: format!("fairway lane trim {}", lane.name),
    }))
}

/// Removes what is to go from one worktree; `None` when nothing is.
fn trim_one(app: &App, lane: &Lane, dir: &Path, dry_run: bool) -> Result<Option<TrimmedLaneView>> {
    let changed = copies::changed(dir);
    let goes = |path: &PathBuf| {
        let is_named = |name: &String| path.ends_with(name);
        let is_dir = dir.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_copied = changed.iter().any(|copy| Path::new(copy).starts_with(path));
        app.settings.lanes.regenerable.iter().any(is_named) && is_dir && !is_copied && !has_repository(&dir.join(path))
    };
    let paths: Vec<PathBuf> = Git::new(app.env.vars(), dir).ignored_dirs()?.into_iter().filter(goes).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let mut usage = DiskUsage::default();
    let bytes = paths.iter().map(|path| usage.below(&dir.join(path))).sum();
    if !dry_run {
        setup::forget(app, lane)?;
        for path in paths.iter().map(|path| dir.join(path)) {
            fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    let paths = paths.iter().map(|path| path.display().to_string()).collect();
    Ok(Some(TrimmedLaneView { lane: lane.name.to_string(), worktree: dir.display().to_string(), paths, bytes }))
}

/// Whether a repository is below a directory: its commits may be nowhere else.
fn has_repository(dir: &Path) -> bool {
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.file_name() == ".git" {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                dirs.push(entry.path());
            }
        }
    }
    false
}

fn text(view: &LaneTrimView) -> String {
    let verb = if view.dry_run { "would remove" } else { "removed" };
    let trimmed = view
        .trimmed
        .iter()
        .map(|one| format!("{verb} {} from lane {} ({})", one.paths.join(", "), one.lane, bytes::show(one.bytes)));
    let kept = view.kept.iter().map(|one| format!("kept lane {} as it is: {}\n    {}", one.lane, one.why, one.command));
    let mut lines: Vec<String> = trimmed.chain(kept).collect();
    match view.trimmed.len() {
        0 => lines.push(
            "nothing to remove: no directory of [lanes] regenerable in a lane without a live session or job".to_owned(),
        ),
        1 => {}
        count => lines.push(format!("in {}: {}", plural::count(count, "lane"), bytes::show(view.bytes))),
    }
    lines.join("\n")
}
