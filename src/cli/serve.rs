//! `fairway serve`

use std::time::Duration;

use anyhow::Result;

use super::{context::Context, context::exit_even_if_closed, exit::Exit, values};
use crate::{
    api::{self, ServeOptions},
    domain::SessionId,
    env::vars,
    hooks::Provider,
    render::escape_line,
};

/// Serve the worker API to agents, hooks and programs
///
/// JSON over HTTP/1.1 at .fairway/runtime/worker.sock. docs/guides/worker-api.md lists the routes; GET /openapi.json describes
/// them. The server stays in the foreground. INT and TERM let open requests finish and remove the socket. With --http,
/// .fairway/runtime/worker.port holds the port and worker.token the bearer token.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also serve on 127.0.0.1; default: any free port
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
    /// Exit after this time
    #[arg(long = "exit-after", alias = "for", value_name = "DURATION", value_parser = values::duration)]
    span: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let session = match &ctx.globals.session {
            Some(session) => Some(SessionId::parse(session.as_str())?),
            None => ctx.env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?,
        };
        let hook_providers = Provider::ALL.iter().map(|provider| provider.label()).collect();
        let options = ServeOptions { http_port: self.http, exit_after: self.span, session, hook_providers };
        api::serve(&app, &options, |at| {
            let socket = at.socket.display().to_string();
            let words = || {
                let port = at.port.map(|port| format!(" and at 127.0.0.1:{port}")).unwrap_or_default();
                format!("serving at {}{port}; to end it: INT or TERM to {}\n", escape_line(&socket), at.pid)
            };
            // The server runs on when the reader of its stdout is gone.
            exit_even_if_closed(0, ctx.show(at, || vec![socket.clone()], words)).map(drop)
        })?;
        Ok(0)
    }
}
