//! Files that git tracks.

use std::ffi::OsString;

use super::command::{Git, GitError, QUERY_TIMEOUT};

impl Git<'_> {
    /// The first of these names in the directory that git tracks.
    pub fn first_tracked(&self, names: &[OsString]) -> Result<Option<String>, GitError> {
        let fixed = ["--literal-pathspecs", "ls-files", "-z", "--"].map(OsString::from);
        let args: Vec<OsString> = fixed.into_iter().chain(names.iter().cloned()).collect();
        let text = self.run_checked("ls-files", &args, QUERY_TIMEOUT)?;
        Ok(text.split('\0').next().filter(|name| !name.is_empty()).map(str::to_owned))
    }
}
