//! `fairway adapter install`

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::Answer,
    adapters::list::{self, InstalledScripts},
    cli::{Context, Exit},
};

/// Write the built-in scripts to a folder, to be read, copied and changed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder
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
        ctx.answer(&Answer::new(&json!({ "folder": dir, "written": names }), dir.display(), line)?)
    }
}
