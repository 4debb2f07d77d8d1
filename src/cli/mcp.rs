//! `fairway mcp`

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Error, Result};

use super::context::Context;
use super::exit::Exit;
use super::forbidding_sandbox;
use super::globals::Globals;
use crate::mcp::{self, Calls, OwnCommand};
use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_core::domain::Refusal;
use fairway_core::env::Env;
use fairway_core::render::Out;
use fairway_core::wire::Failure;

/// Serve an agent's commands as MCP tools
///
/// An agent's command line starts it and talks to it on stdin and stdout. Tools: next, task, note, verify, finish, ask, inbox,
/// run and overlap. The session comes from the environment. `fairway guide mcp` tells how clients are configured.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway mcp
fairway mcp --root /srv/shop")]
pub struct Args {}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let globals = &ctx.globals;
        if globals.session.is_some()
            || globals.role.is_some()
            || globals.request_id.is_some()
            || globals.epoch.is_some()
        {
            let why = "the tools act for the session of the environment; of the global options only --root applies";
            return Err(Refusal::Usage { why: why.into() }.into());
        }
        let env = (*ctx.env).clone();
        let out = Out { json: true, quiet: false, ..ctx.out };
        mcp::serve(Arc::new(CommandLine { env: Mutex::new(env), root: globals.root.clone(), out }))?;
        Ok(0)
    }
}

/// Makes the contexts of calls.
struct CommandLine {
    env: Mutex<Env>,
    root: Option<PathBuf>,
    out: Out,
}

impl CommandLine {
    fn env(&self) -> Env {
        self.env.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Calls for CommandLine {
    fn app(&self) -> Result<App> {
        let globals = Globals { root: self.root.clone(), ..Globals::default() };
        let app = Context::new(Rc::new(self.env()), globals, self.out, None).app()?;
        if app.env.has_test_fault("impatient") {
            app.store_for_writing()?.set_busy_timeout(Some(Duration::from_millis(10)))?;
        }
        Ok(app)
    }

    fn failure(&self, error: &Error) -> Failure {
        forbidding_sandbox::with_sandbox(errors::classify(error), &self.env())
    }

    fn command(&self) -> OwnCommand {
        let env = self.env();
        let vars: BTreeMap<OsString, OsString> = env.vars().clone();
        let flags = self.root.iter().flat_map(|root| ["--root".into(), root.clone().into_os_string()]).collect();
        OwnCommand { flags, env: vars, cwd: env.cwd }
    }
}
