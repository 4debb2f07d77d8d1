//! Checks of a whole text before it is parsed.

use std::collections::BTreeSet;

/// Why a text is unresolved because of its characters: it has control characters other than newline and tab, or invisible ones.
/// `None` when it has none of them.
pub(super) fn unsupported_chars(text: &str) -> Option<&'static str> {
    let is_control = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    let is_hidden = |character: char| {
        matches!(character,
            '\u{ad}' | '\u{a0}' | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200c}' | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{2069}' | '\u{3000}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
    };
    if text.chars().any(is_control) {
        return Some("the text contains control characters");
    }
    text.chars().any(is_hidden).then_some("the text contains invisible characters")
}

/// Whether a text has control characters or invisible ones, which make it unresolved.
pub(in crate::guard) fn has_unsupported_chars(text: &str) -> bool {
    unsupported_chars(text).is_some()
}

/// Whether the output of `git` can be trusted in the whole text. It cannot when the text has a sign that `git` may be another
/// program (a function `git`, the words `function` or `alias`, `PATH=`, `hash`), or that `git symbolic-ref` changes it.
pub(super) fn trusts_git(text: &str) -> bool {
    // Between the name of a function and its parenthesis a shell takes any blanks and continued lines.
    let is_blank = |character: char| character.is_whitespace() || character == '\\';
    let defines_git = text.match_indices("git").any(|(at, name)| {
        text.get(at + name.len()..).is_some_and(|rest| rest.trim_start_matches(is_blank).starts_with('('))
    });
    let signs = ["function", "alias", "symbolic-ref", "PATH=", "hash "];
    !defines_git && !signs.iter().any(|sign| text.contains(sign))
}

/// Whether `$HOME` and `$PWD` have their usual values in the whole text, so that each is one path without blanks.
pub(super) fn trusts_home(text: &str) -> bool {
    let is_read_only = |name: &str| {
        text.match_indices(name).all(|(at, _)| {
            let before = text.get(..at).unwrap_or_default();
            let after = text.get(at + name.len()..).unwrap_or_default();
            before.ends_with('$') || before.ends_with("${") && !after.starts_with(['=', ':'])
        })
    };
    let sets = [
        "declare", "typeset", "printf -v", "readonly", "local -n", "mapfile", "readarray", "read ", "export $",
        "export \"$",
    ];
    is_read_only("HOME") && is_read_only("PWD") && !sets.iter().any(|word| text.contains(word)) && !text.contains("${!")
}

/// Why a text is unresolved because of a form that some shells read differently from the parser; `None` when it has no such
/// form.
pub(super) fn unsupported_shape(text: &str) -> Option<&'static str> {
    if text.contains("$\\\n") {
        return Some("a line is continued behind a dollar sign");
    }
    let ends_word =
        |character: char| character.is_whitespace() || matches!(character, ';' | '&' | '|' | ')' | '(' | '<' | '>');
    let is_glued = |(at, sign): (usize, &str)| {
        text.get(at + sign.len()..).is_some_and(|rest| !rest.is_empty() && !rest.starts_with(ends_word))
    };
    if ["<&-", ">&-"].iter().any(|sign| text.match_indices(sign).any(is_glued)) {
        return Some("a word is glued to a closed file descriptor");
    }
    if !text.contains("<<") {
        return None;
    }
    let delimiters: BTreeSet<&str> = text
        .match_indices("<<")
        .filter(|(at, _)| !text.get(..*at).unwrap_or_default().ends_with('<'))
        .filter_map(|(at, _)| text.get(at + 2..))
        .filter(|rest| !rest.starts_with('<'))
        .map(|rest| rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']))
        .map(|rest| rest.split(ends_word).next().unwrap_or_default())
        .collect();
    if delimiters.iter().any(|delimiter| delimiter.contains(['$', '`'])) {
        return Some("the end of a here-document is not plain");
    }
    if !text.contains("\\\n") {
        return None;
    }
    let ends: BTreeSet<&str> = delimiters.iter().map(|delimiter| delimiter.trim_matches(['\'', '"'])).collect();
    let mut joined = String::new();
    for line in text.lines() {
        match line.strip_suffix('\\') {
            Some(part) => joined.push_str(part.trim_start_matches('\t')),
            None if joined.is_empty() => {}
            None => {
                joined.push_str(line);
                if ends.contains(joined.as_str()) {
                    return Some("the end of a here-document is continued over lines");
                }
                joined.clear();
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_of_a_text_that_defines_it_is_not_trusted() {
        for text in
            ["git() { :; }", "git   () { :; }", "git\t( ) { :; }", "git \\\n() { :; }", "alias git=x", "PATH=. git x"]
        {
            assert!(!trusts_git(text), "{text:?}");
        }
        assert!(trusts_git("cd \"$(git rev-parse --show-toplevel)\" && (ls; git status)"));
    }
}
