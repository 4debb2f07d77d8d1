//! `fairway handoff …`

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::age::rough;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::force::ForceArgs;
use crate::cli::values;
use fairway_actions::queue::handoff::accept::{self, Acceptance};
use fairway_actions::queue::handoff::{self, Filter, NewHandoff};
use fairway_core::domain::{LaneName, Role, TaskId};
use fairway_core::render::Table;

/// Offer tasks to other roles or lanes, answer offers
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway handoff create T-4 --to-role qa --summary 'ready to test'
fairway handoff list --open")]
#[command(defer = true)]
pub enum Verb {
    Create(CreateArgs),
    List(ListArgs),
    Accept(AcceptArgs),
    Decline(DeclineArgs),
    Withdraw(WithdrawArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Create(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Accept(args) => args.run(ctx),
            Self::Decline(args) => ctx.answer(&handoff::decline(&ctx.app()?, args.id, &args.reason)?),
            Self::Withdraw(args) => ctx.answer(&handoff::withdraw(&ctx.app()?, args.id, args.force.reason().as_ref())?),
        }
    }
}

/// Offer a task to another role or lane
///
/// The task stays claimed as it is until the recipient accepts; that claims it.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway handoff create T-4 --to-role qa --summary 'ready to test'")]
#[command(group(clap::ArgGroup::new("recipient").required(true)))]
pub struct CreateArgs {
    /// Task id
    #[arg(value_parser = values::task)]
    task: TaskId,
    /// Role to offer the task to
    #[arg(long = "to-role", alias = "to", value_name = "ROLE", value_parser = values::role, group = "recipient")]
    to_role: Option<Role>,
    /// Lane to offer the task to
    #[arg(long, value_name = "LANE", value_parser = values::lane, group = "recipient")]
    to_lane: Option<LaneName>,
    /// Summary in one line
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// Details for the recipient; - reads stdin
    #[arg(long, value_name = "TEXT")]
    payload: Option<String>,
    /// Read the details from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    payload_file: Option<PathBuf>,
}

impl CreateArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let payload = ctx.text("payload", self.payload, self.payload_file.as_deref())?;
        let new = NewHandoff { to_role: self.to_role, to_lane: self.to_lane, summary: self.summary, payload };
        ctx.answer(&handoff::create(&ctx.app()?, &self.task, &new)?)
    }
}

/// List handoffs, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway handoff list --open")]
pub struct ListArgs {
    /// Only handoffs to this role
    #[arg(long = "to-role", alias = "to", value_name = "ROLE", value_parser = values::role)]
    to: Option<Role>,
    /// Only handoffs of this task
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task: Option<TaskId>,
    /// Only unanswered handoffs
    #[arg(long)]
    open: bool,
}

impl ListArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let filter = Filter { to_role: self.to, task: self.task, open: self.open };
        let found = handoff::list(&ctx.app()?, &filter)?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "task", "status", "from", "to", "age", "summary"]);
                for one in &found {
                    let role = one.to_role.as_ref().map(|role| format!("role {role}"));
                    let lane = one.to_lane.as_ref().map(|lane| format!("lane {lane}"));
                    table.row([
                        one.id.to_string(),
                        one.task.to_string(),
                        one.status.to_string(),
                        one.from_role.as_ref().map_or("-", Role::as_str).to_owned(),
                        role.or(lane).unwrap_or_default(),
                        rough(ctx.env.now().since(one.created_at)),
                        one.summary.clone(),
                    ]);
                }
                if table.is_empty() { "no handoffs\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

/// Accept a handoff and claim its task
///
/// When the claim is refused, the handoff stays open. A task of which something was begun stays in the lane of its work, and the
/// answer says where that is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway handoff accept 3
fairway handoff accept 3 --move")]
pub struct AcceptArgs {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Accept only; the task keeps its claimant
    #[arg(long)]
    no_claim: bool,
    /// Bring the commits into your own lane too
    ///
    /// Your own lane is that of your session, else the one that the handoff is for, else FAIRWAY_LANE. Its branch gets the commits by
    /// a fast-forward or a merge. A conflict, work that is in no commit and another session in your lane change nothing.
    #[arg(long = "move", conflicts_with = "no_claim")]
    moves: bool,
    /// Claim the task, as is the default
    #[arg(long, hide = true, conflicts_with = "no_claim")]
    claim: bool,
}

impl AcceptArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let how = match (self.moves, self.no_claim) {
            (true, _) => Acceptance::WithWork,
            (false, true) => Acceptance::WithoutClaim,
            (false, false) => Acceptance::WithClaim,
        };
        ctx.answer(&accept::accept(&ctx.app()?, self.id, how)?)
    }
}

/// Decline a handoff
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway handoff decline 3 --reason 'no time this week'")]
pub struct DeclineArgs {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Withdraw a handoff that you created
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway handoff withdraw 3")]
#[command(mut_arg("force", |arg| arg.help("Override the creator; needs --reason")))]
pub struct WithdrawArgs {
    /// Handoff number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}
