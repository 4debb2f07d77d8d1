//! `fairway review comments`

use anyhow::Result;

use crate::{
    actions::queue::review::comments,
    cli::{context::Context, exit::Exit, values},
    domain::TaskId,
    render::Table,
};

/// List the open comments on a task's lines
///
/// Each with its line in the commit of the work now. To answer one, change the line, commit and submit again. To leave the line as it
/// is, tell the reviewer why: only the reviewer can resolve the comment.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Answered and resolved ones too
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = comments::list(&ctx.app()?, &self.task, self.all)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "status", "line", "reviewer", "comment"]);
                for one in &found {
                    let place = format!("{}:{}", one.path, one.line);
                    table.row([&one.id.to_string(), one.status, &place, &one.reviewer, &one.text]);
                }
                if table.is_empty() { "no comments\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
