//! The checks of candidates, on their trees, in worktrees that are kept for the next landing.

use std::{
    cell::{Cell, OnceCell, RefCell},
    path::{Path, PathBuf},
};

use anyhow::Result;

use super::{
    base::Base,
    check_commands::{CheckLimits, CheckPlace, CheckStep, CommandRun, Progress, run_until_failure},
    check_worker::CheckJob,
    parallel_checks::{self, TreeResult},
};
use crate::{
    actions::{
        App,
        core::{
            lookup,
            work_sandbox::{self, Apart},
        },
        queue::evidence::{self, run::store_output},
        queue::landing_unit::{Unit, project_git},
    },
    domain::{
        TaskId,
        evidence::{Evidence, EvidenceResult, LANDING_KIND},
        landing::{StopCause, StoppedLanding},
        sandbox::SandboxClass,
    },
    env::Timestamp,
    os::{
        digest::sha256_hex,
        exit_reason::ExitReason,
        files,
        git::{Git, GitError, Repository},
        run_streaming::StreamError,
    },
    store::StoreError,
    wire::LandCheckView,
};

/// A command that must succeed on the tree of a candidate.
#[derive(Debug, Clone)]
struct CheckCommand {
    /// The task and the name of its check; `None` for a check of the configuration.
    of: Option<(TaskId, String)>,
    command: String,
    /// Whether the command prepares the worktree for the checks.
    is_prepare: bool,
}

/// A check that fails with the work and passes on its base.
#[derive(Debug, Clone)]
pub(super) struct FailedCheck {
    pub(super) name: String,
    /// How the check ended: the exit code, the signal or the time limit.
    pub(super) how: String,
    pub(super) command: String,
    /// The task that the check belongs to, when that is not a task of the failing unit.
    pub(super) of_other: Option<TaskId>,
    /// The id of the check's evidence, if it was recorded on a task.
    pub(super) evidence: Option<i64>,
    pub(super) output: String,
}

/// Several units of work on top of each other, with the commit to check.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    /// The units, the lowest first.
    pub(super) stack: Vec<&'a Unit>,
    /// The commit that contains all of the units.
    pub(super) candidate: String,
}

/// The result for several stacks, each with its index.
#[derive(Debug)]
pub(super) struct Checked {
    /// The highest stack that passes.
    pub(super) green: Option<(usize, CheckRun)>,
    /// The lowest failing stack above that one.
    pub(super) red: Option<(usize, CheckRun)>,
}

/// The conclusion from the checks of a stack.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The base may move to the stack.
    Passed,
    /// The work breaks the check that ran last.
    Failed,
    /// A command failed for another reason than the work. `place` is the index of the unit, when only one is concerned.
    Stopped { stopped: StoppedLanding, place: Option<usize> },
}

/// The checks of a stack that have run. A failed one is the last.
#[derive(Debug)]
pub(super) struct CheckRun {
    candidate: String,
    /// The names of the units, when there is more than one.
    part_of: Vec<String>,
    ran: Vec<(CheckCommand, Ran)>,
    /// The conclusion from the checks for the stack.
    pub(super) verdict: Verdict,
}

impl CheckRun {
    /// Describes the failed command and how it ended; `None` when all commands passed.
    pub(super) fn failure(&self) -> Option<String> {
        let (check, ran) = self.ran.last().filter(|(_, ran)| !ran.run.passed())?;
        Some(format!("'{}' ({})", check.command, ran.run.how))
    }
}

/// A command that has run.
#[derive(Debug)]
struct Ran {
    run: CommandRun,
    artifact: OnceCell<String>,
}

impl From<CommandRun> for Ran {
    fn from(run: CommandRun) -> Self {
        Self { run, artifact: OnceCell::new() }
    }
}

impl Ran {
    fn artifact(&self, app: &App) -> Result<String> {
        if let Some(known) = self.artifact.get() {
            return Ok(known.clone());
        }
        let stored = store_output(app, &self.run.output)?.to_string_lossy().into_owned();
        Ok(self.artifact.get_or_init(|| stored).clone())
    }
}

/// How a command failed on the base alone.
#[derive(Debug, Clone)]
struct BaseFailure {
    command: String,
    is_prepare: bool,
    is_program_missing: bool,
    how: String,
    output: String,
}

/// Whether a command passes on a commit of a base.
#[derive(Debug)]
struct BaseResult {
    commit: String,
    command: String,
    failure: Option<BaseFailure>,
}

/// The checks of one call of `land`. Which commands pass on a base's commit is remembered.
pub(super) struct Checks<'a> {
    app: &'a App,
    say: &'a dyn Fn(&str),
    bases: RefCell<Vec<BaseResult>>,
    /// The strictest sandbox of the work so far. Later commands run in it too, so that their results can be compared.
    sandbox: Cell<SandboxClass>,
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

