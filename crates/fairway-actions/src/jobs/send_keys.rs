//! Types into a job's terminal.

use std::io;
use std::time::Duration;

use anyhow::Result;

use super::find;
use super::supervision::{self, supervisor_alive};
use crate::core::{errors, other_host};
use crate::{Answer, App};
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::domain::terminal_input::{self, TerminalInput};
use fairway_core::domain::{Refusal, plural};
use fairway_core::os::{host, poll_until};
use fairway_core::store::idempotency_keys;
use fairway_core::store::job_output::OutputStore;
use fairway_core::supervisor::JobDir;
use fairway_core::supervisor::control_socket::{self, Reply, Request};
use fairway_core::wire::SendKeysView;

/// Timeout of a request, including the requests before it.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the supervisor of a starting job to open its control socket.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const WORDS: [&str; 2] = ["exec", "send-keys"];

/// Types input into a job's terminal, in order; returns when the terminal has accepted all of it.
///
/// # Errors
/// `not_found`, `run_final`, `run_queued`, `no_terminal`, `input_full` when its program does not read (the input
/// accepted by then stays), `invalid_value` for a line longer than the terminal's limit, `run_unsupervised`, `run_busy`.
pub fn send(app: &App, job: &str, inputs: &[TerminalInput]) -> Result<Answer> {
    terminal_input::check(inputs)?;
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    let job = app.read(|tx| find::of_actor(app, tx, job))?;
    check_accepts_input(&job)?;
    supervision::refuse_elsewhere(app, &job, &WORDS)?;
    if let Some(answer) = app.record_intent("it is not known whether the job received the input")? {
        return Ok(answer);
    }
    let output = OutputStore::open_for_reading(&app.project.output_file())?;
    let newest = || -> Result<i64> {
        Ok(output.as_ref().map(|output| output.totals(&job.id)).transpose()?.map_or(0, |totals| totals.next_seq - 1))
    };
    let sent = newest().and_then(|before| send_to_supervisor(app, &job, inputs).map(|bytes| (before, bytes)));
    let (seq_before, bytes) = match sent {
        Ok(sent) => sent,
        Err(error) => {
            if let Some(request) = &app.idempotency_key {
                // After a partial write the intent stays: a repeat would type the beginning twice.
                let is_partial = matches!(error.downcast_ref(), Some(Refusal::InputFull { taken, .. }) if *taken > 0);
                if !is_partial {
                    app.transaction(|tx| Ok(idempotency_keys::delete_open(tx, &request.id)?))?;
                }
            }
            return Err(error);
        }
    };
    let id = job.id.to_string();
    let line = format!("typed {} into job {}", plural::count(bytes, "byte"), job.id.short());
    let answer = Answer::new(&SendKeysView { run_id: id.clone(), sent: true, bytes, seq_before }, id, line)?;
    if let Some(request) = &app.idempotency_key {
        let text = serde_json::to_string(&answer).map_err(errors::internal)?;
        app.transaction(|tx| Ok(idempotency_keys::upsert(tx, &request.id, &request.fingerprint, Some(&text))?))?;
    }
    Ok(answer)
}

/// Refuses input for a job that cannot accept it.
fn check_accepts_input(job: &Job) -> Result<(), Refusal> {
    let id = job.id.to_string();
    match job.status {
        status if status.is_final() => Err(Refusal::JobFinal { run: id, status }),
        JobStatus::Queued => Err(Refusal::JobQueued { run: id }),
        _ if job.pty.is_none() => Err(Refusal::NoTerminal { run: id }),
        _ => Ok(()),
    }
}

/// Sends the input to the supervisor; returns the number of bytes typed.
fn send_to_supervisor(app: &App, job: &Job, inputs: &[TerminalInput]) -> Result<usize> {
    let dir = JobDir::of(&app.project.jobs_dir(), &job.id);
    let id = || job.id.to_string();
    let request = Request::Input(inputs.to_vec());
    // A starting job has no control socket yet.
    let reply = poll_until::poll_until(START_TIMEOUT, POLL_INTERVAL, || {
        match control_socket::send_request(&dir, &request, REPLY_TIMEOUT) {
            Ok(Some(reply)) => Some(Ok(reply)),
            Ok(None) => {
                let known = app.read(|tx| find::job(tx, &job.id.to_string()));
                match known
                    .and_then(|job| check_accepts_input(&job).map(|()| supervisor_alive(&job)).map_err(Into::into))
                {
                    Ok(is_alive) if is_alive || dir.is_locked().unwrap_or(true) => None,
                    Ok(_) if !host::identity().owns(&job.host, job.host_id.as_deref()) => Some(Err(app
                        .read(|tx| other_host::job_refusal(app, tx, job, &WORDS))
                        .map_or_else(|error| error, Into::into))),
                    Ok(_) => Some(Err(Refusal::JobUnsupervised { run: id() }.into())),
                    Err(error) => Some(Err(error)),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Some(Err(Refusal::JobUnresponsive { run: id() }.into()))
            }
            Err(error) => Some(Err(errors::internal(error))),
        }
    });
    match reply.unwrap_or_else(|| Err(Refusal::JobUnresponsive { run: id() }.into()))? {
        Reply::Typed(bytes) => Ok(bytes),
        Reply::InputFull(taken) => Err(Refusal::InputFull { run: id(), taken }.into()),
        Reply::LineTooLong(bytes) => {
            let why = format!("contain a line of {bytes} bytes; the job's terminal accepts at most 4095 per line");
            Err(Refusal::invalid("keys", why).into())
        }
        Reply::NoTerminal => Err(Refusal::NoTerminal { run: id() }.into()),
        Reply::EndedMeanwhile(_) | Reply::Ended => {
            // The result may not be recorded yet.
            let written = poll_until::poll_until(START_TIMEOUT, POLL_INTERVAL, || {
                let known = app.read(|tx| find::job(tx, &id())).ok()?;
                known.status.is_final().then_some(known.status)
            });
            let status = written.unwrap_or(JobStatus::Running);
            Err(Refusal::JobFinal { run: id(), status }.into())
        }
        Reply::InvalidRequest => Err(errors::internal("the job's supervisor runs another version of fairway")),
    }
}
