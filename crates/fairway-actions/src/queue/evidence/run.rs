//! Observed evidence: run a program and record its result.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::insert;
use crate::core::check_slot::{self, Turn};
use crate::core::work_sandbox::{self, Apart, WorkSandbox};
use crate::core::{errors, lane_env, lookup};
use crate::queue::task_worktree;
use crate::{Answer, App, IdempotencyKey};
use fairway_core::domain::evidence::{DEFAULT_KIND, Evidence, EvidenceResult};
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Actor, Event, EventKind, LaneName, Refusal, TaskId, commit_id, text_limits};
use fairway_core::env::Timestamp;
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::files;
use fairway_core::os::git::Git;
use fairway_core::os::head_tail_buffer::HeadTailBuffer;
use fairway_core::os::process::{ProcessKey, ProcessStatus};
use fairway_core::os::run_streaming::{self, Stream, StreamError, StreamResult, StreamedProgram};
use fairway_core::render::escape_controls;
use fairway_core::store::{ReadTx, WriteTx, events};

/// The maximum size of the stored output; the middle of a longer output is dropped.
const CAPTURE_LIMIT_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone)]
pub enum CommandSpec {
    /// The task's check of this name, whose command a person wrote as shell text.
    Check(Label),
    /// A program with its arguments, run without a shell.
    Command(Vec<OsString>),
}

