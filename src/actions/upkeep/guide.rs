//! The contract for agents: how to work in a project with Fairway.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{config::Project, env::Env, os::digest::sha256_hex};

/// The contract of this version.
pub const CONTRACT: &str = include_str!("agents.md");
/// The contract's file in the state directory.
pub const CONTRACT_FILE: &str = "AGENTS.md";
/// The longest contract that is read from a file, in bytes.
const MAX_CONTRACT_BYTES: u64 = 256 << 10;

/// The digests of the contracts of earlier versions. A file with one of them has no changes of a person.
const EARLIER: &[&str] = &[
    "2b2d6c18d570cf987c3c3c4f3bff87bfc04e30e99a88adae17e6d699b6fbcb51",
    "35c9fb10279bfc4ce4aac46b9b9523babb4863df9ca3c165e6025aa3f96b869c",
    "5586b70f1cc5d4868f246ab2c97299c87b048cfbfe7be6b58194b263f0b16362",
    "88e1b760b152d41f2d6f48184fcb73312e4b89700f9ad37cadedc9aed996ad03",
    "8e9765f7c5c95d4eab6881ea83011ce5bef2f3a00ef2c076d718c30c63e72997",
    "e08c8b3d14eee58b95ab2ac6d12d564b406248c05f9d9c823ce2a9499d330ee8",
];

/// A contract, and its file if a person has changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guide {
    pub text: String,
    /// The project's own file; `None` for the contract of this version.
    pub file: Option<PathBuf>,
}

/// The contract in force: the project's own, if a person has changed it, else this version's. Works without a project, with
/// a broken configuration and without access to the state directory, and reads no configuration.
pub fn guide(env: &Env, root: Option<&Path>) -> Guide {
    let own = Project::discover(env, root).ok().and_then(|project| changed_contract(&project));
    let (text, file) = own.map_or_else(|| (CONTRACT.to_owned(), None), |(text, file)| (text, Some(file)));
    Guide { text, file }
}

/// The project's contract with its file, if a person has changed it.
fn changed_contract(project: &Project) -> Option<(String, PathBuf)> {
    let file = project.state.join(CONTRACT_FILE);
    // A directory or a device is no contract.
    let found = fs::metadata(&file).ok().filter(|found| found.is_file() && found.len() <= MAX_CONTRACT_BYTES)?;
    let text = (found.len() > 0).then(|| fs::read_to_string(&file).ok()).flatten()?;
    (text != CONTRACT && !is_earlier(&text)).then_some((text, file))
}

/// Whether the text is the contract of an earlier version, without changes.
pub fn is_earlier(text: &str) -> bool {
    EARLIER.contains(&sha256_hex(text.as_bytes()).as_str())
}
