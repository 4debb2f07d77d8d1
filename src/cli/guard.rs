//! `fairway guard …`

use std::fmt::Write;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cli::age::age;
use crate::cli::context::Context;
use crate::cli::exit::Exit;
use crate::cli::values;
use fairway_actions::agents::guard::{self, EntryPoint, GuardDecision, LoadedRules, ToolCall};
use fairway_actions::core::{errors, lookup};
use fairway_core::domain::text_limits::MAX_BODY_BYTES;
use fairway_core::domain::{Refusal, Role, RunId, SessionId};
use fairway_core::guard::Evaluation;
use fairway_core::os::time_limit;
use fairway_core::render::{Table, escape_controls};
use fairway_core::wire::{EvaluationView, GuardResultView, tool_input};

/// Check tool calls against the guard rules
#[derive(Debug, Subcommand)]
#[command(after_help = "fairway guard test --role dev --input 'git push --force'")]
#[command(defer = true)]
pub enum Verb {
    Check(CheckArgs),
    Test(TestArgs),
    Log(LogArgs),
}

impl Verb {
    pub(super) fn run(self, ctx: &Context) -> Result<Exit> {
        match self {
            Self::Check(args) => args.run(ctx),
            Self::Test(args) => args.run(ctx),
            Self::Log(args) => args.run(ctx),
        }
    }
}

/// The time limit for reading the call from stdin.
const LIMIT: Duration = Duration::from_secs(4);

/// Decide on a tool call and log the decision
///
/// Exit 0: allowed. Exit 5, or the code of an error: denied; with --json "allowed" is then false. Without --tool the
/// whole call is read from stdin: {"run_id", "tool", "input", "context": {"role", "cwd", "also"}}. The default run_id
/// is the acting session's.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway guard check --tool Bash --input '{\"command\":\"git push\"}'")]
pub struct CheckArgs {
    /// Tool name
    #[arg(long, value_name = "TOOL")]
    tool: Option<String>,
    /// Tool input, a JSON object; - reads stdin
    #[arg(long, value_name = "JSON", requires = "tool")]
    input: Option<String>,
    /// Directory of the call
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// A call as a document.
#[derive(Debug, Deserialize)]
struct Document {
    run_id: Option<RunId>,
    tool: String,
    input: Value,
    #[serde(default)]
    context: Option<Surroundings>,
}

/// The caller's own facts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Surroundings {
    role: Option<String>,
    cwd: Option<PathBuf>,
    also: Vec<String>,
}

impl CheckArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let decided = catch_unwind(AssertUnwindSafe(|| self.decide(ctx)))
            .unwrap_or_else(|_| Err(errors::internal("the call could not be judged")));
        let view = match &decided {
            Ok(verdict) => {
                GuardResultView { allowed: verdict.allowed, reason: verdict.reason.clone(), rule: verdict.rule.clone() }
            }
            Err(error) => GuardResultView { allowed: false, reason: errors::classify(error).message, rule: None },
        };
        if ctx.out.json {
            ctx.out.document(&view)?;
        }
        let verdict = decided?;
        if !verdict.allowed {
            return Err(Refusal::GuardDenied { reason: verdict.reason, rule: verdict.rule }.into());
        }
        if !ctx.out.json && !ctx.out.quiet {
            let rule = verdict.rule.map(|rule| format!("{rule}: ")).unwrap_or_default();
            ctx.out.line(&fairway_core::render::escape_line(&format!("allowed: {rule}{}", verdict.reason)))?;
        }
        Ok(0)
    }

    fn decide(self, ctx: &Context) -> Result<GuardDecision> {
        let document = match self.tool {
            Some(tool) => {
                let input = match self.input.as_deref() {
                    None => json!({}),
                    Some("-") => object(&stdin()?)?,
                    Some(text) => object(text)?,
                };
                Document { run_id: None, tool, input, context: None }
            }
            None => serde_json::from_str(&stdin()?)
                .map_err(|error| Refusal::invalid("the call", format!("cannot be read: {error}")))?,
        };
        if !document.input.is_object() {
            return Err(Refusal::invalid("input", "is no JSON object").into());
        }
        let app = ctx.app()?;
        let context = document.context.unwrap_or_default();
        let mut call = ToolCall {
            tool: document.tool,
            aliases: context.also,
            input: document.input,
            cwd: context.cwd.or(self.cwd).or_else(|| Some(ctx.env.cwd.clone())),
            role: context.role.or_else(|| app.actor.role.as_ref().map(ToString::to_string)),
            runs_own_program: false,
            context: Map::new(),
        };
        call.runs_own_program = guard::is_own_verb(&ctx.env, &call);
        match (document.run_id, &app.actor.session) {
            (Some(run_id), _) => Ok(guard::authorize_run(&app, &run_id, &call, EntryPoint::Cli)),
            (None, Some(session)) => {
                let session = app.read(|tx| lookup::session(tx, session))?;
                Ok(guard::authorize(&app, &session, &call, EntryPoint::Cli))
            }
            (None, None) => {
                let why = "the call belongs to no session; name its run_id, or set FAIRWAY_SESSION_ID";
                Ok(GuardDecision::denied(why))
            }
        }
    }
}

