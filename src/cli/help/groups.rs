//! The groups of `fairway --help`. Each visible command stands in exactly one.

/// The last group: commands that scripts and programs call.
pub const PLUMBING: &str = "Plumbing";

/// Headings and their commands.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["setup", "start", "demo", "init", "trust", "session", "help"]),
    ("Work", &["guide", "task", "lane", "ready", "claim", "release", "done", "note", "checkpoint", "exec"]),
    ("Review", &["evidence", "review", "handoff", "merge-ready", "land"]),
    ("Talk", &["send", "prompt", "answer", "inbox"]),
    ("Watch", &["status", "top", "overlap", "approvals", "events", "search", "explain", "usage"]),
    ("Project", &["config", "guard", "doctor", "backup", "restore"]),
    (
        PLUMBING,
        &[
            "adapter",
            "completions",
            "device",
            "hook",
            "host",
            "man",
            "mcp",
            "message",
            "notify",
            "outbox",
            "prime",
            "provider",
            "sandbox",
            "serve",
            "sidecar",
            "skill",
            "store",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    #[test]
    fn each_visible_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = command();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
    }
}
