//! `fairway approvals list`

use anyhow::Result;

use crate::{
    actions::agents::approval,
    cli::{age::age, context::Context, exit::Exit},
    render::Table,
    wire::tool_input,
};

/// List open permission requests, oldest first
///
/// Secrets in the input are masked; --json shows more of it. HERE = no: the agent asks in its own window. An answer is taken in
/// the dialog there if that is known and shows exactly this command; else attach.
#[derive(Debug, Default, clap::Args)]
pub struct Args {
    /// Include answered and expired requests
    #[arg(long)]
    all: bool,
    /// Keep running: print each new request and ring the bell
    #[arg(long, conflicts_with = "all")]
    watch: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.watch {
            return super::watch::run(ctx, None);
        }
        let found = approval::list(&ctx.app()?, self.all)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "session", "provider", "tool", "status", "here", "age", "input"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.session_id.clone(),
                        one.provider.clone(),
                        one.tool.clone(),
                        one.status.to_owned(),
                        if one.answerable { "yes" } else { "no" }.to_owned(),
                        age(&one.asked_at, ctx.env.now()),
                        tool_input::summary(&one.input),
                    ]);
                }
                if table.is_empty() { "no approvals\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
