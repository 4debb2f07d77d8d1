//! The small part of Markdown that the tests of documents read: fenced blocks and comments.

/// A fenced code block.
#[derive(Debug)]
pub struct Block {
    /// The text behind the opening fence, such as `console` or `sh no-run`.
    pub info: String,
    /// The number of the first content line, from 0.
    pub start: usize,
    /// Its content lines.
    pub lines: Vec<String>,
    /// The reason in a comment `<!-- no-run: REASON -->` directly above the block.
    pub reason: Option<String>,
}

/// A part of a page that a test acts on.
#[derive(Debug)]
pub enum Part {
    /// A fenced block.
    Block(Block),
    /// Commands in a comment that begins with a line `<!-- run`. Readers do not see them; they prepare the page's project.
    Hidden(String),
}

/// The fenced blocks and hidden commands of a page, in order.
pub fn parts(page: &str, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut reason, mut lines) = (None, text.lines().enumerate());
    while let Some((number, line)) = lines.next() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            let mut content = Vec::new();
            loop {
                let (_, line) = lines.next().unwrap_or_else(|| panic!("{page}:{}: the fence stays open", number + 1));
                if line.trim_start().starts_with("```") {
                    break;
                }
                content.push(line.to_owned());
            }
            parts.push(Part::Block(Block {
                info: info.trim().to_owned(),
                start: number + 1,
                lines: content,
                reason: reason.take(),
            }));
        } else if line == "<!-- run" {
            let content: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "-->").collect();
            parts.push(Part::Hidden(content.join("\n")));
        } else if let Some(rest) = line.strip_prefix("<!-- no-run: ") {
            reason = rest.strip_suffix(" -->").map(str::to_owned);
        } else if !line.trim().is_empty() {
            reason = None;
        }
    }
    parts
}

/// The lines of a page outside of fenced blocks and of comments of several lines, with their numbers from 1.
pub fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut fenced, mut comment) = (false, false);
    let mut prose = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with("<!--") {
            comment = !line.contains("-->");
            prose.push((number + 1, line));
        } else if comment {
            comment = !line.contains("-->");
        } else if !fenced {
            prose.push((number + 1, line));
        }
    }
    prose
}

/// The anchor that a heading gets on the usual hosts.
pub fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}
