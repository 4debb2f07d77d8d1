//! `fairway exec call`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::jobs::request,
    cli::{Context, Exit},
    wire::exec_request::MAX_DOCUMENT_BYTES,
};

/// Do what a JSON document asks for; answer with another
///
/// {"action":"spawn","command":"make test"} and so on: docs/guides/jobs.md has every action and field. Without an action the command
/// is run at once. Exit 0 says that there is an answer; how the command ended stands in it. Errors are JSON on stderr.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The document's file; - is stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let document = ctx.input_of("the document", &self.file, MAX_DOCUMENT_BYTES)?;
        ctx.answer(&request::execute(&ctx.app()?, &document)?)
    }
}
