//! `fairway task edit`

use anyhow::Result;

use super::add::Fields;
use crate::{
    actions::queue::task::edit,
    cli::{context::Context, each, exit::Exit, values},
    domain::{Refusal, TaskId},
};

/// Edit the fields of tasks
///
/// A list replaces the old list; an empty text clears the field. Each task is edited by itself: the failure of one stops no
/// other, and the exit code is that of the first failure. With --json, several ids are answered with an array.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task ids
    #[arg(required = true, value_parser = values::task)]
    id: Vec<TaskId>,
    /// Title in one line; for one task
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
        if self.title.is_some() && self.id.len() > 1 {
            return Err(Refusal::Usage { why: "--title is for one task; several ids are given".into() }.into());
        }
        // Read now: what is read is a part of what a request id stands for, and nothing is read inside a transaction.
        fields.body = ctx.text("body", fields.body.take(), fields.body_file.take().as_deref())?;
        let app = ctx.app()?;
        each::each(ctx, &app, &self.id, |app, id| {
            edit::edit(app, id, |words| {
                if let Some(title) = &self.title {
                    words.title.clone_from(title);
                }
                fields.clone().over(words)
            })
        })
    }
}
