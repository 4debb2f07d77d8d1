//! Whether a vendor would have kept a tool call from running, by what its hook did. As measured with Claude Code 2.1.329, Codex
//! 0.169.0 and Gemini CLI 0.61.0: what looks like a no is often none.

use serde_json::Value;

use crate::{hooks::Provider, os::capture::ExitReason};

/// What a hook did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookOutput {
    /// How it ended.
    pub end: ExitReason,
    /// What it printed.
    pub stdout: String,
    /// What it remarked.
    pub stderr: String,
}

/// Whether the tool call would have been blocked. `fails_closed`: its entry says `onFailure: "block"`.
///
/// # Errors
/// Why the tool would have run.
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
    /// Whether the vendor takes it for a failure of the hook, not for an answer.
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

/// How a hook ended that said nothing by it.
fn describe_end(end: ExitReason) -> String {
    match end {
        ExitReason::Code(code) => format!("it ended with exit code {code}"),
        ExitReason::Signal(signal) => format!("it was ended by signal {signal}"),
        ExitReason::TimedOut => "it took longer than its timeout".to_owned(),
    }
}

fn claude(outcome: &HookOutput) -> Result<(), NotBlocked> {
    match outcome.end {
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err(NotBlocked::answer("it said nothing"));
            }
            if !text.starts_with('{') {
                return Err(NotBlocked::answer("something stands before the JSON object on stdout"));
            }
            let Ok(said) = serde_json::from_str::<Value>(text) else {
                return Err(NotBlocked::failure("what it printed is no JSON object"));
            };
            let inner = &said["hookSpecificOutput"];
            let decisions = [&said["decision"], &inner["permissionDecision"]];
            let known = ["approve", "block", "allow", "deny", "ask", "defer"];
            if decisions.iter().any(|one| !one.is_null() && !one.as_str().is_some_and(|word| known.contains(&word))) {
                return Err(NotBlocked::failure("it printed a decision that is none"));
            }
            if !inner.is_null() && inner["hookEventName"] != "PreToolUse" {
                return Err(NotBlocked::failure("its answer names another event"));
            }
            if said["decision"] == "block" || inner["permissionDecision"] == "deny" {
                return Ok(());
            }
            Err(NotBlocked::answer("its answer is no denial"))
        }
        end => Err(NotBlocked::failure(describe_end(end))),
    }
}

/// The fields that the vendor knows; with another one it voids the whole answer.
const CODEX_FIELDS: &[&str] =
    &["continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"];
const CODEX_OUTPUT_FIELDS: &[&str] =
    &["hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"];

fn codex(outcome: &HookOutput) -> Result<(), String> {
    match outcome.end {
        ExitReason::Code(2) if outcome.stderr.trim().is_empty() => {
            Err("exit code 2 without a word on stderr is no denial".into())
        }
        ExitReason::Code(2) => Ok(()),
        ExitReason::Code(0) => {
            let text = outcome.stdout.trim();
            if text.is_empty() {
                return Err("it said nothing".into());
            }
            let Ok(Value::Object(said)) = serde_json::from_str(text) else {
                return Err("stdout is not exactly one JSON object".into());
            };
            let inner = said.get("hookSpecificOutput").and_then(Value::as_object);
            let unknown = said.keys().find(|key| !CODEX_FIELDS.contains(&key.as_str()));
            let unknown_inner =
                inner.and_then(|inner| inner.keys().find(|key| !CODEX_OUTPUT_FIELDS.contains(&key.as_str())));
            if let Some(field) = unknown.or(unknown_inner) {
                return Err(format!("the field '{}' is not known and voids the whole answer", field.escape_debug()));
            }
            if said.get("suppressOutput") == Some(&Value::Bool(true)) {
                return Err("suppressOutput voids the whole answer".into());
            }
            if said.get("continue") == Some(&Value::Bool(false)) {
                return Err("continue: false is no denial".into());
            }
            let text =
                |value: Option<&Value>| value.and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
            let of_inner = |name: &str| text(inner.and_then(|inner| inner.get(name)));
            let (is_denial, reason) = if of_inner("permissionDecision") == "deny" {
                (of_inner("hookEventName") == "PreToolUse", of_inner("permissionDecisionReason"))
            } else {
                (text(said.get("decision")) == "block", text(said.get("reason")))
            };
            match (is_denial, reason.is_empty()) {
                (true, false) => Ok(()),
                (true, true) => Err("a denial without a reason is none".into()),
                (false, _) => Err("its answer is no denial".into()),
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
        Ok(said) if said["decision"] == "deny" || said["decision"] == "block" => Ok(()),
        Ok(Value::Object(_)) => Err("its answer is no denial".into()),
        _ if text.is_empty() => Err(match code {
            0 => "it said nothing".to_owned(),
            code => format!("it ended with exit code {code} and not a word: that is no denial"),
        }),
        // Words and a bad exit code are a denial with these words.
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

    /// The whole matrix of what was tried: who blocks, and who runs the tool.
    #[test]
    fn what_blocks_is_what_was_measured() {
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
            ("exit 2 and words", did(2, "", "no"), &[Claude, Codex, Gemini]),
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
                let said = would_block(*provider, false, outcome);
                // Not tried there; a word that is no decision is taken for a failure.
                if (*what, *provider) == ("deny without", Claude) {
                    continue;
                }
                assert_eq!(said.is_ok(), blocks.contains(provider), "{what}, {provider:?}: {said:?}");
            }
        }
    }

    #[test]
    fn an_entry_that_fails_closed_makes_failures_a_no_and_answers_stay() {
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
