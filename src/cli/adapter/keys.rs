//! `fairway adapter keys`

use anyhow::Result;

use crate::{
    actions::backend::plumbing::door,
    cli::{context::Context, exit::Exit},
};

/// Press keys in a session that `adapter run --record` runs: Enter, Up, C-c, …; other words are typed as they are
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// The keys
    #[arg(allow_hyphen_values = true, trailing_var_arg = true)]
    keys: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        door::press(&ctx.env, &self.name, self.keys)?;
        Ok(0)
    }
}