impl CommandSpec {
    /// It as arguments of `fairway evidence run`.
    pub fn words(&self) -> String {
        match self {
            Self::Check(name) => format!("--check {name}"),
            Self::Command(argv) => {
                let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
                format!("-- {}", shell_words::join(words))
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct EvidenceRun {
    pub task: TaskId,
    pub kind: Option<Label>,
    pub command: CommandSpec,
    pub summary: Option<String>,
    /// The maximum run time.
    pub timeout: Option<Duration>,
    pub turn: Turn,
}

/// Receives the program's output while it runs.
pub type Relay = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

/// The task's data in the store before the program starts.
struct TaskContext {
    dir: PathBuf,
    argv: Vec<OsString>,
    command: String,
    check: Option<String>,
    /// The claim's epoch, which must be the same when the program has ended.
    epoch: Option<i64>,
}

/// Runs a program in the task's worktree and records its result. With a `--request-id` an intent is written first, so
/// that a repeat never runs the program twice. Nothing is recorded when the call fails.
///
/// # Errors
/// `lane_elsewhere`, `request_open`, `program_not_found`, `interrupted`.
pub fn run(app: &App, request: &EvidenceRun, relay: Relay) -> Result<Answer> {
    let summary = request.summary.as_deref().map(|summary| text_limits::check_line("summary", summary)).transpose()?;
    if request.timeout == Some(Duration::ZERO) {
        return Err(Refusal::invalid("timeout", "must be greater than zero").into());
    }
    let (sandbox, lane) =
        app.read(|tx| Ok((sandbox(app, tx, &request.task)?, lane_of_work(app, tx, &request.task)?)))?;
    // The lane may get its ports now, which takes a lock.
    let of_lane = lane.as_ref().map(|(name, dir)| lane_env::of_worktree(app, name.as_str(), dir)).transpose()?;
    let env = [of_lane.unwrap_or_default(), vec![check_slot::variable()]].concat();
    let prefix = sandbox
        .map(|own| work_sandbox::prefix(app, own.class, Apart::Lane(&own.lane), &lane_env::names(&env)))
        .transpose()?;
    let context = match start(app, request)? {
        Started::AlreadyAnswered(answer) => return Ok(answer),
        Started::Ready(context) => context,
    };
    let argv = [prefix.unwrap_or_default(), context.argv].concat();
    let what = format!("{} runs '{}'", request.task, context.command);
    let lane = lane.as_ref().map(|(name, _)| name);
    let slot = check_slot::take(app, request.turn, &what, lane, |why| app.progress.note(why))?;
    let git = Git::new(app.env.vars(), &context.dir);
    let commit = git.clean_head();
    let kept = Arc::new(Mutex::new(HeadTailBuffer::new(CAPTURE_LIMIT_BYTES)));
    let seen = Arc::clone(&kept);
    let program = StreamedProgram {
        argv: &argv,
        env: &env,
        dir: &context.dir,
        timeout: request.timeout,
        merge_output: false,
        is_alone: true,
    };
    let ran = run_streaming::run(&program, move |stream, bytes| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        relay(stream, bytes);
    })
    .inspect_err(|error| discard_intent(app, error))?;
    drop(slot);
    // If the tree changed meanwhile, no commit names the tested tree.
    let commit = commit.filter(|before| git.clean_head().as_ref() == Some(before));
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    let artifact = store_output(app, &output)?;
    let written = app.mutate(|tx| {
        let task = lookup::task(tx, &request.task)?;
        let actor = Actor { epoch: context.epoch, ..app.actor.clone() };
        lookup::check_authority(tx, &task, &actor, TaskWrite::AddRecord)?;
        let record = insert(
            tx,
            &task,
            Evidence {
                id: 0,
                task: task.id.clone(),
                session: app.actor.session.clone(),
                kind: request.kind.as_ref().map_or(DEFAULT_KIND, Label::as_str).to_owned(),
                result: if ran.exit == ExitReason::Code(0) { EvidenceResult::Pass } else { EvidenceResult::Fail },
                command: Some(context.command.clone()),
                check: context.check.clone(),
                exit_code: match ran.exit {
                    ExitReason::Code(code) => Some(i64::from(code)),
                    ExitReason::Signal(_) | ExitReason::TimedOut => None,
                },
                duration_ms: Some(i64::try_from(ran.elapsed.as_millis()).unwrap_or(i64::MAX)),
                artifact: Some(artifact.to_string_lossy().into_owned()),
                sha256: Some(sha256_hex(&output)),
                commit: commit.clone(),
                summary: summary.clone().or_else(|| default_summary(&ran, request.timeout)),
                observed: true,
                created_at: Timestamp::from_millis(0),
            },
            None,
        )?;
        answer(&record, &ran)
    });
    if written.is_err() {
        let _ = fs::remove_file(&artifact);
    }
    written
}

/// The sandbox in which the program runs; `None` without one. A session in a sandbox may only run programs in its own lane.
/// Fails with `lane_mismatch`.
fn sandbox(app: &App, tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<WorkSandbox>> {
    let task = lookup::task(tx, id)?;
    let Some(own) = work_sandbox::of_session(tx, app.actor.session.as_ref())? else {
        return Ok(work_sandbox::of_task(tx, &task)?);
    };
    let lane = lookup::lane(tx, &own.lane)?;
    let dir = task_worktree::of_work(app, tx, &task)?;
    if dir.here().map(Path::as_os_str) == lane.worktree.as_ref().map(OsStr::new) {
        return Ok(Some(own));
    }
    let wants = task.fields.lane.unwrap_or_else(|| own.lane.clone());
    Err(Refusal::LaneMismatch { task: task.id, wants, have: own.lane }.into())
}

/// The task's lane and its worktree; `None` when the work is done elsewhere.
fn lane_of_work(app: &App, tx: &ReadTx<'_>, id: &TaskId) -> Result<Option<(LaneName, PathBuf)>> {
    let task = lookup::task(tx, id)?;
    let dir = task_worktree::of_work(app, tx, &task)?;
    let (Some(lane), Some(dir)) = (lookup::lane_of(tx, &task)?, dir.here()) else { return Ok(None) };
    let is_there = lane.worktree.as_ref().map(OsStr::new) == Some(dir.as_os_str());
    Ok(is_there.then(|| (lane.name, dir.to_owned())))
}

enum Started {
    AlreadyAnswered(Answer),
    Ready(TaskContext),
}

fn start(app: &App, request: &EvidenceRun) -> Result<Started> {
    let Some(key) = &app.idempotency_key else {
        // A session's heartbeat is written before the program runs for long. Another actor has nothing to write yet.
        return match &app.actor.session {
            Some(_) => app
                .transaction(|tx| app.record_act(tx).and_then(|()| task_context(app, tx, request).map(Started::Ready))),
            None => app.read(|tx| task_context(app, tx, request).map(Started::Ready)),
        };
    };
    app.transaction(|tx| {
        app.record_act(tx)?;
        let previous = || intent_state_of(tx, &request.task, &key.id);
        if let Some(answer) = key.record_intent(tx, previous)? {
            return Ok(Started::AlreadyAnswered(answer));
        }
        let context = task_context(app, tx, request)?;
        record_start(tx, request, key, &context)?;
        Ok(Started::Ready(context))
    })
}

fn task_context(app: &App, tx: &ReadTx<'_>, request: &EvidenceRun) -> Result<TaskContext> {
    let task = lookup::task(tx, &request.task)?;
    lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
    let (argv, command, check) = match &request.command {
        CommandSpec::Check(name) => {
            let command = find_check(&task, name)?;
            (vec!["/bin/sh".into(), "-c".into(), command.clone().into()], command, Some(name.to_string()))
        }
        CommandSpec::Command(argv) => {
            let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            // Quoted for a shell, with terminal controls escaped.
            let typed = escape_controls(&shell_words::join(&words));
            (argv.clone(), text_limits::check_body("command", &typed)?, None)
        }
    };
    let holds = task.state.claim().is_some_and(|claim| app.actor.is_named(&claim.claimant));
    // A claimant tests their own work: the claim must still be theirs when the program has ended.
    let epoch = app.actor.epoch.or(holds.then_some(task.epoch));
    let dir = task_worktree::dir(app, tx, &task)?;
    let id = task.id.as_str();
    let words = match &check {
        Some(check) => vec!["evidence", "run", id, "--check", check],
        None => vec!["evidence", "run", id, "--", "COMMAND"],
    };
    match (dir.here(), dir.refusal(app, tx, &words)?) {
        (Some(dir), _) => Ok(TaskContext { dir: dir.to_owned(), argv, command, check, epoch }),
        (None, Some(refusal)) => Err(refusal.into()),
        (None, None) => Err(errors::internal("a task has no directory")),
    }
}

fn find_check(task: &Task, name: &Label) -> Result<String, Refusal> {
    let found = task.fields.checks.iter().find(|check| check.name == *name);
    found.map(|check| check.command.clone()).ok_or_else(|| Refusal::NotFound {
        noun: "check",
        id: name.to_string(),
        near: task.fields.checks.iter().map(|check| check.name.to_string()).collect(),
    })
}

/// Records that the program starts, with this process: later it shows whether the program still runs.
fn record_start(tx: &WriteTx<'_>, request: &EvidenceRun, key: &IdempotencyKey, context: &TaskContext) -> Result<()> {
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let started = own.as_ref().and_then(|own| i64::try_from(own.started).ok());
    tx.record(
        &Event::new(EventKind::EvidenceStarted)
            .task(&request.task)
            .with("request", key.id.as_str())
            .with("command", context.command.as_str())
            .with("pid", own.as_ref().map(|own| i64::from(own.pid)))
            .with("pid_started", started)
            .with("boot", own.map(|own| own.boot)),
    )?;
    Ok(())
}

pub(crate) fn is_start_of(event: &events::LoggedEvent, request: &str) -> bool {
    event.data.get("request").and_then(|id| id.as_str()) == Some(request)
}

/// Describes an `evidence run` whose result was never recorded, from the event of its start: a text for people, and whether
/// the program is known to be running still.
pub(crate) fn intent_state(begun: Option<&events::LoggedEvent>) -> (String, bool) {
    let key = begun.and_then(|event| {
        let number = |name: &str| event.data.get(name)?.as_i64();
        ProcessKey::from_record(number("pid"), number("pid_started"), event.data.get("boot")?.as_str())
    });
    let at = |how: &str| begun.map(|event| format!(" {how} {}", event.at)).unwrap_or_default();
    match key.as_ref().map(ProcessKey::status) {
        Some(ProcessStatus::Alive) => (format!("it is running{}", at("since")), true),
        Some(ProcessStatus::Gone(_)) => (format!("it started{} and ended without a record", at("at")), false),
        Some(ProcessStatus::Unknown(_)) | None => ("it is unknown whether it is running".to_owned(), false),
    }
}

fn intent_state_of(tx: &ReadTx<'_>, task: &TaskId, request: &str) -> Result<(String, bool)> {
    let started = events::newest_matching(
        tx,
        task,
        |kind| kind == EventKind::EvidenceStarted,
        |event| is_start_of(event, request),
    )?;
    Ok(intent_state(started.as_ref()))
}

/// Deletes the intent when the program never started, so that a repeat may try again.
fn discard_intent(app: &App, error: &StreamError) {
    if let Some(key) = app.idempotency_key.as_ref().filter(|_| error.is_not_started()) {
        // If this fails, a repeat gets `request_open`, which is safe.
        let _ = app.transaction(|tx| key.discard_intent(tx));
    }
}

pub(crate) fn store_output(app: &App, output: &[u8]) -> Result<PathBuf> {
    let directory = app.project.state.join("evidence");
    let name = format!("{}.log", app.env.ids.uuid(app.env.now()));
    let path = directory.join(name);
    let write = |directory: &Path| {
        files::private_dir(&app.project.state)?;
        files::private_dir(directory)?;
        files::write_atomic(&path, output, 0o600)
    };
    write(&directory).with_context(|| format!("cannot write the output to {}", directory.display()))?;
    Ok(path)
}

/// How a program with this time limit ended, in words.
pub(crate) fn how(exit: ExitReason, timeout: Duration) -> String {
    match exit {
        ExitReason::Code(code) => format!("exit {code}"),
        ExitReason::Signal(signal) => format!("signal {signal}"),
        ExitReason::TimedOut => format!("timed out after {}", fairway_core::config::show_duration(timeout)),
    }
}

fn default_summary(ran: &StreamResult, timeout: Option<Duration>) -> Option<String> {
    match ran.exit {
        ExitReason::Code(_) => None,
        ExitReason::Signal(signal) => Some(format!("killed by signal {signal}")),
        ExitReason::TimedOut => {
            Some(format!("timed out after {}", timeout.map(fairway_core::config::show_duration).unwrap_or_default()))
        }
    }
}

fn answer(record: &Evidence, ran: &StreamResult) -> Result<Answer> {
    let how = match ran.exit {
        ExitReason::Code(code) => format!("exit {code}"),
        ExitReason::Signal(signal) => format!("signal {signal}"),
        ExitReason::TimedOut => "timed out".to_owned(),
    };
    let at = record.commit.as_deref().map(|commit| format!(" at {}", commit_id::short(commit)));
    let line = format!(
        "recorded evidence {} on {}: {} {}, {how}{}",
        record.id,
        record.task,
        record.kind,
        record.result,
        at.as_deref().unwrap_or_default()
    );
    let mut answer = Answer::new(record, record.id, line)?;
    if record.commit.is_none() {
        answer = answer.note("no commit recorded: there is none, or the worktree has changes");
    }
    if ran.left_processes {
        answer = answer.note("the program left processes behind; they were killed");
    }
    Ok(answer)
}

/// Whether an answer of [`run`] says that the program succeeded.
pub fn passed(answer: &Answer) -> bool {
    answer.document.get("result").and_then(|result| result.as_str()) == Some(EvidenceResult::Pass.as_str())
}
