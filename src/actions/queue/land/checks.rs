//! The checks of a candidate, on its tree, in one worktree that is kept for the next landing.

use std::{
    cell::{OnceCell, RefCell},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Result;

use super::{
    base::Base,
    unit::{Unit, project_git},
};
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
        refusal::{StopCause, StoppedLanding},
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

/// The exit code of a shell that finds no program of that name.
const NO_PROGRAM: i32 = 127;

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

/// A check that the work fails and its base passes.
#[derive(Debug, Clone)]
pub(super) struct FailedCheck {
    /// Its name, else its command.
    pub(super) name: String,
    /// Its end: the exit code, the signal or the time limit.
    pub(super) how: String,
    /// The number of its evidence, if a task has it.
    pub(super) evidence: Option<i64>,
    /// The file with its output.
    pub(super) output: String,
}

/// The result of the checks of a stack.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The base may move to it.
    Passed,
    /// It breaks the check that ran last.
    Failed,
    /// A command failed for another reason than the work. `place`: of this work of the stack only.
    Stopped { stopped: StoppedLanding, place: Option<usize> },
}

/// The checks of a stack that have run, the failed one last.
#[derive(Debug)]
pub(super) struct CheckRun {
    /// The commit.
    candidate: String,
    /// The work of the stack, when it is more than one.
    part_of: Vec<String>,
    ran: Vec<(CheckCommand, Ran)>,
    /// What they say.
    pub(super) verdict: Verdict,
}

impl CheckRun {
    /// The failed check and its end, in words.
    pub(super) fn failure(&self) -> Option<String> {
        let (check, ran) = self.ran.last().filter(|(_, ran)| !ran.passed())?;
        Some(format!("'{}' ({})", check.command, ran.how))
    }
}

/// A command that has run, also again.
#[derive(Debug)]
struct Ran {
    exit: ExitReason,
    elapsed: Duration,
    /// What all runs wrote.
    output: Vec<u8>,
    /// Its end in words.
    how: String,
    /// How the run before ended that failed.
    earlier: Option<String>,
    /// The file with its output, when it is stored.
    artifact: OnceCell<String>,
}

impl Ran {
    fn passed(&self) -> bool {
        self.exit == ExitReason::Code(0)
    }

    fn is_program_missing(&self) -> bool {
        self.exit == ExitReason::Code(NO_PROGRAM)
    }

    fn artifact(&self, app: &App) -> Result<String> {
        if let Some(known) = self.artifact.get() {
            return Ok(known.clone());
        }
        let stored = store_output(app, &self.output)?.to_string_lossy().into_owned();
        Ok(self.artifact.get_or_init(|| stored).clone())
    }
}

/// How a command failed on a base.
#[derive(Debug, Clone)]
struct BaseFailure {
    command: String,
    is_prepare: bool,
    is_program_missing: bool,
    how: String,
    output: String,
}

/// The result of a command on a commit of a base; `None`: it passes.
#[derive(Debug)]
struct BaseResult {
    commit: String,
    command: String,
    failure: Option<BaseFailure>,
}

/// The checks of one call of `land`. What a commit of a base passes is kept.
pub(super) struct Checks<'a> {
    app: &'a App,
    say: &'a dyn Fn(&str),
    bases: RefCell<Vec<BaseResult>>,
}

fn commands(app: &App, stack: &[&Unit]) -> Vec<CheckCommand> {
    let settings = &app.settings.land;
    let own = stack.iter().flat_map(|unit| &unit.members).flat_map(|member| {
        member.task.fields.checks.iter().map(|check| CheckCommand {
            of: Some((member.task.id.clone(), check.name.to_string())),
            command: check.command.clone(),
            is_prepare: false,
        })
    });
    let mut all: Vec<CheckCommand> = settings.checks.iter().map(of_config(false)).chain(own).collect();
    if !all.is_empty() {
        all.splice(0..0, settings.prepare.iter().map(of_config(true)));
    }
    all
}

fn of_config(is_prepare: bool) -> impl Fn(&String) -> CheckCommand {
    move |command| CheckCommand { of: None, command: command.clone(), is_prepare }
}

/// The number of checks of a unit.
pub(super) fn count(app: &App, unit: &Unit) -> usize {
    commands(app, &[unit]).iter().filter(|one| !one.is_prepare).count()
}

impl<'a> Checks<'a> {
    pub(super) fn new(app: &'a App, say: &'a dyn Fn(&str)) -> Self {
        Self { app, say, bases: RefCell::new(Vec::new()) }
    }

