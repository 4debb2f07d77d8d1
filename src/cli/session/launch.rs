//! `fairway session launch`

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::print_error::error_text;
use crate::cli::session::terminal::attach_to;
use crate::cli::values;
use crate::hooks::doctor::{self, MissingHooks};
use crate::hooks::{LAUNCH_HOOKS, Provider};
use fairway_actions::core::errors;
use fairway_actions::sessions::control::attach;
use fairway_actions::sessions::launch::first_prompt;
use fairway_actions::sessions::launch::plan::{self, LaunchPlan, LaunchRequest};
use fairway_actions::sessions::launch::program::CommandSpec;
use fairway_actions::sessions::launch::start::{self, PromptWatch};
use fairway_actions::{Answer, App};
use fairway_core::adapters::plumbing::commands;
use fairway_core::domain::id::Label;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::{LaneName, Role, SessionId, TaskId, secrets, text_limits};
use fairway_core::os::exit_on_signal;
use fairway_core::render::escape_line;
use fairway_core::wire::{Failure, FailureKind, FirstPromptView, LaunchView, SessionView};

/// Launch an agent or program in a new session
///
/// A launch claims nothing. The default program is the provider's command, else your shell. Output goes to the transcript, and
/// the exit code ends the session. The provider's profile adds arguments that bring hooks and the first prompt: --dry-run shows
/// them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
fairway session launch --lane api --prompt 'run the tests' --wait 2m -- {provider}
fairway session launch --role qa --id qa-1 --task T-4 --attach")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Role of the session; default: the lane's, else the task's
    #[arg(long, value_parser = values::role)]
    role: Option<Role>,
    /// Lane of the session
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// Backend, or exec:SCRIPT
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// Run without a terminal, over the Agent Client Protocol
    #[arg(long, conflicts_with = "backend")]
    structured: bool,
    /// Provider, as in [providers]
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
    /// Task of the session; claims nothing
    #[arg(long = "task", alias = "task-id", value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// Id of the new session [default: generated]
    #[arg(long = "id", alias = "name", value_name = "ID", value_parser = values::session)]
    name: Option<SessionId>,
    /// Working directory; default: the lane's worktree
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
    /// Branch that the session works on
    #[arg(long)]
    branch: Option<String>,
    /// Transcript, relative to the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Sandbox: off, namespace or command [default: sandbox.class]
    #[arg(long, value_name = "CLASS", value_parser = values::sandbox_class)]
    sandbox: Option<SandboxClass>,
    #[command(flatten)]
    first_prompt: FirstPromptArgs,
    /// Add no arguments of the provider's profile
    #[arg(long)]
    no_profile: bool,
    /// Wait for the first prompt [default: 1m]; exit 6 if none
    #[arg(long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "1m",
        value_parser = values::duration, conflicts_with = "dry_run")]
    wait: Option<Duration>,
    /// Attach to the session once it runs
    #[arg(long, conflicts_with = "dry_run")]
    attach: bool,
    /// Check and show the launch; write and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Shell text to run instead of the provider's command
    #[arg(long, value_name = "TEXT", conflicts_with = "words")]
    command: Option<String>,
    /// Program and arguments
    #[arg(last = true, value_name = "CMD")]
    words: Vec<String>,
}

/// The arguments of `start`, `session launch` and `session relaunch` for the environment and the first prompt of the new session.
#[derive(Debug, clap::Args)]
pub struct FirstPromptArgs {
    /// Environment variable; '' unsets it; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Text for the first prompt; - reads stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Read the text for the first prompt from FILE; - reads stdin
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
}

impl FirstPromptArgs {
    /// Reads the prompt from the argument, from stdin or from a file. Returns the environment variables and the prompt.
    pub(in crate::cli) fn read(self, ctx: &Context) -> Result<(BTreeMap<String, String>, Option<String>)> {
        let prompt = ctx.text("prompt", self.prompt, self.prompt_file.as_deref())?;
        Ok((self.env.into_iter().collect(), prompt))
    }
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let (env, prompt) = self.first_prompt.read(ctx)?;
        let app = ctx.app()?;
        let command = match self.command {
            Some(text) => Some(CommandSpec::Shell(text)),
            None if self.words.is_empty() => None,
            None => Some(CommandSpec::Argv(self.words)),
        };
        let request = LaunchRequest {
            role: self.role,
            lane: self.lane,
            backend: self.backend,
            structured: self.structured,
            provider: self.provider,
            task: self.task_id,
            id: self.name,
            keeps_id: false,
            id_base: None,
            worktree: self.worktree,
            branch: self.branch.map(|branch| text_limits::check_line("branch", &branch)).transpose()?,
            transcript: self.transcript,
            env,
            command,
            prompt,
            resume: None,
            no_profile: self.no_profile,
            sandbox: self.sandbox,
            hooks: &LAUNCH_HOOKS,
        };
        if self.dry_run {
            let mut plan = plan::plan(&app, &request)?;
            plan.notes.extend(missing_hooks(ctx, &plan));
            return show(ctx, &plan);
        }
        let mut plan = match start::previous_result(&app)? {
            Some(answer) => return launched(ctx, app, &answer, self.attach, self.wait),
            None => plan::plan(&app, &request)?,
        };
        plan.notes.extend(missing_hooks(ctx, &plan));
        if self.attach && !ctx.env.terminal.stdin {
            return Err(attach::no_terminal(&plan.session.id));
        }
        let watch = match self.wait {
            Some(limit) => PromptWatch::For(limit),
            None if self.attach => PromptWatch::Skip,
            None => PromptWatch::Briefly,
        };
        let interrupted = exit_on_signal::during_call(
            i32::from(FailureKind::External.exit_code()),
            interruption(
                ctx,
                &format!("the start of {}", plan.session.id),
                &format!("to stop it: fairway session stop {}", plan.session.id),
            ),
        );
        let answer = start::launch(&app, plan, watch)?;
        drop(interrupted);
        launched(ctx, app, &answer, self.attach, self.wait)
    }
}

