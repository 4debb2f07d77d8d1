//! Checks of the store and its files, and their repair.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Result;

use self::findings::{FIX_COMMAND, display_path, io_error};
use crate::App;
use crate::core::errors;
use crate::upkeep::notify;
use fairway_core::adapters;
use fairway_core::adapters::plumbing::SessionDir;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::id::SinkName;
use fairway_core::domain::notification::Receipt;
use fairway_core::domain::rules::dependency_cycle;
use fairway_core::domain::{Event, EventKind, plural};
use fairway_core::os::git::Git;
use fairway_core::os::lock::FileLock;
use fairway_core::os::{file_system, process};
use fairway_core::store::store_facts::{self, StorePlace};
use fairway_core::store::{ReadTx, integrity, sibling_path, tasks};

mod findings;
mod intents;
mod jobs;
mod landings;
mod lanes;
mod page;
mod server;
mod sessions;

/// Free space below this gets a finding, in bytes. The write-ahead log and its shared memory need some of it.
const LOW_DISK_BYTES: u64 = 64 << 20;

/// Checks the store and the files around it. With `fix`, first repairs what can be derived from the other data.
///
/// # Errors
/// Only when a repair fails; problems are findings.
pub fn doctor(app: &App, fix: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if fix {
        fix_files(app, &mut findings)?;
        fix_store(app, &mut findings)?;
        jobs::fix(app, &mut findings)?;
    }
    check_files(app, &mut findings);
    let checked = app.read(|tx| check_store(app, tx, &mut findings));
    if let Err(error) = checked {
        let failure = errors::classify(&error);
        let finding = Finding::new(failure.code, Severity::Error, failure.message);
        let fix = failure.hint.filter(|hint| !hint.starts_with("fairway doctor"));
        findings.push(Finding { fix, ..finding });
    }
    findings.push(Finding::new(
        "same_user",
        Severity::Note,
        "agents that run as this user can read the store and the files beside it; to isolate them, run them as another \
         user or in a container"
            .into(),
    ));
    findings.sort_by_key(|finding| Severity::ALL.iter().position(|severity| *severity == finding.severity));
    Ok(findings)
}

fn check_store(app: &App, tx: &ReadTx<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let error = |code, message| Finding::new(code, Severity::Error, message);
    for fault in integrity::integrity_errors(tx)? {
        findings.push(error("store_damaged", fault).with_fix("fairway restore FILE"));
    }
    for inconsistency in integrity::inconsistencies(tx)? {
        findings.push(error(inconsistency.code, inconsistency.message).with_fix(FIX_COMMAND));
    }
    for (label, edges, fix) in [
        ("dependencies", integrity::dependencies(tx)?, "fairway task dep rm"),
        ("parents", integrity::parents(tx)?, "fairway task edit --parent ''"),
    ] {
        if let Some(cycle_ids) = find_cycle(&edges) {
            findings.push(error("cycle", format!("{label} form a cycle: {}", cycle_ids.join(" → "))).with_fix(fix));
        }
    }
    for task in integrity::without_origin(tx)? {
        findings.push(error("event_missing", format!("the event log has no `task.added` event for {task}")));
    }
    // Reading every row finds ids and values that this binary does not know, which no CHECK finds.
    let read = tasks::for_each(tx, tasks::ListScope::ById, |_| Ok(true));
    let is_readable = read.is_ok();
    if let Err(unreadable) = read {
        findings.push(error("store_unreadable", unreadable.to_string()));
    }
    findings.extend(intents::find(app, tx)?);
    findings.extend(landings::find(app, tx)?);
    findings.extend(lanes::find(app, tx)?);
    findings.extend(jobs::find(app, tx)?);
    findings.extend(given_up_notifications(app, tx)?);
    findings.extend(sessions::without_program(tx)?);
    findings.extend(sessions::failed_and_alive(tx)?);
    match sessions::dead_claimants(tx) {
        Ok(found) => findings.extend(found),
        Err(unreadable) if is_readable => findings.push(error("store_unreadable", unreadable.to_string())),
        // Reported above.
        Err(_) => {}
    }
    let facts = store_facts::facts(app.store_for_reading()?)?;
    findings.extend(server::find(app, tx, &facts)?);
    let (engine, copies) = match &facts.place {
        StorePlace::File { .. } => {
            ("SQLite".to_owned(), "only fairway backup copies it: a copy of the file lacks its log")
        }
        StorePlace::Server { address, .. } => (format!("{address}, PostgreSQL"), "pg_dump copies it"),
    };
    let message = format!(
        "{}, schema {}, {engine} {}; {copies}",
        plural::count(integrity::count_tasks(tx)?, "task"),
        facts.needed_schema,
        facts.engine_version
    );
    findings.push(Finding::new("store", Severity::Note, message));
    Ok(())
}

