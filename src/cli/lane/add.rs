//! `fairway lane add`

use anyhow::Result;

use crate::{
    actions::queue::lane::{self, LanePatch},
    cli::{context::Context, exit::Exit, values},
    config::project::normalize,
    domain::{LaneName, Refusal, Role, id::Label, sandbox::SandboxClass},
};

/// Add a lane
///
/// With --create-worktree git creates the branch lane/NAME from the base, and a worktree of it in
/// .fairway/worktrees/NAME.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    said: Said,
    /// Create the branch and the worktree with git
    #[arg(long)]
    create_worktree: bool,
}

/// The fields of a lane.
#[derive(Debug, clap::Args)]
pub struct Said {
    /// Role of the sessions in the lane
    #[arg(long)]
    role: Option<String>,
    /// Description in one line
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Branch of the lane
    #[arg(long)]
    branch: Option<String>,
    /// Branch that the lane starts from and merges into
    #[arg(long, value_name = "BRANCH")]
    base: Option<String>,
    /// Directory of the worktree, on this host
    #[arg(long, value_name = "DIR")]
    worktree: Option<String>,
    /// Maximum number of claimed tasks in the lane
    #[arg(long, value_name = "N")]
    wip: Option<String>,
    /// Default provider of its sessions
    #[arg(long)]
    provider: Option<String>,
    /// Default backend of its sessions
    #[arg(long)]
    backend: Option<String>,
    /// Sandbox of each session: off, namespace or command
    #[arg(long, value_name = "CLASS")]
    sandbox: Option<String>,
}

impl Said {
    /// Reads what was said; an empty text clears.
    ///
    /// # Errors
    /// `invalid_value`, naming the field.
    pub fn fields(self, ctx: &Context) -> Result<LanePatch, Refusal> {
        let dir = |text: &str| {
            let dir = normalize(&ctx.env.cwd.join(text));
            let text = dir.to_str().map(str::to_owned);
            text.ok_or_else(|| Refusal::invalid("worktree", "is below a directory whose name is not UTF-8"))
        };
        let text = |text: &str| Ok::<_, Refusal>(text.to_owned());
        Ok(LanePatch {
            title: read(self.title, text)?,
            role: read(self.role, Role::parse)?,
            branch: read(self.branch, text)?,
            base: read(self.base, text)?,
            worktree: read(self.worktree, dir)?,
            wip_limit: read(self.wip, limit)?,
            provider: read(self.provider, Label::parse)?,
            backend: read(self.backend, text)?,
            sandbox: read(self.sandbox, sandbox)?,
        })
    }
}

#[expect(clippy::option_option, reason = "not said, cleared and set are three things")]
fn read<T, E>(said: Option<String>, parse: impl Fn(&str) -> Result<T, E>) -> Result<Option<Option<T>>, E> {
    said.map(|text| if text.is_empty() { Ok(None) } else { parse(&text).map(Some) }).transpose()
}

fn sandbox(text: &str) -> Result<SandboxClass, Refusal> {
    values::sandbox_class(text).map_err(|why| Refusal::invalid("sandbox", format!("'{}' {why}", text.escape_debug())))
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