/// How many checks a unit has; commands that only prepare the worktree do not count.
pub(super) fn count(app: &App, unit: &Unit) -> usize {
    commands(app, &[unit]).iter().filter(|one| !one.is_prepare).count()
}

impl<'a> Checks<'a> {
    pub(super) fn new(app: &'a App, say: &'a dyn Fn(&str)) -> Self {
        Self { app, say, bases: RefCell::new(Vec::new()), sandbox: Cell::default() }
    }

    /// Runs the checks of several stacks of work at the same time, each on the commit that the stack would land as. The checks
    /// of a stack end with the first one that fails. Before a failure is attributed to the work, the failed command is tried
    /// on the base alone. Fails with `interrupted`.
    pub(super) fn run(&self, trees: &[Tree<'_>], base: &Base) -> Result<Checked> {
        for unit in trees.iter().flat_map(|tree| &tree.stack) {
            self.sandbox.set(self.sandbox.get().for_both(sandbox_of(self.app, unit)?));
        }
        let all: Vec<Vec<CheckCommand>> = trees.iter().map(|tree| commands(self.app, &tree.stack)).collect();
        let results = match (trees, &*all) {
            ([tree], [commands]) => vec![TreeResult::Ended(self.run_here(tree, commands)?)],
            _ => self.run_at_once(trees, &all)?,
        };
        let green = results.iter().rposition(|result| result.passes() == Some(true));
        let above = green.map_or(0, |green| green + 1);
        let red = results.iter().skip(above).position(|result| result.passes() == Some(false)).map(|red| above + red);
        let mut checked = Checked { green: None, red: None };
        for (place, result) in results.into_iter().enumerate() {
            let (Some(tree), Some(commands), TreeResult::Ended(runs)) = (trees.get(place), all.get(place), result)
            else {
                continue;
            };
            if green == Some(place) {
                checked.green = Some((place, self.judge(tree, commands, runs, base)?));
            } else if red == Some(place) {
                checked.red = Some((place, self.judge(tree, commands, runs, base)?));
            }
        }
        Ok(checked)
    }

    /// Runs the commands of one stack in this process.
    fn run_here(&self, tree: &Tree<'_>, commands: &[CheckCommand]) -> Result<Vec<CommandRun>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let dir = check_out(self.app, &tree.candidate, 0)?;
        self.run_steps(&dir, &self.sandbox(&dir)?, &steps(tree, commands))
    }

    /// Whether one command passes on a commit, after the commands that prepare the worktree; `None` when one of those fails.
    /// `why` is shown before each command. Fails with `interrupted`.
    pub(super) fn passes(&self, candidate: &str, command: &str, why: &str) -> Result<Option<bool>> {
        let dir = check_out(self.app, candidate, 0)?;
        let prepare = &self.app.settings.land.prepare;
        let step = |command: &str| CheckStep { announcement: format!("{why}: {command}"), command: command.to_owned() };
        let steps: Vec<CheckStep> = prepare.iter().map(String::as_str).chain([command]).map(step).collect();
        let runs = self.run_steps(&dir, &self.sandbox(&dir)?, &steps)?;
        let is_prepared = runs.iter().take(prepare.len()).all(CommandRun::passed);
        Ok(runs.last().filter(|_| is_prepared).map(CommandRun::passed))
    }

    /// Runs the commands of each stack in a worktree and process of its own.
    fn run_at_once(&self, trees: &[Tree<'_>], all: &[Vec<CheckCommand>]) -> Result<Vec<TreeResult>> {
        let parent = i32::try_from(std::process::id())?;
        let mut jobs = Vec::new();
        for (slot, (tree, commands)) in trees.iter().zip(all).enumerate() {
            let (dir, steps) = (check_out(self.app, &tree.candidate, slot)?, steps(tree, commands));
            jobs.push(CheckJob { parent, sandbox: self.sandbox(&dir)?, dir, steps, limits: self.limits() });
        }
        parallel_checks::check_all(self.app, &jobs, self.say)
    }

    /// The words to put before a command, which run it in a sandbox; empty when no checked work needs one.
    fn sandbox(&self, dir: &Path) -> Result<Vec<String>> {
        match self.sandbox.get() {
            SandboxClass::Off => Ok(Vec::new()),
            class => work_sandbox::prefix_texts(self.app, class, Apart::Checkout(dir)),
        }
    }

    fn limits(&self) -> CheckLimits {
        let settings = &self.app.settings.land;
        CheckLimits { timeout: settings.timeout, retries: settings.retries }
    }

    fn run_steps(&self, dir: &Path, sandbox: &[String], steps: &[CheckStep]) -> Result<Vec<CommandRun>> {
        let mut runs = Vec::new();
        let mut tell = |progress: Progress| -> Result<(), StreamError> {
            match progress {
                Progress::Note(text) => (self.say)(&text),
                Progress::Ran(run) => runs.push(run),
            }
            Ok(())
        };
        run_until_failure(&CheckPlace { dir, sandbox }, steps, self.limits(), &mut tell)?;
        Ok(runs)
    }

    /// Draws the conclusion from the runs for a stack.
    fn judge(
        &self,
        tree: &Tree<'_>,
        commands: &[CheckCommand],
        runs: Vec<CommandRun>,
        base: &Base,
    ) -> Result<CheckRun> {
        let (of, stack) = (tree.label(), &tree.stack);
        let part_of = if stack.len() > 1 { stack.iter().map(|unit| unit.label()).collect() } else { Vec::new() };
        let candidate = tree.candidate.clone();
        let mut judged = CheckRun { candidate, part_of, ran: Vec::new(), verdict: Verdict::Passed };
        for (one, run) in commands.iter().zip(runs) {
            let (passed, ran) = (run.passed(), Ran::from(run));
            if !passed && let Some(stopped) = self.other_cause(&of, base, one, &ran)? {
                let is_of = |unit: &&Unit| unit.members.iter().any(|member| is_of(one, &member.task.id));
                let place = one.of.as_ref().and_then(|_| stack.iter().position(is_of)).filter(|_| !stopped.stops_all);
                judged.verdict = Verdict::Stopped { stopped, place };
                return Ok(judged);
            }
            if one.is_prepare {
                continue;
            }
            if passed && one.of.is_none() {
                // The candidate is the next base.
                self.keep(&tree.candidate, &one.command, None);
            }
            judged.ran.push((one.clone(), ran));
            if !passed {
                judged.verdict = Verdict::Failed;
            }
        }
        Ok(judged)
    }

    /// Records the checks of a stack as observed evidence of the kind `landing` on the tasks of one unit: the checks of
    /// the configuration, those of the unit's own tasks, and the one that failed.
    pub(super) fn record(&self, unit: &Unit, run: &CheckRun) -> Result<(Vec<LandCheckView>, Option<FailedCheck>)> {
        let (mut views, mut failed) = (Vec::new(), None);
        for (check, ran) in &run.ran {
            let is_own = unit.members.iter().any(|member| is_of(check, &member.task.id));
            if ran.run.passed() && check.of.is_some() && !is_own {
                continue;
            }
            let (numbers, output) = record(self.app, unit, check, run, ran)?;
            views.push(LandCheckView {
                task_id: check.of.as_ref().map(|(task, _)| task.to_string()),
                name: check.of.as_ref().map(|(_, name)| name.clone()),
                command: check.command.clone(),
                result: if ran.run.passed() { EvidenceResult::Pass } else { EvidenceResult::Fail }.as_str(),
                flaky: ran.run.earlier.is_some() && ran.run.passed(),
                evidence: numbers.clone(),
            });
            if !ran.run.passed() {
                let name = match &check.of {
                    Some((_, name)) if is_own => name.clone(),
                    Some((task, name)) => format!("{name} of {task}"),
                    None => check.command.clone(),
                };
                failed = Some(FailedCheck {
                    name,
                    how: ran.run.how.clone(),
                    command: check.command.clone(),
                    of_other: check.of.as_ref().map(|(task, _)| task.clone()).filter(|_| !is_own),
                    evidence: numbers.first().copied(),
                    output,
                });
            }
        }
        Ok((views, failed))
    }

    /// The cause of a failure, when it is not the work: the base fails alone, a program is missing, or the worktree
    /// could not be prepared.
    fn other_cause(&self, of: &str, base: &Base, one: &CheckCommand, ran: &Ran) -> Result<Option<StoppedLanding>> {
        // The base lacks the work that a task's own check tests, so it is not tried there.
        if one.of.is_some() && !ran.run.is_program_missing() {
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

    /// How a command fails on the base's commit; `None` when it passes. The result is remembered.
    fn on_base(&self, base: &Base, wanted: &CheckCommand) -> Result<Option<BaseFailure>> {
        let is_it = |one: &&BaseResult| one.commit == base.commit && one.command == wanted.command;
        if let Some(known) = self.bases.borrow().iter().find(is_it) {
            return Ok(known.failure.clone());
        }
        let dir = check_out(self.app, &base.commit, 0)?;
        let prepare: Vec<CheckCommand> = self.app.settings.land.prepare.iter().map(of_config(true)).collect();
        let before = prepare.iter().take_while(|one| !wanted.is_prepare || one.command != wanted.command);
        let (sandbox, mut failure) = (self.sandbox(&dir)?, None);
        for one in before.chain([wanted]) {
            let step = CheckStep {
                announcement: format!("trying {} alone: {}", base.name, one.command),
                command: one.command.clone(),
            };
            let failed = self.run_steps(&dir, &sandbox, &[step])?.pop().filter(|run| !run.passed());
            if let Some(run) = failed {
                failure = Some(failure_of(self.app, one, &Ran::from(run))?);
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
}

fn failure_of(app: &App, one: &CheckCommand, ran: &Ran) -> Result<BaseFailure> {
    Ok(BaseFailure {
        command: one.command.clone(),
        is_prepare: one.is_prepare,
        is_program_missing: ran.run.is_program_missing(),
        how: ran.run.how.clone(),
        output: ran.artifact(app)?,
    })
}

/// The strictest of the sandboxes in which the work of a unit was done, and of the one that its lane demands.
fn sandbox_of(app: &App, unit: &Unit) -> Result<SandboxClass> {
    let mut class = unit.lane.as_ref().map(|lane| lane.sandbox).unwrap_or_default();
    app.read(|tx| {
        for member in &unit.members {
            class = class.for_both(work_sandbox::of_task(tx, &member.task)?.map(|own| own.class).unwrap_or_default());
        }
        Ok(class)
    })
}

/// Whether a check belongs to this task.
fn is_of(check: &CheckCommand, task: &TaskId) -> bool {
    check.of.as_ref().is_some_and(|(of, _)| of == task)
}

/// Records a check on the task that it belongs to, else on every task of the unit. Returns the ids of the evidence, and
/// the file with the output.
fn record(app: &App, unit: &Unit, check: &CheckCommand, run: &CheckRun, ran: &Ran) -> Result<(Vec<i64>, String)> {
    let all = || unit.members.iter().map(|one| &one.task.id);
    let mut tasks: Vec<&TaskId> = all().filter(|task| is_of(check, task)).collect();
    let is_own = !tasks.is_empty();
    if !is_own {
        tasks = all().collect();
    }
    if tasks.is_empty() && ran.run.passed() {
        return Ok((Vec::new(), String::new()));
    }
    let artifact = ran.artifact(app)?;
    let result = if ran.run.passed() { EvidenceResult::Pass } else { EvidenceResult::Fail };
    let exit_code = match ran.run.exit {
        ExitReason::Code(code) => Some(i64::from(code)),
        ExitReason::Signal(_) | ExitReason::TimedOut => None,
    };
    let part =
        if run.part_of.is_empty() { String::new() } else { format!(", checked as part of {}", run.part_of.join(", ")) };
    let summary = match &ran.run.earlier {
        Some(earlier) if ran.run.passed() => {
            format!("flaky: on the merged tree of {}{part}: {} after {earlier}", unit.base, ran.run.how)
        }
        _ => format!("on the merged tree of {}{part}: {}", unit.base, ran.run.how),
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
                duration_ms: Some(i64::try_from(ran.run.elapsed.as_millis()).unwrap_or(i64::MAX)),
                artifact: Some(artifact.clone()),
                sha256: Some(sha256_hex(&ran.run.output)),
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

/// The commands of a tree, each with its announcement.
fn steps(tree: &Tree<'_>, commands: &[CheckCommand]) -> Vec<CheckStep> {
    let of = tree.label();
    let step = |one: &CheckCommand| {
        let verb = if one.is_prepare { "preparing" } else { "checking" };
        CheckStep { announcement: format!("{verb} {of}: {}", one.command), command: one.command.clone() }
    };
    commands.iter().map(step).collect()
}

impl Tree<'_> {
    fn label(&self) -> String {
        self.stack.iter().map(|unit| unit.label()).collect::<Vec<_>>().join(", ")
    }
}

/// The worktree for checks. Each stack that is checked at once has its own `slot`.
fn worktree_dir(app: &App, slot: usize) -> PathBuf {
    let name = if slot == 0 { "worktree".to_owned() } else { format!("worktree-{}", slot + 1) };
    app.project.land_dir().join(name)
}

/// Checks a commit out into a worktree for checks. A damaged worktree is made again.
fn check_out(app: &App, candidate: &str, slot: usize) -> Result<PathBuf> {
    let dir = worktree_dir(app, slot);
    files::private_dir(&app.project.state)
        .and_then(|()| files::private_dir(&app.project.land_dir()))
        .map_err(StoreError::from)?;
    let git = project_git(app)?;
    let repository = Repository::of(git);
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