/// A cycle among existing edges. Ids are plain text here, because a damaged store may contain any.
fn find_cycle(edges: &[(String, String)]) -> Option<Vec<String>> {
    let mut next: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to.clone());
    }
    let branches = |task: &String| Ok::<_, Infallible>(next.get(task).cloned().unwrap_or_default());
    dependency_cycle::find(next.keys().copied(), branches).unwrap_or_default()
}

fn check_files(app: &App, findings: &mut Vec<Finding>) {
    for (path, mode, expected) in insecure_modes(app) {
        let message = format!(
            "{} has mode {mode:04o}; expected {expected:04o} (accessible to other users)",
            display_path(app, &path)
        );
        findings.push(Finding::new("mode_open", Severity::Error, message).with_fix(FIX_COMMAND));
    }
    for path in stray_files(app, false) {
        let message = format!("{} was left behind by a process that no longer runs", display_path(app, &path));
        findings.push(Finding::new("leftover", Severity::Warning, message).with_fix(FIX_COMMAND));
    }
    if let Some(dir) = adapters::state_dir(&app.env) {
        let starts = SessionDir::forget_abandoned_starts(&dir, true);
        if starts > 0 {
            let starts = plural::count(starts, "interrupted start");
            let message = format!("{starts} left prompt and environment in {}", dir.display());
            findings.push(Finding::new("start_left", Severity::Warning, message).with_fix(FIX_COMMAND));
        }
    }
    for path in tracked_files(app) {
        let message = format!("{path} is tracked by git; it must not be committed");
        let fix = format!("git rm --cached {path}");
        findings.push(Finding::new("store_tracked", Severity::Error, message).with_fix(fix));
    }
    findings.extend(page::find(app));
    let dir = app.project.store.parent().unwrap_or_else(|| Path::new("/"));
    match file_system::free_bytes(dir) {
        Ok(free) if free < LOW_DISK_BYTES => {
            let message = format!("only {} MiB are free on the store's file system", free >> 20);
            findings.push(Finding::new("disk_low", Severity::Warning, message).with_fix("free disk space"));
        }
        _ => {}
    }
}

/// The files of the state directory and the store that other users can access, with their mode and the expected mode.
fn insecure_modes(app: &App) -> Vec<(PathBuf, u32, u32)> {
    let (state, store) = (&app.project.state, &app.project.store);
    let mut paths = vec![state.clone(), app.project.runtime_dir()];
    paths.extend(fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path()));
    paths.extend(["", "-wal", "-shm", "-turn", "-init"].map(|suffix| sibling_path(store, suffix)));
    paths.extend(["", "-wal", "-shm"].map(|suffix| sibling_path(&app.project.output_file(), suffix)));
    paths.sort();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if path.parent() == Some(state) && path.file_name().is_some_and(|name| name.to_str().is_some_and(page::judges))
        {
            continue;
        }
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        // A directory inside the state directory is protected by the mode of that.
        let is_checked =
            metadata.is_file() || (metadata.is_dir() && (path == *state || path == app.project.runtime_dir()));
        if is_checked && metadata.mode() & 0o077 != 0 {
            found.push((path, metadata.mode() & 0o7777, expected));
        }
    }
    found
}

/// Draft files whose writer no longer runs. The creator of a store holds the create lock; `is_locked` says that this process
/// has it.
fn stray_files(app: &App, is_locked: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let draft = sibling_path(&app.project.store, "-draft");
    if draft.exists() && (is_locked || matches!(try_create_lock(app), Ok(Some(_)))) {
        found.push(draft);
    }
    let dirs = [Some(app.project.state.as_path()), app.project.store.parent()];
    for entry in dirs.into_iter().flatten().filter_map(|dir| fs::read_dir(dir).ok()).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid =
            name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")).and_then(|name| name.rsplit_once('.'));
        let gone = pid.and_then(|(_, pid)| pid.parse().ok()).is_some_and(|pid| matches!(process::stat(pid), Ok(None)));
        if gone && !found.contains(&entry.path()) {
            found.push(entry.path());
        }
    }
    found
}

