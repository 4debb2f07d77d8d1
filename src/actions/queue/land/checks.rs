//! The checks of a candidate, on its tree, in one worktree that is kept for the next landing.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;

use super::unit::{Unit, project_git};
use crate::{
    actions::{
        App,
        core::lookup,
        queue::evidence::{self, run::store_output},
    },
    config::show_duration,
    domain::{
        TaskId,
        evidence::{Evidence, EvidenceResult, LANDING_KIND},
    },
    env::Timestamp,
    os::{
        digest::sha256_hex,
        exit_reason::ExitReason,
        files,
        git::{Git, GitError, Repository},
        head_tail_buffer::HeadTailBuffer,
        run_streaming::{self, StreamResult, StreamedProgram},
    },
    store::StoreError,
    wire::LandCheckView,
};

/// The maximum size of the stored output of a check; the middle of a longer output is dropped.
const CAPTURE_LIMIT_BYTES: usize = 1024 * 1024;

/// A command that the tree of a candidate must pass.
#[derive(Debug, Clone)]
struct CheckCommand {
    /// The task whose check it is, and the check's name; `None` for one of the configuration.
    of: Option<(TaskId, String)>,
    /// Shell text.
    command: String,
    /// Whether it prepares the worktree for the others.
    is_prepare: bool,
}

/// A command that failed.
#[derive(Debug, Clone)]
pub(super) struct FailedCheck {
    /// Its name, else its command.
    pub(super) name: String,
    /// Its end: the exit code, the signal or the time limit.
    pub(super) how: String,
    /// The number of its evidence, if a task has it.
    pub(super) evidence: Option<i64>,
}

fn commands(app: &App, unit: &Unit) -> Vec<CheckCommand> {
    let settings = &app.settings.land;
    let own = unit.members.iter().flat_map(|member| {
        member.task.fields.checks.iter().map(|check| CheckCommand {
            of: Some((member.task.id.clone(), check.name.to_string())),
            command: check.command.clone(),
            is_prepare: false,
        })
    });
    let of_config =
        |is_prepare| move |command: &String| CheckCommand { of: None, command: command.clone(), is_prepare };
    let mut all: Vec<CheckCommand> = settings.checks.iter().map(of_config(false)).chain(own).collect();
    if !all.is_empty() {
        all.splice(0..0, settings.prepare.iter().map(of_config(true)));
    }
    all
}

/// The number of checks of a unit.
pub(super) fn count(app: &App, unit: &Unit) -> usize {
    commands(app, unit).iter().filter(|one| !one.is_prepare).count()
}

/// Runs the checks of a unit on a candidate until one fails. Each one is recorded as observed evidence of the kind `landing`.
///
/// # Errors
/// `git_failed`, `interrupted`; as the store fails.
pub(super) fn run(
    app: &App,
    unit: &Unit,
    candidate: &str,
    say: &dyn Fn(&str),
) -> Result<(Vec<LandCheckView>, Option<FailedCheck>)> {
    let all = commands(app, unit);
    let mut views = Vec::new();
    if all.is_empty() {
        return Ok((views, None));
    }
    let dir = check_out(app, candidate)?;
    for one in &all {
        let verb = if one.is_prepare { "preparing" } else { "checking" };
        say(&format!("{verb} {}: {}", unit.label(), one.command));
        let (ran, output) = run_one(app, &dir, &one.command)?;
        let passed = ran.exit == ExitReason::Code(0);
        if one.is_prepare && passed {
            continue;
        }
        let numbers = record(app, unit, one, candidate, &ran, &output)?;
        views.push(LandCheckView {
            task_id: one.of.as_ref().map(|(task, _)| task.to_string()),
            name: one.of.as_ref().map(|(_, name)| name.clone()),
            command: one.command.clone(),
            result: if passed { EvidenceResult::Pass } else { EvidenceResult::Fail }.as_str(),
            evidence: numbers.clone(),
        });
        if !passed {
            let name = one.of.as_ref().map_or_else(|| one.command.clone(), |(_, name)| name.clone());
            let failed =
                FailedCheck { name, how: how(&ran, app.settings.land.timeout), evidence: numbers.first().copied() };
            return Ok((views, Some(failed)));
        }
    }
    Ok((views, None))
}

