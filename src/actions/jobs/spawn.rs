//! Asking for a run.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;

use super::{event, find, launch_supervisor, own_process, poll, queue_waiter, scheduler, wait};
use crate::{
    actions::{
        Answer, App,
        core::{errors, keepalive, lookup, path_limits},
    },
    domain::{
        EventKind, Refusal, SessionId,
        job::{DEFAULT_OUTPUT_BYTES, Job, JobId, JobStatus, RecoveryPolicy, TerminalSize},
        secrets, text_limits,
        watcher::Watcher,
    },
    env::{Timestamp, vars},
    os::{host, lock::InheritableLock},
    render::escape_controls,
    store::{StoreError, WriteTx, job_output::OutputStore, jobs, sessions, tasks},
    supervisor::{JobDir, job_dir::StartSpec, watchers},
    wire::{JobPollView, JobSpawnView},
};

/// What is to be run.
#[derive(Debug, Clone)]
pub enum CommandSpec {
    /// Shell text.
    Shell(String),
    /// A program and its arguments, exactly.
    Program(Vec<OsString>),
}

/// A run that is asked for.
#[derive(Debug, Clone)]
pub struct SpawnRequest {
    /// What.
    pub command: CommandSpec,
    /// Whether whoever asks goes on meanwhile.
    pub background: bool,
    /// The size of its terminal, when it is to have one.
    pub pty: Option<TerminalSize>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// How much of its output is kept, in bytes.
    pub max_output_bytes: Option<u64>,
    /// What is looked for in its output.
    pub watch: Vec<Watcher>,
    /// Under which key its messages wait; by default the acting session's.
    pub session: Option<SessionId>,
    /// Its queue: by default the session's; an empty one is none.
    pub queue: Option<String>,
    /// Where it runs; by default here.
    pub cwd: Option<PathBuf>,
    /// What its environment has besides ours, or instead; `None` unsets.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// What it reads; by default nothing.
    pub stdin: Option<Vec<u8>>,
    /// What becomes of it when its supervisor dies.
    pub recovery: RecoveryPolicy,
    /// How long to wait for its end before answering.
    pub yield_for: Option<Duration>,
}

impl SpawnRequest {
    /// The usual run: in the background, without anything special.
    #[must_use]
    pub const fn new(what: CommandSpec) -> Self {
        Self {
            command: what,
            background: true,
            pty: None,
            timeout: None,
            max_output_bytes: None,
            watch: Vec::new(),
            session: None,
            queue: None,
            cwd: None,
            env: Vec::new(),
            stdin: None,
            recovery: RecoveryPolicy::Requeue,
            yield_for: None,
        }
    }
}

/// Asks for a run; begins it when its queue is free and there is room. What runs in the foreground is waited for, and so is
/// what is to yield; when it has ended by then the answer is what `poll` gives.
///
/// # Errors
/// `usage`, `invalid_value`, `not_found` for an unknown acting session; as the stores or the run's directory fail.
pub fn spawn(app: &App, order: &SpawnRequest) -> Result<Answer> {
    let answer = submit(app, order)?;
    let Some(polled) = await_result(app, order, &answer)? else { return pending_response(app, order, answer) };
    let line = format!("run {} {}", polled.run.run_id, polled.run.status);
    Answer::new(&polled, &polled.run.run_id, line)
}

/// The end of a run that [`begin()`] has answered, when it is waited for and comes in time.
///
/// # Errors
/// As the stores fail.
pub fn await_result(app: &App, order: &SpawnRequest, answer: &Answer) -> Result<Option<JobPollView>> {
    let limit = match (order.background, order.yield_for) {
        (false, limit) => limit,
        (true, Some(limit)) => Some(limit),
        (true, None) => return Ok(None),
    };
    match wait::wait(app, &answer.ids, limit, |_| ()) {
        Ok(_) => {}
        Err(error) if matches!(error.downcast_ref(), Some(Refusal::WaitTimedOut { .. })) => return Ok(None),
        Err(error) => return Err(error),
    }
    let job = answer.ids.first().cloned().unwrap_or_default();
    poll::poll(app, &poll::PollRequest { job: job, since_seq: 0, wait: None, until: None }).map(Some)
}

