//! `fairway man`

use anyhow::Result;
use serde_json::json;

use super::{context::Context, exit::Exit};
use crate::{actions::failure, domain::Refusal};

/// Print a manual page, for man -l -
///
/// For example: fairway man task add | man -l -
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command that the page is about; the whole program when not given
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let mut about = command;
        let mut name = "fairway".to_owned();
        for word in &self.words {
            let found = about.find_subcommand(word).cloned();
            about = found.ok_or_else(|| Refusal::not_found("command", self.words.join(" ")))?;
            name = format!("{name}-{word}");
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(about.name(name.clone())).render(&mut page).map_err(failure::internal)?;
        let page = String::from_utf8_lossy(&page).into_owned();
        ctx.show(&json!({ "name": name, "page": page }), Vec::new, || page.clone())
    }
}
