//! Words: quotes, escapes and expansions, as a shell reads them. What is substituted is handed to the scan.

use super::{
    analysis::{MAX_DEPTH, ShellAnalysis},
    arg::{Arg, Expansion},
    listing,
};

/// The most words that one word is followed into.
const MAX_WORDS: usize = 64;

/// The word that is being put together.
#[derive(Default)]
struct WordBuilder {
    head: String,
    tail: String,
    form: Option<Expansion>,
    /// Every word so far, when that is known. Nothing is kept here before the first expansion.
    words: Option<Vec<String>>,
}

impl WordBuilder {
    fn push(&mut self, character: char) {
        if self.form.is_none() {
            return self.head.push(character);
        }
        self.tail.push(character);
        self.words.iter_mut().flatten().for_each(|word| word.push(character));
    }

    fn push_str(&mut self, text: &str) {
        text.chars().for_each(|character| self.push(character));
    }

    fn push_unknown(&mut self, form: Expansion) {
        self.push_one_of(form, None);
    }

    /// An expansion that becomes one of these.
    fn push_one_of(&mut self, form: Expansion, more: Option<&[String]>) {
        let before = if self.form.is_none() { Some(vec![self.head.clone()]) } else { self.words.take() };
        self.words = match (before, more) {
            (Some(before), Some(more)) if before.len() * more.len() <= MAX_WORDS => {
                Some(before.iter().flat_map(|start| more.iter().map(move |end| format!("{start}{end}"))).collect())
            }
            _ => None,
        };
        self.form = Some(self.form.map_or(form, |known| known.max(form)));
        self.tail.clear();
    }

    /// A pattern of file names: it matches no slash, and neither `.` nor `..` unless a dot stands before it.
    fn push_pattern(&mut self) {
        let ends_in_dots = |word: &String| {
            let last = word.rsplit('/').next().unwrap_or_default();
            !last.is_empty() && last.chars().all(|character| character == '.')
        };
        let is_plain = match (&self.form, &self.words) {
            (None, _) => !ends_in_dots(&self.head),
            (Some(_), Some(words)) => !words.iter().any(ends_in_dots),
            (Some(_), None) => false,
        };
        let any = ["*".to_owned()];
        self.push_one_of(Expansion::Many, is_plain.then_some(&any));
    }

    /// The value of a variable that the text has set.
    fn push_value(&mut self, value: &Arg, is_open: bool) {
        let is_word = |text: &str| !text.is_empty() && !text.contains([' ', '\t', '\n', '*', '?', '[', '~']);
        match value {
            Arg::Known(text) if !is_open || is_word(text) => self.push_str(text),
            Arg::Known(_) => self.push_unknown(Expansion::Any),
            Arg::Unknown { form, head, words, .. } => {
                if self.form.is_none() && !is_open {
                    self.push_one_of(*form.min(&Expansion::One), words.as_deref());
                    self.head.push_str(head);
                } else {
                    self.push_one_of(if is_open { Expansion::Any } else { Expansion::One }, words.as_deref());
                }
            }
        }
    }

    fn finish(self) -> Arg {
        match self.form {
            None => Arg::Known(self.head),
            Some(form) => Arg::Unknown { head: self.head, tail: self.tail, form, words: self.words.map(Into::into) },
        }
    }
}

/// How a text is quoted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    /// Not at all.
    Open,
    /// In double quotes.
    Double,
    /// As in a here-document: quotes are characters.
    Document,
}

struct Reader<'a> {
    chars: &'a [char],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek(0)?;
        self.at += 1;
        Some(character)
    }

    fn text(&self, from: usize, to: usize) -> String {
        self.chars.get(from..to).unwrap_or_default().iter().collect()
    }
}

/// Reads a word as it is written.
pub(super) fn parse_word(scan: &mut ShellAnalysis, raw: &str) -> Arg {
    let plain = |character: char| {
        character.is_ascii_alphanumeric()
            || matches!(character, '_' | '-' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ',')
    };
    if raw.chars().all(plain) || raw == "[" || raw == "[[" || raw == "{" || raw == "}" {
        return Arg::known(raw);
    }
    let chars: Vec<char> = raw.chars().collect();
    let mut reader = Reader { chars: &chars, at: 0 };
    let mut build = WordBuilder::default();
    if chars.first() == Some(&'~') {
        // A home directory, possibly of another user.
        build.push('/');
        build.push_unknown(Expansion::One);
        reader.at = 1;
    }
    parse_into(scan, &mut reader, &mut build, Quoting::Open);
    build.finish()
}

