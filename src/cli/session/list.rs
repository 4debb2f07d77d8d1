//! `fairway session list`

use anyhow::Result;

use crate::{
    actions::sessions::list,
    cli::{age::age, context::Context, exit::Exit},
    env::Timestamp,
    render::Table,
    wire::SessionView,
};

/// List live sessions, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Include ended and failed sessions
    #[arg(long)]
    all: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let sessions = list::list(&ctx.app()?, self.all)?;
        ctx.show(
            &sessions,
            || sessions.iter().map(|session| session.id.clone()).collect(),
            || {
                if sessions.is_empty() {
                    "no sessions\n".into()
                } else {
                    table(&sessions, ctx.env.now()).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

fn table(sessions: &[SessionView], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "status", "activity", "role", "lane", "task", "provider", "seen"]);
    for session in sessions {
        let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        table.row([
            session.id.clone(),
            session.status.to_owned(),
            session.activity.to_owned(),
            session.role.clone(),
            dash(&session.lane),
            dash(&session.task_id),
            dash(&session.provider),
            session.last_heartbeat_at.as_deref().map_or_else(|| "-".into(), |at| age(at, now)),
        ]);
    }
    table
}
