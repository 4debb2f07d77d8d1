//! The contract for agents: how to work in a project with Fairway.

use std::fs;
use std::path::{Path, PathBuf};

use fairway_core::config::Project;
use fairway_core::domain::Refusal;
use fairway_core::env::Env;
use fairway_core::os::digest::sha256_hex;

pub const CONTRACT: &str = include_str!("agents.md");
pub const CONTRACT_FILE: &str = "AGENTS.md";
/// The longest contract that is read from a file, in bytes.
const MAX_CONTRACT_BYTES: u64 = 256 << 10;

/// The digests of the contracts of earlier versions. A file with one of them was not changed by a person.
const EARLIER: &[&str] = &[
    "2a6b2e40db7e8418acdce9ec31e9a0deed44d9929cac0896015943557a27f6ff",
    "2b2d6c18d570cf987c3c3c4f3bff87bfc04e30e99a88adae17e6d699b6fbcb51",
    "35c9fb10279bfc4ce4aac46b9b9523babb4863df9ca3c165e6025aa3f96b869c",
    "5586b70f1cc5d4868f246ab2c97299c87b048cfbfe7be6b58194b263f0b16362",
    "88e1b760b152d41f2d6f48184fcb73312e4b89700f9ad37cadedc9aed996ad03",
    "8e9765f7c5c95d4eab6881ea83011ce5bef2f3a00ef2c076d718c30c63e72997",
    "e08c8b3d14eee58b95ab2ac6d12d564b406248c05f9d9c823ce2a9499d330ee8",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guide {
    pub text: String,
    /// The project's own file that has the contract; `None` for the contract of this version.
    pub file: Option<PathBuf>,
}

/// Returns the contract for agents, which tells them how to work: the file of the project, if a person has changed it, else
/// the text of this version. Works without a project, with a broken configuration and without access to the state directory,
/// and reads no configuration.
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

/// Whether `text` is exactly the contract for agents of an earlier version.
pub fn is_earlier(text: &str) -> bool {
    EARLIER.contains(&sha256_hex(text.as_bytes()).as_str())
}

#[derive(Debug)]
pub struct GuidePage {
    /// The name of the page's file without the extension.
    pub topic: &'static str,
    /// The page, with comments for those who edit it.
    source: &'static str,
}

macro_rules! pages {
    ($($topic:literal in $dir:literal),+ $(,)?) => {
        &[$(GuidePage {
            topic: $topic,
            source: include_str!(concat!("../../docs/", $dir, "/", $topic, ".md")),
        }),+]
    };
}

/// The guides for people and for those who connect programs, and the reference pages that programs are written against.
pub const PAGES: &[GuidePage] = pages![
    "agents" in "integration",
    "backend-plumbing" in "reference",
    "backend-protocol" in "reference",
    "backend-scripts" in "integration",
    "board" in "guides",
    "codes" in "reference",
    "env" in "reference",
    "getting-started" in ".",
    "guard" in "guides",
    "hooks" in "integration",
    "http" in "reference",
    "jobs" in "guides",
    "jobs-json" in "integration",
    "landing" in "guides",
    "mcp" in "integration",
    "messages" in "guides",
    "releases" in "integration",
    "review" in "guides",
    "sessions" in "guides",
    "setup" in "guides",
    "several-machines" in "guides",
    "tasks" in "guides",
    "troubleshooting" in "guides",
    "work" in "guides",
    "worker-api" in "integration",
];

/// Topics whose own guide no longer exists, each with the guide that has a section about it.
const SECTIONS: &[(&str, &str)] = &[
    ("approvals", "messages"),
    ("board-in-the-browser", "board"),
    ("cron", "sessions"),
    ("install", "setup"),
    ("lanes", "tasks"),
    ("lanes-and-worktrees", "tasks"),
    ("notifications", "board"),
    ("overlap", "landing"),
    ("plugins", "setup"),
    ("prompts", "messages"),
    ("provider-events", "worker-api"),
    ("pull-requests", "landing"),
    ("reviews-and-gates", "review"),
    ("sandbox", "guard"),
    ("search", "tasks"),
    ("sidecar", "hooks"),
    ("status", "board"),
    ("structured-sessions", "sessions"),
    ("terminal-backends", "sessions"),
    ("top", "board"),
    ("usage-and-health", "sessions"),
];

/// The guide of a topic. `topic` may also be the path of its page, or an old topic that is now a section of another guide.
///
/// # Errors
/// `not_found`, with topics that resemble it.
pub fn find_page(topic: &str) -> Result<&'static GuidePage, Refusal> {
    let name = topic.rsplit_once('/').map_or(topic, |(_, name)| name);
    let name = name.strip_suffix(".md").unwrap_or(name).to_lowercase().replace([' ', '_'], "-");
    let topic_of_section = SECTIONS.iter().find(|(section, _)| *section == name).map(|(_, topic)| *topic);
    let name = topic_of_section.map_or(name, str::to_owned);
    PAGES.iter().find(|page| page.topic == name).ok_or_else(|| Refusal::NotFound {
        noun: "guide",
        id: topic.to_owned(),
        near: near(&name).map(str::to_owned).into_iter().collect(),
    })
}

/// The topic that most resembles a name: one of its words begins with the name, or the name has few typing errors.
fn near(name: &str) -> Option<&'static str> {
    let is_word_of = |page: &&GuidePage| !name.is_empty() && page.topic.split('-').any(|word| word.starts_with(name));
    let distance = |topic: &str| strsim::damerau_levenshtein(name, topic);
    PAGES.iter().find(is_word_of).map(|page| page.topic).or_else(|| {
        let nearest = PAGES.iter().map(|page| (distance(page.topic), page.topic)).min();
        nearest.filter(|(distance, topic)| *distance <= topic.len() / 3).map(|(_, topic)| topic)
    })
}

impl GuidePage {
    pub fn title(&self) -> &'static str {
        self.source.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The page as a reader should see it: without HTML comments, and without the marks for tests at its code blocks.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut rest = self.source;
        while let Some((before, after)) = rest.split_once("<!--") {
            text.push_str(before);
            let after = after.split_once("-->").map_or("", |(_, after)| after);
            rest = after.strip_prefix('\n').unwrap_or(after);
            // One empty line is left between the paragraphs around a comment.
            if before.ends_with("\n\n") {
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
        }
        text.push_str(rest);
        text.replace("```sh no-run\n", "```sh\n").replace("```console no-run\n", "```console\n")
    }
}

pub const SKILL: &str = include_str!("skill.md");
