//! Large files of Git LFS: commits have pointers, and a push of them without their objects publishes files that cannot be checked
//! out. git-lfs uploads the objects in a hook of the repository; Fairway runs none, and asks the person's own git-lfs instead.

use std::time::Duration;

use super::command::{Git, GitError, QUERY_TIMEOUT, succeeded};
use super::network_programs::NetworkPrograms;
use super::upstream::{Upstream, reason};

/// The first line of every pointer.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// Lists the small blobs of commits; a pointer has less than 1 KiB. What a partial clone lacks is left out: its remote has it.
const SMALL_BLOBS: [&str; 6] = [
    "rev-list",
    "--objects",
    "--no-object-names",
    "--missing=allow-any",
    "--filter=combine:blob:limit=1k+object:type=blob",
    "--filter-provided-objects",
];

/// The settings that name programs for the transfer of large files.
const TRANSFERS: &str = r"^lfs\.(.*\.)?(customtransfer\..*|standalonetransferagent)$";

/// Without git-lfs, git would run an alias of that name, which a repository can have.
const NO_ALIAS: &str = "alias.lfs=!echo git-lfs is not installed >&2; exit 1; :";

impl Git<'_> {
    /// Uploads the objects of the pointers that a commit brings to the upstream. Returns why that failed; `None` also when there is
    /// nothing to upload.
    pub(super) fn upload_large_files(
        &self,
        programs: &NetworkPrograms,
        upstream: &Upstream,
        commit: &str,
        limit: Duration,
    ) -> Result<Option<String>, GitError> {
        if !self.brings_pointers(upstream, commit)? {
            return Ok(None);
        }
        if let Some(entry) = self.config_entries(TRANSFERS)?.into_iter().find(|entry| !entry.is_own()) {
            let name = entry.name;
            return Ok(Some(format!(
                "its large files (Git LFS) stay here: the repository's setting {name} is not used"
            )));
        }
        // What git tells a hook before a push.
        let (branch, none) = (format!("refs/heads/{}", upstream.branch), "0".repeat(commit.len()));
        let update = format!("{branch} {commit} {branch} {none}\n");
        let args = ["-c", NO_ALIAS, "lfs", "pre-push", &upstream.remote];
        let done = self.run_with(&args, &programs.vars(), update.as_bytes(), limit)?;
        Ok(reason(&done, limit).map(|why| format!("its large files (Git LFS) were not uploaded: {why}")))
    }

    /// Whether the commits that the remote lacks, as far as is known here, have a pointer.
    fn brings_pointers(&self, upstream: &Upstream, commit: &str) -> Result<bool, GitError> {
        let known = format!("--remotes={}", upstream.remote);
        let args = [&SMALL_BLOBS[..], &[commit, "--not", &known]].concat();
        let list = succeeded("rev-list", self.run(&args, QUERY_TIMEOUT)?)?;
        if list.stdout.is_empty() {
            return Ok(false);
        }
        let blobs = succeeded("cat-file", self.run_with(&["cat-file", "--batch"], &[], &list.stdout, QUERY_TIMEOUT)?)?;
        Ok(blobs.stdout.windows(POINTER.len()).any(|part| part == POINTER))
    }
}
