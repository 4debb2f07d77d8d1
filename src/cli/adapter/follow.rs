//! `fairway adapter follow`

use std::{
    io::{self, Write},
    os::fd::AsFd,
};

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    adapters::plumbing::Reader,
    cli::{context::Context, exit::Exit},
    render::Relay,
};

/// Show what a session prints until it ends; a terminal obeys nothing of it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// Only print whether somebody follows it: true or false
    #[arg(long)]
    ask: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.ask {
            ctx.out.line(if look::is_followed(&ctx.env, &self.name)? { "true" } else { "false" })?;
            return Ok(0);
        }
        let stdout = io::stdout();
        if ctx.env.terminal.stdout {
            let relay = Relay::new(&ctx.out, true, ctx.env.terminal.stderr);
            look::follow(&ctx.env, &self.name, stdout.as_fd(), |bytes| {
                relay.out(bytes);
                Reader::Stays
            })?;
            return Ok(0);
        }
        look::follow(&ctx.env, &self.name, stdout.as_fd(), |bytes| {
            let mut stdout = stdout.lock();
            match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
                Ok(()) => Reader::Stays,
                Err(_) => Reader::Gone,
            }
        })?;
        Ok(0)
    }
}
