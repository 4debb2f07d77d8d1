//! Output for GitHub Actions: workflow commands, which the runner shows as annotations, and Markdown for its summary.

use std::fmt::Write as _;

use super::escape_line;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnotationLevel {
    Notice,
    Error,
}

/// Formats an annotation as a workflow command (`::error …`), which a CI runner shows beside its log, with a newline at the end.
/// The title and the message are escaped, so that neither can begin another command.
pub fn annotation(level: AnnotationLevel, title: &str, message: &str) -> String {
    let level = match level {
        AnnotationLevel::Notice => "notice",
        AnnotationLevel::Error => "error",
    };
    let title = escape_data(title).replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{}\n", escape_data(message))
}

/// The runner decodes these three in the text of a command, and `:` and `,` besides in its properties.
fn escape_data(text: &str) -> String {
    escape_line(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Formats text for Markdown so that it stays text: it cannot become a link, a mention, a table cell or HTML.
pub fn markdown_code(text: &str) -> String {
    let mut code = String::from("<code>");
    for character in escape_line(text).chars() {
        // Markdown takes a character that is written as an entity for nothing but text.
        if character.is_ascii_punctuation() && !matches!(character, '-' | '/') {
            let _ = write!(code, "&#{};", u32::from(character));
        } else {
            code.push(character);
        }
    }
    code.push_str("</code>");
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotation_is_one_command_whatever_its_texts_contain() {
        let hostile = "a\n::error::b\r\n::add-mask::c%0A::d, e:f \u{1b}[2J";
        let line = annotation(AnnotationLevel::Error, hostile, hostile);
        assert_eq!(
            line,
            "::error title=a %3A%3Aerror%3A%3Ab\\u{d} %3A%3Aadd-mask%3A%3Ac%250A%3A%3Ad%2C e%3Af \\u{1b}[2J::\
             a ::error::b\\u{d} ::add-mask::c%250A::d, e:f \\u{1b}[2J\n"
        );
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(annotation(AnnotationLevel::Notice, "t", "100 %"), "::notice title=t::100 %25\n");
    }

    #[test]
    fn markdown_code_has_no_character_that_markdown_obeys() {
        let code = markdown_code("a|b `c` *d* </code><img> @ann [x](https://example.org) \\ -\n# e");
        let inside = code.strip_prefix("<code>").and_then(|code| code.strip_suffix("</code>")).unwrap();
        let decoded = regex::Regex::new("&#([0-9]+);").unwrap();
        let text = decoded.replace_all(inside, "");
        assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '/')), "{text}");
        assert_eq!(markdown_code("a-b/c 1"), "<code>a-b/c 1</code>");
        assert_eq!(markdown_code("@a"), "<code>&#64;a</code>");
    }
}
