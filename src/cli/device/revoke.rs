//! `fairway device revoke`

use anyhow::Result;

use super::values;
use crate::{
    actions::upkeep::devices,
    cli::{context::Context, exit::Exit},
    domain::id::DeviceName,
};

/// Revoke a paired browser
///
/// It is refused from its next request on, and what it listens to ends at once. The devices that were paired from its page are revoked
/// with it. Refused inside a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Name, as in device list
    #[arg(value_parser = values::device)]
    device: DeviceName,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&devices::revoke(&ctx.app()?, &self.device)?)
    }
}
