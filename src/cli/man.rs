//! `fairway man`

use anyhow::Result;
use serde_json::json;

use super::{context::Context, exit::Exit, help::page};
use crate::{actions::core::errors, domain::Refusal};

/// Print a manual page
///
/// View it with: fairway man | man -l -
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Command of the page; default: the whole program
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context, command: clap::Command) -> Result<Exit> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let about = match words.as_slice() {
            [] => Some(command),
            path => page::laid_out(&command, path, false),
        };
        let about = about.ok_or_else(|| Refusal::not_found("command", self.words.join(" ")))?;
        let name = [&["fairway"], words.as_slice()].concat().join("-");
        let mut page = Vec::new();
        clap_mangen::Man::new(about.name(name.clone())).render(&mut page).map_err(errors::internal)?;
        let page = String::from_utf8_lossy(&page).into_owned();
        ctx.show(&json!({ "name": name, "page": page }), Vec::new, || page.clone())
    }
}
