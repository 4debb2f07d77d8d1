//! The commit of a branch at an earlier time, by its reflog.

use super::command::{Git, GitError, QUERY_TIMEOUT};

/// A reflog's answer about a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlierCommit {
    /// The commit at that time.
    At(String),
    /// The reflog begins later, at this time in seconds since 1970.
    Before(i64),
    /// There is no reflog.
    NoReflog,
}

impl Git<'_> {
    /// The commit of a branch, or of `HEAD`, at a time in seconds since 1970, by its reflog. A commit of the same second
    /// counts as earlier.
    pub fn commit_at(&self, reference: &str, at: i64) -> Result<EarlierCommit, GitError> {
        let args = ["log", "--walk-reflogs", "--format=%H %gd", "--date=unix", "--end-of-options", reference, "--"];
        let text = self.run_checked("log --walk-reflogs", &args, QUERY_TIMEOUT)?;
        Ok(entry_at(&text, at))
    }
}

/// The entry for a time in the lines `COMMIT NAME@{SECONDS}`, newest first.
fn entry_at(text: &str, at: i64) -> EarlierCommit {
    let mut begins = None;
    for line in text.lines() {
        let entry = line.split_once(' ').and_then(|(commit, selector)| {
            let seconds = selector.rsplit_once("@{")?.1.strip_suffix('}')?.parse::<i64>().ok()?;
            Some((commit, seconds))
        });
        let Some((commit, seconds)) = entry else { continue };
        if seconds <= at {
            return EarlierCommit::At(commit.to_owned());
        }
        begins = Some(seconds);
    }
    begins.map_or(EarlierCommit::NoReflog, EarlierCommit::Before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_entry_that_is_not_later_counts() {
        let text = "c3 lane/ui@{300}\nc2 lane/ui@{200}\nnoise\nc1 lane/ui@{100}\n";
        for (at, want) in [
            (400, EarlierCommit::At("c3".into())),
            (300, EarlierCommit::At("c3".into())),
            (299, EarlierCommit::At("c2".into())),
            (100, EarlierCommit::At("c1".into())),
            (99, EarlierCommit::Before(100)),
        ] {
            assert_eq!(entry_at(text, at), want, "{at}");
        }
        assert_eq!(entry_at("", 1), EarlierCommit::NoReflog);
    }
}
