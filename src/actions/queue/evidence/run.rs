//! Evidence that was seen: a program is run, and what became of it is recorded.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context as _, Result};
use sha2::{Digest, Sha256};

use super::insert::insert;
use crate::{
    actions::{
        Answer, App, IdempotencyKey,
        core::{app::stored_response, lookup, task_worktree},
    },
    domain::{
        Actor, Event, EventKind, Refusal, TaskId,
        evidence::{DEFAULT_KIND, Evidence, EvidenceResult},
        id::Label,
        rules::fencing::TaskWrite,
        task::Task,
        text_limits,
    },
    env::Timestamp,
    os::{
        files,
        git::Git,
        head_tail_buffer::HeadTailBuffer,
        process::{ProcessKey, ProcessStatus},
        run_streaming::{self, Program, ProgramExit, Stream, StreamError, StreamResult},
    },
    render::escape_controls,
    store::{ReadTx, WriteTx, events, requests, sessions, tasks},
    wire::EvidenceView,
};

/// How much of a program's output is kept.
const CAPTURE_LIMIT_BYTES: usize = 1024 * 1024;

/// What is to be run.
#[derive(Debug, Clone)]
pub enum CommandSpec {
    /// The task's own command for this check, which a person wrote as shell text.
    Check(Label),
    /// This program with these arguments; no shell reads them.
    Command(Vec<OsString>),
}

