//! `fairway task edit`

use anyhow::Result;

use super::add::Fields;
use crate::{
    actions::queue::task::edit,
    cli::{context::Context, exit::Exit, values},
    domain::{Refusal, TaskId},
};

/// Edit a task's fields
///
/// A list replaces the old list; an empty text clears the field.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    id: TaskId,
    /// Title in one line
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    fields: Fields,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let mut fields = self.fields;
        if self.title.is_none() && fields.is_empty() {
            return Err(Refusal::Usage { why: "say what to change, such as --title TEXT".into() }.into());
        }
        // Read now: what is read is a part of what a request id stands for, and nothing is read inside a transaction.
        fields.body = ctx.text("body", fields.body.take(), fields.body_file.take().as_deref())?;
        let app = ctx.app()?;
        ctx.answer(&edit::edit(&app, &self.id, |words| {
            if let Some(title) = self.title {
                words.title = title;
            }
            fields.over(words)
        })?)
    }
}
