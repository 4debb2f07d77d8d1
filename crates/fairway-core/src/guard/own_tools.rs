//! The tools of Fairway's own server for agents, by the names that providers give them.

pub const OWN_TOOLS: &[&str] = &["next", "task", "note", "verify", "finish", "ask", "inbox", "run", "overlap"];

/// The prefixes of the name of a tool: a server that was configured by hand, one that a plugin brings, and the form with
/// single underscores.
const PREFIXES: &[&str] = &["mcp__fairway__", "mcp__plugin_fairway_fairway__", "mcp_fairway_"];
/// The beginning of the name of any tool of a plugin's server: `mcp__plugin_PLUGIN_SERVER__TOOL`.
const OF_PLUGIN: &str = "mcp__plugin_";

/// Returns the tool of Fairway's own server that a provider calls by this name: `run` for `mcp__fairway__run`. `None` for any
/// other tool. Letter case counts.
pub fn own_tool(name: &str) -> Option<&'static str> {
    let tool = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
    OWN_TOOLS.iter().copied().find(|known| *known == tool)
}

/// The other names under which rules may name a tool of Fairway's own server: its name without the plugin's prefix, and `Bash`
/// when the call runs a command that the agent wrote. Empty for any other tool.
pub fn aliases(name: &str, has_command: bool) -> Vec<String> {
    let Some(tool) = own_tool(name) else { return Vec::new() };
    let plain = PREFIXES.first().map(|prefix| format!("{prefix}{tool}"));
    let shell = (has_command && matches!(tool, "run" | "verify")).then(|| "Bash".to_owned());
    plain.into_iter().filter(|plain| plain != name).chain(shell).collect()
}

/// The names that a tool would have if its server were configured by hand and not brought by a plugin; empty for a tool that no
/// plugin brings. `name` joins plugin and server with `_`, which may also occur in either of them, so there are several
/// candidates.
pub(super) fn without_plugin(name: &str) -> Vec<String> {
    let Some((servers, tool)) = name.strip_prefix(OF_PLUGIN).and_then(|rest| rest.split_once("__")) else {
        return Vec::new();
    };
    servers
        .char_indices()
        .filter(|(_, character)| *character == '_')
        .filter_map(|(at, _)| servers.get(at + 1..))
        .filter(|server| !server.is_empty())
        .map(|server| format!("mcp__{server}__{tool}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_tool_is_known_by_each_name_and_no_other() {
        for name in ["mcp__fairway__note", "mcp__plugin_fairway_fairway__note", "mcp_fairway_note"] {
            assert_eq!(own_tool(name), Some("note"), "{name}");
        }
        for name in [
            "note",
            "mcp__fairway__rm",
            "mcp__fairway2__note",
            "mcp__Fairway__note",
            "mcp__plugin_evil_fairway__note",
            "mcp__plugin_fairway_evil__note",
            "mcp__fairway__note ",
        ] {
            assert_eq!(own_tool(name), None, "{name}");
        }
        assert_eq!(aliases("mcp__plugin_fairway_fairway__run", true), ["mcp__fairway__run", "Bash"]);
        assert_eq!(aliases("mcp__fairway__verify", true), ["Bash"]);
        assert_eq!(aliases("mcp__fairway__verify", false), [""; 0]);
        assert_eq!(aliases("mcp__fairway__note", true), [""; 0]);
        assert_eq!(aliases("mcp__docs__run", true), [""; 0]);
    }

    #[test]
    fn tool_of_a_plugin_has_the_names_without_it() {
        assert_eq!(without_plugin("mcp__plugin_github_github__push"), ["mcp__github__push"]);
        assert_eq!(without_plugin("mcp__plugin_a_b_c__x__y"), ["mcp__b_c__x__y", "mcp__c__x__y"]);
        assert_eq!(without_plugin("mcp__github__push"), [""; 0]);
        assert_eq!(without_plugin("mcp__plugin_"), [""; 0]);
    }
}
