//! Every key of the configuration with its default and its purpose, as the sections declare them. The example file is generated
//! from this table.

use std::fmt::Write;

use super::guard::{RawRole, RawRule, RawSection};
use super::section::{Key, Section};
use super::sections::{DoneGates, MergeGates};
use super::{
    AcpProfile, AgentSettings, Backend, BudgetSettings, CheckSettings, ClaimSettings, ForgeSettings, HookSettings,
    IdentitySettings, JobSettings, LandSettings, LaneSettings, NotifySettings, OneSink, OverlapSettings,
    ProgramSettings, ProjectSettings, ProviderProfile, ProviderSettings, ReviewRoute, ReviewSettings, RoleSettings,
    SandboxSettings, ServeSettings, SessionSettings, SetupSettings, StoreSettings, TaskSettings,
};

/// The sections, in the order of the example file.
const SECTIONS: &[(&str, &[Key])] = &[
    ("project", ProjectSettings::KEYS),
    ("store", StoreSettings::KEYS),
    ("tasks", TaskSettings::KEYS),
    ("claims", ClaimSettings::KEYS),
    ("overlap", OverlapSettings::KEYS),
    ("review", ReviewSettings::KEYS),
    ("sessions", SessionSettings::KEYS),
    ("exec", JobSettings::KEYS),
    ("hooks", HookSettings::KEYS),
    ("agents", AgentSettings::KEYS),
    ("budgets", BudgetSettings::KEYS),
    ("identity", IdentitySettings::KEYS),
    ("guard", RawSection::KEYS),
    ("guard.roles.*", RawRole::KEYS),
    ("guard.rules[]", RawRule::KEYS),
    ("gates.done", DoneGates::KEYS),
    ("gates.merge", MergeGates::KEYS),
    ("lanes", LaneSettings::KEYS),
    ("checks", CheckSettings::KEYS),
    ("land", LandSettings::KEYS),
    ("forge", ForgeSettings::KEYS),
    ("roles.*", RoleSettings::KEYS),
    ("roles.*", SetupSettings::KEYS),
    ("providers.*", ProviderSettings::KEYS),
    ("providers.*", ProgramSettings::KEYS),
    ("providers.*", ProviderProfile::KEYS),
    ("providers.*.acp", AcpProfile::KEYS),
    ("backends.*", Backend::KEYS),
    ("sandbox", SandboxSettings::KEYS),
    ("serve", ServeSettings::KEYS),
    ("review_routes[]", ReviewRoute::KEYS),
    ("notify", NotifySettings::KEYS),
    ("notify.per_sink.*", OneSink::KEYS),
];

const COUNT: usize = {
    let (mut count, mut section) = (0, 0);
    while section < SECTIONS.len() {
        count += SECTIONS[section].1.len();
        section += 1;
    }
    count
};

/// All keys, in the order of the example file.
pub static KEYS: [Key; COUNT] = {
    let mut all = [SECTIONS[0].1[0]; COUNT];
    let (mut at, mut section) = (0, 0);
    while section < SECTIONS.len() {
        let (path, keys) = SECTIONS[section];
        let mut own = 0;
        while own < keys.len() {
            all[at] = Key { section: path, ..keys[own] };
            own += 1;
            at += 1;
        }
        section += 1;
    }
    all
};

/// Keys that earlier versions had, or sections of them, and what to do without.
const LEFT: &[(&str, &str)] = &[
    ("approvals.roles", PERMISSION),
    ("backends.*.stale_after", "set sessions.stale_after, for all backends"),
    ("context.pressure", "a session is asked to hand over when its context is full to 80 %"),
    ("exec.keep_runs", "10,000 finished jobs are kept; set exec.keep_for or exec.keep_bytes"),
    ("hooks.role", "such a session has the role of its lane, else person"),
    ("identity.refresh_before", "the command runs 5 minutes before the expiry"),
    ("land.clean", "begin land.prepare with git clean -fdX"),
    ("land.find_pair", "the search always runs, and Ctrl-C ends it"),
    ("land.order", "what lets most work land comes first; to land a task now: fairway land TASK"),
    ("land.roles", PERMISSION),
    ("land.sign", "set commit.gpgSign of git"),
    ("notify.actions", OF_SINK),
    ("notify.command", OF_SINK),
    ("notify.command_timeout", "the command of a sink may take 10 s"),
    ("notify.kinds", OF_SINK),
    ("notify.per_sink.*.command_timeout", "the command of a sink may take 10 s"),
    ("notify.per_sink.*.quiet", "set notify.quiet, for all sinks"),
    ("notify.per_sink.*.quiet_kinds", "set notify.quiet_kinds, for all sinks"),
    ("overlap.claims", "give a task another priority, or --depends-on"),
    ("providers.*.acp.env", "set env of the provider"),
    ("providers.*.acp.proven_with", FACT),
    ("providers.*.acp.switches", FACT),
    ("providers.*.choice_dialog", FACT),
    ("providers.*.hook_args", FACT),
    ("providers.*.interrupted_sign", FACT),
    ("providers.*.limit", FACT),
    ("providers.*.permission_dialog", FACT),
    ("providers.*.pre_start", OF_ROLE),
    ("providers.*.prompt_args", FACT),
    ("providers.*.proven_with", FACT),
    ("providers.*.sandbox_env", "set sandbox.env"),
    ("providers.*.sandbox_hosts", "set sandbox.hosts"),
    ("providers.*.session_live", OF_ROLE),
    ("providers.*.session_setup", OF_ROLE),
    ("providers.*.session_setup_script", OF_ROLE),
    ("providers.*.session_variable", FACT),
    ("providers.*.unsandboxed_args", FACT),
    ("providers.*.writable_args", FACT),
    ("review.consequences", "a rule of [[review_routes]] asks for a review of such files"),
    ("review.per_role", "set review.capacity, for all roles"),
    ("roles.*.process_names", OF_PROVIDER),
    ("roles.*.prompt", OF_PROVIDER),
    ("roles.*.ready_delay_ms", OF_PROVIDER),
    ("roles.*.ready_prompt_prefix", OF_PROVIDER),
    ("roles.*.session_setup_script", "name the script in session_setup"),
    ("sessions.may_start", PERMISSION),
];
const OF_SINK: &str = "set it for the sink: [notify.per_sink.NAME]";
const PERMISSION: &str = "set may = [\"start\", \"answer\", \"land\"] of a role, [roles.NAME]";
const OF_ROLE: &str = "set pre_start, session_setup and session_live of a role, [roles.NAME]";
const OF_PROVIDER: &str = "it is a fact of the program: set it in [providers.NAME]";
const FACT: &str = "Fairway knows it of the agents that it was tried with";

