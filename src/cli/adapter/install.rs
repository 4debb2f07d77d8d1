//! `fairway adapter install`

use std::path::PathBuf;

use anyhow::Result;

use crate::{
    actions::Answer,
    adapters::list::{self, InstalledScripts},
    cli::{context::Context, exit::Exit},
    wire::InstalledScriptsView,
};

/// Write the backend scripts and examples to a directory
///
/// The scripts of the built-in backends and provider-event.sh; minimal.sh, the template of a backend script; bridges/, which
/// launch a session by ROLE and TASK; watchers/, which follow a provider's events. A file that differs is kept and refused.
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
            format!("unchanged: {} has every file already", dir.display())
        } else {
            format!("wrote {}", names.join(", "))
        };
        let document = InstalledScriptsView { dir: dir.clone(), written: names };
        ctx.answer(&Answer::new(&document, dir.display(), line)?)
    }
}
