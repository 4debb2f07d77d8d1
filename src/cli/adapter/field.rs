//! `fairway adapter field`

use anyhow::Result;

use crate::{
    actions::backend::place,
    adapters::plumbing::Field,
    cli::{Context, Exit, values},
};

/// Print what a script must know of a session, a line each; nothing for one that is not there
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session's name
    name: String,
    /// What to print
    #[arg(required = true, value_parser = values::session_field)]
    fields: Vec<Field>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let lines = place::fields(&ctx.env, &self.name, &self.fields)?;
        ctx.out.text(&lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
        Ok(0)
    }
}