fn how(ran: &StreamResult, timeout: Duration) -> String {
    match ran.exit {
        ExitReason::Code(code) => format!("exit {code}"),
        ExitReason::Signal(signal) => format!("signal {signal}"),
        ExitReason::TimedOut => format!("timed out after {}", show_duration(timeout)),
    }
}

fn run_one(app: &App, dir: &Path, command: &str) -> Result<(StreamResult, Vec<u8>)> {
    let kept = Arc::new(Mutex::new(HeadTailBuffer::new(CAPTURE_LIMIT_BYTES)));
    let seen = Arc::clone(&kept);
    let argv = ["/bin/sh".into(), "-c".into(), command.into()];
    let timeout = Some(app.settings.land.timeout);
    let program = StreamedProgram { argv: &argv, dir, timeout, merge_output: true };
    let ran = run_streaming::run(&program, move |_, bytes| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    })?;
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    Ok((ran, output))
}

/// Records the run on the task whose check it is, or on every task that lands. Returns the numbers.
fn record(
    app: &App,
    unit: &Unit,
    check: &CheckCommand,
    candidate: &str,
    ran: &StreamResult,
    output: &[u8],
) -> Result<Vec<i64>> {
    let is_of = |task: &TaskId| check.of.as_ref().is_none_or(|(of, _)| of == task);
    let tasks: Vec<&TaskId> = unit.members.iter().map(|one| &one.task.id).filter(|task| is_of(task)).collect();
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let artifact = store_output(app, output)?;
    let result = if ran.exit == ExitReason::Code(0) { EvidenceResult::Pass } else { EvidenceResult::Fail };
    let exit_code = match ran.exit {
        ExitReason::Code(code) => Some(i64::from(code)),
        ExitReason::Signal(_) | ExitReason::TimedOut => None,
    };
    app.transaction(|tx| {
        let mut numbers = Vec::new();
        for id in tasks {
            let task = lookup::task(tx, id)?;
            let record = Evidence {
                id: 0,
                task: id.clone(),
                session: app.actor.session.clone(),
                kind: LANDING_KIND.to_owned(),
                result,
                command: Some(check.command.clone()),
                check: check.of.as_ref().map(|(_, name)| name.clone()),
                exit_code,
                duration_ms: Some(i64::try_from(ran.elapsed.as_millis()).unwrap_or(i64::MAX)),
                artifact: Some(artifact.to_string_lossy().into_owned()),
                sha256: Some(sha256_hex(output)),
                commit: Some(candidate.to_owned()),
                summary: Some(format!("on the merged tree of {}: {}", unit.base, how(ran, app.settings.land.timeout))),
                observed: true,
                created_at: Timestamp::from_millis(0),
            };
            numbers.push(evidence::insert(tx, &task, record, None)?.id);
        }
        Ok(numbers)
    })
}

/// The directory of the worktree for checks.
fn worktree_dir(app: &App) -> PathBuf {
    app.project.state.join("land").join("worktree")
}

/// Puts a candidate into the worktree for checks. A worktree that is damaged is made again.
fn check_out(app: &App, candidate: &str) -> Result<PathBuf> {
    let dir = worktree_dir(app);
    files::private_dir(&app.project.state)
        .and_then(|()| files::private_dir(&app.project.state.join("land")))
        .map_err(StoreError::from)?;
    let git = project_git(app)?;
    let repository = Repository::around(git)?;
    let put = || -> Result<(), GitError> {
        if !dir.join(".git").exists() {
            git.add_detached_worktree(&dir, candidate)?;
        }
        Git::new(app.env.vars(), &dir).check_out_detached(candidate)
    };
    if put().is_err() {
        // A killed landing may have left a lock or half a checkout. No agent works in it.
        if repository.has_worktree(&dir)? {
            repository.remove_worktree(&dir, true)?;
        }
        let _ = std::fs::remove_dir_all(&dir);
        put()?;
    }
    Ok(dir)
}
