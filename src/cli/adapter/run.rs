//! `fairway adapter run`

use anyhow::Result;

use crate::{
    actions::backend::plumbing,
    adapters::plumbing::Detached,
    cli::{Context, Exit},
    render::safe_line,
};

/// Run a session's program to its end, here; its exit code is the answer
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// Run it in a process of its own, and print its report once it has come up
    #[arg(long, conflicts_with = "report")]
    detach: bool,
    /// Be that process
    #[arg(long, hide = true)]
    report: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.detach {
            ctx.out.text(&plumbing::detach(&ctx.env, &self.name)?)?;
            return Ok(0);
        }
        let how = if self.report { Detached::Yes } else { Detached::No };
        let code = plumbing::run(&ctx.env, &self.name, how, |why| ctx.out.complain(&safe_line(why)))?;
        Ok(Exit::try_from(code).unwrap_or(1))
    }
}
