//! `fairway lane …`

mod setup;
mod show;

use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::globals::Color;
use crate::cli::values;
use fairway_actions::land;
use fairway_actions::queue::lane::copies::Copies;
use fairway_actions::queue::lane::sync::{self, SyncOptions};
use fairway_actions::queue::lane::{self, LanePatch, close, diff, edit, list, named, repair, rm, stack, status, trim};
use fairway_core::config::project::normalize;
use fairway_core::domain::id::Label;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Refusal, Role, bytes};
use fairway_core::env::vars;
use fairway_core::os::git::DiffFormat;
use fairway_core::render::{Table, escape_line};
use fairway_core::wire::{LaneGitView, LaneView};

/// Manage lanes: named worktrees with a role and a limit
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway lane add api --role backend --create-worktree
fairway lane list")]
#[command(defer = true)]
pub enum Verb {
    Add(AddArgs),
    List(ListArgs),
    Show(show::Args),
    Diff(DiffArgs),
    Sync(SyncArgs),
    Edit(EditArgs),
    /// Pause a lane: no new claims; existing claims stay
    #[command(after_help = "fairway lane pause api")]
    Pause(NameArgs),
    /// Open a paused or closed lane for claims again
    #[command(after_help = "fairway lane open api")]
    Open(NameArgs),
    Close(CloseArgs),
    Setup(setup::Args),
    /// Remove a lane with its worktree and branch
    ///
    /// Only what Fairway created is removed. Refused: a worktree with changes, a branch with unmerged commits, and a lane with
    /// open tasks, live sessions, open handoffs or messages. The history of a lane stays; its name can be used again.
    #[command(after_help = "fairway lane rm api")]
    Rm(RmArgs),
    Prune(PruneArgs),
    Trim(TrimArgs),
    /// Make a lane's worktree again
    ///
    /// For a worktree that was removed, or whose creation was interrupted. It is made from the lane's branch; a branch that is
    /// gone starts again at the base. After the project was moved, the worktree is connected with the repository again.
    #[command(after_help = "fairway lane repair api")]
    Repair(NameArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Add(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Diff(args) => args.run(ctx),
            Self::Sync(args) => args.run(ctx),
            Self::Edit(args) => args.run(ctx),
            Self::Pause(args) => ctx.answer(&status::set(&ctx.app()?, &args.name, LaneStatus::Paused)?),
            Self::Open(args) => ctx.answer(&status::set(&ctx.app()?, &args.name, LaneStatus::Open)?),
            Self::Close(args) => args.run(ctx),
            Self::Setup(args) => args.run(ctx),
            Self::Rm(args) => ctx.answer(&rm::rm(&ctx.app()?, &args.name, args.copies.read())?),
            Self::Prune(args) => ctx.answer(&land::prune_lanes(&ctx.app()?, args.dry_run, args.landed)?),
            Self::Trim(args) => ctx.answer(&trim::trim(&ctx.app()?, &args.names, args.idle, args.dry_run)?),
            Self::Repair(args) => ctx.answer(&repair::repair(&ctx.app()?, &args.name)?),
        }
    }
}

// No doc comment, here and below: the command line would show it in place of each command's purpose.
#[derive(Debug, clap::Args)]
pub struct RmArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    copies: CopiesArgs,
}

#[derive(Debug, clap::Args)]
pub struct CopiesArgs {
    /// Remove copied ignored files too that were changed
    #[arg(long)]
    discard_copies: bool,
}

impl CopiesArgs {
    fn read(&self) -> Copies {
        if self.discard_copies { Copies::Discard } else { Copies::Keep }
    }
}

#[derive(Debug, clap::Args)]
pub struct NameArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
}

/// List lanes by name
///
/// With --git also how many commits each worktree is ahead of its base and behind it, and how many files have uncommitted
/// changes. With --size also its space; a file with several names counts once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane list
fairway lane list --git")]
pub struct ListArgs {
    /// Show the state of each worktree
    #[arg(long)]
    git: bool,
    /// Show the space that each worktree takes
    #[arg(long)]
    size: bool,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let mut lanes = list::list(&ctx.app()?, self.git)?;
        if self.size {
            list::add_sizes(&mut lanes);
        }
        ctx.show(
            &lanes,
            || lanes.iter().map(|lane| lane.name.clone()).collect(),
            || {
                if lanes.is_empty() {
                    "no lanes\n".into()
                } else {
                    lanes_table(&lanes, self.git).coloured(ctx.out.width, ctx.out.style)
                }
            },
        )
    }
}

