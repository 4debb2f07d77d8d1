//! Every key of the configuration with its default and its purpose. The example file is generated from this table.

use std::fmt::Write;

use crate::env::vars;

#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its dotted path; `*` stands for a name that the user chose, `[]` for each element of a list.
    pub path: &'static str,
    /// Its default, as TOML; `None` when it is absent by default.
    pub default: Option<&'static str>,
    /// The variable that overrides it.
    pub env: Option<&'static str>,
    /// A value to show when there is no default.
    pub sample: &'static str,
    /// Its purpose, in one line.
    pub why: &'static str,
}

const fn key(path: &'static str, default: &'static str, env: Option<&'static str>, why: &'static str) -> Key {
    Key { path, default: Some(default), env, sample: "", why }
}

const fn key_without_default(path: &'static str, sample: &'static str, why: &'static str) -> Key {
    Key { path, default: None, env: None, sample, why }
}

/// All keys, in the order of the example file.
pub const KEYS: &[Key] = &[
    key_without_default("project.name", "\"demo\"", "shown in headings; by default the root directory's name"),
    key("project.base_branch", "\"main\"", None, "the branch that lanes start from and merge gates compare with"),
    key(
        "store.engine",
        "\"sqlite\"",
        None,
        "where the store is: sqlite (a file beside the code) or postgres (a server, whose address is not written here)",
    ),
    Key {
        path: "store.url",
        default: None,
        env: Some(vars::FAIRWAY_STORE_URL),
        sample: "\"postgres://fairway@db.example/team\"",
        why: "the server's address; only in .fairway/local.toml, which is not committed",
    },
    key("tasks.prefix", "\"T\"", Some(vars::FAIRWAY_TASKS_PREFIX), "prefix of generated task ids: T-1, T-2, …"),
    key(
        "claims.lease",
        "\"none\"",
        Some(vars::FAIRWAY_CLAIMS_LEASE),
        "lease of a claim: without a heartbeat for this long, another claim may take over, such as \"30m\"",
    ),
    key(
        "claims.path_conflicts",
        "\"refuse\"",
        Some(vars::FAIRWAY_CLAIMS_PATH_CONFLICTS),
        "a claim whose paths overlap those of another claimant: refuse, warn or off",
    ),
    key(
        "claims.own_lane_only",
        "false",
        None,
        "claim without an id claims tasks of the session's lane only, and none without a lane",
    ),
    key(
        "overlap.action",
        "\"tell\"",
        None,
        "overlap between lanes: tell (hooks look for it, and the sessions of a pair are told) or off",
    ),
    key(
        "overlap.claims",
        "\"any\"",
        None,
        "avoid: within a priority, claim first offers tasks whose paths no other lane has changed; any: as before",
    ),
    key("review.capacity", "0", None, "the number of open reviews at which no fresh work is claimed; 0 for no limit"),
    key_without_default("review.per_role", "{ backend = 2 }", "the same for the tasks of a role; 0 is no limit"),
    key_without_default(
        "review.consequences[].kind",
        "\"costs-money\"",
        "a consequence that the card of a review names …",
    ),
    key_without_default("review.consequences[].paths", "[\"infra/**\"]", "… when work changes these files"),
    key(
        "sessions.default_backend",
        "\"shell\"",
        Some(vars::FAIRWAY_SESSIONS_DEFAULT_BACKEND),
        "the backend of a launch that names none",
    ),
    key(
        "sessions.stale_after",
        "\"30m\"",
        Some(vars::FAIRWAY_SESSIONS_STALE_AFTER),
        "idle time after which a session without a local process is stale; \"off\" for never",
    ),
    key(
        "sessions.launch_timeout",
        "\"60s\"",
        Some(vars::FAIRWAY_SESSIONS_LAUNCH_TIMEOUT),
        "how long a start may take before it counts as failed",
    ),
    key_without_default(
        "sessions.may_start",
        "[\"coordinator\"]",
        "the roles of sessions that may start further sessions; without it, only people do",
    ),
    key("exec.parallel", "256", None, "maximum number of jobs that run at the same time; further jobs wait"),
    key("exec.keep_for", "\"14d\"", None, "how long a finished job and its output are kept; \"off\" for ever"),
    key("exec.keep_runs", "10000", None, "maximum number of finished jobs that are kept"),
    key("exec.keep_bytes", "\"1GiB\"", None, "maximum size of the output of finished jobs; \"off\" for no limit"),
    key("hooks.role", "\"person\"", None, "the role of a session that a hook registers"),
    key(
        "hooks.approval_wait",
        "\"50s\"",
        None,
        "how long a hook waits for `approvals answer` before the provider asks",
    ),
    key_without_default(
        "approvals.roles",
        "[\"lead\"]",
        "the roles of sessions that may answer permission requests of other sessions; without it, only people do",
    ),
    key(
        "agents.unguarded",
        "\"show\"",
        None,
        "a structured session whose agent is not in the mode in which it asks: show (it runs, and is shown as not guarded) or refuse",
    ),
    key("context.pressure", "0.8", None, "how full a context is when its session is asked to hand over, 0 to 1"),
    key_without_default(
        "identity.refresh",
        "\"tools/credential.sh\"",
        "shell command that prints a fresh identity as JSON before a credential expires; the session run is on stdin",
    ),
    key("identity.refresh_before", "\"5m\"", None, "how long before the expiry the command runs"),
    key_without_default(
        "guard.default",
        "\"allow\"",
        "the decision for a tool call that no rule matches: allow or deny",
    ),
    key_without_default(
        "guard.roles.*.allow",
        "[\"Read\", \"Grep\", \"mcp__docs__*\"]",
        "a role with an entry may use only these tools",
    ),
    key_without_default("guard.roles.*.deny", "[\"WebFetch\"]", "a role with an entry may not use these tools"),
    key_without_default("guard.rules[].name", "\"no-force-push\"", "rule name, shown in the log and in denials"),
    key_without_default(
        "guard.rules[].tools",
        "[\"Bash\"]",
        "the tools that the rule applies to; every tool when it is not set",
    ),
    key_without_default(
        "guard.rules[].roles",
        "[\"backend\"]",
        "the roles that the rule applies to; every role when it is not set",
    ),
    key_without_default(
        "guard.rules[].command",
        "[\"git\", \"push\"]",
        "commands that begin with these arguments, also inside wrappers and other shells …",
    ),
    key_without_default("guard.rules[].flags", "[\"--force\", \"-f\"]", "… and have one of these"),
    key_without_default(
        "guard.rules[].effect",
        "\"force-push\"",
        "a push that overwrites or deletes, however it is spelled; a launched session asks before each push",
    ),
    key_without_default("guard.rules[].outside", "\"worktree\"", "paths outside the session's worktree"),
    key_without_default("guard.rules[].paths", "[\".github/**\"]", "paths of this form, relative to the worktree"),
    key_without_default("guard.rules[].action", "\"deny\"", "deny or allow; deny beats allow"),
    key_without_default("guard.rules[].reason", "\"force push is for people\"", "the reason that the agent gets"),
    key("gates.done.require", "[\"evidence\"]", None, "the gates of `done`"),
    key(
        "gates.merge.require",
        "[\"evidence\", \"checks\", \"reviews\", \"handoffs_accepted\", \"no_open_questions\", \"clean_worktree\", \"based_on\"]",
        None,
        "the gates of `merge-ready`",
    ),
    key("land.style", "\"merge\"", None, "how `land` brings work into its base: merge, squash or rebase"),
    key_without_default(
        "land.checks",
        "[\"make test\"]",
        "shell commands that the merged tree must pass before the base moves",
    ),
    key_without_default("land.prepare", "[\"make deps\"]", "shell commands in the merged tree before the checks"),
    key("land.timeout", "\"30m\"", None, "time limit of each check and each prepare command"),
    key("land.retries", "1", None, "how often a failed command runs again on the same tree before work is sent back"),
    key(
        "land.batch",
        "4",
        None,
        "how many tasks or lanes share one check of the merged tree; 1: each commit has its own",
    ),
    key("land.width", "1", None, "how many merged trees are checked at once, each in a worktree of its own"),
    key("land.find_pair", "true", None, "look for the landed work with which work that was sent back breaks"),
    key(
        "land.order",
        "\"least-conflict\"",
        None,
        "what lands first: least-conflict or priority; the other breaks ties",
    ),
    key(
        "land.shared",
        "true",
        None,
        "with the store on a server, fetch the base and push what lands; false where there is one clone only",
    ),
    key("land.clean", "false", None, "remove ignored files too before a merged tree is checked"),
    key("land.sign", "false", None, "sign the new commits with the key of git's configuration"),
    key_without_default(
        "land.roles",
        "[\"integrator\"]",
        "the roles of sessions that may land; without it, only people do",
    ),
    key_without_default("roles.*.provider", "\"claude\"", "the provider of a launch in this role"),
    key_without_default("roles.*.backend", "\"shell\"", "the backend of a launch in this role"),
    key_without_default("roles.*.lane", "\"platform\"", "the lane of a launch in this role"),
    key_without_default("roles.*.command", "\"claude --model opus\"", "overrides the provider's command"),
    key_without_default(
        "roles.*.env",
        "{ EXAMPLE = \"1\" }",
        "is added to the provider's environment and overrides it; an empty value unsets",
    ),
    key_without_default(
        "roles.*.sandbox",
        "\"namespace\"",
        "the sandbox of a launch in this role: off, namespace or command",
    ),
    key_without_default(
        "roles.*.process_names",
        "[\"claude\", \"node\"]",
        "this key and the seven below override the provider's keys of the same name",
    ),
    key_without_default("roles.*.prompt", "\"nudge\"", "nudge, argument or stdin"),
    key_without_default(
        "roles.*.ready_prompt_prefix",
        "\"❯\"",
        "the program takes input once a line of its screen begins with this",
    ),
    key_without_default("roles.*.ready_delay_ms", "500", "or after this delay in milliseconds"),
    key_without_default("roles.*.pre_start", "[\"git fetch\"]", "shell commands before the session starts"),
    key_without_default("roles.*.session_setup", "[\"echo ready\"]", "shell commands once the session is ready"),
    key_without_default("roles.*.session_setup_script", "\"tools/setup.sh\"", "a script that runs after session_setup"),
    key_without_default("roles.*.session_live", "[\"echo live\"]", "shell commands after the setup"),
    key_without_default(
        "providers.*.command",
        "\"claude\"",
        "shell command that starts the program; by default the provider's name",
    ),
    key_without_default(
        "providers.*.mode",
        "\"structured\"",
        "how its sessions run when a launch names no backend: terminal, or structured (the Agent Client Protocol)",
    ),
    key_without_default("providers.*.env", "{ EXAMPLE = \"1\" }", "the program's environment; an empty value unsets"),
    key_without_default(
        "providers.*.process_names",
        "[\"claude\", \"node\"]",
        "exact names of its processes: the session is up once one of them runs in it",
    ),
    key_without_default(
        "providers.*.prompt",
        "\"nudge\"",
        "how the program takes its first prompt: nudge (typed once it is ready), argument (the last argument) or stdin (a pipe); by default by hook where prompt_args is known and hooks run, else nudge",
    ),
    key_without_default(
        "providers.*.ready_prompt_prefix",
        "\"❯\"",
        "the program takes input once a line of its screen begins with this; waited for at most 30 s",
    ),
    key_without_default(
        "providers.*.ready_delay_ms",
        "500",
        "the delay in milliseconds before it takes input, when nothing else shows that it is ready",
    ),
    key_without_default(
        "providers.*.pre_start",
        "[\"git fetch\"]",
        "shell commands before the session starts; a failure warns",
    ),
    key_without_default(
        "providers.*.session_setup",
        "[\"echo ready\"]",
        "shell commands once it is ready; a failure warns",
    ),
    key_without_default(
        "providers.*.session_setup_script",
        "\"tools/setup.sh\"",
        "a script that runs after them; a relative path is under the root",
    ),
    key_without_default(
        "providers.*.session_live",
        "[\"echo live\"]",
        "shell commands after that, which may be run again while the session lives",
    ),
    key_without_default(
        "providers.*.prompt_args",
        "[\"--\", \"{prompt}\"]",
        "the keys from here on are built in for claude, codex and gemini. Arguments that bring a fixed first sentence; the prompt itself comes by hook",
    ),
    key_without_default(
        "providers.*.hook_args",
        "[\"--settings\", \"{hooks}\"]",
        "arguments that bring the hooks of one launch: a settings file, or one setting and then repeated",
    ),
    key_without_default(
        "providers.*.writable_args",
        "[\"--add-dir\", \"{dir}\"]",
        "arguments that let its own sandbox write a directory, repeated for each; {dirs} stands for a list of all",
    ),
    key_without_default(
        "providers.*.unsandboxed_args",
        "[\"--no-sandbox\"]",
        "arguments that set its own sandbox off, in a session that is in one of Fairway's",
    ),
    key_without_default(
        "providers.*.resume_args",
        "[\"--resume\", \"{conversation}\"]",
        "arguments that resume a conversation",
    ),
    key_without_default("providers.*.interrupt_keys", "[\"Escape\"]", "keys that interrupt a turn, in tmux's names"),
    key_without_default(
        "providers.*.session_variable",
        "\"CLAUDE_CODE_SESSION_ID\"",
        "the variable with the conversation's id in the environment of the programs that it starts",
    ),
    key_without_default(
        "providers.*.trust_question",
        "[\"Do you trust\"]",
        "texts of which one is on the screen while it asks for trust in a directory or in hooks, or for a login",
    ),
    key_without_default(
        "providers.*.permission_question",
        "[\"Do you want to proceed?\"]",
        "texts of which one is on the screen while it asks for a permission",
    ),
    key_without_default(
        "providers.*.working_sign",
        "[\"esc to interrupt\"]",
        "texts of which one is on the screen during a turn",
    ),
    key_without_default(
        "providers.*.interrupted_sign",
        "[\"Interrupted by user\"]",
        "texts of which one is at the end of the screen once a person has ended a turn in the middle of a tool call",
    ),
    key_without_default("providers.*.proven_with", "\"2.1.329\"", "the version with which these keys were tried"),
    key_without_default(
        "providers.*.acp.command",
        "[\"gemini\", \"--acp\"]",
        "the program that speaks the Agent Client Protocol, and its arguments; built in for the agents that fairway provider list names",
    ),
    key_without_default("providers.*.acp.env", "{ EXAMPLE = \"1\" }", "its environment, below that of the provider"),
    key_without_default(
        "providers.*.acp.mode",
        "\"default\"",
        "the mode in which it asks before it runs a tool: set at the start and read back",
    ),
    key_without_default(
        "providers.*.acp.switches",
        "true",
        "whether a conversation was seen to go on in its terminal and back; false refuses that",
    ),
    key_without_default("providers.*.acp.proven_with", "\"0.61.0\"", "the version that was seen to ask in this mode"),
    key_without_default(
        "backends.*.script",
        "\"/usr/local/bin/my-backend\"",
        "a backend script that implements the exec session protocol",
    ),
    key_without_default(
        "backends.*.socket",
        "\"default\"",
        "where its multiplexer listens: \"default\" for your own server, or a path; a private one when it is not set",
    ),
    key_without_default(
        "backends.*.setup",
        "\"script\"",
        "who runs session_setup and its like: script, or caller for scripts of the older protocol",
    ),
    key_without_default("backends.*.stale_after", "\"10m\"", "overrides sessions.stale_after"),
    key(
        "sandbox.class",
        "\"off\"",
        None,
        "the sandbox of a session whose launch and role name none: off, namespace (bubblewrap) or command (sandbox.prefix); each needs a lane with a worktree",
    ),
    key_without_default(
        "sandbox.prefix",
        "[\"sbx\", \"run\", \"--\"]",
        "the program of the class command, before the one that it runs; {lane} is the worktree, a word with {mount} or {env} is repeated",
    ),
    key(
        "sandbox.network",
        "\"none\"",
        None,
        "the network inside a sandbox: none (a loopback of its own), proxy (sandbox.hosts alone) or open (that of the machine)",
    ),
    key_without_default(
        "sandbox.hosts",
        "[\"api.model.example:443\", \"*.packages.example:443\"]",
        "hosts that the network proxy lets through, each with its port; an address of your network must be named itself",
    ),
    key_without_default(
        "sandbox.env",
        "[\"API_KEY\"]",
        "names of variables that reach the programs inside; their values come from your environment",
    ),
    key_without_default(
        "sandbox.readable",
        "[\"~/.gradle\"]",
        "closed paths that can be read inside; beside the toolchains in the home",
    ),
    key_without_default(
        "sandbox.writable",
        "[\"~/.cache/sccache\"]",
        "paths outside of the lane that can be written inside",
    ),
    key_without_default(
        "sandbox.lane_writable",
        "[\".gitignore\"]",
        "names at the top of the lane that can be written inside although your programs run or read them later",
    ),
    key_without_default("review_routes[].paths", "[\"migrations/**\"]", "tasks that touch these paths …"),
    key_without_default("review_routes[].domain", "\"data\"", "… need an approval in this domain"),
    key(
        "notify.sinks",
        "[]",
        None,
        "where items of \"needs you\" are sent: bell, osc, desktop, command, or a name of yours; none by default",
    ),
    key_without_default(
        "notify.command",
        "\"examples/notify/webhook.sh\"",
        "shell command of the sink command; the notification is on stdin as JSON",
    ),
    key("notify.command_timeout", "\"10s\"", None, "how long that command may take"),
    key_without_default(
        "notify.kinds",
        "[\"approval\", \"question\"]",
        "the kinds of items that are sent; every kind when it is not set",
    ),
    key_without_default(
        "notify.quiet",
        "\"22:00-07:00\"",
        "local time in which nothing is sent; what is still open when it ends comes as one summary",
    ),
    key_without_default(
        "notify.quiet_kinds",
        "[\"approval\", \"dead\"]",
        "the kinds of items that are sent in that time all the same; none by default",
    ),
    key(
        "notify.actions",
        "false",
        None,
        "notifications carry allow, deny and answer: who reads one can answer its item once",
    ),
    key_without_default(
        "notify.per_sink.*.command",
        "\"~/.local/bin/fairway-ntfy\"",
        "what differs at one sink: its own shell command, which a sink with a name of yours needs …",
    ),
    key_without_default("notify.per_sink.*.command_timeout", "\"20s\"", "… how long that may take"),
    key_without_default("notify.per_sink.*.kinds", "[\"approval\", \"dead\"]", "… the kinds that are sent to it"),
    key_without_default("notify.per_sink.*.quiet", "\"22:00-07:00\"", "… its quiet time; \"\" for none"),
    key_without_default("notify.per_sink.*.quiet_kinds", "[\"approval\"]", "… the kinds that it gets then"),
    key_without_default("notify.per_sink.*.actions", "true", "… whether they carry what answers them"),
];

