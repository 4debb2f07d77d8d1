//! `fairway config check`

use anyhow::Result;

use crate::{
    actions::project::config,
    cli::{context::Context, exit::Exit},
    config::Project,
    render::escape_line,
};

/// Check the configuration; name the wrong file and key
///
/// Checks the files as they are now, also while the last trusted text is in force, and says whether they are trusted.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let project = Project::discover(&ctx.env, ctx.globals.root.as_deref())?;
        let checked = config::check(&ctx.env, &project)?;
        let files = if checked.files.is_empty() { "defaults only".to_owned() } else { checked.files.join(", ") };
        ctx.show(&checked, Vec::new, || {
            let known = if checked.trust == "trusted" { " and trusted" } else { "" };
            let why = checked.why.as_ref().map(|why| format!("not trusted: {}\n", escape_line(why)));
            format!("the configuration is good{known}: {}\n{}", escape_line(&files), why.unwrap_or_default())
        })
    }
}
