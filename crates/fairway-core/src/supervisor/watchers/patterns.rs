//! Compiles watchers' regular expressions: few, short, and matched in time that grows only with the line's length.

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

use crate::domain::Refusal;
use crate::domain::job_output::{MAX_REGEX_BYTES, MAX_WATCHERS, Watcher};

/// The largest size of a compiled expression, and of its cache while it matches, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Compiles the regular expressions of all watchers, in order.
///
/// # Errors
/// [`Refusal::Usage`] when there are too many watchers, or naming the watcher, counted from 1, and what is wrong with it.
pub(super) fn compile_all<'a>(watchers: impl ExactSizeIterator<Item = &'a Watcher>) -> Result<Vec<Regex>, Refusal> {
    if watchers.len() > MAX_WATCHERS {
        let why = format!("{} watchers are too many: a job has at most {MAX_WATCHERS}", watchers.len());
        return Err(Refusal::Usage { why });
    }
    watchers.enumerate().map(|(place, watcher)| compile_one(place + 1, &watcher.regex)).collect()
}

fn compile_one(number: usize, text: &str) -> Result<Regex, Refusal> {
    let shown: String = text.chars().take(MAX_REGEX_BYTES).filter(|character| !character.is_control()).collect();
    let usage = |why: String| Refusal::Usage { why: format!("watcher {number}, '{shown}': {why}") };
    if text.is_empty() {
        return Err(usage("the expression must not be empty".into()));
    }
    if text.len() > MAX_REGEX_BYTES {
        return Err(usage(format!("the expression has {} bytes; at most {MAX_REGEX_BYTES} are taken", text.len())));
    }
    let built = RegexBuilder::new(text).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).build();
    let regex = built.map_err(|error| {
        match error {
            regex::Error::CompiledTooBig(_) => usage("the expression is too large: count or repeat less".into()),
            // The last line of the message says what is wrong; the lines before it show where.
            error => {
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim();
                usage(why.strip_prefix("error: ").unwrap_or(why).to_owned())
            }
        }
    })?;
    if regex_syntax::parse(text).is_ok_and(|parsed| requires_newline(&parsed)) {
        return Err(usage("the expression must match a newline, but each line is searched alone".into()));
    }
    Ok(regex)
}

/// Whether every text that an expression matches has a newline in it.
fn requires_newline(expression: &Hir) -> bool {
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(class) => class.literal().is_some_and(|only| only == b"\n"),
        HirKind::Repetition(repeated) => repeated.min > 0 && requires_newline(&repeated.sub),
        HirKind::Capture(group) => requires_newline(&group.sub),
        HirKind::Concat(parts) => parts.iter().any(requires_newline),
        HirKind::Alternation(branches) => branches.iter().all(requires_newline),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Label;
    use crate::domain::job_output::WatchScope;

    fn watcher(regex: &str) -> Watcher {
        Watcher { regex: regex.into(), event: Label::parse("e").unwrap(), once: false, scope: WatchScope::Both }
    }

    #[test]
    fn refusal_names_the_watcher_and_the_reason() {
        for (regex, says) in [
            ("(", "watcher 2, '(': unclosed group"),
            ("", "must not be empty"),
            (&"x".repeat(257), "257 bytes; at most 256"),
            (r"\w{1000}\w{1000}", "too large"),
            ("a{2,1}", "invalid repetition"),
            (r"(a)\1", "backreferences are not supported"),
            (r"foo\nbar", "must match a newline"),
            ("error:\n", "must match a newline"),
            (r"(a|b)(?:[\n])+c", "must match a newline"),
            (r"a\n|\nb", "must match a newline"),
        ] {
            let error = compile_all([watcher("fine"), watcher(regex)].iter()).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("watcher 2"), "{error}");
        }
        // An expression that can also match without a newline is accepted.
        for regex in [r"foo\n?bar", r"a\n|b", r"[\n ]x", r"\s+x", r"(?m)^a$", r"[^a]"] {
            assert!(compile_all([watcher(regex)].iter()).is_ok(), "{regex}");
        }
        let many: Vec<Watcher> = (0..17).map(|_| watcher("x")).collect();
        assert!(compile_all(many[..16].iter()).is_ok());
        assert!(compile_all(many.iter()).unwrap_err().to_string().contains("at most 16"));
    }
}
