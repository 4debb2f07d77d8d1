//! `fairway land run-checks`

use std::io;

use anyhow::Result;

use crate::{actions::land, cli::exit::Exit};

/// Run the checks of one tree; started by Fairway itself
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self) -> Result<Exit> {
        land::run_checks(io::stdin().lock(), io::stdout().lock())?;
        Ok(0)
    }
}
