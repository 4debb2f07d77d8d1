//! The question that a person answers before a command goes on.

use anyhow::Result;

use super::context::Context;
use crate::{domain::Refusal, os::terminal::confirm};

/// Whether a person can be asked and wants to be.
pub fn can_ask(ctx: &Context, yes: bool) -> bool {
    !yes && ctx.env.terminal.stdin && ctx.env.terminal.stderr
}

/// Asks at a terminal; elsewhere, and with `--yes`, nothing is asked.
///
/// # Errors
/// `not_confirmed`.
pub fn require(ctx: &Context, yes: bool, question: &str) -> Result<()> {
    if !can_ask(ctx, yes) || confirm(question)? { Ok(()) } else { Err(Refusal::NotConfirmed.into()) }
}
