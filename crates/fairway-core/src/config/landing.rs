//! The settings of `fairway land`.

use std::collections::BTreeMap;
use std::time::Duration;

use super::section::section;
use super::values::{AtLeastOne, reader};
use crate::domain::landing::{LandStyle, LandThrough, LandTrailer};

section! {
    /// The settings of `fairway land`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct LandSettings {
        /// How `land` brings work into its base: merge, squash or rebase.
        pub style: LandStyle = "merge",
        /// By what work lands: base, which a landing moves, or pr, a pull request for each lane that the forge merges.
        pub through: LandThrough = "base",
        /// Ask the forge to merge a pull request once its own rules allow it.
        pub merge: bool = false,
        /// Shell commands that the merged tree must pass before the base moves.
        #[sample(["make test"])]
        pub checks: Vec<String> as Vec<LandCommand>,
        /// Shell commands in the merged tree before the checks.
        #[sample(["make deps"])]
        pub prepare: Vec<String> as Vec<LandCommand>,
        /// Shell commands that write a file, such as a lock file, anew where both sides of a merge have changed it.
        #[sample({ "Cargo.lock" = "cargo update --workspace" })]
        pub regenerate: BTreeMap<String, String> as Regenerate,
        /// Time limit of each check and each prepare command.
        pub timeout: Duration as TimeLimit = "30m",
        /// How often a failed command runs again on the same tree before work is sent back.
        pub retries: u32 = 1,
        /// How many tasks or lanes share one check of the merged tree; 1: each commit has its own.
        pub batch: usize as AtLeastOne = 4,
        /// How many merged trees are checked at once, each in a worktree of its own.
        pub width: usize as AtLeastOne = 1,
        /// With the store on a server, fetch the base and push what lands; false where there is one clone only.
        pub shared: bool = true,
        /// Leave the agent and its lane when its last task has landed; else an idle one ends with the lane that its start made.
        pub keep_agents: bool = false,
        /// The lines at the end of the message of what lands: its tasks and lane, agents with their models, and people who approved.
        pub trailers: Vec<LandTrailer> = ["Fairway-Task", "Fairway-Lane", "Assisted-by", "Reviewed-by"],
    }
}

reader! {
    pub(super) LandCommand(String) -> String;
    |command: &String| if command.trim().is_empty() { Err("has an empty command") } else { Ok(command.clone()) }
}
reader! {
    Regenerate(BTreeMap<String, String>) -> BTreeMap<String, String>;
    |commands: &BTreeMap<String, String>| {
        match commands.iter().find(|(path, command)| !is_repository_path(path) || command.trim().is_empty()) {
            Some((path, _)) if is_repository_path(path) => Err(format!("has an empty command for {path}")),
            Some((path, _)) => Err(format!("'{}' is no path from the top of the repository", path.escape_debug())),
            None => Ok(commands.clone()),
        }
    };
    BTreeMap::new()
}
reader! {
    pub(super) TimeLimit(Duration) -> Duration;
    |limit: &Duration| if limit.is_zero() { Err("must be greater than zero") } else { Ok(*limit) }
}

/// Whether a text is a path below the top of a repository, and none of git's own.
pub(super) fn is_repository_path(path: &str) -> bool {
    path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git"))
}

impl LandSettings {
    /// Whether these settings name a program that a landing runs: a check, or a command that prepares for the checks.
    pub fn names_programs(&self) -> bool {
        !self.checks.is_empty() || !self.prepare.is_empty() || !self.regenerate.is_empty()
    }

    /// Whether commands write all of these files anew, so that a conflict in them is none.
    pub fn are_generated(&self, files: &[String]) -> bool {
        files.iter().all(|file| self.regenerate.contains_key(file))
    }

    /// The words of a shell command that may be scripts which it runs, as paths from the top of the repository.
    pub fn scripts_of(command: &str) -> Vec<String> {
        const INTERPRETERS: [&str; 12] =
            ["sh", "bash", "dash", "ksh", "zsh", "python", "python3", "node", "ruby", "perl", "php", "lua"];
        let mut scripts = Vec::new();
        for simple in command.split([';', '|', '&', '(', ')', '\n']) {
            let words = simple.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            let words: Vec<&str> = words.skip_while(|word| word.contains('=')).collect();
            let name = |word: &str| word.rsplit('/').next().is_some_and(|name| INTERPRETERS.contains(&name));
            let operand = |place: usize| words.iter().skip(place + 1).find(|word| !word.starts_with('-'));
            let places = words.iter().enumerate().filter(|(_, word)| name(word)).map(|(place, _)| place);
            scripts.extend(words.first().into_iter().chain(places.filter_map(operand)).copied());
        }
        let paths = scripts.into_iter().map(|script| script.strip_prefix("./").unwrap_or(script));
        paths.filter(|path| !path.is_empty() && !path.starts_with('/')).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn scripts_that_a_command_runs_are_found_and_its_data_is_none() {
        for (command, expected) in [
            ("sh check.sh", vec!["sh", "check.sh"]),
            ("./ci/test.sh data.txt; true", vec!["ci/test.sh", "true"]),
            ("LINT=rules.json timeout 60 /usr/bin/python3 -B 'lint.py' src", vec!["timeout", "lint.py"]),
            ("sh -c \"bash ci/all.sh\"", vec!["sh", "bash", "ci/all.sh"]),
            ("cat deps/*.txt | cmp - x.lock", vec!["cat", "cmp"]),
            ("", vec![]),
        ] {
            assert_eq!(LandSettings::scripts_of(command), expected, "{command}");
        }
    }

    #[test]
    fn settings_have_defaults_and_wrong_values_are_named() {
        let usual = Settings::default().land;
        assert_eq!((usual.style, usual.timeout.as_secs(), usual.names_programs()), (LandStyle::Merge, 1800, false));
        assert_eq!((usual.retries, Settings::parse("land.retries = 0").unwrap().land.retries), (1, 0));
        assert_eq!((usual.batch, Settings::parse("land.batch = 1").unwrap().land.batch), (4, 1));
        assert_eq!((usual.width, Settings::parse("land.width = 3").unwrap().land.width), (1, 3));
        for (text, key) in [
            ("land.keep_agents = 'no'", "land.keep_agents"),
            ("land.shared = 'no'", "land.shared"),
            ("land.batch = 0", "land.batch"),
            ("land.batch = -1", "land.batch"),
            ("land.width = 0", "land.width"),
            ("land.style = 'octopus'", "land.style"),
            ("land.checks = ['  ']", "land.checks"),
            ("land.timeout = '0s'", "land.timeout"),
            ("land.retries = -1", "land.retries"),
            ("land.regenerate = { 'a.lock' = ' ' }", "land.regenerate"),
            ("land.regenerate = { '../a.lock' = 'true' }", "land.regenerate"),
            ("land.regenerate = { '/a.lock' = 'true' }", "land.regenerate"),
            ("land.regenerate = { '.git/config' = 'true' }", "land.regenerate"),
            ("land.regenerate = 'true'", "land.regenerate"),
        ] {
            assert_eq!(Settings::parse(text).unwrap_err().0, key);
        }
    }
}
