//! `fairway adapter list-running`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{context::Context, exit::Exit},
};

/// Print the names of the live sessions of this state folder, one a line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the names begin with
    #[arg(default_value = "")]
    prefix: String,
    /// Only those whose folder holds a file of this name
    #[arg(long, value_name = "FILE")]
    with: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let names = look::running(&ctx.env, &self.prefix, self.with.as_deref())?;
        ctx.out.text(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        Ok(0)
    }
}