fn lanes_table(lanes: &[LaneView], with_git: bool) -> Table {
    let git_columns: &[&str] = if with_git { &["ahead", "behind", "changed"] } else { &[] };
    let has_setup = lanes.iter().any(|lane| show::setup(lane).is_some());
    let setup_columns: &[&str] = if has_setup { &["setup"] } else { &[] };
    let has_size = lanes.iter().any(|lane| lane.bytes.is_some());
    let size_columns: &[&str] = if has_size { &["size"] } else { &[] };
    let has_pull = lanes.iter().any(|lane| show::pull(lane).is_some());
    let pull_columns: &[&str] = if has_pull { &["pull request"] } else { &[] };
    let columns = [
        &["name", "status", "role", "held"],
        pull_columns,
        setup_columns,
        git_columns,
        size_columns,
        &["branch", "worktree", "title"],
    ]
    .concat();
    let mut lanes_table = Table::new(&columns);
    for lane in lanes {
        let dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let mut row = vec![lane.name.clone(), lane.status.to_string(), dash(lane.role.as_deref()), show::held(lane)];
        if has_pull {
            row.push(dash(show::pull(lane).map(|pull| &*pull.words)));
        }
        if has_setup {
            row.push(show::setup(lane).map_or_else(|| "-".to_owned(), |setup| setup.state.as_str().replace('_', " ")));
        }
        if with_git {
            let git = lane.git.as_ref().and_then(Option::as_ref);
            let number = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
            let is_known = |git: &LaneGitView| git.commit.is_some() || git.changed_files.is_some();
            let is_gone = lane.other_host.is_none() && git.is_some_and(|git| !is_known(git));
            let changed = git.and_then(|git| git.changed_files).map(|files| files.to_string());
            let changed = changed.unwrap_or_else(|| if is_gone { "gone" } else { "-" }.to_owned());
            row.extend([number(git.and_then(|git| git.ahead)), number(git.and_then(|git| git.behind)), changed]);
        }
        if has_size {
            row.push(lane.bytes.flatten().map_or_else(|| "-".to_owned(), bytes::show));
        }
        row.extend([dash(lane.branch.as_deref()), dash(show::worktree(lane).as_deref()), dash(lane.title.as_deref())]);
        lanes_table.row(row);
    }
    lanes_table
}

/// Add a lane
///
/// With --create-worktree git creates the branch lane/NAME from the base, and a worktree of it in
/// .fairway/worktrees/NAME, or where [lanes] dir says. Ignored files that .worktreeinclude or [lanes] include names are copied into it.
///
/// --on is for work on top of work that has not landed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane add api --role backend --create-worktree
fairway lane add tax --on T-4")]
pub struct AddArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    fields: LaneFields,
    /// Create the branch and the worktree with git
    #[arg(long)]
    create_worktree: bool,
    /// Cut its branch from that of this work, with a worktree
    #[arg(long, value_name = "TASK|LANE", conflicts_with = "base")]
    on: Option<String>,
}

/// The fields of a lane.
#[derive(Debug, clap::Args)]
pub struct LaneFields {
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

impl LaneFields {
    /// Parses the given fields. An empty text clears a field.
    fn patch(self, ctx: &Context) -> Result<LanePatch, Refusal> {
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

#[expect(clippy::option_option, reason = "absent, cleared and set are three things")]
fn read<T, E>(text: Option<String>, parse: impl Fn(&str) -> Result<T, E>) -> Result<Option<Option<T>>, E> {
    text.map(|text| if text.is_empty() { Ok(None) } else { parse(&text).map(Some) }).transpose()
}

fn sandbox(text: &str) -> Result<SandboxClass, Refusal> {
    values::sandbox_class(text).map_err(|why| Refusal::invalid("sandbox", format!("'{}' {why}", text.escape_debug())))
}

fn limit(text: &str) -> Result<i64, Refusal> {
    let number = text.parse::<u32>().map(i64::from);
    number.map_err(|_| Refusal::invalid("wip", format!("'{}' is not a number of tasks", text.escape_debug())))
}

impl AddArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, mut fields) = (ctx.app()?, self.fields.patch(ctx)?);
        if let Some(on) = &self.on {
            fields.base = Some(Some(stack::branch_below(&app, on)?));
        }
        ctx.answer(&if self.create_worktree || self.on.is_some() {
            lane::add::add_with_worktree(&app, &self.name, &fields)?
        } else {
            lane::add::add(&app, &self.name, &fields)?
        })
    }
}

/// Edit a lane; an empty text clears a field
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway lane edit api --wip 2")]
pub struct EditArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    #[command(flatten)]
    fields: LaneFields,
}

impl EditArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let fields = self.fields.patch(ctx)?;
        if fields == LanePatch::default() {
            return Err(Refusal::Usage { why: "say what to change, such as --wip 2".into() }.into());
        }
        ctx.answer(&edit::edit(&ctx.app()?, &self.name, &fields)?)
    }
}

