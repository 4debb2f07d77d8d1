//! Symbolic links of a commit that lead out of its tree.

use std::path::{Component, Path};

use super::command::{Git, GitError, QUERY_TIMEOUT};

/// The mode of a symbolic link.
const LINK: &str = "120000";
/// How many targets are read. Of more, each counts as one that leads out.
const MAX_READ: usize = 100;

impl Git<'_> {
    /// The paths of the links that `to` has and `from` has not, or with another target, and that lead out of the tree.
    pub fn new_links_out(&self, from: &str, to: &str) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        for (at, (path, blob)) in self.new_entries(LINK, from, to)?.into_iter().enumerate() {
            let is_out = at >= MAX_READ
                || leads_out(&path, &self.run_checked("cat-file", &["cat-file", "blob", &blob], QUERY_TIMEOUT)?);
            found.extend(is_out.then_some(path));
        }
        Ok(found)
    }
}

fn leads_out(path: &str, target: &str) -> bool {
    let mut depth = path.matches('/').count();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::leads_out;

    #[test]
    fn link_leads_out_by_its_beginning_or_too_many_parents() {
        for (path, target) in [("a", "/etc"), ("a", ".."), ("d/a", "../../x"), ("d/a", "b/../../../x")] {
            assert!(leads_out(path, target), "{path} {target}");
        }
        for (path, target) in [("a", "b"), ("d/a", "../x"), ("d/a", "./b/../../x"), ("a", "")] {
            assert!(!leads_out(path, target), "{path} {target}");
        }
    }
}
