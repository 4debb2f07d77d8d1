//! `fairway task export`

use anyhow::Result;
use clap::ValueEnum;

use crate::{
    actions::{core::errors, queue::task::list},
    cli::{context::Context, exit::Exit},
};

/// Export all tasks for `fairway task import`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line
    Jsonl,
    /// A YAML list
    Yaml,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, out) = (ctx.app()?, &ctx.out);
        if out.json {
            // One document, as everywhere: the list of them all.
            let mut tasks = Vec::new();
            list::export(&app, |task| {
                tasks.push(task.clone());
                Ok(())
            })?;
            out.document(&tasks)?;
            return Ok(0);
        }
        list::export(&app, |task| {
            match self.format {
                _ if out.quiet => out.line(&task.id)?,
                Format::Jsonl => out.document(task)?,
                Format::Yaml => out.text(&serde_saphyr::to_string(&[task]).map_err(errors::internal)?)?,
            }
            Ok(())
        })?;
        Ok(0)
    }
}
