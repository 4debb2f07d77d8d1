//! Rules of reviews: whether more work may be claimed while reviews are open, and what a change would do beside the files that it
//! changes.

use crate::domain::Refusal;
use crate::domain::review::OpenReview;
use crate::domain::rules::globs;

/// Checks that a task may be claimed afresh while these reviews are open: their number must be below the limit; 0 is no limit.
/// Fails with `review_full`.
pub fn check_capacity(limit: u32, open: &[OpenReview]) -> Result<(), Refusal> {
    if limit == 0 || open.len() < usize::try_from(limit).unwrap_or(usize::MAX) {
        return Ok(());
    }
    Err(Refusal::ReviewFull { limit, waiting: open.to_vec() })
}

/// A kind of consequence that a change has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consequence {
    pub kind: String,
    /// The files that have it, in the order of the change.
    pub paths: Vec<String>,
}

/// Groups the changed files by the kinds of their consequences. Each rule is a kind with the globs of its files.
pub fn consequences<'a>(files: &[String], rules: impl Iterator<Item = (&'a str, &'a [String])>) -> Vec<Consequence> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{TaskId, review};

    #[test]
    fn fresh_work_is_refused_from_the_limit_on() {
        let open = |number: usize, reviewers: &[&str]| OpenReview {
            task: TaskId::parse(&format!("T-{number}")).unwrap(),
            waits_for: reviewers.iter().map(|name| (*name).to_owned()).collect(),
        };
        let reviews = [open(1, &["rosa"]), open(2, &[])];
        for (limit, refused) in [(0, false), (1, true), (2, true), (3, false)] {
            assert_eq!(check_capacity(limit, &reviews).is_err(), refused, "{limit}");
        }
        assert_eq!(review::summary(&reviews), "T-1 (for rosa), T-2");
        let many: Vec<OpenReview> = (1..=7).map(|number| open(number, &[])).collect();
        assert!(review::summary(&many).ends_with("T-5 and 2 more"));
    }
}