    /// Runs the checks of a stack on its highest candidate until one fails. What fails is tried on the base alone before the work
    /// is blamed.
    ///
    /// # Errors
    /// `git_failed`, `interrupted`; as the store fails.
    pub(super) fn run(&self, stack: &[&Unit], candidate: &str, base: &Base) -> Result<CheckRun> {
        let all = commands(self.app, stack);
        let names: Vec<String> = stack.iter().map(|unit| unit.label()).collect();
        let of = names.join(", ");
        let part_of = if names.len() > 1 { names } else { Vec::new() };
        let mut run = CheckRun { candidate: candidate.to_owned(), part_of, ran: Vec::new(), verdict: Verdict::Passed };
        if all.is_empty() {
            return Ok(run);
        }
        let dir = check_out(self.app, candidate)?;
        for one in all {
            let verb = if one.is_prepare { "preparing" } else { "checking" };
            (self.say)(&format!("{verb} {of}: {}", one.command));
            let ran = self.run_command(&dir, &one.command)?;
            let passed = ran.passed();
            if !passed && let Some(stopped) = self.other_cause(&of, base, &one, &ran)? {
                let is_of = |unit: &&Unit| unit.members.iter().any(|member| is_of(&one, &member.task.id));
                let place = one.of.as_ref().and_then(|_| stack.iter().position(is_of)).filter(|_| !stopped.stops_all);
                run.verdict = Verdict::Stopped { stopped, place };
                return Ok(run);
            }
            if one.is_prepare {
                continue;
            }
            if passed && one.of.is_none() {
                // The candidate is the next base.
                self.keep(candidate, &one.command, None);
            }
            run.ran.push((one, ran));
            if !passed {
                run.verdict = Verdict::Failed;
                break;
            }
        }
        Ok(run)
    }

    /// Records the checks of a stack as observed evidence of the kind `landing` on the tasks of one unit of it: those of the
    /// configuration, those of its own tasks, and the one that it breaks.
    pub(super) fn record(&self, unit: &Unit, run: &CheckRun) -> Result<(Vec<LandCheckView>, Option<FailedCheck>)> {
        let (mut views, mut failed) = (Vec::new(), None);
        for (check, ran) in &run.ran {
            let is_own = unit.members.iter().any(|member| is_of(check, &member.task.id));
            if ran.passed() && check.of.is_some() && !is_own {
                continue;
            }
            let (numbers, output) = record(self.app, unit, check, run, ran)?;
            views.push(LandCheckView {
                task_id: check.of.as_ref().map(|(task, _)| task.to_string()),
                name: check.of.as_ref().map(|(_, name)| name.clone()),
                command: check.command.clone(),
                result: if ran.passed() { EvidenceResult::Pass } else { EvidenceResult::Fail }.as_str(),
                flaky: ran.earlier.is_some() && ran.passed(),
                evidence: numbers.clone(),
            });
            if !ran.passed() {
                let name = match &check.of {
                    Some((_, name)) if is_own => name.clone(),
                    Some((task, name)) => format!("{name} of {task}"),
                    None => check.command.clone(),
                };
                failed = Some(FailedCheck { name, how: ran.how.clone(), evidence: numbers.first().copied(), output });
            }
        }
        Ok((views, failed))
    }

    /// The cause of a failure that is not the work: the base fails alone, a program is missing, or nothing could be prepared.
    fn other_cause(&self, of: &str, base: &Base, one: &CheckCommand, ran: &Ran) -> Result<Option<StoppedLanding>> {
        // The base lacks the work that a task's own check is about.
        if one.of.is_some() && !ran.is_program_missing() {
            return Ok(None);
        }
        let (failure, is_base) = match self.on_base(base, one)? {
            Some(failure) if one.of.is_none() || failure.is_prepare || failure.is_program_missing => (failure, true),
            None if one.is_prepare => (failure_of(self.app, one, ran)?, false),
            _ => return Ok(None),
        };
        let stops_all = is_base && (one.of.is_none() || failure.is_prepare);
        let cause = match &failure {
            failure if failure.is_prepare => StopCause::PrepareFailed,
            failure if failure.is_program_missing => StopCause::ProgramMissing,
            _ => StopCause::BaseRed,
        };
        let BaseFailure { command, how, output, .. } = failure;
        let (of, base) = (of.to_owned(), base.name.clone());
        Ok(Some(StoppedLanding { of, base, command, cause, how, is_base, stops_all, output }))
    }

