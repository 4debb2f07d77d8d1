//! The guides that the program carries: the pages of `docs/guides`, by topic.

use crate::domain::Refusal;

#[derive(Debug)]
pub struct GuidePage {
    /// Its topic: the page's file without the extension.
    pub topic: &'static str,
    /// The page, with comments for those who edit it.
    source: &'static str,
}

macro_rules! pages {
    ($($topic:literal),+ $(,)?) => {
        &[$(GuidePage {
            topic: $topic,
            source: include_str!(concat!("../../../docs/guides/", $topic, ".md")),
        }),+]
    };
}

/// Every guide, by topic.
pub const ALL: &[GuidePage] = pages![
    "approvals",
    "backend-scripts",
    "board-in-the-browser",
    "guard",
    "hooks",
    "install",
    "jobs",
    "landing",
    "lanes-and-worktrees",
    "mcp",
    "notifications",
    "overlap",
    "prompts",
    "reviews-and-gates",
    "sandbox",
    "search",
    "sessions",
    "setup",
    "several-machines",
    "status",
    "structured-sessions",
    "tasks",
    "terminal-backends",
    "top",
    "usage-and-health",
    "worker-api",
];

/// Topics that had a guide of their own, each with the guide that has its section now.
const SECTIONS: &[(&str, &str)] =
    &[("cron", "sessions"), ("plugins", "setup"), ("provider-events", "usage-and-health"), ("sidecar", "hooks")];

/// The guide of a topic, which may be given as the path of its page, or of the guide that has a section about it.
///
/// # Errors
/// `not_found`, with topics that resemble it.
pub fn find(topic: &str) -> Result<&'static GuidePage, Refusal> {
    let name = topic.strip_prefix("docs/guides/").unwrap_or(topic);
    let name = name.strip_suffix(".md").unwrap_or(name).to_lowercase().replace([' ', '_'], "-");
    let topic_of_section = SECTIONS.iter().find(|(section, _)| *section == name).map(|(_, topic)| *topic);
    let name = topic_of_section.map_or(name, str::to_owned);
    ALL.iter().find(|page| page.topic == name).ok_or_else(|| Refusal::NotFound {
        noun: "guide",
        id: topic.to_owned(),
        near: near(&name).map(str::to_owned).into_iter().collect(),
    })
}

/// The topic that a word most likely means: it is one of the topic's words, or it has few typing errors.
fn near(name: &str) -> Option<&'static str> {
    let is_word_of = |page: &&GuidePage| !name.is_empty() && page.topic.split('-').any(|word| word == name);
    let distance = |topic: &str| strsim::damerau_levenshtein(name, topic);
    ALL.iter().find(is_word_of).map(|page| page.topic).or_else(|| {
        let nearest = ALL.iter().map(|page| (distance(page.topic), page.topic)).min();
        nearest.filter(|(distance, topic)| *distance <= topic.len() / 3).map(|(_, topic)| topic)
    })
}

impl GuidePage {
    /// The page's heading.
    pub fn title(&self) -> &'static str {
        self.source.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The page without comments, which no reader of a rendered page sees, and without the tests' marks at its blocks.
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
