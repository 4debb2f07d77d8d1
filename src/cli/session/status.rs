//! `fairway session status`

use anyhow::Result;

use crate::{
    actions::sessions::list,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::escape_line,
    wire::SessionOverviewView,
};

/// Print a session's status in one line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let one = SessionOverviewView::from(&list::show(&ctx.app()?, &self.id)?.0);
        ctx.show(&one, || vec![one.session.id.clone()], || format!("{}\n", escape_line(&line(&one))))
    }
}

fn line(one: &SessionOverviewView) -> String {
    let session = &one.session;
    let said = |words: &Option<String>| words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    if session.ended_at.is_some() {
        let code = session.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        return format!("{}{code}{}", session.status, said(&session.reason));
    }
    if one.alive.alive == Some(false) {
        return format!("dead: {}; recorded as {}", one.alive.alive_reason, session.status);
    }
    if one.shown_status == "orphaned" {
        return format!("{}: {}", session.status, one.alive.alive_reason);
    }
    let doing = match one.shown_activity {
        None | Some("unknown") => String::new(),
        Some(activity) => format!(", {activity}{}", said(&session.waiting_for)),
    };
    format!("{}{}{doing}", session.status, said(&session.reason))
}