/// The key that a place in a file means, with names and list places as they stand in [`KEYS`].
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| matches_path(key.path, path))
}

fn matches_path(pattern: &str, path: &str) -> bool {
    let (mut pattern, mut path) = (pattern.split('.'), path.split('.'));
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(want), Some(have)) if want == "*" || want == have => {}
            _ => return false,
        }
    }
}

/// The known name nearest to an unknown one below the same parent.
pub fn nearest(path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let depth = if parent.is_empty() { 0 } else { parent.split('.').count() };
    KEYS.iter()
        .filter_map(|key| {
            let steps: Vec<&str> = key.path.split('.').collect();
            let (above, here) = (steps.get(..depth)?.join("."), steps.get(depth)?.trim_end_matches("[]"));
            (matches_path(&above, parent) && here != "*").then_some(here)
        })
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= known.len().max(4) / 2)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// The example file: every key with its default and its purpose.
pub fn example() -> String {
    let mut text = String::from(
        "#:schema .fairway/config.schema.json\n\
         # Every key of .fairway.toml with its default. Keys behind a '#' have no default: the value is a sample.\n\
         # .fairway/local.toml overrides this file; a variable that is named overrides both. The first line is for editors;\n\
         # fairway init writes the file that it names.\n",
    );
    let mut section = String::new();
    for key in KEYS {
        let (parent, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        // A sample section is commented out as a whole: it would name a role, a provider or a script. So is one whose being
        // there says something.
        let is_sample = parent.contains('*') || parent.ends_with("[]") || parent == "guard";
        let mark = if is_sample { "# " } else { "" };
        if parent != section {
            parent.clone_into(&mut section);
            let heading = match parent.strip_suffix("[]") {
                Some(list) => format!("[[{list}]]"),
                None => format!("[{}]", parent.replace('*', "NAME")),
            };
            let _ = write!(text, "\n{mark}{heading}\n");
        }
        let _ = writeln!(text, "# {}", key.why);
        if let Some(variable) = key.env {
            let _ = writeln!(text, "# ({variable})");
        }
        match key.default {
            Some(default) => {
                let _ = writeln!(text, "{mark}{name} = {default}");
            }
            None => {
                let _ = writeln!(text, "# {name} = {}", key.sample);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_below_chosen_names_and_suggests_near_ones() {
        assert!(find("roles.backend.provider").is_some());
        assert!(find("roles.backend").is_none());
        assert!(find("review_routes[].domain").is_some());
        assert_eq!(nearest("claims.leese").as_deref(), Some("lease"));
        assert_eq!(nearest("cliams").as_deref(), Some("claims"));
        assert_eq!(nearest("roles.backend.provder").as_deref(), Some("provider"));
        assert_eq!(nearest("zzzzzz"), None);
    }
}
