//! Globs of `*`, `?` and `**`, and whether two of them can mean the same file.

use crate::domain::Refusal;

/// Checks a glob that a task or route may have: relative, `/` between segments, no `..`, at most 512 bytes.
/// Fails with [`Refusal::Invalid`] naming the glob.
pub fn check(glob: &str) -> Result<(), Refusal> {
    let bad = |why: &str| Err(Refusal::invalid("path", format!("'{}' {why}", glob.escape_debug())));
    if glob.is_empty() || glob.len() > 512 {
        return bad("must have 1 to 512 bytes");
    }
    if glob.chars().any(char::is_control) {
        return bad("holds a control character");
    }
    if glob.starts_with('/') || glob.split('/').any(|segment| segment == "..") {
        return bad("must be relative to the root and stay inside it");
    }
    if glob.chars().any(|character| matches!(character, '[' | ']' | '{' | '}')) {
        return bad("may use only '*', '?' and '**' as patterns");
    }
    Ok(())
}

/// A place in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// `*`: any run of characters.
    AnyRun,
    AnyChar,
    /// This character.
    Char(char),
}

/// A segment between slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of segments.
    AnyDepth,
    /// One segment of this form.
    Word(Vec<Token>),
}

fn segments(text: &str, place: fn(char) -> Token) -> Vec<Segment> {
    let is_segment = |segment: &&str| !segment.is_empty() && *segment != ".";
    text.split('/').filter(is_segment).map(|word| Segment::Word(word.chars().map(place).collect())).collect()
}

fn parse(glob: &str) -> Vec<Segment> {
    let place = |character| match character {
        '*' => Token::AnyRun,
        '?' => Token::AnyChar,
        character => Token::Char(character),
    };
    // `**` alone in a segment means more than inside one, where it is no more than `*`.
    let run = Segment::Word(vec![Token::AnyRun, Token::AnyRun]);
    segments(glob, place).into_iter().map(|segment| if segment == run { Segment::AnyDepth } else { segment }).collect()
}

fn segments_overlap(left: &[Segment], right: &[Segment]) -> bool {
    patterns_overlap(
        left,
        right,
        |segment| *segment == Segment::AnyDepth,
        |a, b| match (a, b) {
            (Segment::Word(a), Segment::Word(b)) => patterns_overlap(
                a,
                b,
                |place| *place == Token::AnyRun,
                |x, y| x == y || *x == Token::AnyChar || *y == Token::AnyChar,
            ),
            _ => true,
        },
    )
}

/// Whether there is a path that both globs match. The answer is exact.
pub fn overlap(left: &str, right: &str) -> bool {
    segments_overlap(&parse(left), &parse(right))
}

/// Whether a glob matches this path; a `*` in the path is an ordinary character.
pub fn matches(glob: &str, path: &str) -> bool {
    segments_overlap(&parse(glob), &segments(path, Token::Char))
}

/// Whether two patterns over any alphabet can match the same word. `many` recognizes the wildcard for any run, `same` tells
/// whether two single items can be equal. The cost is the product of the lengths: one row of a table for each item of `left`.
fn patterns_overlap<T>(left: &[T], right: &[T], many: impl Fn(&T) -> bool, same: impl Fn(&T, &T) -> bool) -> bool {
    // reach[j]: what stands before this item of `left` can mean what the first j items of `right` mean.
    let mut reach = vec![false; right.len() + 1];
    for (j, cell) in reach.iter_mut().enumerate() {
        *cell = right.iter().take(j).all(&many);
    }
    for item in left {
        let mut next = vec![false; right.len() + 1];
        for j in 0..=right.len() {
            let before = |row: &[bool], at: usize| row.get(at).copied().unwrap_or(false);
            let other = j.checked_sub(1).and_then(|at| right.get(at).map(|other| (at, other)));
            let met = if many(item) {
                // The run is empty, or takes one more of the other side.
                before(&reach, j) || other.is_some_and(|(at, _)| before(&next, at))
            } else {
                match other {
                    None => false,
                    Some((at, other)) if many(other) => before(&next, at) || before(&reach, j),
                    Some((at, other)) => before(&reach, at) && same(item, other),
                }
            };
            if let Some(cell) = next.get_mut(j) {
                *cell = met;
            }
        }
        reach = next;
    }
    reach.last().copied().unwrap_or(false)
}

/// The first glob of `left` that overlaps a glob of `right`, together with the first such glob of `right`.
pub fn first_overlap<'a>(left: &'a [String], right: &'a [String]) -> Option<(&'a str, &'a str)> {
    left.iter().find_map(|a| right.iter().find(|b| overlap(a, b)).map(|b| (a.as_str(), b.as_str())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pairs_that_meet_and_pairs_that_do_not() {
        for (a, b) in [
            ("src/**", "src/store/tasks.rs"),
            ("src/*.rs", "src/main.?s"),
            ("**/mod.rs", "src/**"),
            ("**", "a"),
            ("a*c", "ab*"),
            ("src/**/x", "src/x"),
            ("./src/a", "src//a"),
            ("docs/**", "docs"),
        ] {
            assert!(overlap(a, b) && overlap(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("src/*", "src/store/tasks.rs"),
            ("src/**", "tests/**"),
            ("a?", "a"),
            ("*.rs", "*.md"),
            ("src/a*", "src/b*"),
            ("**/x/y", "x/z"),
        ] {
            assert!(!overlap(a, b) && !overlap(b, a), "{a} {b}");
        }
    }

    #[test]
    fn unsupported_glob_is_refused() {
        for bad in ["", "/etc/passwd", "../x", "a/../b", "a[bc]", "{a,b}", "a\nb"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        check("src/**/*.rs").unwrap();
    }

    /// Slow and plain: does the glob mean this very path?
    fn means(glob: &[&str], path: &[&str]) -> bool {
        fn word(glob: &[u8], text: &[u8]) -> bool {
            match (glob.split_first(), text.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) => {
                    word(rest, text) || text.split_first().is_some_and(|(_, tail)| word(glob, tail))
                }
                (Some((first, rest)), Some((character, tail))) => {
                    (*first == b'?' || first == character) && word(rest, tail)
                }
                _ => false,
            }
        }
        match (glob.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                means(rest, path) || path.split_first().is_some_and(|(_, tail)| means(glob, tail))
            }
            (Some((first, rest)), Some((segment, tail))) => {
                word(first.as_bytes(), segment.as_bytes()) && means(rest, tail)
            }
            _ => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// A path that both globs mean proves an overlap.
        #[test]
        fn common_path_is_an_overlap(
            a in "(([ab*?]{1,3}|\\*\\*)/){0,3}([ab*?]{1,3}|\\*\\*)",
            b in "(([ab*?]{1,3}|\\*\\*)/){0,3}([ab*?]{1,3}|\\*\\*)",
            path in "([ab]{1,3}/){0,3}[ab]{1,3}",
        ) {
            let (ga, gb, p): (Vec<_>, Vec<_>, Vec<_>) = (a.split('/').collect(), b.split('/').collect(), path.split('/').collect());
            let both = means(&ga, &p) && means(&gb, &p);
            prop_assert!(!both || overlap(&a, &b), "{a} {b} {path}");
            prop_assert_eq!(matches(&a, &path), means(&ga, &p), "{} {}", a, path);
        }
    }
}
