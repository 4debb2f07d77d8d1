//! `fairway session …`

mod event;
pub(super) mod launch;
pub(super) mod list;
mod meta;
mod relaunch;
mod show;
pub(super) mod terminal;
mod upsert;

use anyhow::Result;
use clap::Subcommand;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::release::ForceArgs;
use crate::cli::{each, values};
use crate::hooks::LAUNCH_HOOKS;
use fairway_actions::core::store_safety;
use fairway_actions::sessions::control::{forget, stop, stop_selection};
use fairway_actions::sessions::report::end::{self, EndRequest};
use fairway_actions::sessions::report::heartbeat::{self, Heartbeat};
use fairway_actions::sessions::start::switch::SwitchTo;
use fairway_actions::sessions::{list as sessions, parking, reminder, resumption};
use fairway_actions::upkeep::reconcile;
use fairway_core::domain::session::{Activity, SessionStatus};
use fairway_core::domain::{LaneName, RunId, SessionId};
use fairway_core::render::escape_line;
use fairway_core::wire::SessionOverviewView;

/// Launch, watch and stop agent sessions
#[derive(Debug, Subcommand)]
#[command(after_help = "\
fairway session launch --role backend --lane api -- {provider}
fairway session list")]
#[command(defer = true)]
pub enum Verb {
    Launch(Box<launch::Args>),
    Relaunch(Box<relaunch::Args>),
    Upsert(Box<upsert::Args>),
    List(list::Args),
    Show(show::Args),
    Status(StatusArgs),
    Heartbeat(HeartbeatArgs),
    End(EndArgs),
    Forget(ForgetArgs),
    Event(Box<event::Args>),
    Reconcile(ReconcileArgs),
    Attach(terminal::AttachArgs),
    /// Continue a structured session in its agent's terminal
    ///
    /// Waits for the end of the turn, ends the structured agent, and starts the agent's own program on the same conversation.
    /// Session, claims and queued prompts stay. When it does not start, the session goes on as it was.
    #[command(after_help = "fairway session terminal s1")]
    Terminal(terminal::SwitchArgs),
    /// Continue a session without its terminal
    ///
    /// Waits for the end of the turn, ends the agent in its terminal, and continues the same conversation over the Agent Client
    /// Protocol. Session, claims and queued prompts stay. When it does not start, the session goes on as it was.
    #[command(after_help = "fairway session structured s1")]
    Structured(terminal::SwitchArgs),
    Peek(terminal::PeekArgs),
    Nudge(terminal::NudgeArgs),
    Interrupt(terminal::InterruptArgs),
    #[command(after_help = "fairway session continue s1")]
    Continue(ContinueArgs),
    Park(ParkArgs),
    #[command(after_help = "fairway session unpark s1\nfairway session unpark s1 --stay")]
    Unpark(UnparkArgs),
    Stop(StopArgs),
    #[command(subcommand)]
    Meta(meta::Verb),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Launch(args) => args.run(ctx),
            Self::Relaunch(args) => args.run(ctx),
            Self::Upsert(args) => args.run(ctx),
            Self::List(args) => args.run(ctx),
            Self::Show(args) => args.run(ctx),
            Self::Status(args) => args.run(ctx),
            Self::Heartbeat(args) => args.run(ctx),
            Self::End(args) => args.run(ctx),
            Self::Forget(args) => ctx.answer(&forget::forget(
                &ctx.app()?,
                &args.id,
                args.force.reason.as_deref(),
                args.force.force().as_ref(),
            )?),
            Self::Event(args) => args.run(ctx),
            Self::Reconcile(args) => args.run(ctx),
            Self::Attach(args) => args.run(ctx),
            Self::Terminal(args) => args.run(ctx, SwitchTo::Terminal),
            Self::Structured(args) => args.run(ctx, SwitchTo::Structured),
            Self::Peek(args) => args.run(ctx),
            Self::Nudge(args) => args.run(ctx),
            Self::Interrupt(args) => args.run(ctx),
            Self::Park(args) => {
                let until = match (args.until, args.span) {
                    (Some(until), _) => values::until(&until, ctx.env.now())?,
                    (None, span) => ctx.env.now().plus(span.unwrap_or_default()),
                };
                ctx.answer(&parking::park(&ctx.app()?, &args.id, until, args.reason.as_deref(), args.limit)?)
            }
            Self::Unpark(args) => ctx.answer(&parking::unpark(&ctx.app()?, &args.id, args.stay)?),
            Self::Continue(args) => ctx.answer(&reminder::continue_session(&ctx.app()?, &args.id)?),
            Self::Stop(args) => args.run(ctx),
            Self::Meta(verb) => verb.run(ctx),
        }
    }
}

/// Park a session until a time
///
/// Prompts wait in its queue, nothing is typed into it, and the board has no item about it. A session whose provider reports a
/// usage limit with its end is parked by itself, and then goes on, unless agents.resume is false. The parking ends with its
/// time, with the next turn, or by unpark.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway session park s1 --until 17:00
fairway session park s1 --for 2h --reason 'the build machine is down'")]
#[command(group(clap::ArgGroup::new("end").required(true)))]
pub struct ParkArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Time of day such as 17:00, or RFC 3339
    #[arg(long, value_name = "TIME", group = "end")]
    until: Option<String>,
    /// Time from now, such as 2h
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration, group = "end")]
    span: Option<std::time::Duration>,
    /// Reason that is shown
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// The usage limit of its provider is the reason
    #[arg(long, conflicts_with = "reason")]
    limit: bool,
}

