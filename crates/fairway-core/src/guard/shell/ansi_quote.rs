//! Quotes with escapes: `$'…'`.

use super::analysis::ShellAnalysis;
use super::char_reader::CharReader;
use super::word_builder::WordBuilder;

/// Reads the text of `$'…'` into `build`. The reader must stand at the opening quote.
pub(super) fn parse_ansi_quote(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>, build: &mut WordBuilder) {
    reader.at += 1;
    while let Some(character) = reader.next() {
        match character {
            '\'' => return,
            '\\' => {
                let Some(escape) = reader.next() else { break };
                let decoded = match escape {
                    'n' => Some('\n'),
                    't' => Some('\t'),
                    'r' => Some('\r'),
                    'a' => Some('\u{7}'),
                    'b' => Some('\u{8}'),
                    'e' | 'E' => Some('\u{1b}'),
                    'f' => Some('\u{c}'),
                    'v' => Some('\u{b}'),
                    '\\' | '"' | '?' => Some(escape),
                    // A shell that does not know this form sees the end of the quote here.
                    '\'' => {
                        scan.note_unresolved("a quote is nested in a quote");
                        Some('\'')
                    }
                    'x' => parse_escape_number(reader, 16, 2),
                    'u' => parse_escape_number(reader, 16, 4),
                    'U' => parse_escape_number(reader, 16, 8),
                    'c' => reader.next().and_then(|character| char::from_u32(u32::from(character) & 0x1f)),
                    '0'..='7' => {
                        reader.at -= 1;
                        parse_escape_number(reader, 8, 3)
                    }
                    other => {
                        build.push('\\');
                        Some(other)
                    }
                };
                match decoded {
                    Some('\0') | None => scan.note_unresolved("a word has an invalid escape"),
                    Some(character) => build.push(character),
                }
            }
            character => build.push(character),
        }
    }
    scan.note_unresolved("a quote is not closed");
}

fn parse_escape_number(reader: &mut CharReader<'_>, radix: u32, most: usize) -> Option<char> {
    let mut value = 0_u32;
    let mut digits = 0;
    while digits < most {
        let Some(digit) = reader.peek(0).and_then(|character| character.to_digit(radix)) else { break };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        reader.at += 1;
        digits += 1;
    }
    // Bytes above ASCII are parts of characters: what they make together is not worked out.
    let is_byte = radix == 8 || most == 2;
    (digits > 0 && !(is_byte && value > 0x7f)).then(|| char::from_u32(value)).flatten()
}