/// One run.
#[derive(Debug, Clone)]
pub struct EvidenceRun {
    /// The task it is evidence for.
    pub task: TaskId,
    /// What sort of evidence it is.
    pub kind: Option<Label>,
    /// What is to be run.
    pub command: CommandSpec,
    /// A sentence.
    pub summary: Option<String>,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

/// Gets the program's output as it comes.
pub type Relay = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

/// What the store said before the program ran.
struct TaskContext {
    dir: PathBuf,
    argv: Vec<OsString>,
    command: String,
    check: Option<String>,
    /// The epoch that must still be in force afterwards.
    epoch: Option<i64>,
}

/// Runs a program in the place of the task's work and records what became of it. With a `--request-id` the intention is
/// written before, so that a repeat never runs it twice. Who may record is asked before and again after.
///
/// # Errors
/// `invalid_value`, `not_found`, `stale_claim`, `request_open`, `program_not_found`, `interrupted`; nothing is then recorded.
pub fn run(app: &App, order: &EvidenceRun, relay: Relay) -> Result<Answer> {
    let summary = order.summary.as_deref().map(|summary| text_limits::check_line("summary", summary)).transpose()?;
    if order.timeout == Some(Duration::ZERO) {
        return Err(Refusal::invalid("timeout", "must be longer than nothing").into());
    }
    let scene = match start(app, order)? {
        Started::AlreadyAnswered(answer) => return Ok(answer),
        Started::Ready(scene) => scene,
    };
    let git = Git::new(app.env.vars(), &scene.dir);
    let commit = git.clean_head();
    let kept = Arc::new(Mutex::new(HeadTailBuffer::new(CAPTURE_LIMIT_BYTES)));
    let seen = Arc::clone(&kept);
    let program = Program { argv: &scene.argv, dir: &scene.dir, timeout: order.timeout, merge_output: false };
    let ran = run_streaming::run(&program, move |stream, bytes| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        relay(stream, bytes);
    })
    .inspect_err(|error| discard_intent(app, error))?;
    // A tree that changed meanwhile is not the one that was tested.
    let commit = commit.filter(|before| git.clean_head().as_ref() == Some(before));
    let output = kept.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    let artifact = store_output(app, &output)?;
    let written = app.mutate(|tx| {
        let task = lookup::task(tx, &order.task)?;
        let actor = Actor { epoch: scene.epoch, ..app.actor.clone() };
        lookup::check_authority(tx, &task, &actor, TaskWrite::AddRecord)?;
        let record = insert(
            tx,
            &task,
            Evidence {
                id: 0,
                task: task.id.clone(),
                session: app.actor.session.clone(),
                kind: order.kind.as_ref().map_or(DEFAULT_KIND, Label::as_str).to_owned(),
                result: if ran.exit == ProgramExit::Exited(0) { EvidenceResult::Pass } else { EvidenceResult::Fail },
                command: Some(scene.command.clone()),
                check: scene.check.clone(),
                exit_code: match ran.exit {
                    ProgramExit::Exited(code) => Some(i64::from(code)),
                    ProgramExit::Signaled(_) | ProgramExit::TimedOut => None,
                },
                duration_ms: Some(i64::try_from(ran.elapsed.as_millis()).unwrap_or(i64::MAX)),
                artifact: Some(artifact.to_string_lossy().into_owned()),
                sha256: Some(Sha256::digest(&output).iter().map(|byte| format!("{byte:02x}")).collect()),
                commit: commit.clone(),
                summary: summary.clone().or_else(|| default_summary(&ran, order.timeout)),
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

enum Started {
    AlreadyAnswered(Answer),
    Ready(TaskContext),
}

fn start(app: &App, order: &EvidenceRun) -> Result<Started> {
    let Some(request) = &app.idempotency_key else {
        // A session gives a sign of life before it is busy for long; nobody else has anything to write yet.
        return match &app.actor.session {
            Some(_) => app.transaction(|tx| {
                touch_session(app, tx).and_then(|()| task_context(app, tx, order).map(Started::Ready))
            }),
            None => app.read(|tx| task_context(app, tx, order).map(Started::Ready)),
        };
    };
    app.transaction(|tx| {
        touch_session(app, tx)?;
        if let Some(answer) = stored_response(tx, request)? {
            return Ok(Started::AlreadyAnswered(answer));
        }
        if requests::find(tx, &request.id)?.is_some() {
            return Err(request_open(tx, order, request)?.into());
        }
        let scene = task_context(app, tx, order)?;
        record_intent(tx, order, request, &scene)?;
        Ok(Started::Ready(scene))
    })
}

/// The sign of life that every change by a session is.
fn touch_session(app: &App, tx: &WriteTx<'_>) -> Result<()> {
    if let Some(session) = &app.actor.session {
        lookup::session(tx, session)?;
        sessions::touch(tx, session)?;
        tasks::renew_leases(tx, &app.actor.name, None)?;
    }
    Ok(())
}

fn task_context(app: &App, tx: &ReadTx<'_>, order: &EvidenceRun) -> Result<TaskContext> {
    let task = lookup::task(tx, &order.task)?;
    lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
    let (argv, command, check) = match &order.command {
        CommandSpec::Check(name) => {
            let command = find_check(&task, name)?;
            (vec!["/bin/sh".into(), "-c".into(), command.clone().into()], command, Some(name.to_string()))
        }
        CommandSpec::Command(argv) => {
            let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            // As a person would type it; what a terminal would obey is shown.
            let typed = escape_controls(&shell_words::join(&words));
            (argv.clone(), text_limits::check_body("command", &typed)?, None)
        }
    };
    let holds = task.state.claim().is_some_and(|claim| claim.claimant == app.actor.name);
    // Whoever holds the task now tests their own state of it: it must be theirs still when the program has ended.
    let epoch = app.actor.epoch.or(holds.then_some(task.epoch));
    Ok(TaskContext { dir: task_worktree::dir(app, tx, &task)?, argv, command, check, epoch })
}

fn find_check(task: &Task, name: &Label) -> Result<String, Refusal> {
    let found = task.fields.checks.iter().find(|check| check.name == *name);
    found.map(|check| check.command.clone()).ok_or_else(|| Refusal::NotFound {
        noun: "check",
        id: name.to_string(),
        near: task.fields.checks.iter().map(|check| check.name.to_string()).collect(),
    })
}

/// Writes down that a program will be run for this request, and by which process.
fn record_intent(tx: &WriteTx<'_>, order: &EvidenceRun, request: &IdempotencyKey, scene: &TaskContext) -> Result<()> {
    requests::upsert(tx, &request.id, &request.fingerprint, None)?;
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let started = own.as_ref().and_then(|own| i64::try_from(own.started).ok());
    tx.record(
        &Event::new(EventKind::EvidenceStarted)
            .task(&order.task)
            .with("request", request.id.as_str())
            .with("command", scene.command.as_str())
            .with("pid", own.as_ref().map(|own| i64::from(own.pid)))
            .with("pid_started", started)
            .with("boot", own.map(|own| own.boot)),
    )?;
    Ok(())
}

/// Whether this event is the beginning of what `request` asked for.
pub(in crate::actions) fn is_start_of(event: &events::LoggedEvent, request: &str) -> bool {
    event.data.get("request").and_then(|id| id.as_str()) == Some(request)
}

/// What became of an intention that has no answer, told from the event of its beginning; and whether it goes on.
pub(in crate::actions) fn intent_state(begun: Option<&events::LoggedEvent>) -> (String, bool) {
    let key = begun.and_then(|event| {
        let number = |name: &str| event.data.get(name)?.as_i64();
        ProcessKey::from_record(number("pid"), number("pid_started"), event.data.get("boot")?.as_str())
    });
    let at = |how: &str| begun.map(|event| format!(" {how} {}", event.at)).unwrap_or_default();
    match key.as_ref().map(ProcessKey::status) {
        Some(ProcessStatus::Alive) => (format!("it is running{}", at("since")), true),
        Some(ProcessStatus::Gone(_)) => (format!("it was begun{} and ended without a record", at("at")), false),
        Some(ProcessStatus::Unknown(_)) | None => ("whether it is running cannot be told".to_owned(), false),
    }
}

fn request_open(tx: &ReadTx<'_>, order: &EvidenceRun, request: &IdempotencyKey) -> Result<Refusal> {
    let begun = events::newest_matching(
        tx,
        &order.task,
        |kind| kind == EventKind::EvidenceStarted,
        |event| is_start_of(event, &request.id),
    )?;
    let (became, running) = intent_state(begun.as_ref());
    Ok(Refusal::RequestPending { id: request.id.clone(), became, running })
}

/// A program that was never started leaves no intention behind.
fn discard_intent(app: &App, error: &StreamError) {
    if let Some(request) = app.idempotency_key.as_ref().filter(|_| error.is_not_started()) {
        // When this fails, a repeat is told that the request is open: a nuisance, no harm.
        let _ = app.transaction(|tx| Ok(requests::delete_open(tx, &request.id)?));
    }
}

/// Keeps the output where only its owner reads it.
fn store_output(app: &App, output: &[u8]) -> Result<PathBuf> {
    let directory = app.project.state.join("evidence");
    let name = format!("{}.log", app.env.ids.uuid(app.env.now()));
    let path = directory.join(name);
    let write = |directory: &Path| {
        files::private_dir(&app.project.state)?;
        files::private_dir(directory)?;
        files::write_atomic(&path, output, 0o600)
    };
    write(&directory).with_context(|| format!("cannot keep the output in {}", directory.display()))?;
    Ok(path)
}

fn default_summary(ran: &StreamResult, timeout: Option<Duration>) -> Option<String> {
    match ran.exit {
        ProgramExit::Exited(_) => None,
        ProgramExit::Signaled(signal) => Some(format!("ended by signal {signal}")),
        ProgramExit::TimedOut => {
            Some(format!("ended after its time of {}", timeout.map(crate::config::show_duration).unwrap_or_default()))
        }
    }
}

fn answer(record: &Evidence, ran: &StreamResult) -> Result<Answer> {
    let how = match ran.exit {
        ProgramExit::Exited(code) => format!("exit {code}"),
        ProgramExit::Signaled(signal) => format!("signal {signal}"),
        ProgramExit::TimedOut => "timed out".to_owned(),
    };
    let at = record.commit.as_deref().and_then(|commit| commit.get(..12)).map(|commit| format!(" at {commit}"));
    let line = format!(
        "recorded evidence {} on {}: {} {}, {how}{}",
        record.id,
        record.task,
        record.kind,
        record.result,
        at.as_deref().unwrap_or_default()
    );
    let mut answer = Answer::new(&EvidenceView::from(record), record.id, line)?;
    if record.commit.is_none() {
        answer = answer.note("the record names no commit: there is none, or the tree is not clean");
    }
    if ran.left_processes {
        answer = answer.note("the program left processes behind; they were ended");
    }
    Ok(answer)
}

/// Whether an answer of [`run`] says that the program passed.
#[must_use]
pub fn passed(answer: &Answer) -> bool {
    answer.document.get("result").and_then(|result| result.as_str()) == Some(EvidenceResult::Pass.as_str())
}
