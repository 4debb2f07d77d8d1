//! Text in cells of the terminal: safe, and cut by display width.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use fairway_core::render::escape_line;

pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to one line of at most `room` columns. Escapes all control characters, because people and programs write such
/// texts.
pub(super) fn fit(text: &str, room: usize) -> String {
    // Text beyond the room is not escaped: a task's text may be long.
    let near = text.char_indices().nth(room.saturating_mul(4)).map_or(text, |(end, _)| text.get(..end).unwrap_or(text));
    cut(&escape_line(near), room, near.len() < text.len())
}

/// A safe text of at most `room` columns; an ellipsis stands for the rest, and for a rest that is already cut off.
fn cut(text: &str, room: usize, has_rest: bool) -> String {
    if width(text) <= room && !has_rest {
        return text.to_owned();
    }
    if room == 0 {
        return String::new();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if used + columns > room - 1 {
            break;
        }
        used += columns;
        kept.push(character);
    }
    kept.push('…');
    kept
}

/// Like [`fit`], and fills the line with blanks to exactly `room` columns.
pub(super) fn pad(text: &str, room: usize) -> String {
    let mut padded = fit(text, room);
    padded.extend(std::iter::repeat_n(' ', room.saturating_sub(width(&padded))));
    padded
}

/// Escapes a text and wraps it into lines of at most `room` columns. Nothing is left out.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut part, mut used) = (String::new(), 0);
        for character in escape_line(line).chars() {
            let columns = character.width().unwrap_or(0);
            if used + columns > room.max(1) {
                lines.push(std::mem::take(&mut part));
                used = 0;
            }
            used += columns;
            part.push(character);
        }
        lines.push(part);
    }
    lines
}

/// Like [`wrap`], for several lines; an empty one stays.
pub(super) fn wrap_all(lines: &[String], room: usize) -> Vec<String> {
    let parts = lines.iter().flat_map(|line| {
        let parts = wrap(line, room);
        if parts.is_empty() { vec![String::new()] } else { parts }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns_and_never_obeyed() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("x", 0), "");
        assert_eq!(fit("\u{1b}[31m\u{202e}", 40), "\\u{1b}[31m\\u{202e}");
        assert_eq!(fit("a\nb", 9), "a b");
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!(width(&fit(&"\u{1b}".repeat(10_000), 12)), 12);
    }

    #[test]
    fn wrapped_text_is_whole() {
        assert_eq!(wrap("abcdef\ng", 4), ["abcd", "ef", "g"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
    }
}
