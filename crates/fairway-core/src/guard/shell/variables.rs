//! Variables that a text sets plainly: once, before their use, where nothing else can set them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::arg::Arg;

/// Commands that set variables in ways that are not followed.
const OTHER_SETTERS: &[&str] = &[
    "declare", "typeset", "printf -v", "readonly", "local -", "mapfile", "readarray", "read ", "getopts", "let ",
    "unset", "eval", "source", "IFS", "${!", "((", "set --", "export $", "export \"$", "coproc", "select ", "\n. ",
    "; . ", "&& . ",
];

/// The variables of one shell.
#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    known: Rc<BTreeMap<String, Arg>>,
    /// The number of the last change.
    version: usize,
}

impl Variables {
    /// Records a value, or forgets the known one when the new one cannot be determined. `version` must be different for each
    /// change.
    pub(super) fn set(&mut self, name: &str, value: &Arg, version: usize) {
        self.version = version;
        match value.candidates() {
            Some(_) => Rc::make_mut(&mut self.known).insert(name.to_owned(), value.clone()),
            None if self.known.contains_key(name) => Rc::make_mut(&mut self.known).remove(name),
            None => None,
        };
    }

    /// The number of the last change. While it is unchanged, all values are too.
    pub(super) fn version(&self) -> usize {
        self.version
    }

    /// The number of variables with a known value. It is also the cost of a change, because that may copy all of them.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arg> {
        self.known.get(name)
    }
}

/// Whether a text sets variables only by assignments and `for` loops, which the analysis follows: no `read`, `declare`, `eval`
/// or the like.
pub(super) fn are_plain(text: &str) -> bool {
    !OTHER_SETTERS.iter().any(|sign| text.contains(sign)) && !text.starts_with(". ")
}

/// Whether exactly one place of the text sets this variable.
pub(super) fn is_set_once(text: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let sets = text.match_indices(name).filter(|(at, _)| {
        let before = text.get(..*at).unwrap_or_default();
        let after = text.get(at + name.len()..).unwrap_or_default();
        if before.ends_with(is_part) || after.starts_with(is_part) || before.ends_with(['-', '$']) {
            return false;
        }
        // `${NAME:=…}` sets it as well.
        after.starts_with(['=', '[']) || after.starts_with("+=") || after.starts_with(":=") || before.ends_with("for ")
    });
    sets.take(2).count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_with_two_assignments_is_not_set_once() {
        for text in ["A=1; B=$A", "for A in x y; do echo \"${A%.c}\" -A; done", "export A=1; echo $A $AB A_ xA"] {
            assert!(is_set_once(text, "A"), "{text}");
        }
        for text in ["A=1; A=2", "echo $A", "A=1; : ${A:=2}", "A=1; A+=2", "A=1; for A in b; do :; done"] {
            assert!(!is_set_once(text, "A"), "{text}");
        }
    }
}