/// Formats the error that is printed when a signal ends the command while a session starts. It says that `what`, the start,
/// may go on nevertheless. `hint` says what to do about that.
pub(in crate::cli) fn interruption(ctx: &Context, what: &str, hint: &str) -> String {
    let failure = Failure {
        code: "interrupted",
        kind: FailureKind::External,
        message: format!("interrupted: {what} may go on"),
        hint: Some(hint.to_owned()),
        retryable: false,
        details: Value::Null,
    };
    error_text(&failure, &ctx.out)
}

/// Returns the warning about an agent that would run without Fairway's hooks. Returns `None` when it runs them, and when the
/// launch itself has judged them already.
fn missing_hooks(ctx: &Context, plan: &LaunchPlan) -> Option<String> {
    let provider = Provider::parse(plan.session.provider.as_ref()?.as_str()).filter(|_| !plan.hooks.are_judged)?;
    let directory = plan.session.worktree.as_deref()?;
    let words = plan.start.argv.clone().or_else(|| shell_words::split(&plan.command).ok()).unwrap_or_default();
    let missing = doctor::missing(&ctx.env.with_vars(&plan.environment), provider, Path::new(directory), &words)?;
    let fix = MissingHooks::fix(provider);
    Some(format!("{}; enter the hooks for all worktrees: {fix}", missing.message(provider, directory)))
}

/// Prints the launched session, and attaches to it with `attach` while it runs. With `wait` it is an error when the first
/// prompt has not arrived.
fn launched(ctx: &Context, app: App, answer: &Answer, attach: bool, wait: Option<Duration>) -> Result<Exit> {
    let exit = ctx.answer(answer)?;
    let first_prompt = answer.document.get("first_prompt").cloned().unwrap_or_default();
    if let (Some(within), Ok(Some(view))) = (wait, serde_json::from_value::<Option<FirstPromptView>>(first_prompt))
        && let Some(refusal) = first_prompt::refusal(answer.ids.first().map_or("", String::as_str), &view, within)
    {
        return Err(refusal.into());
    }
    let is_over = answer.document.get("ended_at").is_some_and(Value::is_string);
    let id = answer.ids.first().filter(|_| attach && !is_over);
    attach_to(ctx, app, id.map(String::as_str), exit)
}

fn show(ctx: &Context, plan: &LaunchPlan) -> Result<Exit> {
    for note in &plan.notes {
        ctx.out.note(note);
    }
    let environment = plan.environment.iter().map(|(name, value)| (name.clone(), secrets::mask_value(name, value)));
    let view = LaunchView {
        dry_run: true,
        session: SessionView::from(&plan.session),
        requested_id: plan.requested_id.as_ref().map(ToString::to_string),
        notes: plan.notes.clone(),
        adapter: plan.located.backend.clone(),
        command: secrets::mask(&plan.command),
        environment: environment.collect(),
        start: serde_json::to_value(commands::redacted(&plan.start)).map_err(errors::internal)?,
    };
    ctx.show(&view, || vec![view.session.id.clone()], || words(&view, plan))
}

fn words(view: &LaunchView, plan: &LaunchPlan) -> String {
    let mut text = String::from("dry run: nothing was written or started\n");
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<12}{}", escape_line(value));
        }
    };
    let session = &view.session;
    field("session", &session.id);
    field("backend", &format!("{} ({})", view.adapter, plan.located.script.display()));
    field("command", &view.command);
    field("role", &session.role);
    field("lane", session.lane.as_deref().unwrap_or_default());
    field("task", session.task_id.as_deref().unwrap_or_default());
    field("provider", session.provider.as_deref().unwrap_or_default());
    if let Some(class) = plan.session.sandbox.filter(|class| *class != SandboxClass::Off) {
        field("sandbox", class.as_str());
    }
    field("worktree", session.worktree.as_deref().unwrap_or_default());
    field("branch", session.branch.as_deref().unwrap_or_default());
    field("transcript", session.transcript.as_deref().unwrap_or_default());
    for (name, value) in &view.environment {
        field("environment", &format!("{name}={value}"));
    }
    text
}
