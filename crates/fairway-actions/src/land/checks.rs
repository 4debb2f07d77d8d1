//! The checks of candidates, on their trees, in worktrees that are kept for the next landing.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::base::Base;
use super::check_commands::{CheckLimits, CheckPlace, CheckStep, CommandRun, Progress, run_until_failure};
use super::check_log::CheckLog;
use super::check_worker::CheckJob;
use super::parallel_checks::{self, TreeResult};
use crate::App;
use crate::core::check_slot::{self, Turn};
use crate::core::work_sandbox::{self, Apart};
use crate::core::{lane_env, lookup};
use crate::queue::evidence;
use crate::queue::evidence::run::store_output;
use crate::queue::landing_unit::{Unit, project_git};
use fairway_core::config::LandSettings;
use fairway_core::domain::TaskId;
use fairway_core::domain::evidence::{Evidence, EvidenceResult, LANDING_KIND};
use fairway_core::domain::excerpt::end_of_output;
use fairway_core::domain::landing::{StopCause, StoppedLanding};
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::env::Timestamp;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::files;
use fairway_core::os::git::{Git, GitError, Repository};
use fairway_core::os::run_streaming::StreamError;
use fairway_core::os::slots::Slot;
use fairway_core::store::StoreError;
use fairway_core::wire::LandCheckView;

/// A command that must succeed on the tree of a candidate.
#[derive(Debug, Clone)]
struct CheckCommand {
    /// Whether the configuration has it.
    is_config: bool,
    /// The tasks that have it as a check, each with the check's name.
    owners: Vec<(TaskId, String)>,
    command: String,
    /// Whether the command prepares the worktree for the checks.
    is_prepare: bool,
    /// The scripts that it took from the base, in place of those of the work.
    scripts: Vec<String>,
}

