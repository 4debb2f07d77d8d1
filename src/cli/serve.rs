//! `fairway serve`

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use anyhow::Result;

use super::{context::Context, context::exit_even_if_closed, exit::Exit, values};
use crate::{
    api::{self, Access, ListenAddress, PageOptions, PageProviders, ServeOptions},
    domain::{Refusal, SessionId},
    env::{Env, vars},
    hooks::{LAUNCH_HOOKS, Provider},
    os::browser::Browser,
    render::escape_line,
};

/// Serve the worker API and the board in the browser
///
/// JSON over HTTP/1.1 at .fairway/runtime/worker.sock. `fairway guide worker-api` lists the routes; GET /openapi.json describes
/// them. The server stays in the foreground. INT and TERM let open requests finish and remove the socket. With --http,
/// .fairway/runtime/worker.port holds the port and worker.token the bearer token. With --open, your browser shows the board and
/// can answer permission requests, prompt and stop agents: `fairway guide board-in-the-browser`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also serve on 127.0.0.1; default: any free port
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    http: Option<u16>,
    /// Open the board in your browser; implies --http
    #[arg(long)]
    open: bool,
    /// With --open, let the browser only look
    #[arg(long, requires = "open")]
    read_only: bool,
    /// Also serve the board in the network; needs --unencrypted
    #[arg(long, value_name = "IP[:PORT]", value_parser = values::listen_address)]
    listen: Option<SocketAddr>,
    /// Accept that the network can read and take over the board
    #[arg(long, requires = "listen")]
    unencrypted: bool,
    /// Exit after this time
    #[arg(long = "exit-after", alias = "for", value_name = "DURATION", value_parser = values::duration)]
    span: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        if let Some(at) = self.listen.filter(|at| !at.ip().is_loopback() && !self.unencrypted) {
            let why = format!(
                "--listen {at} serves the board without encryption: others in that network can read it and take over \
                 what your browser may do; --unencrypted accepts that"
            );
            return Err(Refusal::Usage { why }.into());
        }
        let app = ctx.app()?;
        let session = match &ctx.globals.session {
            Some(session) => Some(SessionId::parse(session.as_str())?),
            None => ctx.env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?,
        };
        let access = if self.read_only { Access::ReadOnly } else { Access::Full };
        let page = PageOptions {
            open: self.open.then_some(access),
            listen: self.listen,
            providers: PageProviders {
                labels: Provider::ALL.iter().map(|provider| provider.label()).collect(),
                hooks: &LAUNCH_HOOKS,
            },
        };
        let is_http = self.open || self.listen.is_some();
        let http_port = self.http.or(is_http.then_some(0));
        let options = ServeOptions { http_port, exit_after: self.span, session, page };
        api::serve(&app, &options, |at| {
            let mut at = at.clone();
            at.open_url = at.open_url.filter(|url| !browser(&ctx.env).open(url));
            // The server runs on when the reader of its stdout is gone.
            exit_even_if_closed(0, ctx.show(&at, || vec![at.socket.display().to_string()], || words(&at))).map(drop)
        })?;
        Ok(0)
    }
}

fn browser(env: &Env) -> Browser<'_> {
    let has = |name| env.var_os(name).is_some();
    Browser { browser: env.var(vars::BROWSER), has_display: has(vars::DISPLAY) || has(vars::WAYLAND_DISPLAY) }
}

fn words(at: &ListenAddress) -> String {
    let socket = escape_line(&at.socket.display().to_string());
    let port = at.port.map(|port| format!(" and at 127.0.0.1:{port}")).unwrap_or_default();
    let mut words = format!("serving at {socket}{port}; to end it: INT or TERM to {}\n", at.pid);
    if let Some(listen) = at.listen {
        let _ = writeln!(words, "the board is unencrypted at http://{listen}");
    }
    if let Some(url) = &at.open_url {
        let _ = writeln!(words, "open the board, once and within two minutes: {url}");
    }
    words
}
