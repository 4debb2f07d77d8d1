//! `fairway sandbox probe`, which `sandbox check` starts outside and inside.

use std::io::{self, Read};

use anyhow::Result;

use crate::{
    actions::sessions::sandbox::check,
    cli::{context::Context, exit::Exit},
};

/// Make the attempts of sandbox check; stdin has the targets
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text)?;
        ctx.out.text(&check::attempt_all(&text, ctx.env.vars())?)?;
        Ok(0)
    }
}
