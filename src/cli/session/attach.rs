//! `fairway session attach`

use anyhow::Result;

use crate::{
    actions::sessions::control::attach,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Attach your terminal to a session
///
/// Detach with the backend's own keys (tmux: Ctrl-b d; screen: Ctrl-a d; zellij: Ctrl-g, Ctrl-o, d). Exits with the code of
/// the backend script, or with 0 when the session has ended meanwhile.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let attachable = attach::attach(&app, &self.id)?;
        // A person may stay attached for days: close the store meanwhile.
        drop(app);
        attachable.run()
    }
}
