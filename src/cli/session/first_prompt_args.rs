//! The arguments of `start`, `session launch` and `session relaunch` for the environment and the first prompt of the new session.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Result;

use crate::cli::{context::Context, values};

/// Environment and first prompt of a session that starts.
#[derive(Debug, clap::Args)]
pub struct FirstPromptArgs {
    /// Environment variable; '' unsets it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Text for the first prompt; - reads stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Read the text for the first prompt from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
}

impl FirstPromptArgs {
    /// The environment variables, and the text of the first prompt.
    pub(in crate::cli) fn read(self, ctx: &Context) -> Result<(BTreeMap<String, String>, Option<String>)> {
        let prompt = ctx.text("prompt", self.prompt, self.prompt_file.as_deref())?;
        Ok((self.env.into_iter().collect(), prompt))
    }
}