/// What to do without the key at a path, which earlier versions had. `None` for any other path.
pub fn left(path: &str) -> Option<&'static str> {
    let is_meant = |pattern: &str| {
        let depth = pattern.split('.').count();
        path.split('.').count() >= depth
            && pattern.split('.').zip(path.split('.')).all(|(want, have)| want == "*" || want == have)
    };
    LEFT.iter().find(|(pattern, _)| is_meant(pattern)).map(|(_, instead)| *instead)
}

/// The index in [`KEYS`] of the key that a dotted path names, such as `notify.per_sink.phone.command`. A name that the user made
/// up (`phone`) matches the `*` in the table; a list of tables is written with `[]`, as in `review_routes[].domain`. Returns
/// `None` when there is no such key.
pub fn place_of(path: &str) -> Option<usize> {
    let (section, name) = path.rsplit_once('.')?;
    // Every command asks for each key of its files: most are told apart by the length of their name.
    let is_meant =
        |key: &Key| key.name.len() == name.len() && key.name == name && matches_steps(key.section.split('.'), section);
    KEYS.iter().position(is_meant)
}

/// The key that a dotted path names; `None` when there is no such key.
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.get(place_of(path)?)
}

fn matches_steps<'a>(mut pattern: impl Iterator<Item = &'a str>, path: &str) -> bool {
    let mut path = path.split('.');
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return true,
            (Some(want), Some(have)) if want == "*" || want == have => {}
            _ => return false,
        }
    }
}

/// The known name that is most similar to the last part of an unknown path, among the names below the same parent. Returns `None`
/// when none is similar enough.
pub fn nearest(path: &str) -> Option<String> {
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    let depth = if parent.is_empty() { 0 } else { parent.split('.').count() };
    KEYS.iter()
        .filter_map(|key| {
            let here = key.steps().nth(depth)?.trim_end_matches("[]");
            let is_below = depth == 0 || matches_steps(key.steps().take(depth), parent);
            (is_below && here != "*").then_some(here)
        })
        .map(|known| (strsim::damerau_levenshtein(known, name), known))
        .filter(|(distance, known)| *distance <= known.len().max(4) / 2)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// Makes the example file: every key with its default and its purpose.
pub fn example() -> String {
    let mut text = String::from(
        "#:schema .fairway/config.schema.json\n\
         # Every key of .fairway.toml with its default. Keys behind a '#' have no default: the value is a sample.\n\
         # .fairway/local.toml overrides this file; a variable that is named overrides both. The first line is for editors;\n\
         # fairway init writes the file that it names.\n",
    );
    let mut section = "";
    for key in &KEYS {
        let (parent, name) = (key.section, key.name);
        // A sample section is commented out as a whole: it would name a role, a provider or a script. So is one whose being
        // there says something.
        let is_sample = parent.contains('*') || parent.ends_with("[]") || parent == "guard";
        let mark = if is_sample { "# " } else { "" };
        if parent != section {
            section = parent;
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
        let mark = if key.default.is_none() { "# " } else { mark };
        let _ = writeln!(text, "{mark}{name} = {}", key.shown());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_have_left_are_no_keys_and_say_what_to_do() {
        for (pattern, _) in LEFT {
            let path = pattern.replace('*', "x");
            assert!(find(&path).is_none() && KEYS.iter().all(|key| !key.path().starts_with(&format!("{pattern}."))));
            assert!(left(&path).is_some() && left(&format!("{path}.y")).is_some(), "{pattern}");
        }
        assert!(LEFT.is_sorted() && left("exec.keep_for").is_none() && left("exec").is_none());
    }

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
