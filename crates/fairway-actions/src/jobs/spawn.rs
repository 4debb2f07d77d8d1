//! Spawns a job.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::{event, find, notify, own_process, poll, queue_waiter, sandboxed, scheduler, wait};
use crate::core::{check_slot, errors, lane_env, open_store, other_host};
use crate::{Answer, App};
use fairway_core::domain::job::{DEFAULT_OUTPUT_BYTES, Job, JobId, JobStatus, RecoveryPolicy, TerminalSize};
use fairway_core::domain::job_output::Watcher;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{EventKind, Refusal, RoutingKey, SessionId, secrets, text_limits};
use fairway_core::env::{Timestamp, vars};
use fairway_core::os::lock::InheritableLock;
use fairway_core::os::{executable, files, host};
use fairway_core::render::escape_controls;
use fairway_core::store::job_output::OutputStore;
use fairway_core::store::{ReadTx, StoreError, WriteTx, jobs, lanes, sessions};
use fairway_core::supervisor::job_dir::StartSpec;
use fairway_core::supervisor::{JobDir, watchers};
use fairway_core::wire::{JobPollView, JobSpawnView};

#[derive(Debug, Clone)]
pub enum CommandSpec {
    /// Text for `/bin/sh -c`.
    Shell(String),
    /// A program and its arguments, passed verbatim.
    Program(Vec<OsString>),
}

#[derive(Debug, Clone)]
pub struct SpawnRequest {
    pub command: CommandSpec,
    /// Whether the caller continues while the job runs.
    pub background: bool,
    /// Whether it waits for a slot for checks.
    pub check: bool,
    /// The terminal size, for a job with a terminal.
    pub pty: Option<TerminalSize>,
    pub timeout: Option<Duration>,
    /// Maximum output kept, in bytes.
    pub max_output_bytes: Option<u64>,
    pub watch: Vec<Watcher>,
    /// The session that gets the notifications; by default the acting one.
    pub session: Option<RoutingKey>,
    /// The queue; by default the session's. An empty name means no queue.
    pub queue: Option<String>,
    /// The working directory; by default the caller's.
    pub cwd: Option<PathBuf>,
    /// Changes to the caller's environment; `None` unsets a variable.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Standard input; by default empty.
    pub stdin: Option<Vec<u8>>,
    pub recovery: RecoveryPolicy,
    /// How long to wait for the job's end before the answer.
    pub yield_for: Option<Duration>,
}

