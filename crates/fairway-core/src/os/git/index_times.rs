//! Files whose filter is off, judged by the times that the index has of them. Git compares the content of a file that is as young
//! as the index, and without the filter that content differs from the one in the index.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

use super::command::{Git, GitError, QUERY_TIMEOUT, succeeded};
use super::scratch::git_path;

/// How many paths one call of git gets as arguments.
const MAX_PATHS: usize = 500;

/// How many lines `ls-files --debug` has for an entry, behind its name.
const DEBUG_LINES: usize = 5;

/// The bits of a number that an index keeps.
const KEPT_BITS: u64 = 0xffff_ffff;

/// The bit of a mode that lets the owner run a file.
const OWNER_EXECUTES: u32 = 0o100;

/// The facts that the index records about a file: seconds and nanoseconds of its change and its modification, inode, owner,
/// group and size.
type Recorded = [u64; 8];

impl Git<'_> {
    /// Those of `paths`, relative to the top of the worktree, that have a filter which the repository's configuration names and
    /// which Fairway therefore does not run.
    pub fn with_filter_off(&self, paths: &[&str]) -> Result<BTreeSet<String>, GitError> {
        let drivers = if paths.is_empty() { BTreeSet::new() } else { self.filters_that_are_off()? };
        if drivers.is_empty() {
            return Ok(BTreeSet::new());
        }
        let top = self.top()?;
        let listed: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let args = ["check-attr", "-z", "--stdin", "filter"];
        let done = succeeded("check-attr", Git::new(self.vars(), &top).run_with(&args, &[], &listed, QUERY_TIMEOUT)?)?;
        let text = String::from_utf8_lossy(&done.stdout);
        let mut fields = text.split_terminator('\0');
        let mut found = BTreeSet::new();
        while let (Some(path), Some(_), Some(driver)) = (fields.next(), fields.next(), fields.next()) {
            if drivers.contains(driver) {
                found.insert(path.to_owned());
            }
        }
        Ok(found)
    }

    /// Those of `paths`, which git reports as changed, that have not changed since the index was written: their filter is off,
    /// and the file has the times, the size, the inode and the owner that the index records and is not younger than the index.
    pub(super) fn unchanged_by_times(&self, paths: &[&str]) -> Result<BTreeSet<String>, GitError> {
        let mut unchanged = self.with_filter_off(paths)?;
        if unchanged.is_empty() {
            return Ok(unchanged);
        }
        let top = self.top()?;
        // The worktree's own index, also where a copy of it is asked: writing a copy drops the sizes of young files.
        let git = Git::new(self.vars(), &top);
        let index = fs::metadata(git_path(&git, "index")?).ok();
        let mut known = BTreeSet::new();
        let wanted: Vec<String> = unchanged.iter().map(|path| format!(":(top,literal){path}")).collect();
        for some in wanted.chunks(MAX_PATHS) {
            let mut args = vec!["ls-files", "-z", "--stage", "--debug", "--"];
            args.extend(some.iter().map(String::as_str));
            let done = succeeded("ls-files", git.run(&args, QUERY_TIMEOUT)?)?;
            for (path, may_execute, recorded) in parse(&String::from_utf8_lossy(&done.stdout)) {
                let file = top.join(&path).symlink_metadata().ok();
                if let (Some(file), Some(index)) = (file, &index)
                    && is_as_recorded(&file, may_execute, &recorded)
                    // A checkout writes file and index in one tick of the clock, in which no other writer keeps size and inode.
                    && modified(&file) <= modified(index)
                {
                    known.insert(path);
                }
            }
        }
        unchanged.retain(|path| known.contains(path));
        Ok(unchanged)
    }
}

fn modified(file: &Metadata) -> (i64, i64) {
    (file.mtime(), file.mtime_nsec())
}

fn is_as_recorded(file: &Metadata, may_execute: bool, recorded: &Recorded) -> bool {
    let times = [file.ctime(), file.ctime_nsec(), file.mtime(), file.mtime_nsec()].map(i64::cast_unsigned);
    let others = [file.ino(), u64::from(file.uid()), u64::from(file.gid()), file.size()];
    let found = times.into_iter().chain(others).map(|number| number & KEPT_BITS);
    file.is_file() && (file.mode() & OWNER_EXECUTES != 0) == may_execute && found.eq(recorded.iter().copied())
}

/// Reads `MODE BLOB STAGE TAB PATH NUL`, each followed by five lines of numbers. Unmerged entries are left out.
fn parse(listed: &str) -> Vec<(String, bool, Recorded)> {
    let mut entries = Vec::new();
    let mut chunks = listed.split('\0');
    let mut header = chunks.next().unwrap_or_default();
    for chunk in chunks {
        let mut lines = chunk.splitn(DEBUG_LINES + 1, '\n');
        let numbers: Vec<u64> = lines.by_ref().take(DEBUG_LINES).flat_map(numbers).collect();
        // `dev` differs between mounts of one file system, as git knows. `flags` come last.
        if let ([ctime, ctime_ns, mtime, mtime_ns, _, inode, uid, gid, size, ..], Some((facts, path))) =
            (&numbers[..], header.split_once('\t'))
            && facts.ends_with(" 0")
        {
            let recorded = [*ctime, *ctime_ns, *mtime, *mtime_ns, *inode, *uid, *gid, *size];
            entries.push((path.to_owned(), facts.starts_with("100755 "), recorded));
        }
        header = lines.next().unwrap_or_default();
    }
    entries
}

/// The numbers of a line such as `  ctime: 12:34`.
fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.split([' ', '\t', ':']).filter_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_the_index_are_read_with_their_numbers() {
        let debug = "  ctime: 1:2\n  mtime: 3:4\n  dev: 5\tino: 6\n  uid: 7\tgid: 8\n  size: 9\tflags: 0\n";
        let listed = format!("100644 aa 0\ta\nb\0{debug}100755 bb 0\tc\0{debug}100644 cc 2\td\0{debug}");
        let expected = [("a\nb".to_owned(), false), ("c".to_owned(), true)];
        let parsed = parse(&listed);
        assert_eq!(parsed.iter().map(|(path, mode, _)| (path.clone(), *mode)).collect::<Vec<_>>(), expected);
        assert!(parsed.iter().all(|(.., recorded)| *recorded == [1, 2, 3, 4, 6, 7, 8, 9]));
        assert!(parse("100644 aa 0\tcut\0  ctime: 1:2\n").is_empty());
    }
}
