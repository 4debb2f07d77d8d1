//! `fairway session status`

use anyhow::Result;

use crate::{
    actions::sessions::list,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    render::escape_line,
    wire::SessionView,
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
        let session = SessionView::from(&list::show(&ctx.app()?, &self.id)?);
        ctx.show(&session, || vec![session.id.clone()], || format!("{}\n", escape_line(&line(&session))))
    }
}

fn line(session: &SessionView) -> String {
    let said = |words: &Option<String>| words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    if session.ended_at.is_some() {
        let code = session.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        return format!("{}{code}{}", session.status, said(&session.reason));
    }
    let doing = match session.activity {
        "unknown" => String::new(),
        activity => format!(", {activity}{}", said(&session.waiting_for)),
    };
    format!("{}{}{doing}", session.status, said(&session.reason))
}
