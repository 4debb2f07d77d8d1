//! The question that a person answers before a command goes on.

use anyhow::Result;

use super::context::Context;
use fairway_core::domain::Refusal;
use fairway_core::os::terminal::confirm;

/// Returns true when stdin and stderr are terminals, and the person has not answered in advance with `--yes`.
pub fn can_ask(ctx: &Context, yes: bool) -> bool {
    !yes && ctx.env.terminal.stdin && ctx.env.terminal.stderr
}

/// Asks the person at the terminal to confirm. Without a terminal, or with `yes`, it asks nothing and succeeds.
///
/// # Errors
/// `not_confirmed` when the person declines.
pub fn require(ctx: &Context, yes: bool, question: &str) -> Result<()> {
    if !can_ask(ctx, yes) || confirm(question)? { Ok(()) } else { Err(Refusal::NotConfirmed.into()) }
}
