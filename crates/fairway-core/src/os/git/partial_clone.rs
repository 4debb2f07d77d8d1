//! Partial clones: git gets content that is not here when it needs it. Fairway's git does so in a few calls of a person, with the
//! programs of the user's own configuration; in every other call it fetches nothing.

use std::ffi::OsStr;
use std::time::Duration;

use super::command::{Git, GitError, succeeded};
use super::network_programs::NetworkPrograms;
use super::own_configuration::PROMISORS;
use crate::os::capture::Captured;

/// The time limit of a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(1800);

impl Git<'_> {
    /// Brings the content in which two commits differ. Does nothing where all content is here, as outside of a partial clone.
    pub fn bring_content(&self, from: &str, to: &str) -> Result<(), GitError> {
        // To count lines git needs the content of both sides, and asks for all of it at once.
        let args = ["diff-tree", "-r", "--no-renames", "--shortstat", from, to];
        if !self.is_partial()? {
            return Ok(());
        }
        succeeded("diff-tree", self.run_with_promisors(true, &args, &[], FETCH_TIMEOUT)?).map(drop)
    }

    pub(super) fn is_partial(&self) -> Result<bool, GitError> {
        Ok(!self.config_entries(PROMISORS)?.is_empty())
    }

    /// Runs git, which may fetch the content that a partial clone lacks. Where the repository names the program on the other side it
    /// fetches nothing: git takes the first value of that setting, so that no flag replaces it.
    pub(super) fn run_with_promisors<T: AsRef<OsStr>>(
        &self,
        is_partial: bool,
        args: &[T],
        more_vars: &[(&str, &OsStr)],
        limit: Duration,
    ) -> Result<Captured, GitError> {
        let programs = if is_partial { self.network_programs()? } else { NetworkPrograms::default() };
        if !is_partial || programs.names_upload_pack() {
            return self.run_with(args, more_vars, b"", limit);
        }
        let vars = [&programs.vars()[..], more_vars, &[("GIT_NO_LAZY_FETCH", OsStr::new("0"))]].concat();
        self.run_with(args, &vars, b"", limit)
    }
}
