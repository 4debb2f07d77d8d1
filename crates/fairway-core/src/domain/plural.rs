//! Nouns with a number before them, in the singular or plural.

use std::fmt::Display;

/// A number with its noun, in the plural where needed: `1 task`, `0 tasks`, `3 tasks`.
pub fn count<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let s = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// The form of a word that fits a number: `one` for 1, else `more`.
pub const fn form<'a>(number: usize, one: &'a str, more: &'a str) -> &'a str {
    if number == 1 { one } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_s() {
        assert_eq!(
            [count(0_usize, "task"), count(1_i64, "task"), count(2_u8, "task")],
            ["0 tasks", "1 task", "2 tasks"]
        );
        assert_eq!([0, 1, 2].map(|number| form(number, "waits", "wait")), ["wait", "waits", "wait"]);
    }
}