/// Reads a text in which quotes are characters: a here-document, or arithmetic.
pub(super) fn parse_document(scan: &mut ShellAnalysis, text: &str) -> Arg {
    let chars: Vec<char> = text.chars().collect();
    let mut build = WordBuilder::default();
    parse_into(scan, &mut Reader { chars: &chars, at: 0 }, &mut build, Quoting::Document);
    build.finish()
}

fn parse_into(scan: &mut ShellAnalysis, reader: &mut Reader<'_>, build: &mut WordBuilder, quoting: Quoting) {
    while let Some(character) = reader.next() {
        match (quoting, character) {
            (Quoting::Open, '\\') => match reader.next() {
                Some('\n') => {}
                Some(character) => build.push(character),
                None => build.push('\\'),
            },
            (_, '\\') => match reader.peek(0) {
                Some('\n') => reader.at += 1,
                Some(character)
                    if matches!(character, '$' | '`' | '\\') || character == '"' && quoting == Quoting::Double =>
                {
                    reader.at += 1;
                    build.push(character);
                }
                _ => build.push('\\'),
            },
            (Quoting::Open, '\'') => {
                let from = reader.at;
                while reader.peek(0).is_some_and(|character| character != '\'') {
                    reader.at += 1;
                }
                build.push_str(&reader.text(from, reader.at));
                if reader.next().is_none() {
                    scan.note_unresolved("a quote is not closed");
                }
            }
            (Quoting::Open, '"') => {
                // An empty pair of quotes is a word too.
                parse_into(scan, reader, build, Quoting::Double);
            }
            (Quoting::Double, '"') => return,
            (_, '$') => parse_dollar(scan, reader, build, quoting),
            (_, '`') => parse_backquotes(scan, reader, build, quoting),
            (Quoting::Open, '*' | '?') => build.push_pattern(),
            (Quoting::Open, '(' | ')') => build.push_unknown(Expansion::Many),
            (Quoting::Open, '[') => {
                if reader.chars.get(reader.at..).is_some_and(|rest| rest.contains(&']')) {
                    build.push_pattern();
                } else {
                    build.push('[');
                }
            }
            (Quoting::Open, '{') => {
                let rest = reader.chars.get(reader.at..).unwrap_or_default();
                let list = rest.contains(&'}') && (rest.contains(&',') || rest.windows(2).any(|two| two == ['.', '.']));
                match brace_words(rest).filter(|_| list) {
                    Some((words, length)) => {
                        build.push_one_of(Expansion::Many, Some(&words));
                        reader.at += length;
                    }
                    None if list => build.push_unknown(Expansion::Many),
                    None => build.push('{'),
                }
            }
            (Quoting::Open, '<' | '>') if reader.peek(0) == Some('(') => {
                reader.at += 1;
                parse_substitution(scan, reader);
                build.push_str("/dev/fd/");
                build.push_unknown(Expansion::One);
            }
            (_, character) => build.push(character),
        }
    }
    if quoting == Quoting::Double {
        scan.note_unresolved("a quote is not closed");
    }
}

