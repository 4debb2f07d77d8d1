//! `fairway session attach`

use anyhow::Result;

use crate::{
    actions::{
        App,
        sessions::{
            control::attach,
            start::switch::{self, SwitchRequest, SwitchTo},
        },
    },
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    hooks::LAUNCH_HOOKS,
    render::escape_controls,
};

/// Attach your terminal to a session
///
/// A structured session goes on in its agent's own terminal first: its turn is awaited, and fairway session structured leads
/// back. Where that is not possible, or without a terminal, its conversation is printed as it goes on.
///
/// Detach with the backend's own keys (tmux: Ctrl-b d; screen: Ctrl-a d; zellij: Ctrl-g, Ctrl-o, d). Exits with the code of
/// the backend script, or with 0 when the session has ended meanwhile.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Print a structured session's conversation, change nothing
    #[arg(long)]
    follow: bool,
    /// Cancel a running turn of a structured session
    #[arg(long, conflicts_with = "follow")]
    cancel_turn: bool,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        self.switch(ctx, &app)?;
        let attachable = attach::attach(&app, &self.id)?;
        // A person may stay attached for days: close the store meanwhile.
        drop(app);
        attachable.run()
    }

    /// Has a structured session go on in its agent's terminal, where there is a terminal here and that is possible.
    fn switch(&self, ctx: &Context, app: &App) -> Result<()> {
        if self.follow || !ctx.env.terminal.stdin || !switch::is_structured(app, &self.id)? {
            return Ok(());
        }
        let request = SwitchRequest { to: SwitchTo::Terminal, cancels_turn: self.cancel_turn, hooks: &LAUNCH_HOOKS };
        if let Err(why) = switch::check(app, &self.id, &request) {
            let why = format!("{} stays structured: {why:#}", self.id);
            ctx.out.note(&escape_controls(&why));
            return Ok(());
        }
        ctx.out.note("waiting for the end of the turn");
        let answer = switch::switch(app, &self.id, &request)?;
        ctx.notes(&answer);
        Ok(())
    }
}
