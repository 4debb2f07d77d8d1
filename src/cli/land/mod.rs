//! `fairway land`

mod pause;
mod resume;
mod run_checks;
mod show;

use anyhow::Result;
use clap::Subcommand;

use super::{context::Context, exit::Exit};
use crate::actions::{
    agents::guard,
    land::{self, LandRequest, UpstreamUse},
};

/// Land finished work in its base
///
/// Lands the commit of a task, or the tip of a lane, with every task whose commit it contains. Each must pass the merge gates and
/// those of `done`. The merge is made without a worktree; the checks of [land] and of the tasks run on the merged tree; then the
/// base moves, and a clean checkout of it is updated. The tasks are done. Sessions of lanes that now conflict get a message.
/// A conflict or a failed check sends the work back, and the next goes on. No git hook runs.
///
/// --all lands tasks in review, and finished ones whose lane has commits that the base lacks. lane:NAME is always a lane. Several
/// land in the order that lets most land without rework. Up to [land] batch of them share one check; a batch that fails is halved
/// until the one that breaks is alone. [land] width checks several trees at once. --fetch first brings the base to its upstream.
/// --push pushes the checked commit, never by force, and counts it as landed only then; a push that loses a race begins anew on
/// the new upstream. With the store on a server both are always done, unless [land] shared = false. After a crash the next landing
/// completes what was interrupted. For people, and for sessions of the roles in [land] roles. The words pause, resume and show are
/// commands; a lane of that name is lane:NAME.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Task id or lane name; repeatable
    #[arg(value_name = "TASK|LANE", group = "what")]
    names: Vec<String>,
    /// Land everything that is ready
    #[arg(long, group = "what")]
    all: bool,
    /// Land everything that is ready until nothing more lands
    #[arg(long, group = "what")]
    queue: bool,
    /// Print the order and what would happen; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Fetch the upstream of the base, and land on it
    #[arg(long, conflicts_with = "dry_run")]
    fetch: bool,
    /// Push what lands to the upstream of the base; implies --fetch
    #[arg(long, conflicts_with = "dry_run")]
    push: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands about landing as a whole.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Pause(pause::Args),
    Resume(resume::Args),
    Show(show::Args),
    #[command(hide = true)]
    RunChecks(run_checks::Args),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self.verb {
            Some(Verb::Pause(args)) => return args.run(ctx),
            Some(Verb::Resume(args)) => return args.run(ctx),
            Some(Verb::Show(args)) => return args.run(ctx),
            Some(Verb::RunChecks(args)) => return args.run(),
            None => {}
        }
        let upstream = match (self.push, self.fetch) {
            (true, _) => UpstreamUse::Push,
            (false, true) => UpstreamUse::Fetch,
            (false, false) => UpstreamUse::Ignore,
        };
        let Self { names, all, queue, dry_run, .. } = self;
        let request = LandRequest { names, all, queue, dry_run, upstream };
        let say = |line: &str| ctx.out.note(&crate::render::escape_controls(line));
        let app = ctx.app()?;
        let may_push = |remote: &str, branch: &str| guard::refuse_denied_push(&app, remote, branch);
        let (answer, exit) = land::land(&app, &request, &say, &may_push)?;
        ctx.answer(&answer)?;
        Ok(exit)
    }
}
