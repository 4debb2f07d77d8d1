//! The visible text of a program's output: without the sequences that move the cursor, colour text or set titles.

/// The visible text of a program's output, line by line. Where the program overwrote a line after a carriage return, only the
/// last version stays.
pub fn visible_text(output: &str) -> String {
    let plain = strip_escapes(output);
    let line = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or(line).trim_end().to_owned()
    };
    plain.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Removes escape sequences and control characters; line ends and tabs stay. A backspace removes the character before it on the
/// line.
pub fn strip_escapes(output: &str) -> String {
    let mut chars = output.chars();
    let mut plain = String::with_capacity(output.len());
    while let Some(character) = chars.next() {
        match character {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_csi(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // Character sets and the like have one more.
                Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => drop(chars.next()),
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{8}' => {
                if !plain.ends_with('\n') {
                    plain.pop();
                }
            }
            '\n' | '\t' | '\r' => plain.push(character),
            character if character.is_control() => {}
            character => plain.push(character),
        }
    }
    plain
}

fn skip_csi(chars: &mut impl Iterator<Item = char>) {
    let _ = chars.find(|character| ('\u{40}'..='\u{7e}').contains(character));
}

/// Skips up to BEL, or to ESC and the character after it.
fn skip_string(chars: &mut impl Iterator<Item = char>) {
    while let Some(character) = chars.next() {
        if character == '\u{7}' || character == '\u{9c}' {
            return;
        }
        if character == '\u{1b}' {
            chars.next();
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripping_leaves_the_words_alone() {
        for (output, plain) in [
            ("plain\n text\n", "plain\n text\n"),
            ("\u{1b}[1;31mred\u{1b}[0m\u{1b}(B\r\nnext\r\n", "red\nnext\n"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b", "ab"),
            ("10%\r50%\r100%\r\ndone", "100%\ndone"),
            ("ab\u{8}c\n\u{8}d", "ac\nd"),
            ("\u{1b}[?25l\u{1b}7❯ é\u{0}\u{7}", "❯ é"),
            ("cut off \u{1b}[3", "cut off"),
            ("cut off \u{1b}]0;ti", "cut off"),
            ("cut off\u{1b}", "cut off"),
        ] {
            assert_eq!(visible_text(output), plain, "{output:?}");
        }
    }
}
