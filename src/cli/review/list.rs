//! `fairway review list`

use anyhow::Result;

use crate::{
    actions::queue::review::list,
    cli::{age::age, context::Context, exit::Exit, values},
    domain::TaskId,
    render::Table,
};

/// List a task's reviews, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = list::list(&ctx.app()?, &self.task)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "domain", "status", "verdict", "commit", "reviewer", "age"]);
                for one in &found {
                    let dash = |text: Option<&str>| text.unwrap_or("-").chars().take(40).collect::<String>();
                    table.row([
                        one.id.to_string(),
                        one.domain.clone(),
                        one.status.to_owned(),
                        dash(one.verdict),
                        dash(one.commit.as_deref()),
                        dash(one.reviewer.as_deref()),
                        age(&one.created_at, ctx.env.now()),
                    ]);
                }
                if table.is_empty() { "no reviews\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
