//! What a change would do beside the files that it changes, by the paths of these files.

use super::globs;

/// A kind of consequence that a change has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    pub kind: String,
    /// The files that have it, in the order of the change.
    pub paths: Vec<String>,
}

/// The consequences of a change of these files, by rules of a kind and globs.
pub fn of<'a>(files: &[String], rules: impl Iterator<Item = (&'a str, &'a [String])>) -> Vec<Consequence> {
    let mut found: Vec<Consequence> = Vec::new();
    for (kind, globs) in rules {
        for path in files.iter().filter(|path| globs.iter().any(|glob| globs::matches(glob, path))) {
            match found.iter_mut().find(|one| one.kind == kind) {
                Some(one) if one.paths.contains(path) => {}
                Some(one) => one.paths.push(path.clone()),
                None => found.push(Consequence { kind: kind.to_owned(), paths: vec![path.clone()] }),
            }
        }
    }
    found
}