/// The answer when the end is not waited for, or did not come in time: as the run stands by then.
///
/// # Errors
/// As the store fails.
pub fn pending_response(app: &App, order: &SpawnRequest, begun: Answer) -> Result<Answer> {
    let Some(job) = begun.ids.first().filter(|_| order.yield_for.is_some()) else { return Ok(begun) };
    let now = app.read(|tx| answer(&find::job(tx, job)?))?;
    Ok(Answer { notes: begun.notes, line: begun.line, ..now })
}

/// Whether a run has done what it was to do.
#[must_use]
pub fn succeeded(polled: &JobPollView) -> bool {
    polled.run.status == JobStatus::Succeeded.as_str()
}

/// Asks for a run and answers at once.
///
/// # Errors
/// As for [`spawn`].
pub fn submit(app: &App, order: &SpawnRequest) -> Result<Answer> {
    let (draft, start) = prepare(app, order)?;
    reject_self_wait(app, &draft)?;
    let dir = JobDir::of(&app.project.jobs_dir(), &draft.id);
    let made = create_locked_dir(order, &dir, &start)?;
    let mut taken = None;
    let answer = match store_watchers(app, order, &draft.id) {
        Ok(()) => enqueue(app, order, draft.clone(), &mut taken),
        Err(error) => Err(error),
    };
    // A repeat of a request was answered with the first one's run: there is nothing of ours then.
    let ours = answer.as_ref().is_ok_and(|answer| answer.ids.first() == Some(&draft.id.to_string()));
    if !ours {
        let _ = dir.remove();
        remove_watchers(app, order, &draft.id);
        return answer;
    }
    match taken {
        Some(job) => {
            let begun = launch_supervisor::start_supervisor(app, &job, &start, made)?;
            queue_waiter::wake(app);
            if begun { answer } else { app.read(|tx| self::answer(&find::job(tx, &job.id.to_string())?)) }
        }
        None => {
            // The lock first: whoever waits takes it. The run is asked for by now, whatever becomes of this.
            drop(made);
            match queue_waiter::ensure_running(app) {
                Ok(()) => answer,
                Err(error) => answer.map(|answer| answer.note(format!("warning: {error:#}"))),
            }
        }
    }
}

/// Refuses what would wait for ever: a run's command that waits for a run behind its own in the same queue.
fn reject_self_wait(app: &App, draft: &Job) -> Result<()> {
    let outer = app.env.var(vars::FAIRWAY_EXEC_RUN).and_then(|id| JobId::parse(id).ok());
    let (Some(outer), Some(queue), false) = (outer, &draft.queue, draft.background) else { return Ok(()) };
    let outer = app.read(|tx| Ok(jobs::find(tx, &outer)?))?;
    let Some(outer) = outer.filter(|outer| outer.status.is_active() && outer.queue.as_ref() == Some(queue)) else {
        return Ok(());
    };
    let queue = escape_controls(queue);
    let why = format!(
        "it would wait in the queue '{queue}' behind the run {}, which waits for it: give it another queue (--queue '')",
        outer.id.short()
    );
    Err(Refusal::Usage { why }.into())
}

