//! The settings of lanes: how a new worktree becomes a place in which one can work.

use std::collections::BTreeMap;
use std::time::Duration;

use super::landing::{LandCommand, TimeLimit, is_repository_path};
use super::section::section;
use super::values::reader;
use crate::env::vars::is_variable_name;

section! {
    /// The settings of lanes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LaneSettings {
        /// Where the worktrees of new lanes lie, from the project; {project} stands for the name of its directory.
        pub dir: String as LanesDir = ".fairway/worktrees",
        /// Ignored files of the main checkout that a new worktree gets copies of, as in .gitignore; .worktreeinclude names more.
        #[sample([".env*"])]
        pub include: Vec<String> as Vec<IncludePattern>,
        /// Shell commands that make a new worktree ready; no agent starts in it before they have succeeded.
        #[sample(["npm ci"])]
        pub setup: Vec<String> as Vec<LandCommand>,
        /// Shell commands before a worktree that was set up is removed; a failure is told.
        #[sample(["docker compose down"])]
        pub teardown: Vec<String> as Vec<LandCommand>,
        /// Time limit of each setup and each teardown command.
        pub setup_timeout: Duration as TimeLimit = "15m",
        /// Run setup and teardown outside of the sandbox that the lane demands, for its network.
        pub setup_outside: bool = false,
        /// Files of the lane: the lane is not set up any more when one of them has changed since.
        #[sample(["package-lock.json"])]
        pub setup_when_changed: Vec<String> as Vec<LanePath>,
        /// Directories that a setup or a build makes again, by name or path; `lane trim` removes them where git ignores them.
        pub regenerable: Vec<String> as Vec<LanePath> = [".venv", "node_modules", "target"],
        /// The ports that lanes get, ten each and the first in FAIRWAY_PORT; none: no ports.
        pub ports: Option<PortRange> as Ports = "20000-29990",
        /// Variables of a lane's sessions, setup, evidence and checks; {lane}, {port} and {project} stand for its own.
        #[sample({ DATABASE_URL = "postgres://localhost:{port}/app" })]
        pub env: BTreeMap<String, String> as LaneVariables,
    }
}

/// TCP ports, in blocks of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// How many ports a lane has.
    pub const BLOCK: u16 = 10;

    /// The block with this first port, for people.
    pub fn block(first: u16) -> String {
        format!("{first} to {}", first.saturating_add(Self::BLOCK - 1))
    }

    /// The first port of each block.
    pub fn blocks(self) -> impl Iterator<Item = u16> {
        (self.first..=self.last - (Self::BLOCK - 1)).step_by(usize::from(Self::BLOCK))
    }

    fn parse(text: &str) -> Result<Option<Self>, String> {
        if text == "none" {
            return Ok(None);
        }
        let ends = text.split_once('-').map(|(first, last)| (first.trim().parse::<u16>(), last.trim().parse::<u16>()));
        let Some((Ok(first), Ok(last))) = ends else {
            return Err(format!("'{}' is not a range of ports such as 20000-29990", text.escape_debug()));
        };
        // A block may be written by its first port alone.
        let last = last.saturating_add(Self::BLOCK - 1);
        if first < 1024 || first % Self::BLOCK != 0 || last < first.saturating_add(Self::BLOCK - 1) {
            return Err(format!("'{text}' must begin at a multiple of ten from 1030 on and end at a later one"));
        }
        Ok(Some(Self { first, last }))
    }
}

impl std::fmt::Display for PortRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last - (Self::BLOCK - 1))
    }
}

reader!(Ports(String) -> Option<PortRange>; |text: &String| PortRange::parse(text));
reader! {
    LaneVariables(BTreeMap<String, String>) -> BTreeMap<String, String>;
    |variables: &BTreeMap<String, String>| {
        // Those of Fairway are its own.
        let fits = |name: &str| is_variable_name(name) && !name.starts_with("FAIRWAY_");
        match variables.iter().find(|(name, value)| !fits(name) || value.contains('\0')) {
            Some((name, _)) => Err(format!("'{}' cannot be a variable of a lane", name.escape_debug())),
            None => Ok(variables.clone()),
        }
    };
    BTreeMap::new()
}

reader! {
    LanesDir(String) -> String;
    |dir: &String| match dir.as_str() {
        text if text.trim().is_empty() || text.contains('\0') => Err("must be a directory".to_owned()),
        // No shell reads it.
        text if text.starts_with('~') => Err("must begin at / or at the project, not at ~".to_owned()),
        text => Ok(text.to_owned()),
    }
}
reader! {
    IncludePattern(String) -> String;
    |pattern: &String| match pattern.trim() {
        "" => Err("has an empty pattern"),
        text if text.contains(['\n', '\0']) => Err("must be patterns of one line each"),
        _ => Ok(pattern.clone()),
    }
}
reader! {
    LanePath(String) -> String;
    |path: &String| {
        let wrong = || format!("'{}' is no path from the top of the repository", path.escape_debug());
        if is_repository_path(path) { Ok(path.clone()) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = Settings::default().lanes;
        let ports: Vec<u16> = usual.ports.unwrap().blocks().collect();
        assert_eq!((ports.len(), ports.first(), ports.last()), (1000, Some(&20_000), Some(&29_990)));
        assert_eq!(Settings::parse("lanes.ports = 'none'").unwrap().lanes.ports, None);
        assert_eq!((usual.setup.len(), usual.setup_timeout.as_secs(), usual.setup_outside), (0, 900, false));
        for (text, key) in [
            ("lanes.dir = ' '", "lanes.dir"),
            ("lanes.dir = '~/lanes'", "lanes.dir"),
            ("lanes.include = ['']", "lanes.include"),
            ("lanes.include = [\"a\\nb\"]", "lanes.include"),
            ("lanes.setup = ' '", "lanes.setup"),
            ("lanes.setup = [' ']", "lanes.setup"),
            ("lanes.teardown = ['']", "lanes.teardown"),
            ("lanes.setup_timeout = '0s'", "lanes.setup_timeout"),
            ("lanes.setup_when_changed = ['../a']", "lanes.setup_when_changed"),
            ("lanes.setup_when_changed = ['/a']", "lanes.setup_when_changed"),
            ("lanes.regenerable = ['../a']", "lanes.regenerable"),
            ("lanes.ports = '20000'", "lanes.ports"),
            ("lanes.ports = '20005-20100'", "lanes.ports"),
            ("lanes.ports = '80-100'", "lanes.ports"),
            ("lanes.ports = '30000-20000'", "lanes.ports"),
            ("lanes.env = { 'A B' = 'x' }", "lanes.env"),
            ("lanes.env = { FAIRWAY_ROLE = 'x' }", "lanes.env"),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().0, key, "{text}");
        }
    }
}
