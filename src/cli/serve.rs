//! `fairway serve`

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;

use super::context::{Context, exit_even_if_closed};
use super::exit::Exit;
use super::values;
use crate::api::{self, Access, ListenAddress, PageOptions, PageProviders, ServeOptions};
use crate::hooks::{LAUNCH_HOOKS, Provider};
use fairway_actions::App;
use fairway_actions::upkeep::serve_unit::{self, ServeUnitRequest};
use fairway_core::domain::SessionId;
use fairway_core::env::{Env, vars};
use fairway_core::os::browser::Browser;
use fairway_core::render::escape_line;
use fairway_core::wire::ServeUnitView;

/// Serve the worker API and the board in the browser
///
/// JSON over HTTP/1.1 at .fairway/runtime/worker.sock, in the foreground; INT and TERM let open requests finish. `fairway guide
/// http` lists the routes. With --http, .fairway/runtime/worker.port holds the port and worker.token the bearer token. With
/// --open, your browser shows the board: `fairway guide board`. With --listen, the board is in the network by HTTPS, and the
/// certificate's fingerprint is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway serve --open
fairway serve --http 8080 --exit-after 8h")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
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
    /// Also serve the board in the network, by HTTPS
    #[arg(long, value_name = "IP[:PORT]", value_parser = values::listen_address)]
    listen: Option<SocketAddr>,
    /// By plain HTTP: others there can take over the board
    #[arg(long, requires = "listen")]
    unencrypted: bool,
    /// Write a systemd user unit that keeps this server running
    #[arg(long, conflicts_with_all = ["open", "span", "uninstall"])]
    install: bool,
    /// Remove that unit
    #[arg(long, conflicts_with_all = ["open", "span", "http", "listen"])]
    uninstall: bool,
    /// Exit after this time
    #[arg(long = "exit-after", alias = "for", value_name = "DURATION", value_parser = values::duration)]
    span: Option<Duration>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if self.install || self.uninstall {
            return self.change_unit(ctx, &app);
        }
        let session = match &ctx.globals.session {
            Some(session) => Some(SessionId::parse(session.as_str())?),
            None => ctx.env.var(vars::FAIRWAY_SESSION_ID).map(SessionId::parse).transpose()?,
        };
        let access = if self.read_only { Access::ReadOnly } else { Access::Full };
        let page = PageOptions {
            open: self.open.then_some(access),
            listen: self.listen,
            is_unencrypted: self.is_unencrypted(),
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

    /// Whether the page is served in the network without HTTPS: on request, or because `--listen` names a loopback address.
    /// Other users' programs cannot read what passes there.
    fn is_unencrypted(&self) -> bool {
        self.unencrypted || self.listen.is_some_and(|at| at.ip().is_loopback())
    }

    fn change_unit(&self, ctx: &Context, app: &App) -> Result<Exit> {
        let view = if self.install {
            let is_unencrypted = self.unencrypted;
            serve_unit::install(app, &ServeUnitRequest { port: self.http, listen: self.listen, is_unencrypted })?
        } else {
            serve_unit::uninstall(app)?
        };
        if self.install && ctx.env.var(vars::FAIRWAY_STORE_URL).is_some() {
            ctx.out.note(
                "note: FAIRWAY_STORE_URL is not in the unit; name the store in .fairway/local.toml ([store] url)",
            );
        }
        ctx.show(&view, || vec![view.unit.clone()], || unit_words(&view, self.install))
    }
}

fn unit_words(view: &ServeUnitView, is_installed: bool) -> String {
    let file = escape_line(&view.file.display().to_string());
    let mut words = match (is_installed, view.changed) {
        (true, true) => format!("wrote {file}\n"),
        (true, false) => format!("unchanged: {file}\n"),
        (false, true) => format!("removed {file}; the server runs on until it is stopped\n"),
        (false, false) => format!("unchanged: there is no {file}\n"),
    };
    if !view.commands.is_empty() {
        words.push_str("now run, in this order:\n");
    }
    for command in &view.commands {
        let _ = writeln!(words, "  {command}");
    }
    if is_installed {
        let _ = writeln!(words, "then pair a browser: fairway device pair");
    }
    words
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
        let url = at.listen_url.clone().unwrap_or_else(|| listen.to_string());
        let _ = match &at.fingerprint {
            Some(fingerprint) => {
                writeln!(words, "the board is at {url}\nSHA-256 of its certificate: {fingerprint}")
            }
            None => writeln!(words, "the board is unencrypted at {url}"),
        };
    }
    if let (None, Some(url)) = (at.listen, &at.listen_url) {
        let _ = writeln!(words, "a proxy shows the board at {url}; pair a browser there: fairway device pair");
    }
    if let Some(url) = &at.open_url {
        let _ = writeln!(words, "open the board, once and within two minutes: {url}");
    }
    words
}
