//! `fairway adapter install`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::Answer,
    adapters::list::{self, InstalledScripts},
    cli::{context::Context, exit::Exit},
    wire::InstalledScriptsView,
};

/// Write the built-in backend scripts to a directory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory
    dir: PathBuf,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let InstalledScripts { dir, written } = list::install(&ctx.env, &self.dir)?;
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        let line = if names.is_empty() {
            format!("unchanged: {} has every script already", dir.display())
        } else {
            format!("wrote {}", names.join(", "))
        };
        let document = InstalledScriptsView { dir: dir.clone(), written: names };
        ctx.answer(&Answer::new(&document, dir.display(), line)?)
    }
}
