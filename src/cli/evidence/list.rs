//! `fairway evidence list`

use anyhow::Result;

use crate::{
    actions::queue::evidence,
    cli::{age::rough, context::Context, exit::Exit, values},
    domain::TaskId,
    render::Table,
};

/// List a task's evidence, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = evidence::list(&ctx.app()?, &self.task)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "kind", "result", "how", "exit", "commit", "age", "what"]);
                for one in &found {
                    let short = |commit: &String| commit.chars().take(12).collect();
                    table.row([
                        one.id.to_string(),
                        one.kind.clone(),
                        one.result.to_string(),
                        if one.observed { "observed" } else { "claimed" }.to_owned(),
                        one.exit_code.map_or_else(|| "-".into(), |code| code.to_string()),
                        one.commit.as_ref().map_or_else(|| "-".into(), short),
                        rough(ctx.env.now().since(one.created_at)),
                        one.summary.clone().or_else(|| one.command.clone()).unwrap_or_default(),
                    ]);
                }
                if table.is_empty() { "no evidence\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
