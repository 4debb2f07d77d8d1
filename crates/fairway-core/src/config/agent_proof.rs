//! The results of canaries, the test turns of `fairway doctor agents`, on this host: one file for each agent, command and mode,
//! outside of every project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::env::{Env, Timestamp};
use crate::os::digest::sha256_hex;
use crate::os::{executable, files, packages};

/// The directory of the files, below the state directory.
const DIRECTORY: &str = "agent-proofs";
/// The longest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// An agent as a launch starts it. A proof is valid for exactly this setup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentSetup {
    pub provider: String,
    pub command: Vec<String>,
    pub mode: Option<String>,
    /// The environment of the profile.
    pub env: BTreeMap<String, String>,
    /// The version that the files around the program record.
    pub version: Option<String>,
}

/// The result of a canary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProof {
    pub provider: String,
    /// The name and version that the agent gives itself; `None` when it opened no session.
    pub agent: Option<String>,
    /// The version that the files around the program record.
    pub version: Option<String>,
    pub mode: Option<String>,
    /// Why the canary does not prove that the agent asks; `None` when it does.
    pub why: Option<String>,
    pub at_ms: i64,
}

impl AgentSetup {
    /// Describes the agent that a provider's profile starts. Finds its program in `path`, a value of the variable `PATH`;
    /// relative paths start at `cwd`. The second value is the path of the program, if it was found.
    pub fn new(
        provider: &str,
        command: &[String],
        mode: Option<&str>,
        env: BTreeMap<String, String>,
        (path, cwd): (Option<&std::ffi::OsStr>, &Path),
    ) -> (Self, Option<PathBuf>) {
        let file = command.first().and_then(|program| executable::find(program, path, cwd));
        let setup = Self {
            provider: provider.to_owned(),
            command: command.to_vec(),
            mode: mode.map(str::to_owned),
            env,
            version: file.as_deref().and_then(packages::recorded_version),
        };
        (setup, file)
    }

    /// The file of the agent's proof. An agent of another version has another file.
    fn file(&self, env: &Env) -> Option<PathBuf> {
        let text = serde_json::to_string(self).ok()?;
        Some(env.state_dir()?.join(DIRECTORY).join(format!("{}.json", sha256_hex(text.as_bytes()))))
    }

    /// The stored result of this agent's newest canary, the trial that shows whether it asks before it runs a tool. Returns
    /// `None` when no canary was run, or its result cannot be read.
    pub fn proof(&self, env: &Env) -> Option<AgentProof> {
        read(&self.file(env)?)
    }

    /// Stores the result of a canary of this agent.
    /// Fails when there is no home directory.
    pub fn save(&self, env: &Env, proof: &AgentProof) -> io::Result<()> {
        let file = self.file(env).ok_or_else(|| io::Error::other("there is no home directory"))?;
        files::private_dir(file.parent().unwrap_or_else(|| Path::new("/")))?;
        files::write_atomic(&file, &serde_json::to_vec(proof)?, 0o600)
    }
}

impl AgentProof {
    /// Whether the canary has shown that the agent asks before it runs a tool.
    pub const fn is_proof(&self) -> bool {
        self.why.is_none()
    }

    pub const fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.at_ms)
    }
}

/// The newest proof that an agent of this provider, in this mode, asks for permission before it runs a tool. `agent` is the name
/// and version by which the agent calls itself. Returns `None` when no canary has proved it.
pub fn newest_proof(env: &Env, provider: &str, agent: &str, mode: Option<&str>) -> Option<AgentProof> {
    proofs(env, provider, agent, mode).map(|(_, proof)| proof).max_by_key(|proof| proof.at_ms)
}

/// Ends the proofs of an agent that was seen not to ask, for the reason `why`, until another canary. The other arguments are those
/// of [`newest_proof`].
/// Fails when a file cannot be written.
pub fn refute_proofs(env: &Env, provider: &str, agent: &str, mode: Option<&str>, why: &str) -> io::Result<()> {
    for (file, proof) in proofs(env, provider, agent, mode) {
        let refuted = AgentProof { why: Some(why.to_owned()), ..proof };
        files::write_atomic(&file, &serde_json::to_vec(&refuted)?, 0o600)?;
    }
    Ok(())
}

fn proofs<'a>(
    env: &Env,
    provider: &'a str,
    agent: &'a str,
    mode: Option<&'a str>,
) -> impl Iterator<Item = (PathBuf, AgentProof)> {
    let files = env.state_dir().and_then(|state| fs::read_dir(state.join(DIRECTORY)).ok());
    let files = files.into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter_map(|file| read(&file).map(|proof| (file, proof))).filter(move |(_, proof)| {
        proof.is_proof()
            && proof.provider == provider
            && proof.agent.as_deref() == Some(agent)
            && proof.mode.as_deref() == mode
    })
}

fn read(file: &Path) -> Option<AgentProof> {
    if fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file)?.len() > MAX_FILE_BYTES {
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
