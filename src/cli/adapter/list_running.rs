//! `fairway adapter list-running`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::look,
    cli::{Context, Exit},
};

/// Print the names of the live sessions of this state folder, one a line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What the names begin with
    #[arg(default_value = "")]
    prefix: String,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let names = look::running(&ctx.env, &self.prefix)?;
        ctx.out.text(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        Ok(0)
    }
}
