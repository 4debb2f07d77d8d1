//! Installing and uninstalling restores any settings file.

use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use super::{edit, entries, json_edit, own_hook_matcher};
use crate::hooks::Provider;

const PROGRAM: &str = "/opt/my tools/fairway";

fn install(provider: Provider, text: Option<&str>) -> Result<String, String> {
    let entries = entries(provider, Path::new(PROGRAM), Duration::from_secs(50), false);
    edit::insert_hooks(text, &entries, &own_hook_matcher(provider, Path::new(PROGRAM)))
}

fn uninstall(provider: Provider, text: &str) -> Option<String> {
    edit::remove_hooks(text, &own_hook_matcher(provider, Path::new(PROGRAM))).unwrap()
}

fn value(text: &str) -> Value {
    let body = text.strip_prefix(json_edit::BOM).unwrap_or(text);
    json_edit::parse(body).unwrap().as_ref().map_or(Value::Null, json_edit::to_value)
}

/// The value with Fairway's entries at the end of each list.
fn expected(provider: Provider, before: &Value) -> Value {
    let mut value = if before.is_null() { serde_json::json!({}) } else { before.clone() };
    let hooks = value.as_object_mut().unwrap().entry("hooks").or_insert_with(|| serde_json::json!({}));
    for entry in entries(provider, Path::new(PROGRAM), Duration::from_secs(50), false) {
        let list = hooks.as_object_mut().unwrap().entry(entry.event).or_insert_with(|| serde_json::json!([]));
        list.as_array_mut().unwrap().push(serde_json::json!({ "hooks": entry.hooks }));
    }
    value
}

#[track_caller]
fn assert_roundtrip(text: Option<&str>) {
    for provider in Provider::ALL {
        let with = install(*provider, text).unwrap();
        assert_eq!(value(&with), expected(*provider, &text.map_or(Value::Null, value)), "{text:?}\n{with}");
        assert_eq!(install(*provider, Some(&with)).unwrap(), with, "a second time changes nothing: {text:?}");
        assert_eq!(uninstall(*provider, &with).as_deref(), text, "{provider:?}\n{with}");
    }
}

#[test]
fn what_was_put_in_is_taken_out_without_a_trace() {
    assert_roundtrip(None);
    for text in [
        "",
        "\n",
        "  \n",
        "// only this",
        "// only this\n",
        "/* a */ {}",
        "{}",
        "{}\n",
        "{ }",
        "{\n}",
        "{\n}\n",
        "{\r\n}\r\n",
        "\u{feff}{}",
        "\u{feff}",
        "{ // c\n}",
        "{\"a\":1}",
        "{\"a\":1 }\n",
        "{\"a\":1,}",
        "{\"a\":1, }",
        "{\"a\": {\"b\": [1, 2]}, \"c\": [\n] }",
        "{\n  \"a\": 1\n}\n",
        "{\n  \"a\": 1,\n}\n",
        "{\n\t\"a\": 1 // c\n}\n",
        "{\n\t\"a\": 1, // c\n}\n",
        "{\n\t\"a\": 1 /* c */, // d\n}\n",
        "{\r\n    \"a\": 1\r\n}",
        "{\"hooks\":{}}",
        "{\"hooks\":{ }}",
        "{\n  \"hooks\": {}\n}\n",
        "{\n  \"hooks\": {\n  },\n  \"z\": null\n}\n",
        "{\"hooks\":{\"PreToolUse\":[],\"BeforeTool\":[]}}",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n    ]\n  }\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}]}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"x\" }\n        ]\n      }\n    ] // theirs\n  } // all\n}\n",
        "{\n  \"hooks\": {\"SessionStart\": [{\n    \"hooks\": []\n  }]}\n}",
        "{\"hooks\":{\"enabled\":true,\"disabled\":[\"x\"],\"Custom\":{}}}",
        "{\"hooks\":{\"Stop\":[{\"matcher\":\"x\",\"hooks\":[{\"type\":\"command\",\"command\":\"/usr/bin/fairway hook acme Stop\"}]}]}}",
        "{\"emoji\": \"👋\\ud83d\\ude00 // no comment, /* neither */\"}",
    ] {
        assert_roundtrip(Some(text));
    }
}

#[test]
fn older_entries_of_ours_are_replaced_and_others_in_their_groups_stay() {
    let old = r#"{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "mine.sh" }, { "type": "command", "command": "'/old place/fairway' hook claude PreToolUse", "timeout": 3 } ] },
      { "hooks": [ { "type": "command", "command": "/elsewhere/fairway", "args": ["hook", "claude", "PreToolUse"] } ] }
    ]
  }
}
"#;
    let rest = uninstall(Provider::CLAUDE, old).unwrap();
    assert_eq!(
        rest,
        r#"{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [ { "type": "command", "command": "mine.sh" } ] }
    ]
  }
}
"#
    );
    let new = install(Provider::CLAUDE, Some(old)).unwrap();
    assert!(!new.contains("/old place") && !new.contains("/elsewhere") && new.contains("mine.sh"), "{new}");
    assert_eq!(new, install(Provider::CLAUDE, Some(&rest)).unwrap());
}

