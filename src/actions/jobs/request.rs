//! One JSON document in, one out: the door of programs to background runs.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;

use super::{foreground, gc, kill, list, log, poll, rm, send_keys, spawn, wait};
use crate::{
    actions::{Answer, App},
    wire::call::{self, Call, Spawn, Words},
};

/// Does what a document asks for and answers with another.
///
/// # Errors
/// `usage` naming the place in the document, and whatever the action refuses.
pub fn call(app: &App, text: &str) -> Result<Answer> {
    match call::read(text)? {
        Call::Direct { what, timeout, cwd } => {
            let argv = match what {
                Words::Shell(text) => vec!["/bin/sh".into(), "-c".into(), text.into()],
                Words::Program(argv) => words(argv),
            };
            document(&foreground::run(app, &foreground::Order { argv, cwd: cwd.map(PathBuf::from), timeout })?)
        }
        Call::Spawn(order) => spawn::spawn(app, &wanted(*order)),
        Call::Poll { run, since_seq, wait, until } => {
            document(&poll::poll(app, &poll::Order { run, since_seq, wait, until })?)
        }
        Call::Log { run, since_seq, limit, stream } => {
            document(&log::log(app, &log::Order { run, since_seq, limit, stream })?)
        }
        Call::Kill { run, signal, grace } => kill::kill(app, &run, signal, grace),
        Call::SendKeys { run, keys } => send_keys::send(app, &run, &keys),
        Call::Wait { runs, limit } => document(&wait::wait(app, &runs, limit, |_| {})?),
        Call::List { session, unfinished, limit } => {
            document(&list::list(app, &list::Order { session, unfinished, limit })?)
        }
        Call::Rm { runs } => rm::rm(app, &runs),
        Call::Gc { dry_run } => gc::gc(app, dry_run),
    }
}

fn document(view: &impl serde::Serialize) -> Result<Answer> {
    Ok(Answer { ids: Vec::new(), ..Answer::new(view, "", "")? })
}

fn words(words: Vec<String>) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

fn wanted(asked: Spawn) -> spawn::Order {
    spawn::Order {
        what: match asked.what {
            Words::Shell(text) => spawn::What::Shell(text),
            Words::Program(argv) => spawn::What::Program(words(argv)),
        },
        background: asked.background,
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
