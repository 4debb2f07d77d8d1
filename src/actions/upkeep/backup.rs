//! Backup of the store, and its restore.

use std::{fs, path::Path};

use anyhow::Result;

use crate::{
    actions::{
        Answer, App,
        jobs::{path_limits, recover},
    },
    config::masked_url,
    domain::{Refusal, plural},
    store::{StoreError, backup, sessions, sibling_path},
    wire::{BackupView, RestoreView},
};

/// Writes a checked backup of the store to a file. `force` replaces an existing file.
///
/// # Errors
/// `exists`; `not_found` while there is no store, or no directory for the file; `invalid_value`; `usage` for the store itself.
pub fn backup(app: &App, file: &Path, force: bool) -> Result<Answer> {
    let target = app.env.cwd.join(file);
    if target.file_name().is_none() || target.is_dir() {
        return Err(Refusal::Usage { why: format!("{} is a directory, not a file", file.display()) }.into());
    }
    path_limits::check_path("the file", &target)?;
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

/// Refuses what only a store in a file can do, without asking the server.
///
/// # Errors
/// `store_on_server`; `no_store_address` where nothing says which server.
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
    // A damaged store cannot be read; it is what a restore is for.
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
