//! `fairway start`

use std::path::PathBuf;

use anyhow::Result;
use serde_json::Value;

use super::context::Context;
use super::exit::Exit;
use super::print_error::print_error;
use super::session::launch::{FirstPromptArgs, interruption};
use super::session::terminal::attach_to;
use super::{each, values};
use crate::hooks::LAUNCH_HOOKS;
use fairway_actions::App;
use fairway_actions::core::errors;
use fairway_actions::sessions::launch::program::CommandSpec;
use fairway_actions::sessions::launch::start::PromptWatch;
use fairway_actions::sessions::start::{self, StartRequest};
use fairway_core::domain::id::Label;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Refusal, Role};
use fairway_core::os::exit_on_signal;
use fairway_core::wire::{FailureKind, StartPlanView};

/// Start an agent on a task
///
/// Claims the task for a new session and launches the agent in the lane of the task. A title adds the task. Without a lane, one
/// is added with a branch and a worktree of its own. A failed start leaves nothing behind. A task whose session is dead goes on
/// in the new one.
///
/// The agent is that of --provider, else of the role or the lane, else the only one that is installed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway start 'Fix the total' --body 'It doubles' --provider {provider}
fairway start T-4 T-5")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Task id, or title of a new task; repeatable
    #[arg(required = true, value_name = "TASK|TITLE")]
    tasks: Vec<String>,
    /// Description of the new task; - reads stdin
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Read the description from FILE; - reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "body")]
    body_file: Option<PathBuf>,
    /// Provider, as in [providers]
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
    /// Lane; default: the task's, else one of its own
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Role; default: the task's, the lane's, else agent
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Backend; default: the configured one, else tmux
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Run without a terminal, over the Agent Client Protocol
    #[arg(long, conflicts_with = "backend")]
    structured: bool,
    /// Sandbox: off, namespace or command [default: sandbox.class]
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class)]
    sandbox: Option<SandboxClass>,
    #[command(flatten)]
    first_prompt: FirstPromptArgs,
    /// Add no arguments of the provider's profile
    #[arg(long)]
    no_profile: bool,
    /// Attach to the session once it runs
    #[arg(long, conflicts_with = "dry_run")]
    attach: bool,
    /// Start it although its provider is parked
    #[arg(long)]
    anyway: bool,
    /// Leave the claim to the agent
    #[arg(long)]
    no_claim: bool,
    /// Print the commands that do the same; write and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Program and arguments in place of the provider's command
    #[arg(last = true, value_name = "CMD")]
    words: Vec<String>,
}

impl Args {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        let (env, prompt) = self.first_prompt.read(ctx)?;
        let body = ctx.text("body", self.body, self.body_file.as_deref())?;
        if body.is_some() && self.tasks.len() > 1 {
            return Err(Refusal::Usage { why: "--body is for one task; several are given".into() }.into());
        }
        let app = ctx.app()?;
        let request = StartRequest {
            body,
            role: self.role,
            lane: self.lane,
            provider: self.provider,
            backend: self.backend,
            structured: self.structured,
            env,
            command: Some(self.words).filter(|words| !words.is_empty()).map(CommandSpec::Argv),
            prompt,
            no_profile: self.no_profile,
            sandbox: self.sandbox,
            hooks: &LAUNCH_HOOKS,
            claims: !self.no_claim,
            anyway: self.anyway,
            watch: if self.attach { PromptWatch::Skip } else { PromptWatch::Briefly },
        };
        if self.dry_run {
            return dry_run(ctx, &app, &self.tasks, &request);
        }
        if self.attach {
            check_attach(ctx, &self.tasks)?;
        }
        let mut started = None;
        let interrupted = exit_on_signal::during_call(
            i32::from(FailureKind::External.exit_code()),
            interruption(ctx, "the start", "see what runs: fairway status"),
        );
        let exit = each::each(ctx, &app, &self.tasks, |app, task| {
            let mut notes = Vec::new();
            let answer = start::start(app, task, &request, &mut notes);
            for note in &notes {
                ctx.out.note(&fairway_core::render::escape_controls(note));
            }
            let answer = answer?;
            let is_over = answer.document.get("ended_at").is_some_and(Value::is_string);
            started = answer.ids.first().filter(|_| !is_over).cloned();
            Ok(answer)
        })?;
        drop(interrupted);
        attach_to(ctx, app, started.as_deref().filter(|_| self.attach), exit)
    }
}

/// Refuses `--attach` when `ids` holds several sessions, and when stdin is not a terminal.
///
/// # Errors
/// `usage`.
pub(super) fn check_attach<T>(ctx: &Context, ids: &[T]) -> Result<()> {
    if ids.len() > 1 {
        return Err(Refusal::Usage { why: "--attach is for one session; several are given".into() }.into());
    }
    if ctx.env.terminal.stdin {
        return Ok(());
    }
    Err(Refusal::Usage { why: "no terminal to attach to; leave --attach away".into() }.into())
}

fn dry_run(ctx: &Context, app: &App, tasks: &[String], request: &StartRequest) -> Result<Exit> {
    let (mut plans, mut exit): (Vec<StartPlanView>, Exit) = (Vec::new(), 0);
    for task in tasks {
        match start::dry_run(app, task, request) {
            Ok(plan) => {
                for note in &plan.notes {
                    ctx.out.note(&fairway_core::render::escape_controls(note));
                }
                plans.push(plan);
            }
            Err(error) => {
                let failure = errors::classify(&error);
                if exit == 0 {
                    exit = failure.kind.exit_code();
                }
                print_error(&failure, &ctx.out);
            }
        }
    }
    let ids = || plans.iter().map(|plan| plan.session_id.clone()).collect();
    let text = || {
        let commands: Vec<&str> = plans.iter().flat_map(|plan| &plan.commands).map(String::as_str).collect();
        fairway_core::render::escape_controls(
            &commands.iter().map(|command| format!("{command}\n")).collect::<String>(),
        )
    };
    match plans.as_slice() {
        [one] if tasks.len() == 1 => ctx.show(one, ids, text)?,
        [] if tasks.len() == 1 => 0,
        all => ctx.show(all, ids, text)?,
    };
    Ok(exit)
}