/// End the parking of a session
///
/// What waits in its queue is delivered, and a session at its usage limit is told to go on. A parking also ends with its time,
/// and with the next turn of the session.
#[derive(Debug, clap::Args)]
pub struct UnparkArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Do not tell it to go on, now or later
    #[arg(long)]
    stay: bool,
}

/// Tell a stopped session what its task still needs
///
/// For a session that ended its turn while its task is not handed in. The text names the unmet gates with their commands. It is
/// delivered as a prompt. `[agents] continue` has Fairway do so by itself.
#[derive(Debug, clap::Args)]
pub struct ContinueArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

/// Print a session's status in one line
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session status s1")]
pub struct StatusArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
}

impl StatusArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let one = SessionOverviewView::from(&sessions::show(&ctx.app()?, &self.id)?.0);
        ctx.show(&one, || vec![one.session.id.clone()], || format!("{}\n", escape_line(&status_line(&one))))
    }
}

fn status_line(one: &SessionOverviewView) -> String {
    let session = &one.session;
    let said = |words: &Option<String>| words.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    if session.ended_at.is_some() {
        let code = session.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        return format!("{}{code}{}", session.status, said(&session.reason));
    }
    if one.alive.alive == Some(false) {
        return format!("dead: {}; recorded as {}", one.alive.alive_reason, session.status);
    }
    if one.shown_status == "orphaned" {
        return format!("{}: {}", session.status, one.alive.alive_reason);
    }
    let doing = match one.shown_activity {
        None | Some("unknown") => String::new(),
        Some(activity) => format!(", {activity}{}", said(&session.waiting_for)),
    };
    format!("{}{}{doing}", session.status, said(&session.reason))
}

/// Record a heartbeat of a session
///
/// Clears `stale` and renews the leases of the session's claims.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session heartbeat s1 --activity busy")]
pub struct HeartbeatArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Activity: unknown, idle, busy, requires_action, stopping
    #[arg(long, value_parser = values::activity)]
    activity: Option<Activity>,
    /// Awaited input, with --activity requires_action
    #[arg(long, value_name = "TEXT")]
    waiting_for: Option<String>,
    /// Share of the context window in use, 0 to 1
    #[arg(long, value_name = "SHARE", value_parser = values::share)]
    context_usage: Option<f64>,
    /// Session run of the heartbeat; another run is refused
    #[arg(long, value_name = "UUID", value_parser = values::run_id)]
    run_id: Option<RunId>,
}

impl HeartbeatArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let beat = Heartbeat {
            activity: self.activity,
            waiting_for: self.waiting_for,
            context_usage: self.context_usage,
            run_id: self.run_id,
        };
        ctx.answer(&heartbeat::heartbeat(&ctx.app()?, &self.id, &beat)?)
    }
}

/// Record a session's end; its claims stay
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session end s1 --exit-code 0")]
pub struct EndArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    /// Status: ended or failed [default: by --exit-code]
    #[arg(long, value_parser = values::final_status)]
    status: Option<SessionStatus>,
    /// Exit code of its program
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// Reason, kept in the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl EndArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let end = EndRequest { status: self.status, exit_code: self.exit_code, reason: self.reason };
        ctx.answer(&end::end(&ctx.app()?, &self.id, &end)?)
    }
}

/// Give up a session whose host or container is gone
///
/// For a session that will not come back: it is recorded as failed. Nothing of it is stopped, and its claims stay. While it is
/// heard of within `sessions.stale_after`, it needs --force and --reason. Refused inside a session. For all of a host: fairway
/// host retire.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session forget s1")]
pub struct ForgetArgs {
    /// Session id
    #[arg(value_parser = values::session)]
    id: SessionId,
    #[command(flatten)]
    force: ForceArgs,
}

/// Correct session records to match running processes
///
/// Gone sessions become stale or ended, running ones are revived, and unknown ones are only reported. Tasks keep their
/// status, claimant and epoch. Made for cron: it needs no environment, and does nothing while another reconcile runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway session reconcile --dry-run")]
pub struct ReconcileArgs {
    /// Report the changes and write nothing
    #[arg(long)]
    dry_run: bool,
}

impl ReconcileArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        let mut answer = reconcile::reconcile(&app, self.dry_run)?;
        if !self.dry_run {
            answer.notes.extend(resumption::resume_due(&app, &LAUNCH_HOOKS)?.notes);
            answer.notes.extend(store_safety::keep_safe(&app));
        }
        ctx.answer(&answer)
    }
}

/// Stop sessions and all their processes
///
/// Without an id: the only launched session that runs. Each by itself: the exit code is that of the first failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway session stop s1 s2
fairway session stop --lane api")]
#[command(group(clap::ArgGroup::new("sessions").args(["id", "lane", "all"])))]
pub struct StopArgs {
    /// Session ids, or ids of tasks
    #[arg(value_parser = values::session)]
    id: Vec<SessionId>,
    /// Stop the launched sessions of this lane
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Stop all launched sessions of the project
    #[arg(long)]
    all: bool,
}

impl StopArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let app = ctx.app()?;
        if !self.id.is_empty() {
            return each::each(ctx, &app, &stop_selection::named(&app, self.id)?, stop::stop);
        }
        if self.lane.is_none() && !self.all {
            return each::each(ctx, &app, &[stop_selection::only(&app)?], stop::stop);
        }
        let selection = stop_selection::live(&app, self.lane.as_ref())?;
        for note in &selection.notes {
            ctx.out.note(note);
        }
        if selection.ids.is_empty() && !ctx.out.json && !ctx.out.quiet {
            ctx.out.line("no sessions to stop")?;
        }
        each::array(ctx, &app, &selection.ids, stop::stop)
    }
}
