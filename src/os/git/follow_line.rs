//! A line of a commit, and where it is in another one.

use std::time::Duration;

use super::command::{Git, GitError};
use crate::os::exit_reason::ExitReason;

/// The time limit of a comparison.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Git<'_> {
    /// The text of a line of a file of a commit, from 1; `None` when the commit has no such file or the file no such line. Bytes
    /// that are not UTF-8 are replaced.
    pub fn line_at(&self, commit: &str, path: &str, line: u64) -> Result<Option<String>, GitError> {
        let done = self.run(&["cat-file", "blob", &format!("{commit}:{path}")], TIMEOUT)?;
        if done.exit != ExitReason::Code(0) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&done.stdout);
        let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        Ok(text.lines().nth(place).map(str::to_owned))
    }

    /// Where a line of a commit is in another commit, also in a renamed file; `None` when it was changed or removed.
    pub fn follow_line(
        &self,
        (from, path, line): (&str, &str, u64),
        to: &str,
    ) -> Result<Option<(String, u64)>, GitError> {
        let all = self.files_between(from, to, &[])?;
        let Some(file) =
            all.iter().find(|file| file.old_path.as_deref().unwrap_or(&file.path) == path && file.letter != 'A')
        else {
            return Ok(Some((path.to_owned(), line)));
        };
        if file.letter == 'D' || file.added.is_none() {
            return Ok(None);
        }
        let paths = [path.to_owned(), file.path.clone()];
        let patch = self.compare(&["-p", "-U0"], from, to, &paths)?;
        let patch = String::from_utf8_lossy(&patch);
        Ok(shifted(&patch, line).map(|line| (file.path.clone(), line)))
    }
}

/// The number of an unchanged line after the changes of a patch without context; `None` for a changed line.
fn shifted(patch: &str, line: u64) -> Option<u64> {
    let (mut before, mut after) = (0, 0);
    for (start, old, new) in patch.lines().filter_map(hunk) {
        // A hunk that only adds stands behind the line that it names.
        let first = if old == 0 { start + 1 } else { start };
        if line >= first && line < first + old {
            return None;
        }
        if line < first {
            break;
        }
        (before, after) = (before + old, after + new);
    }
    (line + after).checked_sub(before)
}

/// `@@ -START,COUNT +START,COUNT @@`: the older start and both counts.
fn hunk(line: &str) -> Option<(u64, u64, u64)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |side: &str| -> Option<(u64, u64)> {
        let (start, count) = side.split_once(',').unwrap_or((side, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((start, old), (_, new)) = (pair(old)?, pair(new)?);
    Some((start, old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_moves_with_the_changes_before_it_and_is_gone_within_one() {
        let patch = "@@ -0,0 +1,2 @@\n+a\n+b\n@@ -3 +5 @@\n-c\n+d\n@@ -5,2 +6,0 @@\n-e\n-f\n@@ -8,0 +8 @@\n+g\n";
        let lines: Vec<Option<u64>> = (1..=9).map(|line| shifted(patch, line)).collect();
        assert_eq!(lines, [Some(3), Some(4), None, Some(6), None, None, Some(7), Some(8), Some(10)]);
        assert_eq!(shifted("", 4), Some(4));
    }
}