/// A check that fails with the work and passes on its base.
#[derive(Debug, Clone)]
pub(super) struct FailedCheck {
    pub(super) name: String,
    /// How the check ended: the exit code, the signal or the time limit.
    pub(super) how: String,
    pub(super) command: String,
    /// Whether the configuration has it, so that it was tried on the base alone.
    pub(super) is_config: bool,
    /// The scripts that it took from the base. With those of the work it passes.
    pub(super) scripts: Vec<String>,
    /// The tasks that have it as a check.
    pub(super) owners: Vec<TaskId>,
    /// The id of the check's evidence, if it was recorded on a task.
    pub(super) evidence: Option<i64>,
    /// The file with the output.
    pub(super) output: String,
    pub(super) last_lines: String,
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

/// The sandbox and the variables of commands in a worktree.
struct Surroundings {
    /// The words to put before a command, which run it in a sandbox; empty when no checked work needs one.
    sandbox: Vec<String>,
    env: Vec<(String, String)>,
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

/// How a command failed on a tree.
#[derive(Debug, Clone)]
struct Failure {
    command: String,
    is_prepare: bool,
    is_program_missing: bool,
    how: String,
    output: String,
}

/// Whether a command passes on a tree.
#[derive(Debug)]
struct KnownResult {
    tree: String,
    command: String,
    failure: Option<Failure>,
}

/// The checks of one call of `land`. Which commands pass on a tree is remembered.
pub(super) struct Checks<'a> {
    app: &'a App,
    turn: Turn,
    say: &'a dyn Fn(&str),
    known: RefCell<Vec<KnownResult>>,
    /// The commits of the bases when this call began, by their names. Their scripts judge.
    first_bases: RefCell<BTreeMap<String, String>>,
    /// The strictest sandbox of the work so far. Later commands run in it too, so that their results can be compared.
    sandbox: Cell<SandboxClass>,
}

/// The commands for a stack: those that prepare the worktree, then the checks. One command is one check, also when several tasks have it.
fn commands(app: &App, stack: &[&Unit]) -> Vec<CheckCommand> {
    let settings = &app.settings.land;
    let mut all: Vec<CheckCommand> = settings.checks.iter().map(of_config(false)).collect();
    for member in stack.iter().flat_map(|unit| &unit.members) {
        for check in &member.task.fields.checks {
            let owner = (member.task.id.clone(), check.name.to_string());
            match all.iter_mut().find(|known| known.command == check.command) {
                Some(known) => known.owners.push(owner),
                None => all.push(CheckCommand {
                    is_config: false,
                    owners: vec![owner],
                    command: check.command.clone(),
                    is_prepare: false,
                    scripts: Vec::new(),
                }),
            }
        }
    }
    if !all.is_empty() {
        all.splice(0..0, settings.prepare.iter().map(of_config(true)));
    }
    all
}

fn of_config(is_prepare: bool) -> impl Fn(&String) -> CheckCommand {
    move |command| CheckCommand {
        is_config: true,
        owners: Vec::new(),
        command: command.clone(),
        is_prepare,
        scripts: Vec::new(),
    }
}

/// How many checks a unit has; commands that only prepare the worktree do not count.
pub(super) fn count(app: &App, unit: &Unit) -> usize {
    commands(app, &[unit]).iter().filter(|one| !one.is_prepare).count()
}

impl<'a> Checks<'a> {
    pub(super) fn new(app: &'a App, turn: Turn, say: &'a dyn Fn(&str)) -> Self {
        Self { app, turn, say, known: RefCell::default(), first_bases: RefCell::default(), sandbox: Cell::default() }
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
        self.first_bases.borrow_mut().entry(base.name.clone()).or_insert_with(|| base.commit.clone());
        let mut checked = Checked { green: None, red: None };
        for (place, result) in results.into_iter().enumerate() {
            let (Some(tree), Some(commands), TreeResult::Ended(runs)) = (trees.get(place), all.get(place), result)
            else {
                continue;
            };
            if green == Some(place) {
                let run = self.judge_by_base(tree, commands, base, self.judge(tree, commands, runs, base)?)?;
                match run.verdict {
                    Verdict::Passed => checked.green = Some((place, run)),
                    _ => checked.red = Some((place, run)),
                }
            } else if red == Some(place) && checked.red.is_none() {
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
        self.run_steps(&dir, &self.surroundings(&dir)?, &steps(tree, commands))
    }

    /// The first worktree for checks, at this commit of a unit's work.
    pub(super) fn worktree_of(&self, unit: &Unit, commit: &str) -> Result<PathBuf> {
        self.sandbox.set(self.sandbox.get().for_both(sandbox_of(self.app, unit)?));
        check_out(self.app, commit, 0)
    }

    /// Runs one command in a worktree for checks. Returns how it failed and the file with its output, `None` when it passes. Fails
    /// with `interrupted`.
    pub(super) fn run_in(&self, dir: &Path, command: &str, why: &str) -> Result<Option<(String, String)>> {
        let step = CheckStep { announcement: format!("{why}: {command}"), command: command.to_owned() };
        let failed = self.run_steps(dir, &self.surroundings(dir)?, &[step])?.pop().filter(|run| !run.passed());
        failed.map(|run| Ok((run.how.clone(), Ran::from(run).artifact(self.app)?))).transpose()
    }

    /// Whether a check passes on a commit; `None` when a command that prepares for it fails. `why` is shown before each
    /// command. Fails with `interrupted`.
    pub(super) fn passes(&self, commit: &str, command: &String, why: &str) -> Result<Option<bool>> {
        Ok(match self.try_on(commit, &of_config(false)(command), why)? {
            None => Some(true),
            Some(failure) => (!failure.is_prepare).then_some(false),
        })
    }

    /// Runs the commands of each stack in a worktree and process of its own.
    fn run_at_once(&self, trees: &[Tree<'_>], all: &[Vec<CheckCommand>]) -> Result<Vec<TreeResult>> {
        let parent = i32::try_from(std::process::id())?;
        let mut jobs = Vec::new();
        for (slot, (tree, commands)) in trees.iter().zip(all).enumerate() {
            let (dir, steps) = (check_out(self.app, &tree.candidate, slot)?, steps(tree, commands));
            let Surroundings { sandbox, env } = self.surroundings(&dir)?;
            jobs.push(CheckJob { parent, sandbox, env, dir, steps, limits: self.limits() });
        }
        let labels: Vec<String> = trees.iter().map(Tree::label).collect();
        let _slot = self.slot(&format!("checking {}", labels.join(", ")))?;
        parallel_checks::check_all(self.app, &jobs, self.say)
    }

    /// The checks in a worktree have ports of their own, as a lane has.
    fn surroundings(&self, dir: &Path) -> Result<Surroundings> {
        let mut env = lane_env::of_worktree(self.app, "landing", dir)?;
        env.push(check_slot::variable());
        let sandbox = match self.sandbox.get() {
            SandboxClass::Off => Vec::new(),
            class => work_sandbox::prefix_texts(self.app, class, Apart::Checkout(dir), &lane_env::names(&env))?,
        };
        Ok(Surroundings { sandbox, env })
    }

    /// A landing has one slot, however many trees it checks at once. Its place on the board says for what it waits.
    fn slot(&self, what: &str) -> Result<Option<Slot>> {
        let mut shown = None;
        check_slot::take(self.app, self.turn, what, None, |why| {
            (self.say)(why);
            shown = CheckLog::begin(&worktree_dir(self.app, 0), why);
        })
    }

    fn limits(&self) -> CheckLimits {
        let settings = &self.app.settings.land;
        CheckLimits { timeout: settings.timeout, retries: settings.retries }
    }

    fn run_steps(&self, dir: &Path, around: &Surroundings, steps: &[CheckStep]) -> Result<Vec<CommandRun>> {
        let mut runs = Vec::new();
        let mut tell = |progress: Progress| -> Result<(), StreamError> {
            match progress {
                Progress::Note(text) => (self.say)(&text),
                Progress::Ran(run) => runs.push(run),
            }
            Ok(())
        };
        let place = CheckPlace { dir, sandbox: &around.sandbox, env: &around.env };
        let _slot = steps.first().map(|first| self.slot(&first.announcement)).transpose()?;
        run_until_failure(&place, steps, self.limits(), &mut tell)?;
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
                let mut own = stack.iter().enumerate().filter(|(_, unit)| one.is_of(unit)).map(|(place, _)| place);
                let place = own.next().filter(|_| !stopped.stops_all && own.next().is_none());
                judged.verdict = Verdict::Stopped { stopped, place };
                return Ok(judged);
            }
            if one.is_prepare {
                continue;
            }
            let failure = if passed { None } else { Some(failure_of(self.app, one, &ran)?) };
            self.keep(self.tree(&tree.candidate)?, &one.command, failure);
            judged.ran.push((one.clone(), ran));
            if !passed {
                judged.verdict = Verdict::Failed;
            }
        }
        Ok(judged)
    }

    /// Runs the checks of the configuration whose scripts a stack rewrites once more, with the scripts of the base: a script that
    /// a lane rewrites does not judge the lane alone.
    fn judge_by_base(
        &self,
        tree: &Tree<'_>,
        commands: &[CheckCommand],
        base: &Base,
        mut judged: CheckRun,
    ) -> Result<CheckRun> {
        let first = self.first_bases.borrow().get(&base.name).cloned().unwrap_or_else(|| base.commit.clone());
        let rewritten = project_git(self.app)?.rewritten_between(&first, &tree.candidate)?;
        for one in commands.iter().filter(|one| one.is_config && !one.is_prepare) {
            let mut scripts = LandSettings::scripts_of(&one.command);
            scripts.retain(|path| rewritten.contains(path));
            if scripts.is_empty() {
                continue;
            }
            let dir = check_out(self.app, &tree.candidate, 0)?;
            Git::new(self.app.env.vars(), &dir).take_files(&first, &scripts)?;
            let why = format!("checking {} by {} of {}", tree.label(), scripts.join(", "), base.name);
            let step =
                |command: &String| CheckStep { announcement: format!("{why}: {command}"), command: command.clone() };
            let steps: Vec<CheckStep> = self.app.settings.land.prepare.iter().chain([&one.command]).map(step).collect();
            let mut runs = self.run_steps(&dir, &self.surroundings(&dir)?, &steps)?;
            let run = if runs.len() == steps.len() { runs.pop().filter(|run| !run.passed()) } else { None };
            if let Some(run) = run {
                judged.ran.push((CheckCommand { scripts, ..one.clone() }, Ran::from(run)));
                judged.verdict = Verdict::Failed;
                break;
            }
        }
        Ok(judged)
    }

    /// Records the checks of a stack as observed evidence of the kind `landing` on the tasks of one unit: the checks of
    /// the configuration, those of the unit's own tasks, and the one that failed.
    pub(super) fn record(&self, unit: &Unit, run: &CheckRun) -> Result<(Vec<LandCheckView>, Option<FailedCheck>)> {
        let (mut views, mut failed) = (Vec::new(), None);
        for (check, ran) in &run.ran {
            if ran.run.passed() && !check.is_config && !check.is_of(unit) {
                continue;
            }
            let (numbers, output) = record(self.app, unit, check, run, ran)?;
            let own = check.owners.iter().find(|(task, _)| unit.members.iter().any(|one| one.task.id == *task));
            let owner = own.or_else(|| check.owners.first().filter(|_| !check.is_config));
            views.push(LandCheckView {
                task_id: owner.map(|(task, _)| task.to_string()),
                name: owner.map(|(_, name)| name.clone()),
                command: check.command.clone(),
                result: if ran.run.passed() { EvidenceResult::Pass } else { EvidenceResult::Fail }.as_str(),
                flaky: ran.run.earlier.is_some() && ran.run.passed(),
                evidence: numbers.clone(),
            });
            if !ran.run.passed() {
                let name = match (own, owner) {
                    (Some((_, name)), _) => name.clone(),
                    (None, Some((task, name))) => format!("{name} of {task}"),
                    (None, None) => check.command.clone(),
                };
                failed = Some(FailedCheck {
                    name,
                    how: ran.run.how.clone(),
                    command: check.command.clone(),
                    is_config: check.is_config,
                    scripts: check.scripts.clone(),
                    owners: check.owners.iter().map(|(task, _)| task.clone()).collect(),
                    evidence: numbers.first().copied(),
                    output,
                    last_lines: end_of_output(&ran.run.output),
                });
            }
        }
        Ok((views, failed))
    }

    /// The cause of a failure, when it is not the work: the base fails alone, a program is missing, or the worktree
    /// could not be prepared.
    fn other_cause(&self, of: &str, base: &Base, one: &CheckCommand, ran: &Ran) -> Result<Option<StoppedLanding>> {
        // The base lacks the work that a task's own check tests, so it is not tried there.
        if !one.is_config && !ran.run.is_program_missing() {
            return Ok(None);
        }
        let (failure, is_base) = match self.try_on(&base.commit, one, &format!("trying {} alone", base.name))? {
            Some(failure) if one.is_config || failure.is_prepare || failure.is_program_missing => (failure, true),
            None if one.is_prepare => (failure_of(self.app, one, ran)?, false),
            _ => return Ok(None),
        };
        let stops_all = is_base && (one.is_config || failure.is_prepare);
        let cause = match &failure {
            failure if failure.is_prepare => StopCause::PrepareFailed,
            failure if failure.is_program_missing => StopCause::ProgramMissing,
            _ => StopCause::BaseRed,
        };
        let Failure { command, how, output, .. } = failure;
        let (of, base) = (of.to_owned(), base.name.clone());
        Ok(Some(StoppedLanding { of, base, command, cause, how, is_base, stops_all, output }))
    }

    /// How a command, or one that prepares for it, fails on a commit; `None` when it passes. `why` is shown before each command.
    /// A tree on which it has run is not tried again.
    fn try_on(&self, commit: &str, wanted: &CheckCommand, why: &str) -> Result<Option<Failure>> {
        let tree = self.tree(commit)?;
        let is_it = |one: &&KnownResult| one.tree == tree && one.command == wanted.command;
        if let Some(known) = self.known.borrow().iter().find(is_it) {
            return Ok(known.failure.clone());
        }
        let dir = check_out(self.app, commit, 0)?;
        let prepare: Vec<CheckCommand> = self.app.settings.land.prepare.iter().map(of_config(true)).collect();
        let before = prepare.iter().take_while(|one| !wanted.is_prepare || one.command != wanted.command);
        let (around, mut failure) = (self.surroundings(&dir)?, None);
        for one in before.chain([wanted]) {
            let step = CheckStep { announcement: format!("{why}: {}", one.command), command: one.command.clone() };
            let failed = self.run_steps(&dir, &around, &[step])?.pop().filter(|run| !run.passed());
            if let Some(run) = failed {
                failure = Some(failure_of(self.app, one, &Ran::from(run))?);
                break;
            }
        }
        self.keep(tree, &wanted.command, failure.clone());
        Ok(failure)
    }

    fn tree(&self, commit: &str) -> Result<String> {
        Ok(project_git(self.app)?.tree(commit)?)
    }

    fn keep(&self, tree: String, command: &str, failure: Option<Failure>) {
        self.known.borrow_mut().push(KnownResult { tree, command: command.to_owned(), failure });
    }
}

fn failure_of(app: &App, one: &CheckCommand, ran: &Ran) -> Result<Failure> {
    Ok(Failure {
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

impl CheckCommand {
    /// The name of the check of this task.
    fn name_of(&self, task: &TaskId) -> Option<&String> {
        self.owners.iter().find(|(owner, _)| owner == task).map(|(_, name)| name)
    }

    fn is_of(&self, unit: &Unit) -> bool {
        unit.members.iter().any(|member| self.name_of(&member.task.id).is_some())
    }
}

/// Records a check on the tasks of the unit that have it, else, and for a check of the configuration, on every task of the unit.
/// Returns the ids of the evidence, and the file with the output.
fn record(app: &App, unit: &Unit, check: &CheckCommand, run: &CheckRun, ran: &Ran) -> Result<(Vec<i64>, String)> {
    let all = || unit.members.iter().map(|one| &one.task.id);
    let mut tasks: Vec<&TaskId> = all().filter(|task| !check.is_config && check.name_of(task).is_some()).collect();
    if tasks.is_empty() {
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
                check: check.name_of(id).cloned(),
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
