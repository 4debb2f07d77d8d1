//! `fairway exec call`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::exec::call,
    cli::{context::Context, exit::Exit},
    wire::call::LONGEST,
};

/// Do what a JSON document asks for; answer with another
///
/// {"action":"spawn","command":"make test"} and so on: docs/exec.md has every action and field. Without an action the command
/// is run at once. Exit 0 says that there is an answer; how the command ended stands in it. Errors are JSON on stderr.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The document's file; - is stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let document = ctx.input_of("the document", &self.file, LONGEST)?;
        ctx.answer(&call::call(&ctx.app()?, &document)?)
    }
}
