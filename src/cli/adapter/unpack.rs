//! `fairway adapter unpack`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::start,
    cli::{context::Context, exit::Exit},
    render::safe_line,
};

/// Keep the start configuration on stdin for the program that is to be run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut warn = |why: &str| ctx.out.complain(&safe_line(why));
        start::unpack(&ctx.env, &self.name, std::io::stdin().lock(), &mut warn)?;
        Ok(0)
    }
}
