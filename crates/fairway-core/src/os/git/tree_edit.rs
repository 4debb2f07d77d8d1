//! A tree with other files in some places, made without a worktree.

use super::command::{Git, GitError, QUERY_TIMEOUT, output_text, succeeded};

/// A file of a tree: its mode and its blob, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    pub path: String,
    entry: Option<String>,
}

impl TreeFile {
    pub const fn exists(&self) -> bool {
        self.entry.is_some()
    }

    /// The blob of a file; `None` for a link, a submodule and nothing.
    pub fn blob(&self) -> Option<&str> {
        self.file_entry().map(|(_, blob)| blob)
    }

    fn file_entry(&self) -> Option<(&str, &str)> {
        self.entry.as_ref()?.split_once(' ').filter(|(mode, _)| mode.starts_with("100"))
    }
}

impl Git<'_> {
    /// The files of a commit at these paths.
    pub fn files_at(&self, commit: &str, paths: &[String]) -> Result<Vec<TreeFile>, GitError> {
        let args = ["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--"];
        let args: Vec<&str> = args.into_iter().chain(paths.iter().map(String::as_str)).collect();
        let text = self.run_checked("ls-tree", &args, QUERY_TIMEOUT)?;
        // Each is `MODE TYPE BLOB\tPATH`.
        let entry = |line: &str, path: &str| {
            let (facts, _) = line.split_once('\t').filter(|(_, found)| *found == path)?;
            let mut facts = facts.split(' ');
            Some(format!("{} {}", facts.next()?, facts.nth(1)?))
        };
        let file = |path: &String| TreeFile {
            path: path.clone(),
            entry: text.split_terminator('\0').find_map(|line| entry(line, path)),
        };
        Ok(paths.iter().map(file).collect())
    }

    /// Writes the content of a file. It gets the mode of `over`, unless that is no file.
    pub fn write_over(&self, over: &TreeFile, content: &[u8]) -> Result<TreeFile, GitError> {
        let args = ["hash-object", "-w", "--no-filters", "--stdin"];
        let done = succeeded("hash-object", self.run_with(&args, &[], content, QUERY_TIMEOUT)?)?;
        let mode = over.file_entry().map_or("100644", |(mode, _)| mode);
        Ok(TreeFile { path: over.path.clone(), entry: Some(format!("{mode} {}", output_text(&done.stdout))) })
    }

    /// Writes a tree with these files in place of its own ones. This git's index is overwritten, so it must be one of a
    /// throw-away repository.
    pub fn tree_with(&self, tree: &str, files: &[TreeFile]) -> Result<String, GitError> {
        let gone = format!("0 {}", "0".repeat(self.tree(tree)?.len()));
        self.run_checked("read-tree", &["read-tree", tree], QUERY_TIMEOUT)?;
        let mut lines = Vec::new();
        for TreeFile { path, entry } in files {
            lines.extend_from_slice(format!("{}\t{path}\0", entry.as_deref().unwrap_or(&gone)).as_bytes());
        }
        let args = ["update-index", "-z", "--index-info"];
        succeeded("update-index", self.run_with(&args, &[], &lines, QUERY_TIMEOUT)?)?;
        self.run_checked("write-tree", &["write-tree"], QUERY_TIMEOUT)
    }
}
