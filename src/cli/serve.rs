//! `fairway serve`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, context::exit_even_if_closed, exit::Exit, values};
use crate::{
    api::{self, Options},
    domain::SessionId,
    env::vars,
    render::safe_line,
};

/// Serve the worker API to agent runtimes, hooks and other programs of this user
///
/// JSON over HTTP/1.1 at .fairway/runtime/worker.sock: docs/worker-api.md has every route, GET /openapi.json describes them.
/// It stays in the foreground; INT and TERM let what is being answered be finished, and leave no socket behind. Whatever it
/// does to the store, the command line can do without it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also serve at 127.0.0.1; without a number at any free port. .fairway/runtime/worker.port has the number,
    /// worker.token the word that every request must carry
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
    /// End by itself after so long
    #[arg(long = "for", value_name = "SPAN", value_parser = values::duration)]
    span: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let session = match &ctx.globals.session {
            Some(session) => Some(session.clone()),
            None => ctx.env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?,
        };
        let options = Options { http: self.http, span: self.span, session };
        api::serve(&app, &options, |at| {
            let socket = at.socket.display().to_string();
            let words = || {
                let port = at.port.map(|port| format!(" and at 127.0.0.1:{port}")).unwrap_or_default();
                format!("serving at {}{port}; to end it: INT or TERM to {}\n", safe_line(&socket), at.pid)
            };
            // Nobody need read it.
            exit_even_if_closed(0, ctx.show(at, || vec![socket.clone()], words)).map(drop)
        })?;
        Ok(0)
    }
}
