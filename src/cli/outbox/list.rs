//! `fairway outbox list`

use std::fmt::Write;

use anyhow::Result;

use crate::{
    actions::mail::outbox::{self, OutboxFilter},
    cli::{context::Context, exit::Exit, values},
    config::show_duration,
    domain::SessionId,
    env::Timestamp,
    render::{Table, escape_line},
};

/// List unacknowledged messages and prompts, oldest first
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only messages to this session
    #[arg(long = "to-session", alias = "to", value_name = "ID", value_parser = values::session)]
    to: Option<SessionId>,
    /// Include finished messages of the last 7 days
    #[arg(long)]
    all: bool,
    /// Maximum number of messages, newest first [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Default of `--limit`.
const LIMIT: usize = 100;

impl Args {
    /// Whether nothing was asked for in particular.
    pub(super) const fn is_bare(&self) -> bool {
        self.to.is_none() && !self.all && self.limit.is_none()
    }

    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = outbox::list(
            &ctx.app()?,
            &OutboxFilter { to: self.to, all: self.all, limit: self.limit.unwrap_or(LIMIT) },
        )?;
        let now = ctx.env.now();
        ctx.show(
            &found,
            || found.iter().map(|one| one.message.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "to", "priority", "status", "way", "count", "age"]);
                for one in found.iter().map(|one| &one.message) {
                    let (session, lane, role) = (&one.to_session, &one.to_lane, &one.to_role);
                    let to = [("session", session), ("lane", lane), ("role", role)];
                    let to = to.into_iter().find_map(|(noun, name)| Some(format!("{noun} {}", name.as_ref()?)));
                    let age = Timestamp::parse(&one.created_at).map(|at| now.since(at));
                    table.row([
                        one.id.to_string(),
                        to.unwrap_or_default(),
                        one.priority.to_owned(),
                        one.status.to_owned(),
                        one.way.unwrap_or("-").to_owned(),
                        one.count.to_string(),
                        age.map(|age| show_duration(std::time::Duration::from_secs(age.as_secs()))).unwrap_or_default(),
                    ]);
                }
                if table.is_empty() {
                    return "no messages\n".into();
                }
                let mut text = table.coloured(ctx.out.width, ctx.out.style);
                for one in &found {
                    let Some(waits) = &one.waits else { continue };
                    let _ = writeln!(text, "{} waits: {}", one.message.id, escape_line(&waits.text));
                    for next in &waits.next {
                        let _ = writeln!(text, "  {}: {}", next.purpose, escape_line(&next.command));
                    }
                }
                text
            },
        )
    }
}
