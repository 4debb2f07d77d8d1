//! Whether a provider would have blocked a tool call, given the result of its hook. Measured with Claude Code 2.1.329, Codex
//! 0.169.0 and Gemini CLI 0.61.0: an output that looks like a denial is often not one.

use serde_json::Value;

use crate::{hooks::Provider, os::exit_reason::ExitReason};

/// The result of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    /// How the process ended.
    pub end: ExitReason,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Checks that the provider would have blocked the tool call. `fails_closed`: the entry has `onFailure: "block"`.
///
/// # Errors
/// Why the tool call would have run.
pub fn would_block(provider: Provider, fails_closed: bool, outcome: &HookOutput) -> Result<(), String> {
    match provider {
        Provider::Claude => {
            claude(outcome).or_else(|why| if fails_closed && why.is_failure { Ok(()) } else { Err(why.text) })
        }
        Provider::Codex => codex(outcome),
        Provider::Gemini => gemini(outcome),
    }
}

struct NotBlocked {
    text: String,
    /// Whether the provider takes it as a failure of the hook, not as a reply.
    is_failure: bool,
}

impl NotBlocked {
    fn failure(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_failure: true }
    }

    fn answer(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_failure: false }
    }
}

/// The end of a hook that is not a denial.
fn describe_end(end: ExitReason) -> String {
    match end {
        ExitReason::Code(code) => format!("exit code {code}"),
        ExitReason::Signal(signal) => format!("killed by signal {signal}"),
        ExitReason::TimedOut => "it exceeded its timeout".to_owned(),
    }
}

fn claude(outcome: &HookOutput) -> Result<(), NotBlocked> {
    match outcome.end {
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err(NotBlocked::answer("no output"));
            }
            if !text.starts_with('{') {
                return Err(NotBlocked::answer("stdout has text before the JSON object"));
            }
            let Ok(reply) = serde_json::from_str::<Value>(text) else {
                return Err(NotBlocked::failure("stdout is not a JSON object"));
            };
            let inner = &reply["hookSpecificOutput"];
            let decisions = [&reply["decision"], &inner["permissionDecision"]];
            let known = ["approve", "block", "allow", "deny", "ask", "defer"];
            if decisions
                .iter()
                .any(|value| !value.is_null() && !value.as_str().is_some_and(|decision| known.contains(&decision)))
            {
                return Err(NotBlocked::failure("unknown decision on stdout"));
            }
            if !inner.is_null() && inner["hookEventName"] != "PreToolUse" {
                return Err(NotBlocked::failure("the reply names another event"));
            }
            if reply["decision"] == "block" || inner["permissionDecision"] == "deny" {
                return Ok(());
            }
            Err(NotBlocked::answer("the reply is not a denial"))
        }
        end => Err(NotBlocked::failure(describe_end(end))),
    }
}

/// The fields that Codex knows. It rejects a reply with any other field.
const CODEX_FIELDS: &[&str] =
    &["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"];
const CODEX_OUTPUT_FIELDS: &[&str] =
    &["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"];

fn codex(outcome: &HookOutput) -> Result<(), String> {
    match outcome.end {
        ExitReason::Code(2) if outcome.stderr.trim().is_empty() => {
            Err("exit code 2 without text on stderr is not a denial".into())
        }
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err("no output".into());
            }
            let Ok(Value::Object(reply)) = serde_json::from_str(text) else {
                return Err("stdout is not exactly one JSON object".into());
            };
            let inner = reply.get("hookSpecificOutput").and_then(Value::as_object);
            let unknown = reply.keys().find(|key| !CODEX_FIELDS.contains(&key.as_str()));
            let unknown_inner =
                inner.and_then(|inner| inner.keys().find(|key| !CODEX_OUTPUT_FIELDS.contains(&key.as_str())));
            if let Some(field) = unknown.or(unknown_inner) {
                return Err(format!("the unknown field '{}' makes codex reject the whole reply", field.escape_debug()));
            }
            if reply.get("suppressOutput") == Some(&Value::Bool(true)) {
                return Err("suppressOutput makes codex reject the whole reply".into());
            }
            if reply.get("continue") == Some(&Value::Bool(false)) {
                return Err("continue: false is not a denial".into());
            }
            let text =
                |value: Option<&Value>| value.and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
            let of_inner = |name: &str| text(inner.and_then(|inner| inner.get(name)));
            let (is_denial, reason) = if of_inner("permissionDecision") == "deny" {
                (of_inner("hookEventName") == "PreToolUse", of_inner("permissionDecisionReason"))
            } else {
                (text(reply.get("decision")) == "block", text(reply.get("reason")))
            };
            match (is_denial, reason.is_empty()) {
                (true, false) => Ok(()),
                (true, true) => Err("codex ignores a denial without a reason".into()),
                (false, _) => Err("the reply is not a denial".into()),
            }
        }
        end => Err(describe_end(end)),
    }
}

