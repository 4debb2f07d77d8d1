//! `fairway lane diff`

use anyhow::Result;

use crate::{
    actions::queue::lane::diff,
    cli::{context::Context, exit::Exit, globals::Color, values},
    domain::LaneName,
    env::vars,
    os::git::DiffFormat,
    render::escape_line,
};

/// Show what a lane has changed since its base
///
/// Compares the worktree with the commit where its branch left the base, by `git diff`. Uncommitted changes and new files are
/// included; nothing is written to the repository. With --json: the files, with their added and deleted lines. With --since and
/// the number of an event, as `fairway events` shows it: with the lane's branch as it was then, by git's reflog.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Show the amount of changes in each file
    #[arg(long)]
    stat: bool,
    /// Show the names of the files only
    #[arg(long, conflicts_with = "stat")]
    name_only: bool,
    /// Compare with a commit, branch, tag or the time of an event
    #[arg(long, value_name = "EVENT|COMMIT")]
    since: Option<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, since) = (ctx.app()?, self.since.as_deref());
        if ctx.out.json {
            ctx.out.document(&diff::view(&app, &self.name, since)?)?;
            return Ok(0);
        }
        let format = match (self.stat, self.name_only || ctx.out.quiet) {
            (true, _) => DiffFormat::Stat,
            (false, true) => DiffFormat::NameOnly,
            (false, false) => DiffFormat::Patch,
        };
        let color = match ctx.globals.color {
            Color::Always => Some(true),
            Color::Never => Some(false),
            // Git decides by its own configuration, which does not know `NO_COLOR`.
            Color::Auto => (ctx.env.var(vars::NO_COLOR).is_some()).then_some(false),
        };
        let notes = if ctx.env.terminal.stdout {
            diff::show(&app, &self.name, since, format, color)?
        } else {
            let (text, notes) = diff::text(&app, &self.name, since, format, color)?;
            ctx.out.bytes(&text)?;
            notes
        };
        for path in notes.special {
            let path = escape_line(&path);
            ctx.out.note(&format!("note: {path} is no regular file now, which git cannot keep: it counts as deleted"));
        }
        for path in notes.runs_later {
            ctx.out.note(&format!("note: would run on your machine: {}", escape_line(&path)));
        }
        Ok(0)
    }
}
