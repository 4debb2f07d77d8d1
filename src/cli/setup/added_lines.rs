//! Lines that setup adds at the end of a person's text, and takes out again.

/// Returns the text that must be appended to `before` so that `block` stands at its end after an empty line. Its lines end as
/// those of `before` do.
pub(super) fn addition(before: &str, block: &str) -> String {
    let gap = match before {
        "" => "",
        text if text.ends_with("\n\n") || text.ends_with("\n\r\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let added = format!("{gap}{block}");
    if before.contains("\r\n") { added.replace('\n', "\r\n") } else { added }
}

/// Removes `added` from `text`: at its end, or else at the only place where it occurs. Returns `None` when it does not occur,
/// or occurs at several places.
pub(super) fn without(text: &str, added: &str) -> Option<String> {
    if let Some(before) = text.strip_suffix(added) {
        return Some(before.to_owned());
    }
    let mut places = text.match_indices(added);
    match (places.next(), places.next()) {
        (Some((at, _)), None) => Some(format!("{}{}", text.get(..at)?, text.get(at + added.len()..)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_text_is_removed_byte_for_byte() {
        for before in ["", "a", "a\n", "a\n\n", "a\r\nb\r\n", "a\r\n\r\n", "\n"] {
            let added = addition(before, "x\ny\n");
            let after = format!("{before}{added}");
            assert_eq!(without(&after, &added).as_deref(), Some(before), "{before:?}");
            let longer = format!("{after}more\n");
            assert_eq!(without(&longer, &added), Some(format!("{before}more\n")), "{before:?}");
        }
        assert_eq!(without("a\nx\nchanged\n", "\nx\ny\n"), None);
        assert_eq!(without("x\n.x\n.", "x\n"), None, "it stands there twice");
    }
}