fn gemini(outcome: &HookOutput) -> Result<(), String> {
    let code = match outcome.end {
        ExitReason::Code(code) => code,
        end => return Err(describe_end(end)),
    };
    let (stdout, stderr) = (outcome.stdout.trim(), outcome.stderr.trim());
    let text = if stdout.is_empty() { stderr } else { stdout };
    match serde_json::from_str::<Value>(text) {
        Ok(reply) if reply["decision"] == "deny" || reply["decision"] == "block" => Ok(()),
        Ok(Value::Object(_)) => Err("the reply is not a denial".into()),
        _ if text.is_empty() => Err(match code {
            0 => "no output".to_owned(),
            code => format!("exit code {code} without output is not a denial"),
        }),
        // Text with an exit code of 2 or more is a denial with this text as its reason.
        _ if code >= 2 => Ok(()),
        _ => Err("stdout is not exactly one JSON object".into()),
    }
}

#[cfg(test)]
mod tests {
    use Provider::{Claude, Codex, Gemini};

    use super::*;

    const CANONICAL: &str = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;

    fn did(code: i32, stdout: &str, stderr: &str) -> HookOutput {
        HookOutput { end: ExitReason::Code(code), stdout: stdout.into(), stderr: stderr.into() }
    }

    /// All measured results: which providers block, and which run the tool.
    #[test]
    fn blocking_outcomes_are_those_that_were_measured() {
        let with = |field: &str| CANONICAL.replacen('{', &format!("{{{field},"), 1);
        let inside = |field: &str| CANONICAL.replace("\"PreToolUse\",", &format!("\"PreToolUse\",{field},"));
        let without_reason = CANONICAL.replace(",\"permissionDecisionReason\":\"no\"", "");
        let log = format!("starting\n{CANONICAL}");
        let gemini_log = "starting\n{\"decision\":\"deny\",\"reason\":\"no\"}";
        let table: &[(&str, HookOutput, &[Provider])] = &[
            ("a denial", did(0, CANONICAL, ""), &[Claude, Codex]),
            ("with a newline", did(0, &format!("{CANONICAL}\n"), ""), &[Claude, Codex]),
            ("without a reason", did(0, &without_reason, ""), &[Claude]),
            ("an unknown field", did(0, &with("\"x\":1"), ""), &[Claude]),
            ("an unknown field inside", did(0, &inside("\"x\":1"), ""), &[Claude]),
            ("a system message", did(0, &with("\"systemMessage\":\"m\""), ""), &[Claude, Codex]),
            ("continue", did(0, &with("\"continue\":true"), ""), &[Claude, Codex]),
            ("context", did(0, &inside("\"additionalContext\":\"c\""), ""), &[Claude, Codex]),
            ("suppressed", did(0, &with("\"suppressOutput\":true"), ""), &[Claude]),
            ("block", did(0, "{\"decision\":\"block\",\"reason\":\"x\"}", ""), &[Claude, Codex, Gemini]),
            ("block, unknown", did(0, "{\"decision\":\"block\",\"reason\":\"x\",\"y\":1}", ""), &[Claude, Gemini]),
            ("block without", did(0, "{\"decision\":\"block\"}", ""), &[Claude, Gemini]),
            ("deny without", did(0, "{\"decision\":\"deny\"}", ""), &[Gemini, Claude]),
            ("stop", did(0, "{\"continue\":false,\"stopReason\":\"x\"}", ""), &[]),
            ("ask", did(0, &CANONICAL.replace("deny", "ask"), ""), &[]),
            ("exit 2 and text", did(2, "", "no"), &[Claude, Codex, Gemini]),
            ("exit 2 and none", did(2, "", ""), &[Claude]),
            ("a log line before", did(0, &log, ""), &[]),
            ("a log line before, the other form", did(0, gemini_log, ""), &[]),
            ("a crash", did(7, "", ""), &[]),
            ("no such enum", did(0, &CANONICAL.replace("deny", "nope"), ""), &[]),
            ("bad JSON", did(0, "{\"decision\":", ""), &[]),
            ("nothing", did(0, "", ""), &[]),
            ("too slow", HookOutput { end: ExitReason::TimedOut, ..did(0, CANONICAL, "") }, &[]),
            ("killed", HookOutput { end: ExitReason::Signal(9), ..did(0, "", "no") }, &[]),
            ("no such command", did(127, "", "sh: no such file"), &[Gemini]),
        ];
        for (what, outcome, blocks) in table {
            for provider in Provider::ALL {
                let result = would_block(*provider, false, outcome);
                // Not measured; an unknown decision counts as a failure.
                if (*what, *provider) == ("deny without", Claude) {
                    continue;
                }
                assert_eq!(result.is_ok(), blocks.contains(provider), "{what}, {provider:?}: {result:?}");
            }
        }
    }

    #[test]
    fn fail_closed_entry_turns_failures_into_denials_and_keeps_answers() {
        for (outcome, blocked) in [
            (did(7, "", ""), true),
            (did(127, "", "not found"), true),
            (did(0, "{\"decision\":", ""), true),
            (did(0, &CANONICAL.replace("deny", "nope"), ""), true),
            (HookOutput { end: ExitReason::TimedOut, ..did(0, "", "") }, true),
            (did(0, "", ""), false),
            (did(0, "{}", ""), false),
            (did(0, "a log line", ""), false),
        ] {
            assert_eq!(would_block(Claude, true, &outcome).is_ok(), blocked, "{outcome:?}");
            assert!(would_block(Codex, true, &outcome).is_err(), "{outcome:?}");
        }
    }
}
