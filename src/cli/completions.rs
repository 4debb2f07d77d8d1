//! `fairway completions`

use anyhow::Result;
use clap_complete::Shell;
use serde_json::json;

use super::{context::Context, exit::Exit};

/// Print the completion script of a shell
///
/// Commands and flags are completed by the script. Ids and names are asked from fairway at each Tab.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, mut command: clap::Command) -> Result<Exit> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "fairway", &mut script);
        let script = String::from_utf8_lossy(&script).into_owned();
        ctx.show(&json!({ "shell": self.shell.to_string(), "script": script }), Vec::new, || script.clone())
    }
}
