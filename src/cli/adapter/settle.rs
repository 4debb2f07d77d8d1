//! `fairway adapter settle`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::backend::plumbing::start,
    adapters::plumbing::Made,
    cli::{context::Context, exit::Exit},
    render::safe_line,
};

/// Wait until a session that was just made is up and ready, do what is to follow, and print its report
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// The script that made it, which is called to peek and to type
    script: PathBuf,
    /// The pane that it runs in
    #[arg(long, value_name = "PANE")]
    pane: Option<String>,
    /// Where its multiplexer listens
    #[arg(long, value_name = "PATH")]
    socket: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut warn = |why: &str| ctx.out.complain(&safe_line(why));
        let made = Made { pane: self.pane, socket: self.socket };
        let report = start::settle(&ctx.env, &self.name, &self.script, made, &mut warn)?;
        ctx.out.document(&report)?;
        Ok(0)
    }
}
