//! Copies of the store: making and restoring backups and snapshots, and accepting a loss of events.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::jobs::recover;
use crate::{Answer, App};
use fairway_core::config::masked_url;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::refusal::SNAPSHOT;
use fairway_core::domain::{Refusal, age, plural};
use fairway_core::os::files;
use fairway_core::store::snapshots::{self, Snapshot};
use fairway_core::store::{StoreError, backup, events, progress, sessions, sibling_path};
use fairway_core::wire::{BackupView, MissingEventsView, RestoreView, SnapshotView};

/// Writes a checked backup of the store to a file. `force` replaces an existing file.
///
/// # Errors
/// `exists`; `not_found` while there is no store, or no directory for the file; `invalid_value`; `usage` for the store itself.
pub fn backup(app: &App, file: &Path, force: bool) -> Result<Answer> {
    let target = app.env.cwd.join(file);
    if target.file_name().is_none() || target.is_dir() {
        return Err(Refusal::Usage { why: format!("{} is a directory, not a file", file.display()) }.into());
    }
    if !files::is_path_length_valid(&target) {
        return Err(Refusal::invalid("the file", "has a name that is too long").into());
    }
    if let Some(dir) = target.parent().filter(|dir| !dir.is_dir()) {
        return Err(Refusal::not_found("directory", dir.display().to_string()).into());
    }
    check_not_store_file(app, &target)?;
    let store = app.store_for_reading()?;
    if store.is_missing() {
        return Err(Refusal::not_found("store", app.project.store.display().to_string()).into());
    }
    // A symbolic link counts as an existing file, wherever it points.
    if !force && fs::symlink_metadata(&target).is_ok() {
        return Err(Refusal::AlreadyExists { noun: "file", id: target.display().to_string() }.into());
    }
    if sibling_path(&target, "-wal").exists() {
        let by = "its log (-wal) exists".into();
        return Err(Refusal::InUse { noun: "file", id: target.display().to_string(), by }.into());
    }
    let done = backup::back_up(store, &target, force)?;
    let document = BackupView { file: target.clone(), bytes: done.bytes, tasks: done.tasks };
    let line = format!("backed up {} to {} ({} bytes)", plural::count(done.tasks, "task"), file.display(), done.bytes);
    Answer::new(&document, target.display(), line)
}

/// Refuses a command that works only on a store in a file. Decides by the configuration, without asking the server.
///
/// # Errors
/// `store_on_server`; `no_store_address` when the configuration demands a server and gives no address.
pub fn refuse_on_server(app: &App) -> Result<()> {
    let settings = &app.settings.store;
    match &settings.url {
        Some(url) => Err(StoreError::NoFile { address: masked_url(url) }.into()),
        None if settings.is_on_server() => Err(StoreError::NoAddress.into()),
        None => Ok(()),
    }
}

/// Replaces the store with a backup; the previous store is kept beside it.
///
/// # Errors
/// `store_on_server`; `not_found`; the errors of a damaged backup.
pub fn restore(app: &App, file: &Path) -> Result<Answer> {
    refuse_on_server(app)?;
    let source = app.env.cwd.join(file);
    if !source.exists() {
        return Err(Refusal::not_found("file", source.display().to_string()).into());
    }
    check_not_store_file(app, &source)?;
    // A damaged store cannot be read, and restore must work for it too.
    let running = app.with_fresh_store().read(|tx| Ok(sessions::live(tx)?)).unwrap_or_default();
    let (project, now) = (&app.project, app.env.now());
    let (runtime, outside) = (project.runtime_dir(), project.outside_dir());
    let done = backup::restore(&project.store, &runtime, outside.as_deref(), &source, now, &app.actor.name)?;
    let document = RestoreView {
        file: source.clone(),
        store: project.store.clone(),
        kept: done.kept.clone(),
        tasks: done.tasks,
        epoch: done.epoch,
    };
    let kept = match &done.kept {
        Some(kept) => format!("; the previous store is kept as {}", kept.display()),
        None => String::new(),
    };
    let line = format!("restored {} from {}{kept}", plural::count(done.tasks, "task"), file.display());
    let mut answer = Answer::new(&document, project.store.display(), line)?;
    // Active jobs of the backup may have ended since, so none is started again. Jobs with a live supervisor continue.
    match recover::mark_all_lost(app, "the store was restored from a backup while it ran") {
        Ok(0) => {}
        Ok(lost) => {
            let lost = plural::count(lost, "job");
            let note = format!("marked {lost} lost, active in the backup; none is started again");
            answer = answer.note(note);
        }
        Err(error) => {
            let note = format!("warning: jobs that were active in the backup were not marked lost: {error:#}");
            answer = answer.note(note);
        }
    }
    if !running.is_empty() {
        let ids: Vec<&str> = running.iter().map(|session| session.id.as_str()).collect();
        answer = answer.note(format!(
            "warning: these sessions had not ended: {}; check them with `fairway session reconcile`",
            ids.join(", ")
        ));
    }
    Ok(answer.note(format!("claims now have epoch {}; older epochs are invalid", done.epoch)))
}