#[test]
fn what_is_no_settings_is_left_alone() {
    for text in [
        "{",
        "[]",
        "1",
        "nul",
        "{\"a\":1}{}",
        "{'a':1}",
        "{\"hooks\":[]}",
        "{\"hooks\":null}",
        "{\"hooks\":{},\"hooks\":{}}",
        "{\"hooks\":{\"PreToolUse\":{}}}",
        "{\"hooks\":{\"PreToolUse\":[],\"PreToolUse\":[]}}",
        "{\"a\":1 \"b\":2}",
    ] {
        let result = install(Provider::CLAUDE, Some(text));
        assert!(result.is_err(), "{text}: {result:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(install(Provider::CLAUDE, Some(&deep)).is_err());
}

#[test]
fn program_of_any_name_is_one_word_of_a_shell() {
    for name in ["/a/fairway", "/a b/fairway", "/a'b/fairway", "/$HOME/`x`/\"/fairway", "/ä;&|/fairway", "/fw-2"] {
        for provider in Provider::ALL {
            for entry in entries(*provider, Path::new(name), Duration::ZERO, false) {
                for hook in &entry.hooks {
                    let program = entries::own_program(hook, *provider, Some("fw-2"));
                    assert_eq!(program.as_deref(), Some(Path::new(name)), "{hook}");
                    assert_eq!(
                        entries::own_program(hook, Provider::CLAUDE, Some("fw-2")).is_some(),
                        *provider == Provider::CLAUDE
                    );
                }
            }
        }
    }
}

/// Whitespace, line endings and comments between the parts of a document.
fn gap(newline: &'static str) -> BoxedStrategy<String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just(newline.to_owned()),
        3 => Just(format!("{newline}  ")),
        1 => Just(format!("{newline}\t")),
        1 => Just(format!("{newline}{newline}    ")),
        1 => Just("/* c, { */".to_owned()),
        1 => Just(format!(" // c ] ,{newline}")),
        1 => Just(format!("{newline}  // c{newline}")),
    ]
    .boxed()
}

/// A value with arbitrary formatting.
fn json_value(newline: &'static str) -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("-0.5e3".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"x // y\"".to_owned()),
        Just("\"\\\"{,\\u00e9\"".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            items(inner.clone(), newline).prop_map(|inside| format!("[{inside}]")),
            items((0..9u8, gap(newline), inner).prop_map(|(n, gap, value)| format!("\"k{n}\"{gap}:{value}")), newline)
                .prop_map(|inside| format!("{{{inside}}}")),
        ]
    })
    .boxed()
}

/// Items with commas and gaps between them, perhaps with a trailing comma.
fn items(item: impl Strategy<Value = String> + 'static, newline: &'static str) -> BoxedStrategy<String> {
    let one = (gap(newline), item, gap(newline)).prop_map(|(before, item, after)| format!("{before}{item}{after}"));
    (prop::collection::vec(one, 0..4), any::<bool>(), gap(newline))
        .prop_map(|(items, comma, last)| {
            let comma = if comma && !items.is_empty() { "," } else { "" };
            format!("{}{comma}{last}", items.join(","))
        })
        .boxed()
}

fn settings() -> BoxedStrategy<String> {
    (prop_oneof![Just("\n"), Just("\r\n")])
        .prop_flat_map(|newline| {
            let group = prop_oneof![
                Just("{\"hooks\":[{\"type\":\"command\",\"command\":\"say\"}]}".to_owned()),
                Just(format!("{{{newline}  \"matcher\": \"Bash\",{newline}  \"hooks\": []{newline}}}")),
                json_value(newline),
            ]
            .boxed();
            let event = prop::sample::subsequence(vec!["PreToolUse", "Stop", "AfterTool", "Other", "BeforeTool"], 0..4)
                .prop_flat_map(move |names| {
                    let one = items(group.clone(), newline);
                    let lists = prop::collection::vec((gap(newline), one, gap(newline)), names.len());
                    (Just(names), lists, any::<bool>(), gap(newline))
                })
                .prop_map(|(names, lists, comma, last)| {
                    let events: Vec<String> = names
                        .iter()
                        .zip(lists)
                        .map(|(name, (before, list, after))| format!("{before}\"{name}\":[{list}]{after}"))
                        .collect();
                    let comma = if comma && !events.is_empty() { "," } else { "" };
                    format!("{{{}{comma}{last}}}", events.join(","))
                })
                .boxed();
            let hooks = prop_oneof![1 => Just(None), 3 => event.prop_map(Some)];
            let others = prop::collection::vec((gap(newline), json_value(newline), gap(newline)), 0..3);
            (hooks, others, 0..3usize, any::<(bool, bool)>(), gap(newline), gap(newline)).prop_map(
                |(hooks, others, place, (comma, bom), first, last)| {
                    let mut parts: Vec<String> = others
                        .into_iter()
                        .enumerate()
                        .map(|(n, (before, value, after))| format!("{before}\"o{n}\": {value}{after}"))
                        .collect();
                    if let Some(hooks) = hooks {
                        parts.insert(place.min(parts.len()), format!("\"hooks\": {hooks}"));
                    }
                    let comma = if comma && !parts.is_empty() { "," } else { "" };
                    let bom = if bom { json_edit::BOM } else { "" };
                    format!("{bom}{first}{{{}{comma}{last}}}{last}", parts.join(","))
                },
            )
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_settings_come_back_byte_by_byte(text in settings()) {
        assert_roundtrip(Some(&text));
    }
}
