//! `fairway sandbox explain`

use std::fmt::Write as _;

use anyhow::Result;

use super::options::Opened;
use crate::{
    actions::sessions::sandbox::{run::SandboxRequest, view},
    cli::{context::Context, exit::Exit, values},
    domain::LaneName,
    render::escape_line,
    wire::SandboxView,
};

/// Show what the sandbox of a lane opens, and why
///
/// Each path that is not just read-only: closed, open for reading in a closed directory, or open for writing. Makes nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane [default: that of the session, or of the directory]
    #[arg(value_parser = values::lane)]
    lane: Option<LaneName>,
    #[command(flatten)]
    opened: Opened,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let request = SandboxRequest {
            lane: self.lane,
            class: self.opened.class,
            network: self.opened.network.network,
            provider: self.opened.provider,
            env: Vec::new(),
            argv: Vec::new(),
        };
        let view = view::view(&ctx.app()?, &request)?;
        ctx.show(&view, || view.paths.iter().map(|one| one.path.clone()).collect(), || text(&view))
    }
}

fn text(view: &SandboxView) -> String {
    if !view.prefix.is_empty() {
        return by_command(view);
    }
    let mut text = format!("lane {}, class {}, network {}\n", view.lane, view.class, view.network);
    for one in &view.paths {
        let _ = writeln!(text, "{:<7}{}  ({})", one.access, escape_line(&one.path), one.why);
    }
    text.push_str("read   everything else\n");
    for host in &view.hosts {
        let _ = writeln!(text, "host   {host}  (sandbox.hosts)");
    }
    for name in &view.env {
        let _ = writeln!(text, "env    {name}  (sandbox.env)");
    }
    text
}

/// Of a class whose openings only the program that makes the sandbox knows.
fn by_command(view: &SandboxView) -> String {
    let mut text = format!("lane {}, class {}: what is open is the promise of\n", view.lane, view.class);
    let _ = writeln!(text, "       {}", escape_line(&shell_words::join(&view.prefix)));
    for one in view.paths.iter().filter(|one| one.access != "closed") {
        let _ = writeln!(
            text,
            "{:<7}{}  ({}, where it is asked for by {{mount}})",
            one.access,
            escape_line(&one.path),
            one.why
        );
    }
    for name in &view.env {
        let _ = writeln!(text, "env    {name}  (sandbox.env)");
    }
    text
}
