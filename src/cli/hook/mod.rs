//! `fairway hook …`

use anyhow::Result;

use super::{Context, Exit, values};
use crate::hooks::{self, Call, Provider};

/// Answer a hook of an agent's command line: its JSON on stdin, the answer in its own form on stdout
///
/// A call that must not run is denied with its reason, and so is one on which there can be no decision. The event is named as
/// the vendor names it; 'wait' waits beside an idle agent for something to tell it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Whose hook it is
    #[arg(value_parser = values::hook_provider)]
    provider: Provider,
    /// The event
    event: String,
}

impl Args {
    #[expect(clippy::unnecessary_wraps, reason = "every verb runs the same way")]
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let call = Call { provider: self.provider, event: &self.event, root: ctx.globals.root.as_deref() };
        Ok(hooks::run(&call, || ctx.env.as_ref().clone()))
    }
}
