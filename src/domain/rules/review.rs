//! Rules of reviews: whether more work may be claimed while reviews are open, and what a change would do beside the files that it
//! changes.

use std::collections::BTreeMap;

use crate::domain::Refusal;
use crate::domain::review::OpenReview;
use crate::domain::rules::globs;
use crate::domain::task::Task;
/// The numbers of open reviews at which no fresh work is claimed.
#[derive(Debug, Clone, Copy)]
pub struct Capacity<'a> {
    /// Of all work; 0: there is no limit.
    pub all: u32,
    /// Of the work of a role; 0: there is no limit.
    pub per_role: &'a BTreeMap<String, u32>,
}

impl Capacity<'_> {
    pub fn is_limited(&self) -> bool {
        self.all > 0 || self.per_role.values().any(|limit| *limit > 0)
    }

    /// Checks that a task may be claimed afresh while these reviews are open: their number, and the number of those for the
    /// task's role, must be below its limit.
    /// Fails with `review_full`.
    pub fn check(&self, task: &Task, open: &[OpenReview]) -> Result<(), Refusal> {
        let role = task.fields.role.as_ref();
        let of_role = role.and_then(|role| self.per_role.get(role.as_str()).map(|limit| (Some(role.clone()), *limit)));
        let limits = std::iter::once((None, self.all)).chain(of_role);
        for (role, limit) in limits.filter(|(_, limit)| *limit > 0) {
            let counted = open.iter().filter(|one| role.is_none() || one.role == role);
            let waiting: Vec<OpenReview> = counted.cloned().collect();
            if waiting.len() >= usize::try_from(limit).unwrap_or(usize::MAX) {
                return Err(Refusal::ReviewFull { role, limit, waiting });
            }
        }
        Ok(())
    }
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
    use crate::domain::task::{TaskFields, TaskState};
    use crate::domain::{Role, TaskId, review};
    use crate::env::Timestamp;

    fn task(role: Option<&str>) -> Task {
        let role = role.map(|role| Role::parse(role).unwrap());
        let at = Timestamp::from_millis(0);
        Task {
            id: TaskId::parse("T-9").unwrap(),
            fields: TaskFields { role, ..TaskFields::with_title("t".into()) },
            state: TaskState::Todo,
            epoch: 0,
            open_deps: 0,
            branch: None,
            commit: None,
            created_at: at,
            updated_at: at,
        }
    }

    fn open(number: usize, role: &str, reviewers: &[&str]) -> OpenReview {
        OpenReview {
            task: TaskId::parse(&format!("T-{number}")).unwrap(),
            role: Role::parse(role).ok(),
            waits_for: reviewers.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn fresh_work_is_refused_from_the_limit_of_all_or_of_its_role() {
        let reviews = [open(1, "dev", &["rosa"]), open(2, "qa", &[])];
        let per_role: BTreeMap<String, u32> = [("dev".to_owned(), 1), ("ops".to_owned(), 0)].into();
        let (none, is_refused) = (BTreeMap::new(), |all, per_role, role| {
            let capacity = Capacity { all, per_role };
            capacity.check(&task(role), &reviews).is_err()
        });
        for (all, refused) in [(0, false), (1, true), (2, true), (3, false)] {
            assert_eq!(is_refused(all, &none, Some("dev")), refused, "{all}");
        }
        for (role, refused) in [(Some("dev"), true), (Some("qa"), false), (Some("ops"), false), (None, false)] {
            assert_eq!(is_refused(0, &per_role, role), refused, "{role:?}");
        }
        assert_eq!(review::summary(&reviews), "T-1 (for rosa), T-2");
        let many: Vec<OpenReview> = (1..=7).map(|number| open(number, "dev", &[])).collect();
        assert!(review::summary(&many).ends_with("T-5 and 2 more"));
    }
}
