//! Limits of free text. Text that is too long or contains control characters is refused, never cut or cleaned silently.

use std::path::Path;

use super::Refusal;

/// The longest title, summary or reason, in bytes.
pub const MAX_LINE_BYTES: usize = 4 * 1024;
/// The longest idempotency key of a caller, in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 128;
/// The longest body, payload or note, in bytes.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// Checks a title, summary or reason: not blank, at most [`MAX_LINE_BYTES`] bytes.
/// Fails with [`Refusal::Invalid`] naming `what`.
pub fn check_line(what: &'static str, text: &str) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Invalid { what, why: "must not be empty".into() });
    }
    check(what, text, MAX_LINE_BYTES)
}

/// Checks a body, payload or note: at most [`MAX_BODY_BYTES`] bytes, may be empty.
/// Fails with [`Refusal::Invalid`] naming `what`.
pub fn check_body(what: &'static str, text: &str) -> Result<String, Refusal> {
    check(what, text, MAX_BODY_BYTES)
}

/// A path as text. It must be valid UTF-8 without control characters.
/// Fails with [`Refusal::Invalid`] naming `what`.
pub fn path_text(what: &'static str, path: &Path) -> Result<String, Refusal> {
    let text = path.to_str().ok_or_else(|| Refusal::invalid(what, "is not valid UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(Refusal::invalid(what, "contains control characters"));
    }
    Ok(text.to_owned())
}

fn check(what: &'static str, text: &str, longest: usize) -> Result<String, Refusal> {
    if text.len() > longest {
        let why = format!("is {} bytes long; the limit is {longest}", text.len());
        return Err(Refusal::Invalid { what, why });
    }
    if let Some(bad) = text.chars().find(|character| character.is_control() && !matches!(character, '\n' | '\t')) {
        let why = format!("contains the control character U+{:04X}; only newline and tab are allowed", u32::from(bad));
        return Err(Refusal::Invalid { what, why });
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_control_characters_are_refused_by_name() {
        assert_eq!(check_line("title", "a\tb\nc").unwrap(), "a\tb\nc");
        assert!(check_line("title", &"x".repeat(MAX_LINE_BYTES)).is_ok());
        let long = check_line("title", &"x".repeat(MAX_LINE_BYTES + 1)).unwrap_err().to_string();
        assert_eq!(long, "title is 4097 bytes long; the limit is 4096");
        for bad in ["a\0b", "\u{1b}[31m", "a\rb", "\u{9b}", "\u{7f}"] {
            assert!(check_body("body", bad).is_err(), "{bad:?}");
        }
        assert!(check_line("title", " \n").is_err());
        assert_eq!(check_body("body", "").unwrap(), "");
    }
}
