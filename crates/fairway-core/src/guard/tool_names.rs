//! Names of tools: the same tool has other names with other providers.

use super::own_tools;

/// Tools that do the same, by all names that are known for them. A rule that denies one of them means all.
const ALIASES: &[&[&str]] = &[
    &[
        "Bash", "bash", "sh", "shell", "exec", "exec_command", "shell_command", "execute_bash", "run_in_terminal",
        "bash_tool", "powershell", "execute_command", "local_shell", "run_command", "run_shell_command",
        "run_terminal_cmd", "terminal", "unified_exec", "write_stdin",
    ],
    &["Write", "write_file", "create_file", "apply_patch"],
    &[
        "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "edit_file", "replace", "str_replace",
        "str_replace_based_edit_tool", "str_replace_editor",
    ],
    &["Read", "read_file", "read_many_files"],
];

/// Whether a pattern matches this name. A `*` in it stands for any run of characters.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether one of the patterns matches one of the names as they are written: letter case counts, and no other names of the tool
/// are tried.
pub(super) fn matches_exact(patterns: &[String], names: &[String]) -> bool {
    patterns.iter().any(|pattern| names.iter().any(|name| matches_pattern(pattern, name)))
}

/// Whether one of the patterns matches the tool, in any letter case and under every known name of the same tool.
pub(super) fn matches_alias(patterns: &[String], names: &[String]) -> bool {
    let plain = |text: &str| text.trim().to_ascii_lowercase();
    // `functions.shell`, `default_api:run_shell_command`: the tool behind a dot or a colon is that tool.
    let last = |name: &str| name.rsplit(['.', ':', '/']).next().unwrap_or_default().to_owned();
    let names: Vec<String> = names.iter().map(|name| plain(name)).flat_map(|name| [last(&name), name]).collect();
    // A server that a plugin brings is the same server.
    let names: Vec<String> =
        names.iter().flat_map(|name| own_tools::without_plugin(name)).chain(names.clone()).collect();
    patterns.iter().map(|pattern| plain(pattern)).any(|pattern| {
        names.iter().any(|name| {
            matches_pattern(&pattern, name)
                || ALIASES.iter().any(|same| {
                    let knows =
                        |wanted: &dyn Fn(&str) -> bool| same.iter().any(|one| wanted(&one.to_ascii_lowercase()));
                    knows(&|one| matches_pattern(&pattern, one)) && knows(&|one| one == name)
                })
        })
    })
}

/// Whether one of these names is that of a tool that runs shell text.
pub fn is_shell_tool(names: &[String]) -> bool {
    matches_alias(&["Bash".to_owned()], names)
}

/// Whether a tool of this name may write files: one that edits them, or that runs shell text.
pub fn may_write(name: &str) -> bool {
    matches_alias(&["Bash".to_owned(), "Write".to_owned(), "Edit".to_owned()], &[name.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str) -> Vec<String> {
        vec![name.to_owned()]
    }

    #[test]
    fn names_are_exact_or_have_stars_and_a_denial_means_every_name_of_the_tool() {
        for (pattern, name, exactly, widely) in [
            ("Bash", "Bash", true, true),
            ("Bash", "bash ", false, true),
            ("Bash", "run_shell_command", false, true),
            ("Bash", "Bashful", false, false),
            ("Bash", "functions.shell", false, true),
            ("Bash", "container.exec", false, true),
            ("mcp__x__*", "mcp__x__write", true, true),
            ("mcp__x__*", "mcp__y__write", false, false),
            ("mcp__x__*", "mcp__plugin_tools_x__write", false, true),
            ("mcp__x__write", "mcp__plugin_x_x__write", false, true),
            ("mcp__x__*", "mcp__plugin_x_y__write", false, false),
            ("*", "anything", true, true),
            ("a*b*c", "a1b2c", true, true),
            ("a*b*c", "a1c2b", false, false),
            ("a*a", "a", false, false),
            ("Edit", "apply_patch", false, true),
            ("Edit", "Read", false, false),
        ] {
            assert_eq!(matches_exact(&one(pattern), &one(name)), exactly, "{pattern} {name}");
            assert_eq!(matches_alias(&one(pattern), &one(name)), widely, "{pattern} {name}");
        }
        for (name, writes) in
            [("Bash", true), ("write_file", true), ("MultiEdit", true), ("Read", false), ("Grep", false)]
        {
            assert_eq!(may_write(name), writes, "{name}");
        }
        assert!(is_shell_tool(&one("exec_command")) && !is_shell_tool(&one("Write")));
    }
}