/// The lock that the creator of a store holds; `None` while another process has it.
fn try_create_lock(app: &App) -> io::Result<Option<FileLock>> {
    FileLock::try_acquire(&sibling_path(&app.project.store, "-init"))
}

/// Private files that git tracks, as paths relative to the root.
fn tracked_files(app: &App) -> Vec<String> {
    let ours =
        [app.project.store.clone(), sibling_path(&app.project.store, "-wal"), app.project.state.join("local.toml")];
    let is_tracked = |path: &&PathBuf| {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let tracked = Git::new(app.env.vars(), dir).first_tracked(&[name.to_owned()]);
        tracked.is_ok_and(|found| found.is_some())
    };
    ours.iter().filter(is_tracked).map(|path| display_path(app, path)).collect()
}

fn fix_files(app: &App, findings: &mut Vec<Finding>) -> Result<()> {
    let mut repaired = |message: String| findings.push(Finding::new("repaired", Severity::Note, message));
    for (path, mode, expected) in insecure_modes(app) {
        fs::set_permissions(&path, fs::Permissions::from_mode(expected)).map_err(|error| io_error(&path, error))?;
        repaired(format!("{} had mode {mode:04o}, now {expected:04o}", display_path(app, &path)));
    }
    // The lock keeps other processes from creating a store meanwhile.
    let create_lock = try_create_lock(app).ok().flatten();
    for path in stray_files(app, create_lock.is_some()) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            match fs::remove_file(sibling_path(&path, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error(&path, error)),
                _ => {}
            }
        }
        repaired(format!("removed {}, left behind by a process that no longer runs", display_path(app, &path)));
    }
    let starts = adapters::state_dir(&app.env).map_or(0, |dir| SessionDir::forget_abandoned_starts(&dir, false));
    if starts > 0 {
        repaired(format!("removed prompt and environment of {}", plural::count(starts, "interrupted start")));
    }
    Ok(())
}

fn fix_store(app: &App, findings: &mut Vec<Finding>) -> Result<()> {
    // An unreadable store is not written; the check that follows reports it. A missing store is no problem.
    let differs =
        app.read(|tx| Ok(integrity::integrity_errors(tx)?.is_empty() && !integrity::inconsistencies(tx)?.is_empty()));
    if !differs.unwrap_or(false) {
        return Ok(());
    }
    let repaired = app.transaction(|tx| {
        let found = integrity::inconsistencies(tx)?;
        let changed = integrity::repair(tx)?;
        if changed > 0 {
            let mut tasks: Vec<String> = found.iter().map(|inconsistency| inconsistency.task.clone()).collect();
            tasks.dedup();
            let rows = i64::try_from(changed).unwrap_or(i64::MAX);
            tx.record(&Event::new(EventKind::StoreRepaired).with("rows", rows).with("tasks", tasks))?;
        }
        Ok(found)
    })?;
    findings.extend(
        repaired.into_iter().map(|inconsistency| Finding::new("repaired", Severity::Note, inconsistency.message)),
    );
    Ok(())
}

/// A finding for each sink at which notifications were given up.
fn given_up_notifications(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut by_sink: BTreeMap<SinkName, Vec<Receipt>> = BTreeMap::new();
    for receipt in notify::given_up(tx, app.env.now())? {
        by_sink.entry(receipt.sink.clone()).or_default().push(receipt);
    }
    let finding = |(sink, receipts): (SinkName, Vec<Receipt>)| {
        let newest = receipts.iter().max_by_key(|receipt| receipt.at);
        let why = newest.and_then(|receipt| receipt.error.as_deref()).unwrap_or("the sender died");
        let count = plural::count(receipts.len(), "notification");
        let message = format!("gave up {count} to the sink {sink}; the last attempt: {why}");
        Finding::new("notification_failed", Severity::Warning, message)
            .with_fix(format!("fairway notify --test {sink}"))
    };
    Ok(by_sink.into_iter().map(finding).collect())
}
