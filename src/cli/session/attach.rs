//! `fairway session attach`

use anyhow::Result;

use crate::{
    actions::session::attach,
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
};

/// Sit down at a session: its terminal becomes yours until you detach or it ends
///
/// How to detach is the backend's affair (tmux: Ctrl-b d; screen: Ctrl-a d; zellij: Ctrl-o d). Exits as the backend's script does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let attachable = attach::attach(&app, &self.id)?;
        // Somebody may sit there for days: nothing of the store is held meanwhile.
        drop(app);
        attachable.run()
    }
}