/// Parses the part behind a dollar sign.
fn parse_dollar(scan: &mut ShellAnalysis, reader: &mut Reader<'_>, build: &mut WordBuilder, quoting: Quoting) {
    let is_open = quoting == Quoting::Open;
    match reader.peek(0) {
        Some('(') if reader.peek(1) == Some('(') && arithmetic_end(reader).is_some() => {
            let end = arithmetic_end(reader).unwrap_or(reader.at);
            let text = reader.text(reader.at + 2, end - 2);
            scan.analyze_arithmetic(&text);
            reader.at = end;
            build.push_unknown(Expansion::One);
        }
        Some('(') => {
            reader.at += 1;
            let text = parse_substitution(scan, reader);
            let any = ["*".to_owned()];
            if is_branch(&text) && scan.trusted.git {
                build.push_str("b");
                build.push_one_of(Expansion::One, Some(&any));
            } else {
                let words = if scan.trusted.git { listing::of_text(text.trim()) } else { None };
                build.push_one_of(if is_open { Expansion::Any } else { Expansion::One }, words.as_deref());
            }
        }
        Some('[') => {
            let from = reader.at + 1;
            while reader.next().is_some_and(|character| character != ']') {}
            let text = reader.text(from, reader.at.saturating_sub(1));
            scan.analyze_arithmetic(&text);
            build.push_unknown(Expansion::One);
        }
        Some('{') => {
            reader.at += 1;
            let from = reader.at;
            brace_end(scan, reader);
            let text = reader.text(from, reader.at.saturating_sub(1));
            parse_parameter(scan, build, &text, is_open);
        }
        Some('\'') if is_open => parse_ansi_quote(scan, reader, build),
        Some('"') if is_open => {}
        Some(character) if character.is_ascii_alphabetic() || character == '_' => {
            let from = reader.at;
            while reader.peek(0).is_some_and(|character| character.is_ascii_alphanumeric() || character == '_') {
                reader.at += 1;
            }
            let name = reader.text(from, reader.at);
            parse_parameter(scan, build, &name, is_open);
        }
        Some(character)
            if character.is_ascii_digit() || matches!(character, '@' | '*' | '#' | '?' | '-' | '$' | '!') =>
        {
            reader.at += 1;
            parse_parameter(scan, build, &character.to_string(), is_open);
        }
        _ => build.push('$'),
    }
}

/// Parses a parameter; its default or pattern is analyzed too.
fn parse_parameter(scan: &mut ShellAnalysis, build: &mut WordBuilder, text: &str, is_open: bool) {
    // The number of a process or of words, an exit code.
    let is_length = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '[' | ']' | '@' | '*'))
    };
    if matches!(text, "?" | "#" | "$" | "!") || text.strip_prefix('#').is_some_and(is_length) {
        parse_embedded(scan, text);
        build.push('0');
        return;
    }
    if matches!(text, "HOME" | "PWD") && scan.trusted.home {
        let here = [".".to_owned()];
        let is_first = build.form.is_none() && build.head.is_empty();
        let is_whole = build.form.is_none() && (is_first || build.head.ends_with(['=', ':']));
        build.push_one_of(Expansion::One, if text == "PWD" && is_whole { Some(&here) } else { None });
        if is_first {
            build.head.push('/');
        }
        return;
    }
    if let Some(value) = scan.variable(text) {
        build.push_value(&value, is_open);
        return;
    }
    if let Some(words) = part_of_value(scan, text) {
        build.push_one_of(if is_open { Expansion::Any } else { Expansion::One }, Some(&words));
        return;
    }
    parse_embedded(scan, text);
    if text.contains("@P") || text.contains("@E") && text.contains('$') {
        scan.note_unresolved("an expansion executes the value of a variable");
    }
    let is_list =
        text == "@" || text.contains("[@]") || text.starts_with('@') || text.starts_with('!') && text.contains('@');
    build.push_unknown(if is_open || is_list { Expansion::Any } else { Expansion::One });
}

/// `${NAME%.txt}` and `${NAME##*/}` of a variable that holds paths below here.
fn part_of_value(scan: &ShellAnalysis, text: &str) -> Option<Vec<String>> {
    let at = text.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))?;
    let (name, operation) = text.split_at(at);
    let words = scan.variable(name)?.candidates()?;
    let any = || vec!["*".to_owned()];
    match operation {
        "##*/" => Some(any()),
        _ => {
            let pattern = operation.strip_prefix("%%").or_else(|| operation.strip_prefix('%'))?;
            let is_ending = pattern.starts_with(['.', '-', '_']) && !pattern.contains(['/', '$', '`']);
            let is_below = |word: &String| {
                word.starts_with(|character: char| character.is_ascii_alphanumeric() || character == '*')
                    && !word.contains("..")
            };
            (is_ending && words.iter().all(is_below)).then(any)
        }
    }
}

fn parse_embedded(scan: &mut ShellAnalysis, text: &str) {
    if text.contains(['$', '`', '<', '>']) {
        parse_document(scan, text);
        // Process substitution is none in a document.
        scan.analyze_substitutions(text, &["<(", ">("]);
    }
}

