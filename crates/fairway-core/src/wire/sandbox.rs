//! Documents about sandboxes, and the messages between a program inside and the process outside that answers it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A command that is asked for inside a sandbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SandboxCall {
    /// The words behind the program.
    pub args: Vec<String>,
    pub directory: PathBuf,
    pub stdin: String,
}

/// What the command said outside.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SandboxReply {
    pub exit: u8,
    pub stdout: String,
    pub stderr: String,
}

/// The result of one thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxProbeView {
    /// Its name.
    pub name: String,
    /// What is tried.
    pub what: String,
    /// Whether it was done outside of the sandbox; `false` where this user or machine cannot do it anyway.
    pub outside: bool,
    /// Whether it was done inside.
    pub inside: bool,
    /// Why it was not done inside, in the system's words.
    pub why: Option<String>,
    /// Whether the configuration opens it.
    pub is_open: bool,
}

/// Something that must work inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxNeedView {
    /// Its name.
    pub name: String,
    /// Whether it works inside.
    pub works: bool,
    /// Why it does not, in the system's words.
    pub why: Option<String>,
}

/// What a sandbox keeps in here and now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxCheckView {
    /// The class of the sandbox: `namespace` or `command`.
    pub class: &'static str,
    /// `none`, `proxy` or `open`; it does not count for the class `command`.
    pub network: &'static str,
    /// Whether every probe was denied that the configuration does not open, and everything that must work does.
    pub passed: bool,
    /// What was tried to get out.
    pub probes: Vec<SandboxProbeView>,
    /// What must work inside.
    pub needs: Vec<SandboxNeedView>,
}

/// A path inside a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxPathView {
    /// The path.
    pub path: String,
    /// `closed`, `read` or `write`.
    pub access: &'static str,
    /// Why it is so.
    pub why: &'static str,
}

/// What the sandbox of a lane opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxView {
    /// The lane.
    pub lane: String,
    /// The class of the sandbox: `namespace` or `command`.
    pub class: &'static str,
    /// `none`, `proxy` or `open`; it does not count for the class `command`.
    pub network: &'static str,
    /// The words of the program that makes a sandbox of the class `command`; none with another class.
    pub prefix: Vec<String>,
    /// The hosts that the proxy lets through; none with another network.
    pub hosts: Vec<String>,
    /// The names of the variables that the configuration opens.
    pub env: Vec<String>,
    /// Everything else can be read and not written.
    pub paths: Vec<SandboxPathView>,
    /// The ignored files that were copied into the worktree, by their paths in it. The program can read them: they may be secrets.
    pub copies: Vec<String>,
    /// Whether the commands of `[lanes] setup` and `teardown` run outside of the sandbox.
    pub setup_outside: bool,
}

/// The commits of a lane's sandboxes that were refused before and are taken back now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxTakeBackView {
    /// The lane.
    pub lane: String,
    /// What happened to the commits of each, oldest first.
    pub notes: Vec<String>,
    /// The ones that are still refused.
    pub refused: Vec<SandboxRefusedView>,
}

/// The repository of a sandbox whose commits are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SandboxRefusedView {
    /// Its number in the lane.
    pub number: u32,
    /// Why, in the words of git.
    pub why: String,
}
