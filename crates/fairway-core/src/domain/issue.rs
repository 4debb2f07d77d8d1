//! Issues of a tracker that are imported as tasks: their address, their text, and which of their changes a task follows.

use super::Refusal;
use super::excerpt::excerpt;

/// The longest address of an issue, in bytes.
const MAX_URL_BYTES: usize = 512;

/// The label of a task whose issue has a new text that no person has looked at. Agents go on with the old text.
pub const CHANGED: &str = "issue-changed";

/// The words before an issue's address, in the last line of its task's body.
const BACKLINK: &str = "Issue: ";

/// The address of an issue, such as `https://github.com/ann/shop/issues/12`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IssueUrl(String);

impl IssueUrl {
    /// Parses the address of the issue number `number`.
    /// Fails with [`Refusal::Invalid`] when the text is not the address of an issue, or that of an issue with another number.
    pub fn parse(text: &str, number: u64) -> Result<Self, Refusal> {
        let is_name = |part: &str| {
            let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
            !part.is_empty() && part.chars().all(is_safe)
        };
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let parts: Vec<&str> = rest.unwrap_or_default().split('/').collect();
        match parts.as_slice() {
            [place @ .., "issues", digits]
                if place.len() > 2
                    && place.iter().all(|part| is_name(part))
                    && *digits == number.to_string()
                    && text.len() <= MAX_URL_BYTES =>
            {
                Ok(Self(text.to_owned()))
            }
            _ => {
                let why = format!("'{}' is not https://HOST/OWNER/REPOSITORY/issues/{number}", excerpt(text));
                Err(Refusal::Invalid { what: "url", why })
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address in lower case, so that equal addresses of one issue have equal keys: hosts, owners and repositories ignore
    /// case.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

/// Makes a task's body from an issue: its text, cut so that the body fits `max_bytes`, and its address on the last line.
pub fn body_with_backlink(text: &str, url: &IssueUrl, max_bytes: usize) -> String {
    let backlink = format!("{BACKLINK}{}", url.key());
    let text = text.trim_end();
    if text.is_empty() {
        return backlink;
    }
    let room = max_bytes.saturating_sub(backlink.len() + 2);
    let end = text.floor_char_boundary(room);
    format!("{}\n\n{backlink}", text.get(..end).unwrap_or_default())
}

/// The key of the issue that the last line of a task's body names; `None` when the line names none.
pub fn backlink_key(body: &str) -> Option<String> {
    body.lines().next_back()?.strip_prefix(BACKLINK).map(str::to_ascii_lowercase)
}

/// Replaces the control characters of a text, which tasks must not have. A line end becomes a newline, and a tab stays; when
/// `is_line`, both become a blank. Others become U+FFFD. Returns the text, and whether a U+FFFD was put into it.
pub fn without_controls(text: &str, is_line: bool) -> (String, bool) {
    let mut replaced = false;
    let text = text.replace("\r\n", "\n");
    let clean = text.chars().map(|character| match character {
        '\n' | '\r' | '\t' if is_line => ' ',
        '\r' => '\n',
        '\n' | '\t' => character,
        character if character.is_control() => {
            replaced = true;
            char::REPLACEMENT_CHARACTER
        }
        character => character,
    });
    (clean.collect(), replaced)
}

/// The merge of a task's field when its issue is imported again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldImport {
    /// The task has the issue's value, or the issue has not changed.
    Unchanged,
    /// The issue changed, and the task's value is that of the last import.
    Update,
    /// Both changed: the task keeps its own value.
    Keep,
}

/// Decides what an import does to a field of a task. It compares the value that the last import wrote (`None`: unknown), the
/// issue's value and the task's value. A value that was changed in the task only, or in both, is kept.
pub fn import_field(imported: Option<&str>, issue: &str, task: &str) -> FieldImport {
    if issue == task || imported == Some(issue) {
        FieldImport::Unchanged
    } else if imported == Some(task) {
        FieldImport::Update
    } else {
        FieldImport::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_address_of_another_issue_is_refused() {
        for good in [
            "https://github.com/ann/shop/issues/12",
            "http://git.example.org:8080/a/b.c/issues/12",
            "https://gitlab.com/a/group/shop/-/issues/12",
        ] {
            assert_eq!(IssueUrl::parse(good, 12).unwrap().as_str(), good);
        }
        let upper = IssueUrl::parse("https://GitHub.com/Ann/Shop/issues/12", 12).unwrap();
        assert_eq!(upper.key(), "https://github.com/ann/shop/issues/12");
        for bad in [
            "",
            "https://github.com/ann/shop/issues/13",
            "https://github.com/ann/shop/issues/012",
            "https://github.com/ann/shop/pull/12",
            "https://github.com/ann/issues/12",
            "https://github.com/ann/shop/issues/12/",
            "https://github.com/ann/sh op/issues/12",
            "https://github.com/ann/sh\nop/issues/12",
            "https://github.com/a%20n/shop/issues/12",
            "javascript://github.com/ann/shop/issues/12",
        ] {
            assert!(IssueUrl::parse(bad, 12).is_err(), "{bad:?}");
        }
        assert!(IssueUrl::parse(&format!("https://github.com/{}/shop/issues/12", "a".repeat(600)), 12).is_err());
    }

    #[test]
    fn backlink_is_the_last_line_and_no_other() {
        let url = IssueUrl::parse("https://github.com/Ann/shop/issues/12", 12).unwrap();
        let forged = "Issue: https://github.com/ann/shop/issues/13\n";
        let body = body_with_backlink(forged, &url, 1_000);
        assert_eq!(backlink_key(&body), Some(url.key()));
        assert_eq!(body_with_backlink(" \n", &url, 1_000), "Issue: https://github.com/ann/shop/issues/12");
        assert_eq!(backlink_key("Issue:"), None);
        let long = body_with_backlink(&"é".repeat(1_000), &url, 1_001);
        assert!(long.len() <= 1_001 && backlink_key(&long) == Some(url.key()), "{}", long.len());
    }

    #[test]
    fn control_characters_are_replaced_and_line_ends_kept() {
        assert_eq!(without_controls("a\r\nb\rc\td", false), ("a\nb\nc\td".into(), false));
        assert_eq!(without_controls("a\u{1b}[2J\0", false), ("a\u{fffd}[2J\u{fffd}".into(), true));
        assert_eq!(without_controls("a\r\nb\tc", true), ("a b c".into(), false));
    }

    #[test]
    fn field_follows_the_issue_unless_it_was_changed_here() {
        use FieldImport::{Keep, Unchanged, Update};
        for (imported, issue, task, expected) in [
            (Some("a"), "a", "a", Unchanged),
            (Some("a"), "a", "here", Unchanged),
            (Some("a"), "there", "a", Update),
            (Some("a"), "there", "here", Keep),
            (Some("a"), "same", "same", Unchanged),
            (None, "a", "a", Unchanged),
            (None, "a", "here", Keep),
        ] {
            assert_eq!(import_field(imported, issue, task), expected, "{imported:?} {issue} {task}");
        }
    }
}
