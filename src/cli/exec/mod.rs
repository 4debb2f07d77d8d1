//! `fairway exec …`

use anyhow::Result;
use clap::Subcommand;

use super::{Context, Exit};

/// Commands that outlive the call: start, look, steer, end
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Verb {}

impl Verb {
    pub(super) fn run(self, _ctx: &Context) -> Result<Exit> {
        match self {}
    }
}