/// The substitution that has just begun, behind its parenthesis; answers with its text.
fn parse_substitution(scan: &mut ShellAnalysis, reader: &mut Reader<'_>) -> String {
    match scan.substitution_end(reader.chars, reader.at) {
        Some(end) => {
            let text = reader.text(reader.at, end);
            reader.at = end + 1;
            scan.analyze(&text);
            text
        }
        None => {
            scan.note_unresolved("cannot find the end of a substitution");
            reader.at = reader.chars.len();
            String::new()
        }
    }
}

fn parse_backquotes(scan: &mut ShellAnalysis, reader: &mut Reader<'_>, build: &mut WordBuilder, quoting: Quoting) {
    let mut text = String::new();
    loop {
        match reader.next() {
            Some('`') => break,
            Some('\\') => match reader.peek(0) {
                Some(character)
                    if matches!(character, '`' | '\\' | '$') || character == '"' && quoting == Quoting::Double =>
                {
                    reader.at += 1;
                    text.push(character);
                }
                _ => text.push('\\'),
            },
            Some(character) => text.push(character),
            None => {
                scan.note_unresolved("cannot find the end of a substitution");
                break;
            }
        }
    }
    scan.analyze(&text);
    build.push_unknown(if quoting == Quoting::Open { Expansion::Any } else { Expansion::One });
}

/// Where `((…))` ends, when it is arithmetic: behind the second parenthesis.
fn arithmetic_end(reader: &Reader<'_>) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, character) in reader.chars.iter().enumerate().skip(reader.at) {
        match character {
            '(' => depth += 1,
            ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 1 {
                    return (reader.chars.get(place + 1) == Some(&')')).then_some(place + 2);
                }
            }
            '\'' | '"' | '\n' | ';' => return None,
            _ => {}
        }
    }
    None
}

/// Moves behind the brace that closes a parameter.
fn brace_end(scan: &mut ShellAnalysis, reader: &mut Reader<'_>) {
    let mut depth = 1_usize;
    while let Some(character) = reader.next() {
        match character {
            '\\' => {
                reader.next();
            }
            '\'' | '"' => {
                // Inside double quotes some of them are characters: what would close the brace then is not worked out.
                let rest = reader.chars.get(reader.at..).unwrap_or_default();
                let end = rest.iter().position(|other| *other == character).unwrap_or_default();
                if rest.iter().take(end).any(|character| *character == '}') {
                    scan.note_unresolved("an expansion contains a quoted brace");
                }
            }
            '$' if reader.peek(0) == Some('{') => {
                reader.at += 1;
                depth += 1;
            }
            '$' if reader.peek(0) == Some('(') => {
                reader.at += 1;
                match scan.substitution_end(reader.chars, reader.at) {
                    Some(end) => reader.at = end + 1,
                    None => scan.note_unresolved("cannot find the end of a substitution"),
                }
            }
            '`' => while reader.next().is_some_and(|character| character != '`') {},
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
            _ => {}
        }
    }
    scan.note_unresolved("an expansion is not closed");
}

/// `$'…'`
fn parse_ansi_quote(scan: &mut ShellAnalysis, reader: &mut Reader<'_>, build: &mut WordBuilder) {
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

fn parse_escape_number(reader: &mut Reader<'_>, radix: u32, most: usize) -> Option<char> {
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

/// Whether a substitution prints the name of a branch or a commit: one word that is no option.
fn is_branch(text: &str) -> bool {
    const KNOWN: &[&str] = &[
        "git branch --show-current",
        "git rev-parse HEAD",
        "git rev-parse --abbrev-ref HEAD",
        "git rev-parse --short HEAD",
        "git symbolic-ref --short HEAD",
    ];
    !text.contains('\n') && KNOWN.contains(&text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").as_str())
}

impl ShellAnalysis {
    /// Arithmetic: subscripts may hold substitutions, and an older shell may see commands.
    pub(super) fn analyze_arithmetic(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH {
            self.note_unresolved("the shell nesting is too deep");
            return;
        }
        self.depth += 1;
        if text.contains(['$', '`', '<', '>']) {
            parse_document(self, text);
            self.analyze_substitutions(text, &["<(", ">("]);
        }
        self.analyze_maybe(text);
        self.depth -= 1;
    }
}

/// The words of a brace list, given what follows its first brace, and how long it is. `None` when it is not plain.
fn brace_words(rest: &[char]) -> Option<(Vec<String>, usize)> {
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