    /// How a command fails on a commit of the base, after what prepares it; `None` when it passes.
    fn on_base(&self, base: &Base, wanted: &CheckCommand) -> Result<Option<BaseFailure>> {
        let is_it = |one: &&BaseResult| one.commit == base.commit && one.command == wanted.command;
        if let Some(known) = self.bases.borrow().iter().find(is_it) {
            return Ok(known.failure.clone());
        }
        (self.say)(&format!("trying {} alone: {}", base.name, wanted.command));
        let dir = check_out(self.app, &base.commit)?;
        let prepare: Vec<CheckCommand> = self.app.settings.land.prepare.iter().map(of_config(true)).collect();
        let before = prepare.iter().take_while(|one| !wanted.is_prepare || one.command != wanted.command);
        let mut failure = None;
        for one in before.chain([wanted]) {
            let ran = self.run_command(&dir, &one.command)?;
            if !ran.passed() {
                failure = Some(failure_of(self.app, one, &ran)?);
                break;
            }
        }
        self.keep(&base.commit, &wanted.command, failure.clone());
        Ok(failure)
    }

    fn keep(&self, commit: &str, command: &str, failure: Option<BaseFailure>) {
        let (commit, command) = (commit.to_owned(), command.to_owned());
        self.bases.borrow_mut().push(BaseResult { commit, command, failure });
    }

    /// Runs a command, and again when it fails. A program that is missing stays missing.
    fn run_command(&self, dir: &Path, command: &str) -> Result<Ran> {
        let settings = &self.app.settings.land;
        let (mut output, mut earlier, mut left) = (Vec::new(), None, settings.retries);
        loop {
            let (ran, written) = run_one(self.app, dir, command)?;
            output.extend_from_slice(&written);
            let how = how(&ran, settings.timeout);
            let is_over = matches!(ran.exit, ExitReason::Code(0 | NO_PROGRAM));
            if is_over || left == 0 {
                let artifact = OnceCell::new();
                return Ok(Ran { exit: ran.exit, elapsed: ran.elapsed, output, how, earlier, artifact });
            }
            left -= 1;
            (self.say)(&format!("trying it again, it failed ({how}): {command}"));
            output.extend_from_slice(format!("\n[{how}; once more]\n").as_bytes());
            earlier = Some(how);
        }
    }
}

fn failure_of(app: &App, one: &CheckCommand, ran: &Ran) -> Result<BaseFailure> {
    Ok(BaseFailure {
        command: one.command.clone(),
        is_prepare: one.is_prepare,
        is_program_missing: ran.is_program_missing(),
        how: ran.how.clone(),
        output: ran.artifact(app)?,
    })
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

/// Whether the check is one of this task.
fn is_of(check: &CheckCommand, task: &TaskId) -> bool {
    check.of.as_ref().is_some_and(|(of, _)| of == task)
}

/// Records a check on the task whose it is, or on every task of the unit. Returns the numbers, and the file with the output.
fn record(app: &App, unit: &Unit, check: &CheckCommand, run: &CheckRun, ran: &Ran) -> Result<(Vec<i64>, String)> {
    let all = || unit.members.iter().map(|one| &one.task.id);
    let mut tasks: Vec<&TaskId> = all().filter(|task| is_of(check, task)).collect();
    let is_own = !tasks.is_empty();
    if !is_own {
        tasks = all().collect();
    }
    if tasks.is_empty() && ran.passed() {
        return Ok((Vec::new(), String::new()));
    }
    let artifact = ran.artifact(app)?;
    let result = if ran.passed() { EvidenceResult::Pass } else { EvidenceResult::Fail };
    let exit_code = match ran.exit {
        ExitReason::Code(code) => Some(i64::from(code)),
        ExitReason::Signal(_) | ExitReason::TimedOut => None,
    };
    let part =
        if run.part_of.is_empty() { String::new() } else { format!(", checked as part of {}", run.part_of.join(", ")) };
    let summary = match &ran.earlier {
        Some(earlier) if ran.passed() => {
            format!("flaky: on the merged tree of {}{part}: {} after {earlier}", unit.base, ran.how)
        }
        _ => format!("on the merged tree of {}{part}: {}", unit.base, ran.how),
    };
    let numbers = app.transaction(|tx| {
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
                check: check.of.as_ref().filter(|_| is_own).map(|(_, name)| name.clone()),
                exit_code,
                duration_ms: Some(i64::try_from(ran.elapsed.as_millis()).unwrap_or(i64::MAX)),
                artifact: Some(artifact.clone()),
                sha256: Some(sha256_hex(&ran.output)),
                commit: Some(run.candidate.clone()),
                summary: Some(summary.clone()),
                observed: true,
                created_at: Timestamp::from_millis(0),
            };
            numbers.push(evidence::insert(tx, &task, record, None)?.id);
        }
        Ok::<_, anyhow::Error>(numbers)
    })?;
    Ok((numbers, artifact))
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
        Git::new(app.env.vars(), &dir).check_out_detached(candidate, app.settings.land.clean)
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