/// Close a lane; branch and worktree stay
///
/// No more tasks can be claimed in it. With --rm-worktree the worktree and the branch that Fairway made are removed, unless
/// they have work that the base lacks, or a session, a claimed task or a job needs them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane close api
fairway lane close api --rm-worktree")]
pub struct CloseArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Remove the worktree and the branch that Fairway made
    #[arg(long)]
    rm_worktree: bool,
    #[command(flatten)]
    copies: CopiesArgs,
}

impl CloseArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        ctx.answer(&if self.rm_worktree {
            close::close_and_remove(&app, &self.name, self.copies.read())?
        } else {
            status::set(&app, &self.name, LaneStatus::Closed)?
        })
    }
}

/// Remove the worktrees of closed lanes
///
/// Removes the worktrees and branches that Fairway made for closed lanes whose work is in the base. A worktree with other work,
/// or in use, stays, and is listed with the reason and a command. Ignored files are removed, as by `git worktree remove`.
///
/// --landed also takes open lanes whose work has landed: their idle agents end, and the lanes are closed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane prune --landed --dry-run
fairway lane prune")]
pub struct PruneArgs {
    /// Also end lanes whose work has landed, with their idle agents
    #[arg(long)]
    landed: bool,
    /// List what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Remove what can be made again from lanes, for space
///
/// Removes the directories that [lanes] regenerable names, such as node_modules, where git ignores them and nothing tracked, no
/// repository and no changed copy is below them. Without a name: of all lanes on this host. A lane in which a session or a job
/// lives stays as it is. The next start sets the lane up again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane trim --idle 3d --dry-run
fairway lane trim api")]
pub struct TrimArgs {
    /// Lane names
    #[arg(value_name = "LANE", value_parser = values::lane)]
    names: Vec<LaneName>,
    /// Only lanes without an event for this long
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    idle: Option<Duration>,
    /// List what would be removed, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Show what a lane has changed since its base
///
/// Without a name: the lane in whose worktree you are, else the only one that has a worktree. Compares the worktree with the
/// commit where its branch left the base, uncommitted changes and new files included; nothing is written. --since with the
/// number of an event compares with the branch as it was then, by git's reflog.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane diff api
fairway lane diff api --since 120")]
pub struct DiffArgs {
    /// Lane name, or the id of a task in it
    #[arg(value_name = "LANE|TASK")]
    name: Option<String>,
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

impl DiffArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (app, since) = (ctx.app()?, self.since.as_deref());
        let name = named::lane_or_task(&app, self.name.as_deref())?;
        if ctx.out.json {
            ctx.out.document(&diff::view(&app, &name, since)?)?;
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
            diff::show(&app, &name, since, format, color)?
        } else {
            let (text, notes) = diff::text(&app, &name, since, format, color)?;
            ctx.out.bytes(&text)?;
            notes
        };
        for path in notes.special {
            let path = escape_line(&path);
            ctx.out.note(&format!("note: {path} is no regular file now, which git cannot keep: it counts as deleted"));
        }
        for path in notes.repositories {
            let path = escape_line(&path);
            ctx.out.note(&format!("note: {path} is a repository of its own: what is inside is not compared"));
        }
        for path in notes.runs_later {
            ctx.out.note(&format!("note: would run on your machine: {}", escape_line(&path)));
        }
        Ok(0)
    }
}

/// Bring the base into a lane's branch and worktree
///
/// Merges the base into the branch; --rebase puts the branch's commits on top of the base instead. On a conflict nothing is
/// changed, and the error names the files. A worktree with changes is refused. Nothing is fetched, and git hooks do not run.
/// --onto brings in the base of a candidate of `land`, so that a failed check can be seen.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway lane sync api --dry-run
fairway lane sync api")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct SyncArgs {
    /// Lane name
    #[arg(value_parser = values::lane)]
    name: LaneName,
    /// Merge the base into the branch; the default
    #[arg(long)]
    merge: bool,
    /// Put the branch's commits on top of the base
    #[arg(long, conflicts_with = "merge")]
    rebase: bool,
    /// Bring in the base of this candidate of a landing
    #[arg(long, value_name = "CANDIDATE", conflicts_with = "rebase")]
    onto: Option<String>,
    /// Sync while another session works in the lane
    #[arg(long)]
    force: bool,
    /// Say what would happen, and change nothing
    #[arg(long)]
    dry_run: bool,
}

impl SyncArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let (rebase, force, dry_run) = (self.rebase && !self.merge, self.force, self.dry_run);
        let options = SyncOptions { onto: self.onto, rebase, force, dry_run };
        ctx.answer(&sync::sync(&ctx.app()?, &self.name, &options)?)
    }
}