/// The run as it will be written, and what it is started with.
fn prepare(app: &App, order: &SpawnRequest) -> Result<(Job, StartSpec)> {
    let (argv, command) = argv_and_text(&order.command)?;
    watchers::compile(&order.watch)?;
    let cwd = working_dir(app, order.cwd.as_deref())?;
    let id = JobId::new(app.env.ids.uuid(app.env.now()));
    let env = environment(app, &order.env, &id)?;
    let session = order.session.clone().or_else(|| app.actor.session.clone());
    let queue = match &order.queue {
        Some(queue) if queue.is_empty() => None,
        Some(queue) => Some(text_limits::check_line("queue", queue)?),
        None => session.as_ref().map(ToString::to_string),
    };
    let timeout_ms = order.timeout.map(|timeout| {
        if timeout.is_zero() {
            return Err(Refusal::invalid("timeout", "must be longer than nothing"));
        }
        Ok(i64::try_from(timeout.as_millis().max(1)).unwrap_or(i64::MAX))
    });
    let most = order.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
    let most = i64::try_from(most).ok().filter(|most| *most > 0);
    if order.stdin.is_some() && order.pty.is_some() {
        let why = "stdin and a pty do not go together: type into the terminal with fairway exec send-keys".into();
        return Err(Refusal::Usage { why }.into());
    }
    if order.stdin.as_ref().is_some_and(|stdin| stdin.len() > text_limits::MAX_BODY_BYTES) {
        return Err(Refusal::invalid("stdin", format!("is longer than {} bytes", text_limits::MAX_BODY_BYTES)).into());
    }
    let never = Timestamp::from_millis(0);
    let job = Job {
        seq: 0,
        id,
        session,
        queue,
        status: JobStatus::Queued,
        command,
        cwd: cwd.to_string_lossy().into_owned(),
        background: order.background,
        pty: order.pty,
        timeout_ms: timeout_ms.transpose()?,
        max_output_bytes: most.ok_or_else(|| Refusal::invalid("max_output_bytes", "must be a number above 0"))?,
        recovery: order.recovery,
        attempt: 1,
        host: host::identity(),
        boot_id: host::boot_id(),
        supervisor_pid: None,
        supervisor_started: None,
        pid: None,
        pid_started: None,
        exit_code: None,
        signal: None,
        output_bytes: 0,
        truncated: false,
        error_message: None,
        actor: app.actor.name.clone(),
        queued_at: never,
        started_at: None,
        finished_at: None,
        updated_at: never,
    };
    Ok((job, StartSpec { cwd, argv, env }))
}

/// The program with its arguments, and both as a person would type them.
fn argv_and_text(what: &CommandSpec) -> Result<(Vec<OsString>, String), Refusal> {
    let (argv, typed) = match what {
        CommandSpec::Shell(text) if text.trim().is_empty() => {
            return Err(Refusal::invalid("command", "must not be empty"));
        }
        CommandSpec::Shell(text) => (vec!["/bin/sh".into(), "-c".into(), OsString::from(text)], text.clone()),
        CommandSpec::Program(argv) if argv.first().is_none_or(|program| program.is_empty()) => {
            return Err(Refusal::invalid("command", "must not be empty"));
        }
        CommandSpec::Program(argv) => {
            let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (argv.clone(), shell_words::join(&words))
        }
    };
    if argv.iter().any(|word| has_nul(word)) {
        return Err(Refusal::invalid("command", "holds a NUL byte, which no program can be given"));
    }
    // What a terminal would obey is shown, what is secret is not: neither here nor in the store.
    Ok((argv, text_limits::check_body("command", &secrets::mask(&escape_controls(&typed)))?))
}

fn has_nul(word: &OsStr) -> bool {
    word.as_bytes().contains(&0)
}

/// The directory that the command runs in.
fn working_dir(app: &App, cwd: Option<&Path>) -> Result<PathBuf, Refusal> {
    let place = cwd.map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd));
    path_limits::check_path("cwd", &place)?;
    if has_nul(place.as_os_str()) || !place.is_dir() {
        return Err(Refusal::invalid(
            "cwd",
            format!("{} is not a directory", escape_controls(&place.to_string_lossy())),
        ));
    }
    Ok(place)
}

