//! `fairway guard test`

use std::{fmt::Write, path::PathBuf};

use anyhow::Result;
use serde_json::{Map, json};

use super::input::object;
use crate::{
    actions::{
        agents::guard::{self, LoadedRules, ToolCall},
        core::lookup,
    },
    cli::{context::Context, exit::Exit, values},
    domain::{Refusal, Role},
    guard::Evaluation,
    render::escape_controls,
    wire::EvaluationView,
};

/// Explain the decision on a tool call; log nothing
///
/// Lists each simple command of the input, its unresolved parts, and the result of each rule. Exit 0 whatever the
/// decision.
#[derive(Debug, clap::Args)]
pub struct Args {
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

impl Args {
    pub(in crate::cli) fn run(self, ctx: &Context) -> Result<Exit> {
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
        let judgement =
            guard::evaluate(&LoadedRules::load(&app), &app, session.as_ref(), &role, &call).unwrap_or_else(denied);
        let view = EvaluationView::from(&judgement);
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
