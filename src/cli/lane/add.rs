//! `fairway lane add`

use anyhow::Result;

use crate::{
    actions::queue::lane::{self, LanePatch},
    cli::{Context, Exit, values},
    config::project::normalize,
    domain::{LaneName, Refusal, Role, id::Label},
};

/// Add a lane
///
/// With --create-worktree git makes a branch (lane/NAME, from the base) and a worktree of it (.fairway/worktrees/NAME).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    said: Said,
    /// Make branch and worktree with git
    #[arg(long)]
    create_worktree: bool,
}

/// What may be said about a lane.
#[derive(Debug, clap::Args)]
pub struct Said {
    /// The role that works in it
    #[arg(long)]
    role: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Its branch
    #[arg(long)]
    branch: Option<String>,
    /// The branch that it comes from and goes back to
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Its worktree's folder
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// How many tasks may be held in it at once
    #[arg(long, value_name = "N")]
    wip: Option<String>,
    /// The provider that its sessions have by default
    #[arg(long)]
    provider: Option<String>,
    /// The backend that its sessions have by default
    #[arg(long)]
    backend: Option<String>,
}

impl Said {
    /// Reads what was said; an empty text clears.
    ///
    /// # Errors
    /// `invalid_value`, naming the field.
    pub fn fields(self, ctx: &Context) -> Result<LanePatch, Refusal> {
        let folder = |text: &str| {
            let folder = normalize(&ctx.env.cwd.join(text));
            let text = folder.to_str().map(str::to_owned);
            text.ok_or_else(|| Refusal::invalid("worktree", "lies below a folder whose name is not UTF-8"))
        };
        let text = |text: &str| Ok::<_, Refusal>(text.to_owned());
        Ok(LanePatch {
            title: read(self.title, text)?,
            role: read(self.role, Role::parse)?,
            branch: read(self.branch, text)?,
            base: read(self.base, text)?,
            worktree: read(self.worktree, folder)?,
            wip_limit: read(self.wip, limit)?,
            provider: read(self.provider, Label::parse)?,
            backend: read(self.backend, text)?,
        })
    }
}

#[expect(clippy::option_option, reason = "not said, cleared and set are three things")]
fn read<T, E>(said: Option<String>, parse: impl Fn(&str) -> Result<T, E>) -> Result<Option<Option<T>>, E> {
    said.map(|text| if text.is_empty() { Ok(None) } else { parse(&text).map(Some) }).transpose()
}

fn limit(text: &str) -> Result<i64, Refusal> {
    let number = text.parse::<u32>().map(i64::from);
    number.map_err(|_| Refusal::invalid("wip", format!("'{}' is not a number of tasks", text.escape_debug())))
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, fields) = (ctx.app()?, self.said.fields(ctx)?);
        ctx.answer(&if self.create_worktree {
            lane::add::add_with_worktree(&app, &self.name, &fields)?
        } else {
            lane::add::add(&app, &self.name, &fields)?
        })
    }
}
