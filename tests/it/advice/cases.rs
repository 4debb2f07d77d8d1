//! The refusals whose hints are followed, and the hints that are not, as `cases.toml` has them. It is read when the test runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Advice {
    /// Lines that make the world.
    pub(super) world: Vec<String>,
    /// Lines that make items of its board.
    pub(super) board: Vec<String>,
    pub(super) cases: Vec<Case>,
    /// Purposes of hints that no case makes appear, by the reason.
    pub(super) not_followed: BTreeMap<String, Vec<String>>,
}

/// A refused command in a state that lines make.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(default)]
    pub(super) before: Vec<String>,
    pub(super) refused: String,
    /// Values for words in capitals of the hint.
    #[serde(default)]
    pub(super) fill: BTreeMap<String, String>,
    /// The refused command works once the hint was followed.
    #[serde(default)]
    pub(super) mended: bool,
    /// The followed command ends with a code of its own, such as that of a merge with conflicts.
    #[serde(default)]
    pub(super) may_fail: bool,
}

pub(super) fn read() -> Advice {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/advice/cases.toml");
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
