//! Words: quotes, escapes and expansions, as a shell reads them. Substituted commands are passed on to the analysis.

use super::analysis::{MAX_DEPTH, ShellAnalysis};
use super::ansi_quote::parse_ansi_quote;
use super::arg::{Arg, Expansion};
use super::brace_list::brace_words;
use super::char_reader::CharReader;
use super::listing;
use super::word_builder::WordBuilder;

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

/// Reads a word with its quotes and expansions, and analyzes the commands that are substituted in it.
pub(super) fn parse_word(scan: &mut ShellAnalysis, raw: &str) -> Arg {
    let plain = |character: char| {
        character.is_ascii_alphanumeric()
            || matches!(character, '_' | '-' | '.' | '/' | ':' | '=' | '@' | '%' | '+' | ',')
    };
    if raw.chars().all(plain) || raw == "[" || raw == "[[" || raw == "{" || raw == "}" {
        return Arg::known(raw);
    }
    if !scan.spend(1 + raw.len() / 4) {
        return Arg::anything();
    }
    let chars: Vec<char> = raw.chars().collect();
    let mut reader = CharReader { chars: &chars, at: 0 };
    let mut build = WordBuilder::default();
    if chars.first() == Some(&'~') {
        // A home directory, possibly of another user.
        build.push('/');
        build.push_unknown(Expansion::One);
        reader.at = 1;
    }
    parse_into(scan, &mut reader, &mut build, Quoting::Open);
    scan.spend(build.size() / 4);
    build.finish()
}

/// Reads a text in which quotes are ordinary characters: a here-document, or arithmetic.
pub(super) fn parse_document(scan: &mut ShellAnalysis, text: &str) -> Arg {
    if !scan.spend(1 + text.len() / 4) {
        return Arg::anything();
    }
    let chars: Vec<char> = text.chars().collect();
    let mut build = WordBuilder::default();
    parse_into(scan, &mut CharReader { chars: &chars, at: 0 }, &mut build, Quoting::Document);
    build.finish()
}

fn parse_into(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>, build: &mut WordBuilder, quoting: Quoting) {
    while let Some(character) = reader.next() {
        // An expansion may copy every word that this one may become.
        let is_expansion = matches!(character, '$' | '`' | '*' | '?' | '[' | '{' | '(');
        if is_expansion && !scan.spend(1 + build.size() / 16) || scan.budget.is_spent() {
            return;
        }
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
                scan.spend(1 + reader.left() / 16);
                if reader.chars.get(reader.at..).is_some_and(|rest| rest.contains(&']')) {
                    build.push_pattern();
                } else {
                    build.push('[');
                }
            }
            (Quoting::Open, '{') => {
                scan.spend(1 + reader.left() / 4);
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
fn parse_dollar(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>, build: &mut WordBuilder, quoting: Quoting) {
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
    if text.contains(['$', '`', '<', '>']) && !scan.is_seen_before(("expansion", text)) {
        parse_document(scan, text);
        // Process substitution is none in a document.
        scan.analyze_substitutions(text, &["<(", ">("]);
    }
}

/// Reads and analyzes the substitution whose opening parenthesis was just read; returns its text.
fn parse_substitution(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>) -> String {
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

fn parse_backquotes(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>, build: &mut WordBuilder, quoting: Quoting) {
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
fn arithmetic_end(reader: &CharReader<'_>) -> Option<usize> {
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
fn brace_end(scan: &mut ShellAnalysis, reader: &mut CharReader<'_>) {
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
    /// Analyzes an arithmetic expression. Its subscripts may hold substitutions, and an older shell may read commands in it.
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