impl SpawnRequest {
    pub const fn new(command: CommandSpec) -> Self {
        Self {
            command,
            background: true,
            check: false,
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

/// Spawns a job and starts it if its queue is free and `exec.parallel` is not reached. Waits for a foreground job, and up to
/// `yield_for` for any job. If the job ended by then, the answer is the same as from `poll`.
///
/// # Errors
/// `usage`, `invalid_value`, `not_found` for an unknown acting session; errors of the stores or the job's directory.
pub fn spawn(app: &App, request: &SpawnRequest) -> Result<Answer> {
    let answer = submit(app, request)?;
    let Some(polled) = await_result(app, request, &answer)? else { return pending_response(app, request, answer) };
    let line = format!("job {} {}", polled.run.run_id, polled.run.status);
    Answer::new(&polled, &polled.run.run_id, line)
}

/// Returns the state and output of a job spawned with [`submit`] after its end. Returns `None` when the request does not wait
/// for the job, or when the time is over first.
pub fn await_result(app: &App, request: &SpawnRequest, answer: &Answer) -> Result<Option<JobPollView>> {
    let limit = match (request.background, request.yield_for) {
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
    poll::poll(app, &poll::PollRequest { job, since_seq: 0, wait: None, until: None }).map(Some)
}

/// The answer when [`await_result`] has returned `None`: the job's current state if the request has waited, else the state
/// from [`submit`].
pub fn pending_response(app: &App, request: &SpawnRequest, submitted: Answer) -> Result<Answer> {
    let Some(job) = submitted.ids.first().filter(|_| request.yield_for.is_some()) else { return Ok(submitted) };
    let now = app.read(|tx| answer(&find::job(tx, job)?))?;
    Ok(Answer { notes: submitted.notes, line: submitted.line, ..now })
}

pub fn succeeded(polled: &JobPollView) -> bool {
    polled.run.status == JobStatus::Succeeded
}

/// Spawns a job and answers without waiting.
pub fn submit(app: &App, request: &SpawnRequest) -> Result<Answer> {
    let (draft, start) = prepare(app, request)?;
    reject_self_wait(app, &draft)?;
    let dir = JobDir::of(&app.project.jobs_dir(), &draft.id);
    let lock = create_locked_dir(request, &dir, &start)?;
    let mut taken = None;
    let answer = match store_watchers(app, request, &draft.id) {
        Ok(()) => enqueue(app, request, draft.clone(), &mut taken),
        Err(error) => Err(error),
    };
    // The answer to a repeated request names the first call's job; then the new directory is not needed.
    let ours = answer.as_ref().is_ok_and(|answer| answer.ids.first() == Some(&draft.id.to_string()));
    if !ours {
        let _ = dir.remove();
        remove_watchers(app, request, &draft.id);
        return answer;
    }
    match taken {
        Some(job) => {
            let is_started = own_process::start_supervisor(app, &job, &start, lock)?;
            queue_waiter::wake(app);
            if is_started { answer } else { app.read(|tx| self::answer(&find::job(tx, &job.id.to_string())?)) }
        }
        None => {
            // Released first: the queue waiter needs the lock. The job is queued even if the waiter cannot be started.
            drop(lock);
            let answer = match queue_waiter::ensure_running(app) {
                Ok(()) => answer?,
                Err(error) => answer?.note(format!("warning: {error:#}")),
            };
            Ok(answer.with_notes(scheduler::stuck_queue_note(app, &draft)?))
        }
    }
}

/// Refuses a deadlock: a job's command that waits for a job behind its own in the same queue.
fn reject_self_wait(app: &App, draft: &Job) -> Result<()> {
    let outer = app.env.var(vars::FAIRWAY_EXEC_RUN).and_then(|id| JobId::parse(id).ok());
    let (Some(outer), Some(queue), false) = (outer, &draft.queue, draft.background) else { return Ok(()) };
    let outer = app.read(|tx| Ok(jobs::find(tx, &outer)?))?;
    let Some(outer) = outer.filter(|outer| outer.status.is_active() && outer.queue.as_ref() == Some(queue)) else {
        return Ok(());
    };
    let queue = escape_controls(queue);
    let why = format!(
        "it would wait in the queue '{queue}' behind job {}, which waits for it; use another queue (--queue '')",
        outer.id.short()
    );
    Err(Refusal::Usage { why }.into())
}

fn prepare(app: &App, request: &SpawnRequest) -> Result<(Job, StartSpec)> {
    let (argv, command) = argv_and_text(&request.command)?;
    watchers::compile(&request.watch)?;
    let cwd = working_dir(app, request.cwd.as_deref())?;
    let id = JobId::new(app.env.ids.uuid(app.env.now()));
    let env = environment(app, of_lane(app, &cwd)?, request, &id)?;
    let set = request.env.iter().filter(|(_, value)| value.is_some());
    let names: Vec<String> = set.filter_map(|(name, _)| name.to_str().map(str::to_owned)).collect();
    if let CommandSpec::Program(argv) = &request.command {
        refuse_shell_text(argv, &env, &cwd)?;
    }
    let argv = sandboxed::argv(app, &cwd, &names, argv)?;
    let session = request.session.clone().or_else(|| app.actor.session.clone().map(Into::into));
    let queue = match &request.queue {
        Some(queue) if queue.is_empty() => None,
        Some(queue) => Some(text_limits::check_line("queue", queue)?),
        None => session.as_ref().map(ToString::to_string),
    };
    sandboxed::check_owner(app, session.as_ref(), queue.as_deref())?;
    let timeout_ms = request.timeout.map(|timeout| {
        if timeout.is_zero() {
            return Err(Refusal::invalid("timeout", "must be greater than zero"));
        }
        Ok(i64::try_from(timeout.as_millis().max(1)).unwrap_or(i64::MAX))
    });
    let most = request.max_output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
    let most = i64::try_from(most).ok().filter(|most| *most > 0);
    if request.stdin.is_some() && request.pty.is_some() {
        let why = "stdin cannot be combined with a pty: type into the terminal with fairway exec send-keys".into();
        return Err(Refusal::Usage { why }.into());
    }
    if request.stdin.as_ref().is_some_and(|stdin| stdin.len() > text_limits::MAX_BODY_BYTES) {
        return Err(Refusal::invalid("stdin", format!("is longer than {} bytes", text_limits::MAX_BODY_BYTES)).into());
    }
    let never = Timestamp::from_millis(0);
    let local = host::identity_to_record();
    let job = Job {
        seq: 0,
        id,
        session,
        queue,
        status: JobStatus::Queued,
        command,
        cwd: cwd.to_string_lossy().into_owned(),
        background: request.background,
        pty: request.pty,
        timeout_ms: timeout_ms.transpose()?,
        max_output_bytes: most.ok_or_else(|| Refusal::invalid("max_output_bytes", "must be greater than zero"))?,
        recovery: request.recovery,
        attempt: 1,
        host: local.name,
        host_id: local.id,
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

/// The argument vector, and the command as text for people.
fn argv_and_text(command: &CommandSpec) -> Result<(Vec<OsString>, String), Refusal> {
    let (argv, typed) = match command {
        CommandSpec::Shell(text) if text.trim().is_empty() => {
            return Err(Refusal::invalid("command", "must not be empty"));
        }
        CommandSpec::Shell(text) => (vec!["/bin/sh".into(), "-c".into(), OsString::from(text)], text.clone()),
        CommandSpec::Program(argv) if argv.first().is_none_or(|program| program.is_empty()) => {
            return Err(Refusal::invalid("command", "must not be empty"));
        }
        CommandSpec::Program(argv) => {
            let args: Vec<_> = argv.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
            (argv.clone(), shell_words::join(&args))
        }
    };
    if argv.iter().any(|arg| has_nul(arg)) {
        return Err(Refusal::invalid("command", "contains a NUL byte"));
    }
    // Control characters are escaped and secrets masked before the command is stored.
    Ok((argv, text_limits::check_body("command", &secrets::mask(&escape_controls(&typed)))?))
}

/// Refuses a single word that is no program and that a shell would take for a command, such as `a && b`.
fn refuse_shell_text(argv: &[OsString], env: &[(OsString, OsString)], cwd: &Path) -> Result<(), Refusal> {
    let [word] = argv else { return Ok(()) };
    let word = word.to_string_lossy();
    let is_text = word.contains(|one: char| one.is_whitespace() || "&|;<>$`(*".contains(one));
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    if !is_text || executable::find(&word, path, cwd).is_some() {
        return Ok(());
    }
    Err(Refusal::NoProgram { word: word.into_owned() })
}

fn has_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

fn working_dir(app: &App, cwd: Option<&Path>) -> Result<PathBuf, Refusal> {
    let dir = cwd.map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd));
    if !files::is_path_length_valid(&dir) {
        return Err(Refusal::invalid("cwd", "has a name that is too long"));
    }
    if has_nul(dir.as_os_str()) || !dir.is_dir() {
        return Err(Refusal::invalid("cwd", format!("{} is not a directory", escape_controls(&dir.to_string_lossy()))));
    }
    Ok(dir)
}

/// The variables of the lane in whose worktree a person's job runs; a session has them already.
fn of_lane(app: &App, cwd: &Path) -> Result<Vec<(String, String)>> {
    if app.actor.session.is_some() {
        return Ok(Vec::new());
    }
    let is_here = |lane: &Lane| lane.is_around(cwd) && !other_host::has_worktree(app, lane);
    let found = app.read(|tx| Ok(lanes::all(tx)?))?.into_iter().find(is_here);
    let Some((name, dir)) = found.and_then(|lane| Some((lane.name, lane.worktree?))) else { return Ok(Vec::new()) };
    lane_env::of_worktree(app, name.as_str(), Path::new(&dir))
}

/// The command's environment: the caller's, the lane's, the requested changes and the job's tag.
fn environment(
    app: &App,
    of_lane: Vec<(String, String)>,
    request: &SpawnRequest,
    id: &JobId,
) -> Result<Vec<(OsString, OsString)>, Refusal> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    // The start file is on the disk: it gets no password.
    if env.remove(OsStr::new(vars::FAIRWAY_STORE_URL)).is_some() {
        let passed = open_store::url_to_pass_on(&app.env, &app.layers);
        if !passed.is_empty() {
            env.insert(vars::FAIRWAY_STORE_URL.into(), passed.into());
        }
    }
    env.extend(of_lane.into_iter().map(|(name, value)| (name.into(), value.into())));
    // What a check waits for has its slot; a job that may outlive it has not.
    if request.background {
        env.remove(OsStr::new(vars::FAIRWAY_SLOT));
    }
    if request.check {
        env.entry(vars::FAIRWAY_SLOT.into()).or_insert_with(|| check_slot::WAIT.into());
    }
    for (name, value) in &request.env {
        let shown = || escape_controls(&name.to_string_lossy());
        if name.is_empty() || has_nul(name) || name.as_bytes().contains(&b'=') {
            return Err(Refusal::invalid("env", format!("'{}' is not a valid variable name", shown())));
        }
        match value {
            None => drop(env.remove(name)),
            Some(value) if has_nul(value) => {
                return Err(Refusal::invalid("env", format!("the value of {} contains a NUL byte", shown())));
            }
            Some(value) => drop(env.insert(name.clone(), value.clone())),
        }
    }
    env.insert(vars::FAIRWAY_EXEC_RUN.into(), id.to_string().into());
    Ok(env.into_iter().collect())
}

/// Creates the job's directory and takes its lock, before the job is in the store.
fn create_locked_dir(request: &SpawnRequest, dir: &JobDir, start: &StartSpec) -> Result<InheritableLock> {
    let failed = |error| StoreError::io(format!("the job's directory {}", dir.path().display()), error);
    dir.create(start, request.stdin.as_deref()).map_err(failed)?;
    let held = dir.try_lock().map_err(|error| failed(error).into());
    let held =
        held.and_then(|hold| hold.ok_or_else(|| errors::internal("a new job directory is locked by another process")));
    // Safe to remove: `create` fails for an existing directory.
    held.inspect_err(|_| drop(dir.remove()))
}

fn store_watchers(app: &App, request: &SpawnRequest, id: &JobId) -> Result<()> {
    if !request.watch.is_empty() {
        OutputStore::open_for_writing(&app.project.output_file())?.add_watchers(id, &request.watch)?;
    }
    Ok(())
}

/// Removes the watchers. On an error they stay, without a job and without effect.
fn remove_watchers(app: &App, request: &SpawnRequest, id: &JobId) {
    if !request.watch.is_empty()
        && let Ok(output) = OutputStore::open_for_writing(&app.project.output_file())
    {
        let _ = output.delete_job(id);
    }
}

/// Inserts the job; if it may start now, marks it as starting in the same transaction.
fn enqueue(app: &App, request: &SpawnRequest, draft: Job, taken: &mut Option<Job>) -> Result<Answer> {
    let own = own_process::own_process()?;
    let waits = if request.check { check_slot::would_wait(app) } else { None };
    let write = |tx: &WriteTx<'_>| {
        check_reader(tx, &draft)?;
        let job = jobs::insert(tx, draft)?;
        tx.record(
            &event::for_job(EventKind::ExecQueued, &job)
                .with("queue", job.queue.clone())
                .with("recovery", job.recovery.as_str())
                .with("background", job.background),
        )?;
        let may_start = scheduler::next_eligible(app, tx)?.is_some_and(|next| next.id == job.id)
            && scheduler::mark_starting(tx, &job, own)?;
        if may_start {
            *taken = Some(Job { status: JobStatus::Starting, ..job.clone() });
        }
        let answer = answer(taken.as_ref().unwrap_or(&job))?;
        Ok(answer.with_notes(reader_note(&job, request).into_iter().chain(waits.clone())))
    };
    if request.session.is_none() {
        return app.mutate(write);
    }
    // A job for another session. That session need not be registered, nor need the acting one.
    app.mutate_unattributed(|tx| {
        if let Some(acting) = &app.actor.session
            && sessions::find(tx, acting)?.is_some()
        {
            app.record_act(tx)?;
        }
        write(tx)
    })
}

/// Refuses a background job of a session that has ended, because its notifications would have no reader. A session that is not
/// registered is none.
fn check_reader(tx: &ReadTx<'_>, job: &Job) -> Result<()> {
    let session = job.session.as_ref().filter(|_| job.background).and_then(|key| SessionId::parse(key.as_str()).ok());
    if let Some(session) = session.map(|id| sessions::find(tx, &id)).transpose()?.flatten() {
        session.check_open()?;
    }
    Ok(())
}

/// A note about who reads the notifications, for a job with watchers that was not started by a session.
fn reader_note(job: &Job, request: &SpawnRequest) -> Option<String> {
    if request.watch.is_empty() || job.session.is_some() || !job.background {
        return None;
    }
    Some(match notify::reader(job) {
        Some(_) => "you will read its notifications with: fairway inbox".to_owned(),
        None => "its watchers notify no session; name one: fairway exec spawn --notify SESSION".to_owned(),
    })
}

fn answer(job: &Job) -> Result<Answer> {
    let view = JobSpawnView {
        run_id: job.id.to_string(),
        session_id: job.session.as_ref().map(ToString::to_string),
        status: job.status,
        queued_at: job.queued_at.to_string(),
        background: job.background,
        pty: job.pty.is_some(),
    };
    let verb = match job.status {
        JobStatus::Queued => "queued",
        JobStatus::Failed => "failed to start",
        _ => "started",
    };
    let command: String = secrets::mask(&job.command).lines().next().unwrap_or_default().chars().take(80).collect();
    Answer::new(&view, &job.id, format!("{verb} job {}: {command}", job.id.short()))
}
