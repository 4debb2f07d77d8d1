//! Brace lists: `{a,b}`, `{1..5}`.

use super::word_builder::MAX_WORDS;

/// The words of a brace list, and the length of the list in characters. `rest` begins behind the opening brace. The last word is
/// the list as it is written, for shells that have no brace lists. `None` when the list is not closed, is too long, or contains a
/// quote or an expansion.
pub(super) fn brace_words(rest: &[char]) -> Option<(Vec<String>, usize)> {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '+' | '@' | ',')
    };
    let mut depth = 1_usize;
    let mut length = 0;
    for character in rest {
        length += 1;
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            character if is_plain(*character) => {}
            _ => return None,
        }
        if depth == 0 {
            let inside: String = rest.get(..length - 1).unwrap_or_default().iter().collect();
            let mut words = brace_alternatives(&inside, 0)?;
            // A shell without brace lists sees the text itself.
            words.push(format!("{{{inside}}}"));
            return Some((words, length));
        }
    }
    None
}

fn brace_alternatives(inside: &str, depth: usize) -> Option<Vec<String>> {
    if depth > 3 {
        return None;
    }
    let mut parts = vec![String::new()];
    let mut open = 0_usize;
    for character in inside.chars() {
        match character {
            '{' => open += 1,
            '}' => open = open.checked_sub(1)?,
            ',' if open == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut()?.push(character);
    }
    if let [one] = parts.as_slice() {
        // `1..5`, `a..z`
        let is_end = |end: &str| {
            end.len() == 1 && end.starts_with(|c: char| c.is_ascii_alphabetic())
                || !end.is_empty() && end.chars().all(|character| character.is_ascii_digit())
        };
        let is_range = one.split("..").all(is_end);
        return is_range.then(|| vec!["*".to_owned()]);
    }
    let mut words = Vec::new();
    for part in parts {
        let Some((before, rest)) = part.split_once('{') else {
            words.push(part);
            continue;
        };
        let (inner, after) = rest.rsplit_once('}')?;
        words.extend(brace_alternatives(inner, depth + 1)?.iter().map(|word| format!("{before}{word}{after}")));
    }
    (words.len() <= MAX_WORDS && !words.iter().any(|word| word.contains(['{', '}']))).then_some(words)
}
