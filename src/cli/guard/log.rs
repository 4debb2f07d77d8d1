//! `fairway guard log`

use anyhow::Result;

use crate::{
    actions::agents::guard,
    cli::{age::age, context::Context, exit::Exit, values},
    domain::SessionId,
    render::Table,
    wire::tool_input,
};

/// List the latest guard decisions, newest last
///
/// Decisions are kept for 30 days. Secrets in the input are masked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Maximum number of decisions; 0 for all
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::limit)]
    limit: u32,
    /// Only decisions about this session
    #[arg(long = "of-session", aliases = ["session-filter", "for"], value_name = "SESSION", value_parser = values::session)]
    of: Option<SessionId>,
    /// Only denials
    #[arg(long)]
    denied: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        // `--session` is also who acts: here it says whose decisions are meant.
        let acting = ctx.actor()?.session.filter(|_| ctx.globals.session.is_some());
        let of = self.of.as_ref().or(acting.as_ref());
        let found = guard::log(&ctx.app()?, of, self.denied, i64::from(self.limit))?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "age", "session", "tool", "verdict", "rule", "reason", "input"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.at.as_deref().map_or_else(|| "-".into(), |at| age(at, ctx.env.now())),
                        one.session_id.clone().unwrap_or_else(|| "-".into()),
                        one.tool.clone(),
                        if one.allowed { "allowed" } else { "denied" }.to_owned(),
                        one.rule.clone().unwrap_or_else(|| "-".into()),
                        one.reason.clone(),
                        tool_input::summary(&one.input),
                    ]);
                }
                if table.is_empty() { "no decisions\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}
