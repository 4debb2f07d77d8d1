//! `fairway session relaunch`

use anyhow::Result;
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::session::launch::{FirstPromptArgs, interruption};
use crate::cli::session::terminal::attach_to;
use crate::cli::{each, start, values};
use crate::hooks::LAUNCH_HOOKS;
use fairway_actions::sessions::launch::program::CommandSpec;
use fairway_actions::sessions::launch::start::PromptWatch;
use fairway_actions::sessions::start::relaunch::{self, RelaunchRequest};
use fairway_core::domain::id::Label;
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::os::exit_on_signal;
use fairway_core::wire::FailureKind;

/// Launch a session again that is over
///
/// Without an id: the only session that is over and has a claim. The new session has the lane, task, role, provider and backend
/// of the old one, continues its claims, and resumes its conversation where the provider can. A program that the launch named
/// and values of --env are not stored; give them again. --here is for the session of a silent host: its lane's branch is
/// fetched, and the lane gets a worktree here.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway session relaunch api-1 --provider {provider}
fairway session relaunch --dead")]
#[command(group(clap::ArgGroup::new("sessions").args(["id", "dead", "stopped"])))]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Session ids
    #[arg(value_parser = values::session)]
    id: Vec<SessionId>,
    /// Relaunch all dead sessions that have a claim
    #[arg(long, conflicts_with = "words")]
    dead: bool,
    /// Relaunch all stopped sessions that have a claim
    #[arg(long, conflicts_with = "words")]
    stopped: bool,
    #[command(flatten)]
    first_prompt: FirstPromptArgs,
    /// Bring the work of a silent host here
    #[arg(long, conflicts_with_all = ["dead", "stopped"])]
    here: bool,
    /// Provider in place of the old one, as in [providers]
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
    /// Begin a new conversation
    #[arg(long)]
    no_resume: bool,
    /// Add no arguments of the provider's profile
    #[arg(long)]
    no_profile: bool,
    /// Attach to the session once it runs
    #[arg(long, conflicts_with_all = ["dead", "stopped"])]
    attach: bool,
    /// Program and arguments in place of the provider's command
    #[arg(last = true, value_name = "CMD")]
    words: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (env, prompt) = self.first_prompt.read(ctx)?;
        if self.id.len() > 1 && !self.words.is_empty() {
            return Err(Refusal::Usage { why: "a program is for one session; several are given".into() }.into());
        }
        let app = ctx.app()?;
        let ids = match &*self.id {
            [] if !self.dead && !self.stopped => vec![relaunch::only(&app)?],
            _ => self.id,
        };
        if self.attach {
            start::check_attach(ctx, &ids)?;
        }
        let request = RelaunchRequest {
            env,
            provider: self.provider,
            command: Some(self.words).filter(|words| !words.is_empty()).map(CommandSpec::Argv),
            prompt,
            no_profile: self.no_profile,
            resumes: !self.no_resume,
            here: self.here,
            watch: if self.attach { PromptWatch::Skip } else { PromptWatch::Briefly },
            ..RelaunchRequest::new(&LAUNCH_HOOKS)
        };
        if self.dead || self.stopped {
            let dead = relaunch::dead_with_claims(&app, self.stopped)?;
            if dead.is_empty() && !ctx.out.json && !ctx.out.quiet {
                ctx.out.line("no sessions to relaunch")?;
            }
            return each::array(ctx, &app, &dead, |app, id| relaunch::relaunch(app, id, &request));
        }
        let mut launched = None;
        let interrupted = exit_on_signal::during_call(
            i32::from(FailureKind::External.exit_code()),
            interruption(ctx, "the start", "see what runs: fairway status"),
        );
        let exit = each::each(ctx, &app, &ids, |app, id| {
            let answer = relaunch::relaunch(app, id, &request)?;
            let is_over = answer.document.get("ended_at").is_some_and(Value::is_string);
            launched = answer.ids.first().filter(|_| !is_over).cloned();
            Ok(answer)
        })?;
        drop(interrupted);
        attach_to(ctx, app, launched.as_deref().filter(|_| self.attach), exit)
    }
}
