//! `fairway session terminal` and `fairway session structured`

use anyhow::Result;

use crate::{
    actions::sessions::start::switch::{self, SwitchRequest, SwitchTo},
    cli::{context::Context, exit::Exit, values},
    domain::SessionId,
    hooks::LAUNCH_HOOKS,
};

/// Continue a structured session in its agent's terminal
///
/// Waits for the end of the turn, ends the structured agent, and starts the agent's own program on the same conversation.
/// Session, claims and queued prompts stay. When the program does not start, the session goes on as it was.
#[derive(Debug, clap::Args)]
pub struct TerminalArgs {
    #[command(flatten)]
    switch: Args,
}

/// Continue a session without its terminal
///
/// Waits for the end of the turn, ends the agent in its terminal, and continues the same conversation over the Agent Client
/// Protocol. Session, claims and queued prompts stay. When the agent does not start, the session goes on as it was.
#[derive(Debug, clap::Args)]
pub struct StructuredArgs {
    #[command(flatten)]
    switch: Args,
}

#[derive(Debug, clap::Args)]
struct Args {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Cancel a running turn
    #[arg(long)]
    cancel_turn: bool,
}

impl TerminalArgs {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        self.switch.run(ctx, SwitchTo::Terminal)
    }
}

impl StructuredArgs {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        self.switch.run(ctx, SwitchTo::Structured)
    }
}

impl Args {
    fn run(self, ctx: &Context, to: SwitchTo) -> Result<Exit> {
        let request = SwitchRequest { to, cancels_turn: self.cancel_turn, hooks: &LAUNCH_HOOKS };
        let answer = switch::switch(&ctx.app()?, &self.id, &request)?;
        ctx.answer(&answer)
    }
}