/// The command's environment: ours, what was asked for, and whose command it is.
fn environment(
    app: &App,
    wanted: &[(OsString, Option<OsString>)],
    id: &JobId,
) -> Result<Vec<(OsString, OsString)>, Refusal> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for (name, value) in wanted {
        let shown = || escape_controls(&name.to_string_lossy());
        if name.is_empty() || has_nul(name) || name.as_bytes().contains(&b'=') {
            return Err(Refusal::invalid("env", format!("'{}' cannot be a variable's name", shown())));
        }
        match value {
            None => drop(env.remove(name)),
            Some(value) if has_nul(value) => {
                return Err(Refusal::invalid("env", format!("the value of {} holds a NUL byte", shown())));
            }
            Some(value) => drop(env.insert(name.clone(), value.clone())),
        }
    }
    env.insert(vars::FAIRWAY_EXEC_RUN.into(), id.to_string().into());
    Ok(env.into_iter().collect())
}

/// Makes the run's directory and takes its lock, before anybody can know of the run.
fn create_locked_dir(order: &SpawnRequest, dir: &JobDir, start: &StartSpec) -> Result<InheritableLock> {
    let failed = |error| StoreError::io(format!("the run's directory {}", dir.path().display()), error);
    dir.create(start, order.stdin.as_deref()).map_err(failed)?;
    let held = dir.try_lock().map_err(|error| failed(error).into());
    let held = held.and_then(|hold| hold.ok_or_else(|| errors::internal("a run's new directory is somebody else's")));
    // Here it is ours: it was not there before.
    held.inspect_err(|_| drop(dir.remove()))
}

/// Writes down what is looked for, before anybody can know of the run.
fn store_watchers(app: &App, order: &SpawnRequest, id: &JobId) -> Result<()> {
    if !order.watch.is_empty() {
        OutputStore::open_for_writing(&app.project.output_file())?.add_watchers(id, &order.watch)?;
    }
    Ok(())
}

/// Takes that back. What cannot be taken back belongs to no run and does nothing.
fn remove_watchers(app: &App, order: &SpawnRequest, id: &JobId) {
    if !order.watch.is_empty()
        && let Ok(output) = OutputStore::open_for_writing(&app.project.output_file())
    {
        let _ = output.delete_job(id);
    }
}

/// Writes the run down; takes it in the same transaction when it may begin now.
fn enqueue(app: &App, order: &SpawnRequest, draft: Job, taken: &mut Option<Job>) -> Result<Answer> {
    let own = own_process::own_process()?;
    let write = |tx: &WriteTx<'_>| {
        let job = jobs::insert(tx, draft)?;
        tx.record(
            &event::for_job(EventKind::ExecQueued, &job)
                .with("queue", job.queue.clone())
                .with("recovery", job.recovery.as_str())
                .with("background", job.background),
        )?;
        let begins = scheduler::next_eligible(app, tx)?.is_some_and(|next| next.id == job.id)
            && scheduler::mark_starting(tx, &job, own)?;
        if begins {
            *taken = Some(Job { status: JobStatus::Starting, ..job.clone() });
        }
        answer(taken.as_ref().unwrap_or(&job))
    };
    if order.session.is_none() {
        return app.mutate(write);
    }
    // It is for another one, who need not be known; so need whoever acts.
    app.mutate_unattributed(|tx| {
        if let Some(acting) = &app.actor.session
            && sessions::find(tx, acting)?.is_some()
        {
            keepalive::touch(tx, &lookup::session(tx, acting)?, app.actor.run_id.as_deref())?;
            tasks::renew_leases(tx, &app.actor.name, None)?;
        }
        write(tx)
    })
}

fn answer(job: &Job) -> Result<Answer> {
    let view = JobSpawnView {
        run_id: job.id.to_string(),
        session_id: job.session.as_ref().map(ToString::to_string),
        status: job.status.as_str(),
        queued_at: job.queued_at.to_string(),
        background: job.background,
        pty: job.pty.is_some(),
    };
    let did = match job.status {
        JobStatus::Queued => "queued",
        JobStatus::Failed => "could not start",
        _ => "started",
    };
    let command: String = secrets::mask(&job.command).lines().next().unwrap_or_default().chars().take(80).collect();
    Answer::new(&view, &job.id, format!("{did} run {}: {command}", job.id.short()))
}
