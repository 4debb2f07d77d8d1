//! `fairway work`

use anyhow::Result;
use nix::sys::signal::Signal;

use super::context::Context;
use super::exit::Exit;
use super::values;
use crate::hooks::LAUNCH_HOOKS;
use fairway_actions::sessions::start::StartRequest;
use fairway_actions::upkeep::work::{self, WorkEnd, WorkRequest};
use fairway_core::domain::Role;
use fairway_core::domain::id::Label;
use fairway_core::domain::rules::work::{News, NewsKind, Plan};
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::os::signals;
use fairway_core::render::escape_line;
use fairway_core::wire::WorkEventView;

/// Start agents on ready tasks, and keep them going
///
/// Keeps places full: each ready task, in the order of `fairway ready`, gets a session and a lane as by `fairway start`. A
/// place is free again when its task leaves the agent. A session that dies is relaunched, at most twice. Ends when nothing is
/// ready and no agent works. The first Ctrl-C starts nothing more, the second leaves: the agents go on, and the next `work`
/// counts them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway work --agents 4 --provider {provider}
fairway work --agents 4 --land --until 07:00")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Number of places: agents at work on this host
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=1000))]
    agents: u16,
    /// Provider, as in [providers]
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
    /// Only tasks that fit this role; also that of the sessions
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Run without terminals, over the Agent Client Protocol
    #[arg(long)]
    structured: bool,
    /// Sandbox: off, namespace or command [default: sandbox.class]
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class)]
    sandbox: Option<SandboxClass>,
    /// Land what the gates allow, in between
    #[arg(long)]
    land: bool,
    /// Fill the places and end: for cron
    #[arg(long)]
    once: bool,
    /// Time of the end: of day such as 07:00, or RFC 3339
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Start sessions of a parked provider too
    #[arg(long)]
    anyway: bool,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let until = self.until.map(|until| values::until(&until, ctx.env.now())).transpose()?;
        let plan = Plan { places: usize::from(self.agents), is_once: self.once, until, lands: self.land };
        let start = StartRequest {
            role: self.role,
            provider: self.provider,
            structured: self.structured,
            sandbox: self.sandbox,
            anyway: self.anyway,
            ..StartRequest::new(&LAUNCH_HOOKS)
        };
        let app = ctx.app()?;
        let ended = work::work(&app, &WorkRequest { plan, start }, &mut |news| {
            // The line that is shown while it waits.
            app.progress.state("");
            show(ctx, news)
        })?;
        match ended {
            WorkEnd::Exit(code) => Ok(code),
            WorkEnd::Interrupted => {
                app.progress.state("");
                drop(app);
                signals::end_by(Signal::SIGINT)?;
                Ok(0)
            }
        }
    }
}

fn show(ctx: &Context, news: &News) -> Result<()> {
    let now = ctx.env.now();
    if ctx.out.json {
        ctx.out.document(&WorkEventView::new(news, now))?;
    } else if ctx.out.quiet {
        if let (NewsKind::Started | NewsKind::Relaunched, Some(session)) = (news.kind, &news.session) {
            ctx.out.line(session.as_str())?;
        }
    } else {
        let count = match news.kind {
            NewsKind::Started | NewsKind::Freed => format!("; {} of {}", news.taken, news.places),
            _ => String::new(),
        };
        let time: String = match news.kind {
            NewsKind::Begun => "work ".to_owned(),
            _ => now.local_minute_or_day(now),
        };
        ctx.out.line(&escape_line(&format!("{time}  {}{count}", news.text)))?;
    }
    Ok(())
}