/// The text on stdin; an open stdin without a text is an error.
fn stdin() -> Result<String> {
    let wrong = |why: &str| Refusal::invalid("the call", why);
    let read = || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_BODY_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        io::stdin().lock().take(limit).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = time_limit::run_on_big_stack(1 << 20, LIMIT, read).ok_or_else(|| wrong("did not come in time"))??;
    if bytes.len() > MAX_BODY_BYTES {
        return Err(wrong("is too long").into());
    }
    Ok(String::from_utf8(bytes).map_err(|_| wrong("is not valid UTF-8"))?)
}

/// Explain the decision on a tool call; log nothing
///
/// Lists each simple command of the input, its unresolved parts, and the result of each rule. Exit 0 whatever the
/// decision.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway guard test --role dev --input 'git push --force'")]
pub struct TestArgs {
    /// Role of the caller; default: the acting role
    #[arg(long = "role", value_name = "ROLE", value_parser = values::role)]
    tested: Option<Role>,
    /// Tool name
    #[arg(long, value_name = "TOOL", default_value = "Bash")]
    tool: String,
    /// JSON object or shell text; - reads stdin
    #[arg(long, value_name = "JSON|TEXT")]
    input: String,
    /// Directory of the call
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

impl TestArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        let text = ctx.text("input", Some(self.input), None)?.unwrap_or_default();
        let input = object(&text).unwrap_or_else(|_| json!({ "command": &text }));
        let app = ctx.app()?;
        let session = match &app.actor.session {
            Some(session) => Some(app.read(|tx| lookup::session(tx, session))?),
            None => None,
        };
        let role = self.tested.or_else(|| app.actor.role.clone()).or_else(|| session.as_ref().map(|s| s.role.clone()));
        let role = role.ok_or_else(|| Refusal::ArgumentMissing {
            why: "guard test needs the role whose call it would be".into(),
            hint: format!("name one: fairway guard test --role ROLE --input {}", shell_words::quote(&text)),
        })?;
        let cwd = self.cwd.or_else(|| Some(ctx.env.cwd.clone()));
        let mut call = ToolCall {
            tool: self.tool,
            aliases: Vec::new(),
            input,
            cwd,
            role: None,
            runs_own_program: false,
            context: Map::new(),
        };
        call.runs_own_program = guard::is_own_verb(&ctx.env, &call);
        let evaluation =
            guard::evaluate(&LoadedRules::load(&app), &app, session.as_ref(), &role, &call).unwrap_or_else(denied);
        let view = EvaluationView::from(&evaluation);
        ctx.show(&view, || view.rule.iter().cloned().collect(), || escape_controls(&words(&view)))
    }
}

fn denied(reason: String) -> Evaluation {
    let (commands, doubts, looks) = (Vec::new(), Vec::new(), Vec::new());
    Evaluation {
        allowed: false,
        explicitly_allowed: false,
        rule: None,
        reason,
        commands,
        unresolved: doubts,
        traces: looks,
        steps: 0,
    }
}

fn words(view: &EvaluationView) -> String {
    let mut text = String::new();
    let rule = view.rule.as_ref().map(|rule| format!("{rule}: ")).unwrap_or_default();
    let _ = writeln!(text, "{}: {rule}{}", if view.allowed { "allowed" } else { "denied" }, view.reason);
    for command in &view.commands {
        let _ = writeln!(text, "command   {command}");
    }
    for doubt in &view.doubts {
        let _ = writeln!(text, "unknown   {doubt}");
    }
    for look in &view.rules {
        let _ = writeln!(
            text,
            "rule      {} {}: {}",
            look.rule,
            if look.matched { "matches" } else { "does not match" },
            look.why
        );
    }
    text
}

/// List the latest guard decisions, newest last
///
/// Decisions are kept for 30 days. Secrets in the input are masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "fairway guard log --denied")]
pub struct LogArgs {
    /// Maximum number of decisions; 0 for all
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::limit)]
    limit: u32,
    /// Only decisions about this session
    #[arg(long = "of-session", value_name = "SESSION", value_parser = values::session)]
    of: Option<SessionId>,
    /// Only denials
    #[arg(long)]
    denied: bool,
}

impl LogArgs {
    fn run(self, ctx: &Context) -> Result<Exit> {
        // `--session` is also who acts: here it says whose decisions are meant.
        let acting = ctx.actor()?.session.filter(|_| ctx.globals.session.is_some());
        let of = self.of.as_ref().or(acting.as_ref());
        let found = guard::log(&ctx.app()?, of, self.denied, i64::from(self.limit))?;
        ctx.show(
            &found,
            || found.iter().map(|one| one.id.to_string()).collect(),
            || {
                let mut table = Table::new(&["id", "age", "session", "tool", "verdict", "rule", "reason", "input"]);
                for one in &found {
                    table.row([
                        one.id.to_string(),
                        one.at.as_deref().map_or_else(|| "-".into(), |at| age(at, ctx.env.now())),
                        one.session_id.clone().unwrap_or_else(|| "-".into()),
                        one.tool.clone(),
                        if one.allowed { "allowed" } else { "denied" }.to_owned(),
                        one.rule.clone().unwrap_or_else(|| "-".into()),
                        one.reason.clone(),
                        tool_input::summary(&one.input),
                    ]);
                }
                if table.is_empty() { "no decisions\n".into() } else { table.coloured(ctx.out.width, ctx.out.style) }
            },
        )
    }
}

/// Parses the input of a tool call, a JSON object.
fn object(text: &str) -> Result<Value, Refusal> {
    let wrong = |why: String| Refusal::invalid("input", why);
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(wrong("is not a JSON object".to_owned())),
        Err(error) => Err(wrong(format!("is not valid JSON: {error}"))),
    }
}
