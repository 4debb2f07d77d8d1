//! The exec protocol: one JSON document in, one out.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Result;

use super::{foreground, gc, kill, list, log, poll, rm, send_keys, spawn, wait};
use crate::{Answer, App};
use fairway_core::wire::exec_request::{self, ExecRequest, RequestedCommand, SpawnParams};

/// Executes the request document and answers with a result document.
///
/// # Errors
/// `usage` with the path in the document; errors of the requested action.
pub fn execute(app: &App, text: &str) -> Result<Answer> {
    match exec_request::parse(text)? {
        ExecRequest::Foreground { what: command, timeout, cwd, max_output_bytes } => {
            let argv = match command {
                RequestedCommand::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.into()],
                RequestedCommand::Argv(argv) => to_os_strings(argv),
            };
            json_answer(&foreground::run(
                app,
                &foreground::ForegroundRequest { argv, cwd: cwd.map(PathBuf::from), timeout, max_output_bytes },
            )?)
        }
        ExecRequest::Spawn(order) => spawn::spawn(app, &spawn_request(*order)),
        ExecRequest::Poll { run, since_seq, wait, until } => {
            json_answer(&poll::poll(app, &poll::PollRequest { job: run, since_seq, wait, until })?)
        }
        ExecRequest::Log { run, since_seq, limit, stream } => {
            json_answer(&log::log(app, &log::LogRequest { job: run, since_seq, limit, stream })?)
        }
        ExecRequest::Kill { run, signal, grace } => kill::kill(app, &run, signal, grace),
        ExecRequest::SendKeys { run, keys } => send_keys::send(app, &run, &keys),
        ExecRequest::Wait { runs, limit } => json_answer(&wait::wait(app, &runs, limit, |_| {})?),
        ExecRequest::List { session, unfinished, limit } => {
            json_answer(&list::list(app, &list::ListOptions { session, unfinished, limit })?)
        }
        ExecRequest::Rm { runs } => rm::rm(app, &runs, false, None),
        ExecRequest::Gc { dry_run } => gc::gc(app, dry_run),
    }
}

fn json_answer(view: &impl serde::Serialize) -> Result<Answer> {
    Ok(Answer { ids: Vec::new(), ..Answer::new(view, "", "")? })
}

fn to_os_strings(args: Vec<String>) -> Vec<OsString> {
    args.into_iter().map(OsString::from).collect()
}

fn spawn_request(asked: SpawnParams) -> spawn::SpawnRequest {
    spawn::SpawnRequest {
        command: match asked.command {
            RequestedCommand::Shell(text) => spawn::CommandSpec::Shell(text),
            RequestedCommand::Argv(argv) => spawn::CommandSpec::Program(to_os_strings(argv)),
        },
        background: asked.background,
        check: asked.check,
        pty: asked.pty,
        timeout: asked.timeout,
        max_output_bytes: asked.max_output_bytes,
        watch: asked.watch,
        session: asked.session,
        queue: asked.queue,
        cwd: asked.cwd.map(PathBuf::from),
        env: asked.env.into_iter().map(|(name, value)| (name.into(), value.map(OsString::from))).collect(),
        stdin: asked.stdin.map(String::into_bytes),
        recovery: asked.recovery,
        yield_for: asked.yield_for,
    }
}
