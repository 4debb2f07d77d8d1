//! Texts that commands print, as documents.

use std::path::PathBuf;

use serde::Serialize;

/// The document of `help`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HelpView {
    /// The command or topic; empty for the whole program.
    pub topic: String,
    /// The text.
    pub text: String,
}

/// The document of `guide`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GuideView {
    /// The text.
    pub text: String,
    /// The file that it was read from; null for a text of the program.
    pub file: Option<PathBuf>,
    /// The guide's topic; null for how an agent works here.
    pub topic: Option<&'static str>,
}

/// A topic of `guide --list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GuideTopicView {
    /// The topic.
    pub topic: &'static str,
    /// The guide's heading.
    pub title: &'static str,
}

/// The document of `skill`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SkillView {
    /// The skill's name.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

/// The document of `man`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ManPageView {
    /// The page's name.
    pub name: String,
    /// The page, in roff.
    pub page: String,
}

/// The document of `man --output`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ManPagesView {
    /// The directory.
    pub dir: PathBuf,
    /// The names of the files in it.
    pub files: Vec<String>,
}

/// The document of `completions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CompletionsView {
    /// The shell.
    pub shell: String,
    /// The script.
    pub script: String,
}

/// The document of `config example`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ConfigExampleView {
    /// The text of the file.
    pub example: String,
}

/// The document of `adapter install`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct InstalledScriptsView {
    /// The directory.
    #[serde(rename = "folder")]
    pub dir: PathBuf,
    /// The files that were written.
    pub written: Vec<String>,
}

/// The document of `demo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DemoView {
    /// The directory.
    pub dir: String,
    /// Whether it was kept.
    pub kept: bool,
    /// The commands that ran.
    pub commands: Vec<String>,
}

/// The document of `session meta get`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionMetaView {
    /// The session.
    pub session_id: String,
    /// The key.
    pub key: String,
    /// The value; empty when it is not set.
    pub value: String,
}
