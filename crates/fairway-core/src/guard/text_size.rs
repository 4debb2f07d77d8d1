//! The size and nesting of a shell text, measured before it is parsed.

/// How many more opening than closing parentheses a text has; 0 when it has fewer. Parentheses in quotes count too.
pub(super) fn count_unclosed_parentheses(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'(').count().saturating_sub(text.bytes().filter(|byte| *byte == b')').count())
}

/// The largest depth to which the parentheses of a text may be nested: the larger of two counts. One counts every parenthesis.
/// The other ignores closing parentheses in quotes, and at the end of a quotation forgets those that were opened in it. So
/// several groups side by side in quotes count as nested.
///
/// The parser tries to read each parenthesis in several ways. When the text after it does not parse, each further level doubles
/// the parser's time.
pub(super) fn parenthesis_depth(text: &str) -> usize {
    let (mut deepest, mut all, mut unquoted, mut quote) = (0, 0_usize, 0_usize, None);
    for byte in text.bytes() {
        match (byte, quote) {
            (b'(', _) => {
                all += 1;
                unquoted += 1;
            }
            (b')', None) => {
                all = all.saturating_sub(1);
                unquoted = unquoted.saturating_sub(1);
            }
            (b')', Some(_)) => all = all.saturating_sub(1),
            (b'\'' | b'"', None) => quote = Some((byte, unquoted)),
            // A parenthesis that is opened in quotes adds no depth after the closing quote.
            (byte, Some((open, before))) if byte == open => {
                unquoted = before;
                quote = None;
            }
            _ => {}
        }
        deepest = deepest.max(all).max(unquoted);
    }
    deepest
}

/// The nesting depth of `case … in`. A `case` without `esac` counts as open to the end of the text.
pub(super) fn case_depth(text: &str) -> usize {
    let (mut deepest, mut depth) = (0, 0_usize);
    let mut words = text.split(|character: char| character.is_whitespace() || matches!(character, ';' | '(' | '{'));
    let mut before = ["", ""];
    for word in words.by_ref().filter(|word| !word.is_empty()) {
        match (before, word) {
            (["case", _], "in") => depth += 1,
            (_, word) if word.starts_with("esac") => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        before = [before[1], word];
    }
    deepest
}

/// The steps of parsing a command, besides reading it.
const OPERATOR_STEPS: usize = 6;

/// The steps that parsing a text costs beyond reading it once.
///
/// The parser reads the last branch of a `case` twice. Two opening parentheses in a row are tried as arithmetic first, up to the
/// next semicolon; each parenthesis that is opened before the semicolon and not closed there is tried in two ways, so that the
/// work doubles with it. A word is tried as an assignment to an element of an array, from each of its brackets on.
pub(super) fn parse_steps(text: &str) -> usize {
    let cases = text.len().saturating_mul((1 << case_depth(text).min(20)) - 1);
    let bytes = text.as_bytes();
    let mut tried = 0_usize;
    let mut is_open = false;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'(' && is_open {
            tried = tried.saturating_add(arithmetic_steps(bytes.get(at..).unwrap_or_default()));
        }
        is_open = *byte == b'(' || is_open && byte.is_ascii_whitespace();
    }
    let elements =
        text.split_ascii_whitespace().map(|word| word.bytes().filter(|byte| *byte == b'[').count() * word.len() / 4);
    let commands = OPERATOR_STEPS * bytes.iter().filter(|byte| matches!(byte, b';' | b'|' | b'&')).count();
    commands.saturating_add(cases).saturating_add(tried).saturating_add(elements.sum())
}

/// The work of reading arithmetic up to where it cannot go on.
fn arithmetic_steps(text: &[u8]) -> usize {
    let end = text.iter().position(|byte| *byte == b';').unwrap_or(text.len());
    let mut open = 0_u32;
    for byte in text.get(..end).unwrap_or_default() {
        match byte {
            b'(' => open += 1,
            b')' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    (end / 4).saturating_mul(1 << open.min(20))
}

/// The number of opening delimiters and keywords: an upper bound of the nesting depth.
pub(super) fn count_delimiters(text: &str) -> usize {
    let chars = text.chars().filter(|character| matches!(character, '(' | '{' | '[' | '`' | '!' | '<')).count();
    let is_opening = |word: &&str| {
        matches!(
            *word,
            "if" | "for"
                | "coproc"
                | "while"
                | "until"
                | "case"
                | "select"
                | "do"
                | "then"
                | "else"
                | "function"
                | "time"
        )
    };
    chars + text.split(|character: char| !character.is_ascii_alphanumeric()).filter(is_opening).count()
}
