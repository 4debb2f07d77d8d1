//! The supported providers. A new one takes three steps: a file here with its value, its row below, and its profile in
//! `config/providers.toml`.

mod claude;
mod codex;
mod gemini;

use super::provider::Provider;

impl Provider {
    pub const ALL: &'static [Self] = &[claude::PROVIDER, codex::PROVIDER, gemini::PROVIDER];

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.label() == name)
    }
}

#[cfg(test)]
impl Provider {
    pub const CLAUDE: Self = claude::PROVIDER;
    pub const CODEX: Self = codex::PROVIDER;
    pub const GEMINI: Self = gemini::PROVIDER;
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::hooks::install::{Target, entries, load, manual_steps};
    use crate::hooks::provider::{EventSpec, HookOutput, ProviderSpec};
    use fairway_core::os::exit_reason::ExitReason;

    const CLAUDE: Provider = claude::PROVIDER;
    const CODEX: Provider = codex::PROVIDER;
    const GEMINI: Provider = gemini::PROVIDER;

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
            ("a denial", did(0, CANONICAL, ""), &[CLAUDE, CODEX]),
            ("with a newline", did(0, &format!("{CANONICAL}\n"), ""), &[CLAUDE, CODEX]),
            ("without a reason", did(0, &without_reason, ""), &[CLAUDE]),
            ("an unknown field", did(0, &with("\"x\":1"), ""), &[CLAUDE]),
            ("an unknown field inside", did(0, &inside("\"x\":1"), ""), &[CLAUDE]),
            ("a system message", did(0, &with("\"systemMessage\":\"m\""), ""), &[CLAUDE, CODEX]),
            ("continue", did(0, &with("\"continue\":true"), ""), &[CLAUDE, CODEX]),
            ("context", did(0, &inside("\"additionalContext\":\"c\""), ""), &[CLAUDE, CODEX]),
            ("suppressed", did(0, &with("\"suppressOutput\":true"), ""), &[CLAUDE]),
            ("block", did(0, "{\"decision\":\"block\",\"reason\":\"x\"}", ""), &[CLAUDE, CODEX, GEMINI]),
            ("block, unknown", did(0, "{\"decision\":\"block\",\"reason\":\"x\",\"y\":1}", ""), &[CLAUDE, GEMINI]),
            ("block without", did(0, "{\"decision\":\"block\"}", ""), &[CLAUDE, GEMINI]),
            ("deny without", did(0, "{\"decision\":\"deny\"}", ""), &[GEMINI, CLAUDE]),
            ("stop", did(0, "{\"continue\":false,\"stopReason\":\"x\"}", ""), &[]),
            ("ask", did(0, &CANONICAL.replace("deny", "ask"), ""), &[]),
            ("exit 2 and text", did(2, "", "no"), &[CLAUDE, CODEX, GEMINI]),
            ("exit 2 and none", did(2, "", ""), &[CLAUDE]),
            ("a log line before", did(0, &log, ""), &[]),
            ("a log line before, the other form", did(0, gemini_log, ""), &[]),
            ("a crash", did(7, "", ""), &[]),
            ("no such enum", did(0, &CANONICAL.replace("deny", "nope"), ""), &[]),
            ("bad JSON", did(0, "{\"decision\":", ""), &[]),
            ("nothing", did(0, "", ""), &[]),
            ("too slow", HookOutput { end: ExitReason::TimedOut, ..did(0, CANONICAL, "") }, &[]),
            ("killed", HookOutput { end: ExitReason::Signal(9), ..did(0, "", "no") }, &[]),
            ("no such command", did(127, "", "sh: no such file"), &[GEMINI]),
        ];
        for (what, outcome, blocks) in table {
            for provider in Provider::ALL {
                let result = (provider.would_block)(outcome, false);
                // Not measured; an unknown decision counts as a failure.
                if (*what, *provider) == ("deny without", CLAUDE) {
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
            assert_eq!((CLAUDE.would_block)(&outcome, true).is_ok(), blocked, "{outcome:?}");
            assert!((CODEX.would_block)(&outcome, true).is_err(), "{outcome:?}");
        }
    }

    /// The three steps of a new provider, without its profile in `config/providers.toml`: a value in a file, and its row.
    #[test]
    fn provider_is_a_value_that_installs_runs_and_answers() {
        const ACME: Provider = Provider::new(&ProviderSpec {
            label: "acme",
            events: &[EventSpec::tool("PreToolUse"), EventSpec::other("Stop")],
            worktree_events: &[],
            max_output_bytes: 1_000,
            import_file: None,
            process_names: &["acme"],
            pid_variable: None,
            project_dir_variable: None,
            settings_dir: ".acme",
            settings_file: "hooks.json",
            local_settings_file: None,
            settings_dir_variable: ("ACME_HOME", false),
            has_plugin: false,
            reviews_hooks: false,
            aliases: |_| &[],
            parse: |_, _, _| Err("no".into()),
            reply: |_, _| None,
            hook_entry: |_, event, seconds| serde_json::json!({ "run": event, "seconds": seconds }),
            wake_hook: None,
            hooks_switch: None,
            check_settings: |_| Ok(()),
            settings_have_comments: false,
            settings_have_byte_order_mark: false,
            manual_steps: |_| vec!["restart acme"],
            would_block: |outcome, _| if outcome.stdout == "no" { Ok(()) } else { Err("it says yes".into()) },
            entries_have_arguments: false,
            shell: |_| "sh",
            timeout_unit: Duration::from_secs(1),
            canary_env: |_| Vec::new(),
            canary_fields: |_| serde_json::json!({}),
            parse_line: |_, _, _| {},
            fill_missing_models: None,
        });
        let found = entries(ACME, Path::new("/f"), Duration::ZERO, false);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].hooks, [serde_json::json!({ "run": "PreToolUse", "seconds": 10 })]);
        assert_eq!((ACME.tool_event(), ACME.timeout("Stop")), ("PreToolUse", Duration::from_secs(10)));
        assert!((ACME.would_block)(&did(0, "no", ""), false).is_ok() && load(ACME, "{}").is_ok());
        assert_eq!(manual_steps(ACME, &Target::User), ["restart acme", "check the hooks: fairway doctor hooks acme"]);
    }
}
