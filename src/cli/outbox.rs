//! `fairway outbox …`

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::force::ForceArgs;
use crate::cli::values;
use fairway_actions::mail::outbox::{self, OutboxFilter};
use fairway_core::config::show_duration;
use fairway_core::domain::message::{Channel, WaitReason};
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::env::Timestamp;
use fairway_core::render::{Meaning, Table};

/// List and withdraw undelivered messages
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway outbox
fairway outbox withdraw 12")]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    list: ListArgs,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    List(ListArgs),
    Withdraw(WithdrawArgs),
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        if self.verb.is_some() && !self.list.is_bare() {
            // A conflict that the parser looked for would also bar --json here.
            let why = "--to-session, --all and --limit go after list".into();
            return Err(Refusal::Usage { why }.into());
        }
        match self.verb {
            None => self.list.run(ctx),
            Some(Verb::List(args)) => args.run(ctx),
            Some(Verb::Withdraw(args)) => args.run(ctx),
        }
    }
}

/// List unacknowledged messages and prompts, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway outbox list --to-session s1")]
pub struct ListArgs {
    /// Only messages to this session
    #[arg(long = "to-session", alias = "to", value_name = "ID", value_parser = values::session)]
    to: Option<SessionId>,
    /// Include finished messages of the last 7 days
    #[arg(long)]
    all: bool,
    /// Maximum number of messages; 0 for all [default: 100]
    #[arg(long, value_name = "N", value_parser = values::limit)]
    limit: Option<u32>,
}

/// Default of `--limit`.
const LIMIT: u32 = 100;
/// How many commands are shown below the list; JSON has all.
const MAX_HINTS: usize = 3;

impl ListArgs {
    /// Whether no flag selects messages.
    const fn is_bare(&self) -> bool {
        self.to.is_none() && !self.all && self.limit.is_none()
    }

    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let found = outbox::list(
            &ctx.app()?,
            &OutboxFilter { to: self.to, all: self.all, limit: self.limit.unwrap_or(LIMIT) as usize },
        )?;
        let now = ctx.env.now();
        ctx.show(
            &found,
            || found.iter().map(|one| one.message.id.to_string()).collect(),
            || {
                let has_reason = found.iter().any(|one| one.reason.is_some());
                let mut headings = vec!["id", "to", "priority", "status", "way", "count", "age"];
                headings.extend(has_reason.then_some("reason"));
                let mut table = Table::new(&headings);
                for (one, reason) in found.iter().map(|one| (&one.message, one.reason)) {
                    let to = [
                        ("session", &one.to_session),
                        ("lane", &one.to_lane),
                        ("role", &one.to_role),
                        ("person", &one.to_person),
                    ];
                    let to = to.into_iter().find_map(|(noun, name)| Some(format!("{noun} {}", name.as_ref()?)));
                    let age = Timestamp::parse(&one.created_at).map(|at| now.since(at));
                    let mut row = vec![
                        one.id.to_string(),
                        to.unwrap_or_default(),
                        one.priority.to_string(),
                        one.status.to_string(),
                        one.way.map_or("-", Channel::as_str).to_owned(),
                        one.count.to_string(),
                        age.map(|age| show_duration(std::time::Duration::from_secs(age.as_secs()))).unwrap_or_default(),
                    ];
                    row.extend(has_reason.then(|| reason.map_or("-", WaitReason::as_str).to_owned()));
                    table.row(&row);
                }
                if table.is_empty() {
                    return "no messages\n".into();
                }
                let mut hints: Vec<&str> = found.iter().filter_map(|one| one.hint.as_deref()).collect();
                hints.dedup();
                let hints: String = hints.into_iter().take(MAX_HINTS).map(|hint| format!("{hint}\n")).collect();
                table.coloured(ctx.out.width, ctx.out.style) + &ctx.out.style.paint(Meaning::Faint, &hints)
            },
        )
    }
}

/// Withdraw an unacknowledged message
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway outbox withdraw 12")]
#[command(mut_arg("force", |arg| arg.help("Override the sender; needs --reason")))]
pub struct WithdrawArgs {
    /// Message number
    #[arg(value_name = "ID")]
    id: i64,
    #[command(flatten)]
    force: ForceArgs,
}

impl WithdrawArgs {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        ctx.answer(&outbox::withdraw(&ctx.app()?, self.id, self.force.reason().as_ref())?)
    }
}
