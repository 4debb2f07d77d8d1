//! `fairway session launch`

use std::{collections::BTreeMap, fmt::Write, path::PathBuf};

use anyhow::Result;
use serde_json::Value;

use crate::{
    actions::{
        Answer, App,
        backend::plumbing,
        failure,
        session::{
            attach, launch,
            plan::{self, Plan, Wish},
            program::Command,
        },
    },
    cli::{context::Context, exit::Exit, values},
    domain::{LaneName, Role, SessionId, TaskId, id::Label, secrets, text},
    render::safe_line,
    wire::{LaunchView, SessionView},
};

/// Start a program in a session of its own, in a role
///
/// Launching claims nothing. Without a command the provider's is run, without a provider your shell. What the program prints
/// goes to the transcript; its exit code ends the session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The role it works in
    #[arg(long, value_parser = values::role)]
    role: Role,
    /// The lane it is attached to
    #[arg(long, value_parser = values::lane)]
    lane: Option<LaneName>,
    /// A backend's name, or exec:SCRIPT
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The provider, as in [providers]
    #[arg(long, value_name = "NAME", value_parser = values::label)]
    provider: Option<Label>,
    /// The task it is started for
    #[arg(long, value_name = "ID", value_parser = values::task)]
    task_id: Option<TaskId>,
    /// The session's id; by default one is made
    #[arg(long, value_name = "ID", value_parser = values::session)]
    name: Option<SessionId>,
    /// Where it works; by default the lane's worktree, else the project's root
    #[arg(long, value_name = "DIR")]
    worktree: Option<PathBuf>,
    /// The branch it works on
    #[arg(long)]
    branch: Option<String>,
    /// Where its output goes; a relative path is under the project's root
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// A variable of its environment; an empty value unsets one
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// Its first prompt; - reads stdin. How the program takes it says [providers.*] prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A file with its first prompt; - reads stdin
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Sit down at it once it runs
    #[arg(long, conflicts_with = "dry_run")]
    attach: bool,
    /// Check everything and show what would be done; write and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Shell text to run instead of the provider's command
    #[arg(long, value_name = "TEXT", conflicts_with = "words")]
    command: Option<String>,
    /// A program and its arguments to run, exactly
    #[arg(last = true, value_name = "WORDS")]
    words: Vec<String>,
}

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
        let prompt = ctx.text("prompt", self.prompt, self.prompt_file.as_deref())?;
        let app = ctx.app()?;
        let command = match self.command {
            Some(text) => Some(Command::Text(text)),
            None if self.words.is_empty() => None,
            None => Some(Command::Words(self.words)),
        };
        let wish = Wish {
            role: self.role,
            lane: self.lane,
            backend: self.backend,
            provider: self.provider,
            task: self.task_id,
            name: self.name,
            worktree: self.worktree,
            branch: self.branch.map(|branch| text::line("branch", &branch)).transpose()?,
            transcript: self.transcript,
            env: self.env.into_iter().collect::<BTreeMap<_, _>>(),
            command,
            prompt,
        };
        if self.dry_run {
            return show(ctx, &plan::make(&app, &wish)?);
        }
        let plan = match launch::before(&app)? {
            Some(answer) => return told(ctx, app, &answer, self.attach),
            None => plan::make(&app, &wish)?,
        };
        if self.attach && !ctx.env.terminal.stdin {
            return Err(attach::no_terminal(&plan.session.id));
        }
        let answer = launch::launch(&app, plan)?;
        told(ctx, app, &answer, self.attach)
    }
}

/// Prints what was launched and sits down at it, when that was asked for and it still runs.
fn told(ctx: &Context, app: App, answer: &Answer, attach: bool) -> Result<Exit> {
    let exit = ctx.answer(answer)?;
    let is_over = answer.document.get("ended_at").is_some_and(Value::is_string);
    let Some(id) = answer.ids.first().filter(|_| attach && !is_over) else { return Ok(exit) };
    let attachable = attach::attach(&app, &SessionId::parse(id)?)?;
    // Nothing of the store is held meanwhile.
    drop(app);
    attachable.run()
}

fn show(ctx: &Context, plan: &Plan) -> Result<Exit> {
    for remark in &plan.remarks {
        ctx.out.remark(remark);
    }
    let environment = plan.environment.iter().map(|(name, value)| (name.clone(), secrets::shown(name, value)));
    let view = LaunchView {
        dry_run: true,
        session: SessionView::from(&plan.session),
        adapter: plan.located.backend.clone(),
        command: secrets::masked(&plan.command),
        environment: environment.collect(),
        start: serde_json::to_value(plumbing::shown(&plan.start)).map_err(failure::internal)?,
    };
    ctx.show(&view, || vec![view.session.id.clone()], || words(&view, plan))
}

fn words(view: &LaunchView, plan: &Plan) -> String {
    let mut text = String::from("dry run: nothing was written or started\n");
    let mut field = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:<12}{}", safe_line(value));
        }
    };
    let session = &view.session;
    field("session", &session.id);
    field("adapter", &format!("{} ({})", view.adapter, plan.located.script.display()));
    field("command", &view.command);
    field("role", &session.role);
    field("lane", session.lane.as_deref().unwrap_or_default());
    field("task", session.task_id.as_deref().unwrap_or_default());
    field("provider", session.provider.as_deref().unwrap_or_default());
    field("worktree", session.worktree.as_deref().unwrap_or_default());
    field("branch", session.branch.as_deref().unwrap_or_default());
    field("transcript", session.transcript.as_deref().unwrap_or_default());
    for (name, value) in &view.environment {
        field("environment", &format!("{name}={value}"));
    }
    field("start", &view.start.to_string());
    text
}
