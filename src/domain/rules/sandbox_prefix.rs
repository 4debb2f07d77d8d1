//! The words before a program that a command of the person's own puts into a sandbox.

use std::{ffi::OsString, os::unix::ffi::OsStrExt, path::PathBuf};

/// The placeholders in a word of the command: the lane's worktree, and those for whose sake a word is repeated, by path and variable.
const LANE: &str = "{lane}";
const MOUNT: &str = "{mount}";
const VARIABLE: &str = "{env}";

/// A path inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: PathBuf,
    pub target: PathBuf,
    pub is_writable: bool,
}

/// The facts that the words are made from.
#[derive(Debug, Clone, Default)]
pub struct PrefixFacts {
    pub lane: PathBuf,
    /// Directories before what is in them.
    pub mounts: Vec<Mount>,
    /// The names of the variables that reach the program.
    pub env: Vec<String>,
}

/// The words, with what they name.
pub fn expand(prefix: &[String], facts: &PrefixFacts) -> Vec<OsString> {
    let mut all = Vec::new();
    for word in prefix {
        if word.contains(MOUNT) {
            all.extend(facts.mounts.iter().map(|mount| replace(word, MOUNT, &text(mount))));
        } else if word.contains(VARIABLE) {
            all.extend(facts.env.iter().map(|name| replace(word, VARIABLE, name.as_ref())));
        } else {
            all.push(replace(word, LANE, facts.lane.as_os_str()));
        }
    }
    all
}

/// A mount as containers are given it.
fn text(mount: &Mount) -> OsString {
    let mut text = mount.source.clone().into_os_string();
    text.push(":");
    text.push(&mount.target);
    text.push(if mount.is_writable { ":rw" } else { ":ro" });
    text
}

fn replace(word: &str, name: &str, value: &std::ffi::OsStr) -> OsString {
    let parts: Vec<&[u8]> = word.split(name).map(str::as_bytes).collect();
    std::ffi::OsStr::from_bytes(&parts.join(value.as_bytes())).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_paths_and_variables_are_repeated() {
        let mount = |source: &str, target: &str, is_writable| Mount {
            source: source.into(),
            target: target.into(),
            is_writable,
        };
        let facts = PrefixFacts {
            lane: "/p/lane".into(),
            mounts: vec![mount("/p/lane", "/p/lane", true), mount("/s/link", "/p/lane/.git", false)],
            env: vec!["HOME".into(), "KEY".into()],
        };
        let prefix = ["box", "--volume={mount}", "--env={env}", "-w", "{lane}", "--"].map(str::to_owned);
        let words: Vec<String> = expand(&prefix, &facts).into_iter().map(|word| word.into_string().unwrap()).collect();
        assert_eq!(
            words,
            [
                "box",
                "--volume=/p/lane:/p/lane:rw",
                "--volume=/s/link:/p/lane/.git:ro",
                "--env=HOME",
                "--env=KEY",
                "-w",
                "/p/lane",
                "--"
            ]
        );
    }
}
