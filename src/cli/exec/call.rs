//! `fairway exec call`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::jobs::request,
    cli::{context::Context, exit::Exit},
    wire::exec_request::MAX_DOCUMENT_BYTES,
};

/// Execute a JSON request and print a JSON response
///
/// {"action":"spawn","command":"make test"} and so on: `fairway guide jobs` lists the actions and fields. Without an action the
/// command is run at once. Exit 0 means that there is a response; the command's result is in it. Errors are JSON on
/// stderr.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File of the request; - reads stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let document = ctx.input_of("the document", &self.file, MAX_DOCUMENT_BYTES)?;
        ctx.answer(&request::execute(&ctx.app()?, &document)?)
    }
}
