//! `fairway guide`

use anyhow::Result;

use super::{context::Context, exit::Exit};
use crate::{actions::project::guide, render::escape_controls, wire::GuideView};

/// Print how an agent works in a project
///
/// Works everywhere, also in a worktree without a .fairway directory and outside of projects. A project's own
/// .fairway/AGENTS.md is printed in its place if a person has changed it.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    #[expect(clippy::unused_self, reason = "every command is called alike")]
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let guide = guide::guide(&ctx.env, ctx.globals.root.as_deref());
        let document = GuideView { text: guide.text.clone(), file: guide.file };
        ctx.show(&document, Vec::new, || escape_controls(&guide.text))
    }
}
