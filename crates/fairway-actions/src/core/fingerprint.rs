//! Fingerprints of requests: when a repeat under the same idempotency key is the same command.
//!
//! A command's fingerprint is `2:<command>:<digest>`, an API request's `api:<digest>`, a provider event's
//! `event:<digest>`. The version before this one stored bare digests, made from names that no longer exist. Those rows
//! expire after a week; until then a repeat is compared with what the stored answer tells about its command.

use super::answer::Answer;

const COMMAND: &str = "2:";
const API: &str = "api:";
const EVENT: &str = "event:";

/// The fingerprint of a command. `path` is its canonical name; `digest` is computed from its arguments and actor.
pub fn of_command(path: &str, digest: &str) -> String {
    format!("{COMMAND}{path}:{digest}")
}

/// The fingerprint of an API request. `digest` is computed from its route and body.
pub fn of_api(digest: &str) -> String {
    format!("{API}{digest}")
}

/// The fingerprint of a provider event. `digest` is computed from its fields.
pub fn of_event(digest: &str) -> String {
    format!("{EVENT}{digest}")
}

/// Whether a stored fingerprint and a new one belong to the same request. The previous version stored bare digests. Such a digest
/// matches an API request with this digest, every event, and a command to which `answer`, the stored answer as JSON, may belong.
/// Without a readable `answer` it matches every command.
pub fn is_same(stored: &str, asked: &str, answer: Option<&str>) -> bool {
    if stored == asked {
        return true;
    }
    if !is_bare_digest(stored) {
        return false;
    }
    if let Some(digest) = asked.strip_prefix(API) {
        // Made in the same way as before.
        return stored == digest;
    }
    // The key of an event names its provider, conversation and event already.
    asked.starts_with(EVENT)
        || asked.strip_prefix(COMMAND).is_some_and(|asked| {
            let path = asked.split(':').next().unwrap_or_default();
            let answer = answer.and_then(|text| serde_json::from_str(text).ok());
            answer.is_none_or(|answer| may_answer(path, &answer))
        })
}

fn is_bare_digest(stored: &str) -> bool {
    stored.len() == 64 && stored.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// First words of answers of the previous version, and the commands that gave them.
const FIRST_WORDS: &[(&str, &[&str])] = &[
    ("added", &["task add", "lane add"]),
    ("edited", &["task edit", "lane edit"]),
    ("imported", &["task import"]),
    ("claimed", &["claim"]),
    ("renewed", &["claim"]),
    ("released", &["release"]),
    ("blocked", &["task block"]),
    ("unblocked", &["task unblock"]),
    ("resumed", &["task resume"]),
    ("done", &["task done"]),
    ("reopened", &["task reopen"]),
    ("cancelled", &["task cancel"]),
    ("submitted", &["task submit"]),
    ("lane", &["lane pause", "lane open", "lane close"]),
    ("accepted", &["handoff accept"]),
    ("declined", &["handoff decline"]),
    ("created", &["handoff create"]),
    ("requested", &["review request"]),
    ("recorded", &["checkpoint record", "evidence add", "evidence run", "review record"]),
    ("removed", &["lane rm", "exec rm", "session meta rm"]),
    ("heard", &["session heartbeat"]),
    ("stopped", &["session stop"]),
    ("launched", &["session launch"]),
];

/// Keys by which a document is recognised, and the first words of the commands that answer with it.
const DOCUMENTS: &[(&str, &[&str])] = &[
    ("depends_on", &["task"]),
    ("wip_limit", &["lane"]),
    ("checkpoint", &["checkpoint"]),
    ("observed", &["evidence"]),
    ("from_role", &["handoff"]),
    ("verdict", &["review"]),
    ("to_session", &["message", "prompt", "outbox"]),
    ("session_name", &["session"]),
    ("queued_at", &["exec"]),
    ("message_id", &["prompt", "message"]),
];

/// Whether an answer may belong to a command. Unknown answers and commands match.
fn may_answer(path: &str, answer: &Answer) -> bool {
    let first = answer.line.split_whitespace().next().unwrap_or_default();
    let fits_line = FIRST_WORDS.iter().find(|(word, _)| *word == first).is_none_or(|(_, paths)| paths.contains(&path));
    let noun = match path.split(' ').next().unwrap_or_default() {
        "claim" | "release" => "task",
        noun => noun,
    };
    let known = DOCUMENTS.iter().find(|(key, _)| answer.document.get(key).is_some());
    // The document of a provider event holds documents of other nouns.
    let fits_document = path == "session event" || known.is_none_or(|(_, nouns)| nouns.contains(&noun));
    fits_line && fits_document
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn stored(line: &str, document: &Value) -> String {
        let answer =
            Answer { document: document.clone(), line: line.into(), ids: vec!["T-1".into()], notes: Vec::new() };
        serde_json::to_string(&answer).unwrap()
    }

    #[test]
    fn bare_digest_matches_commands_that_fit_its_answer() {
        let bare = "ab".repeat(32);
        let task = serde_json::json!({ "id": "T-1", "depends_on": [] });
        let lane = serde_json::json!({ "name": "web", "wip_limit": null });
        for (asked, line, document, expected) in [
            ("task add", "added T-1", &task, true),
            ("task edit", "added T-1", &task, false),
            ("lane add", "added T-1", &task, false),
            ("lane add", "added lane web", &lane, true),
            ("claim", "added T-1", &task, false),
            ("task edit", "unchanged: T-1 says so already", &task, true),
            ("review record", "unchanged: T-1 says so already", &task, false),
        ] {
            let asked = of_command(asked, "00");
            assert_eq!(is_same(&bare, &asked, Some(&stored(line, document))), expected, "{asked} {line}");
        }
        assert!(is_same(&bare, &of_command("task add", "00"), None), "an intent without an answer");
    }

    #[test]
    fn present_fingerprints_match_only_themselves() {
        let answer = stored("added T-1", &serde_json::json!({ "depends_on": [] }));
        let (one, other) = (of_command("task add", &"ab".repeat(32)), of_command("task add", &"cd".repeat(32)));
        assert!(is_same(&one, &one, Some(&answer)));
        assert!(!is_same(&one, &other, Some(&answer)));
        assert!(!is_same(&of_api(&"ab".repeat(32)), &one, Some(&answer)));
        assert!(!is_same(&of_event(&"ab".repeat(32)), &of_event(&"cd".repeat(32)), Some(&answer)));
        // An API request is digested as before, so its old rows are compared exactly.
        assert!(is_same(&"ab".repeat(32), &of_api(&"ab".repeat(32)), Some(&answer)));
        assert!(!is_same(&"ab".repeat(32), &of_api(&"cd".repeat(32)), Some(&answer)));
        assert!(is_same(&"ab".repeat(32), &of_event(&"cd".repeat(32)), Some(&answer)));
        // An intent of a worktree is a plan, not a digest.
        assert!(!is_same("{\"lane\":\"web\"}", &one, None));
    }
}
