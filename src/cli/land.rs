//! `fairway land`

use std::io;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use fairway_actions::agents::guard;
use fairway_actions::core::check_slot::Turn;
use fairway_actions::land::{self, LandRequest, UpstreamUse};
use fairway_core::domain::landing::LandThrough;

/// Land finished work in its base
///
/// Lands the commit of a task, or the tip of a lane, with every task whose commit it contains. Each must pass the merge gates,
/// those of `done`, and the checks on the merged tree. Then the base moves, and the tasks are done. A conflict or a failed
/// check sends the work back, and the next goes on.
///
/// For people, and roles that may land. A lane named pause, resume or show is lane:NAME.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway land T-4
fairway land --all --dry-run")]
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
    /// Do not wait for a slot for checks
    #[arg(long, conflicts_with = "dry_run")]
    now: bool,
    /// Fetch the upstream of the base, and land on it
    #[arg(long, conflicts_with = "dry_run")]
    fetch: bool,
    /// Push what lands to the upstream of the base; implies --fetch
    #[arg(long, conflicts_with = "dry_run")]
    push: bool,
    /// Push the lane's branch and open its pull request
    #[arg(long, conflicts_with = "push")]
    pr: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The commands about landing as a whole.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Show(ShowArgs),
    #[command(hide = true)]
    RunChecks(RunChecksArgs),
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
        let Self { names, all, queue, dry_run, now, pr, .. } = self;
        let through = pr.then_some(LandThrough::Pr);
        let request = LandRequest { names, all, queue, dry_run, turn: Turn::of(now), through, upstream };
        let say = |line: &str| ctx.out.note(&fairway_core::render::escape_controls(line));
        let app = ctx.app()?;
        let may_push = |remote: &str, branch: &str| guard::refuse_denied_push(&app, remote, branch);
        let (answer, exit) = land::land(&app, &request, &say, &may_push)?;
        ctx.answer(&answer)?;
        Ok(exit)
    }
}

/// Pause landing on this host
///
/// A landing at work finishes its step; then nothing lands until `fairway land resume`. The board shows it.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway land pause 'release freeze'")]
pub struct PauseArgs {
    /// Why
    #[arg(value_name = "REASON")]
    reason: Option<String>,
}

impl PauseArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::pause(&ctx.app()?, self.reason)?)
    }
}

/// Let work land again after a pause
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway land resume")]
pub struct ResumeArgs {}

impl ResumeArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::resume(&ctx.app()?)?)
    }
}

/// Show the queue of landing
///
/// What lands now, since when and until when by the durations of earlier landings; what comes then, in its order; the pause; and
/// the checks that passed only when they ran again.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway land show --json")]
pub struct ShowArgs {}

impl ShowArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&land::show(&ctx.app()?)?)
    }
}

/// Run the checks of one tree; started by Fairway itself
#[derive(Debug, clap::Args)]
pub struct RunChecksArgs {}

impl RunChecksArgs {
    fn run(self) -> Result<Exit> {
        land::run_checks(io::stdin().lock(), io::stdout().lock())?;
        Ok(0)
    }
}