/// Refuses the store and its side files as a backup.
fn check_not_store_file(app: &App, file: &Path) -> Result<()> {
    let store = &app.project.store;
    let Ok(real) = file.canonicalize() else { return Ok(()) };
    let ours = ["", "-wal", "-shm", "-turn", "-init"].map(|suffix| sibling_path(store, suffix).canonicalize().ok());
    if ours.contains(&Some(real)) {
        return Err(Refusal::Usage { why: format!("{} belongs to the store itself", file.display()) }.into());
    }
    Ok(())
}

/// Accepts that the store has lost events: claims get a new epoch, and all older epochs become invalid. Returns a finding that
/// says how many events are lost, or none when nothing was lost.
pub fn accept_loss(app: &App) -> Result<Vec<Finding>> {
    let project = &app.project;
    let Some(outside) = project.outside_dir() else { return Ok(Vec::new()) };
    let (now, actor) = (app.env.now(), &app.actor.name);
    let accepted = backup::accept_loss(&project.store, &project.runtime_dir(), &outside, now, actor)?;
    let finding = accepted.map(|(loss, epoch)| {
        let message = format!(
            "the loss of {} is accepted; claims now have epoch {epoch}, older epochs are invalid",
            plural::count(loss.known_event - loss.found_event, "event")
        );
        Finding::new("repaired", Severity::Note, message)
    });
    Ok(finding.into_iter().collect())
}

const MAX_NAMED: usize = 20;

pub fn list_snapshots(app: &App) -> Vec<SnapshotView> {
    let found = app.project.outside_dir().map(|outside| snapshots::list(&outside)).unwrap_or_default();
    found.iter().map(snapshot_view).collect()
}

/// Restores the newest snapshot. The answer says which events after the snapshot are lost.
///
/// # Errors
/// `not_found` without a snapshot; the errors of [`restore`].
pub fn restore_latest(app: &App) -> Result<Answer> {
    refuse_on_server(app)?;
    let outside = app.project.outside_dir();
    let newest = outside.as_deref().and_then(|outside| snapshots::list(outside).into_iter().next());
    let (Some(outside), Some(newest)) = (outside, newest) else {
        return Err(Refusal::not_found(SNAPSHOT, app.project.store.display().to_string()).into());
    };
    let mut named = Vec::new();
    let mut readable = 0;
    // The events that the present store still has. A damaged store may have none.
    let _ = app.with_fresh_store().read(|tx| {
        events::for_each_since(tx, newest.event, |event| {
            readable = readable.max(event.seq);
            if named.len() < MAX_NAMED {
                let about = event.task.or(event.session).or(event.lane).unwrap_or_default();
                named.push(format!("{} {} {about}", event.seq, event.kind).trim_end().to_owned());
            }
            Ok(true)
        })?;
        Ok(())
    });
    let last = progress::known(&outside).event.max(readable);
    let missing = (last - newest.event).max(0);
    let mut answer = restore(app, &newest.path)?;
    let made = age::rough(app.env.now().since(newest.at));
    answer = if missing == 0 {
        answer.note(format!("the snapshot is {made} old; nothing is missing since"))
    } else {
        let range = format!("{} to {last}", newest.event + 1);
        let lacks = plural::count(missing, "event");
        answer.note(format!("the snapshot is {made} old; it lacks {lacks} since: {range}"))
    };
    if !named.is_empty() {
        let more = usize::try_from(missing).unwrap_or(named.len()).saturating_sub(named.len());
        let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
        answer = answer.note(format!("missing: {}{rest}", named.join("; ")));
    }
    if let Some(document) = answer.document.as_object_mut() {
        document.insert("snapshot".into(), json!(snapshot_view(&newest)));
        let (from, to) = (newest.event + 1, last);
        let is_any = missing > 0;
        let range = MissingEventsView { events: missing, from: is_any.then_some(from), to: is_any.then_some(to) };
        document.insert("missing".into(), json!(range));
    }
    Ok(answer)
}

fn snapshot_view(snapshot: &Snapshot) -> SnapshotView {
    SnapshotView {
        file: snapshot.path.clone(),
        made_at: snapshot.at.to_string(),
        event: snapshot.event,
        bytes: snapshot.bytes,
    }
}
