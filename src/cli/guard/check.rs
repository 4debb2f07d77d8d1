//! `fairway guard check`

use std::{
    io::{self, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::Duration,
};

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::input::object;
use crate::{
    actions::{
        agents::guard::{self, EntryPoint, GuardDecision, ToolCall},
        core::{errors, lookup},
    },
    cli::{context::Context, exit::Exit},
    domain::{Refusal, RunId, text_limits::MAX_BODY_BYTES},
    os::time_limit,
    wire::GuardResultView,
};

/// How long the call is waited for on stdin.
const LIMIT: Duration = Duration::from_secs(4);

/// Decide on a tool call and log the decision
///
/// Exit 0: allowed. Exit 5, or the code of an error: denied; with --json "allowed" is then false. Without --tool the
/// whole call is read from stdin: {"run_id", "tool", "input", "context": {"role", "cwd", "also"}}. The default run_id
/// is the acting session's.
#[derive(Debug, clap::Args)]
pub struct Args {
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

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
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
            ctx.out.line(&crate::render::escape_line(&format!("allowed: {rule}{}", verdict.reason)))?;
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
