//! Creating a session's directory, and listing the live sessions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::dir::{
    ENVIRONMENT_FILE, NAME_FILE, START_FILE, STARTER_FILE, SessionDir, TRANSCRIPT_OFFSET_FILE, WORK_DIR_FILE,
    read_optional,
};
use super::state::process_line;
use crate::adapters::StartConfig;
use crate::os::files;
use crate::os::process::ProcessKey;

/// The inputs of a session's start.
#[derive(Debug)]
pub struct StartFiles<'a> {
    /// The start configuration.
    pub start: &'a StartConfig,
    /// The environment of the process that starts the session, without Fairway's session variables.
    pub caller_env: &'a BTreeMap<OsString, OsString>,
    /// The program's working directory.
    pub work_dir: &'a Path,
    /// The process that starts the session.
    pub starter: Option<&'a ProcessKey>,
}

impl SessionDir {
    /// Creates the directory of the session with the files that the start needs. A dead session of that name is removed first,
    /// with all processes that it left behind.
    ///
    /// # Errors
    /// When a session of that name is alive or starting. Callers recognize this error by the words `already exists` in its text.
    pub fn create(&self, unpacked: &StartFiles<'_>) -> io::Result<()> {
        files::private_dir(&self.state_dir)?;
        let _turn = self.lock_state_dir()?;
        if self.path.exists() {
            if self.is_alive()? || self.is_starting() {
                return Err(io::Error::other(format!("session '{}' already exists", self.name)));
            }
            self.end_leftovers()?;
        }
        DirBuilder::new().mode(0o700).create(&self.path)?;
        if let Some(starter) = unpacked.starter {
            self.write_file(STARTER_FILE, process_line(starter).as_bytes())?;
        }
        self.write_file(NAME_FILE, self.name.as_bytes())?;
        self.write_file(WORK_DIR_FILE, unpacked.work_dir.as_os_str().as_bytes())?;
        let mut around = Vec::new();
        for (name, value) in unpacked.caller_env {
            around.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
        }
        self.write_file(ENVIRONMENT_FILE, &around)?;
        if let Some(transcript) = &unpacked.start.transcript
            && let Ok(found) = fs::metadata(transcript)
        {
            self.write_file(TRANSCRIPT_OFFSET_FILE, found.len().to_string().as_bytes())?;
        }
        self.write_file(START_FILE, &serde_json::to_vec(unpacked.start).map_err(io::Error::other)?)
    }

    /// The names of the live sessions in a state directory that begin with `prefix`, sorted. When `with` is a file name, only
    /// sessions that have such a file in their directory.
    pub fn list_running(state: &Path, prefix: &str, with: Option<&str>) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let Some(name) =
                read_optional(&path.join(NAME_FILE)).ok().flatten().and_then(|name| String::from_utf8(name).ok())
            else {
                continue;
            };
            let is_meant = with.is_none_or(|file| path.join(file).is_file());
            if is_meant && name.starts_with(prefix) && Self::of(state, &name).is_alive()? {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_session_is_not_recycled_and_a_dead_one_is() {
        let home = tempfile::tempdir().unwrap();
        let dir = SessionDir::of(&home.path().join("state"), "x");
        let own = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let unpack = |starter: Option<&ProcessKey>| {
            let (start, around) = (StartConfig::default(), BTreeMap::new());
            dir.create(&StartFiles { start: &start, caller_env: &around, work_dir: Path::new("/"), starter })
        };
        unpack(Some(&own)).unwrap();
        assert!(unpack(None).unwrap_err().to_string().contains("already exists"));
        dir.become_root(&own).unwrap();
        assert!(dir.is_alive().unwrap());
        assert!(dir.become_root(&own).is_err());
        assert!(unpack(None).is_err());
        dir.set_root(&ProcessKey { started: own.started + 1, ..own.clone() }).unwrap();
        assert!(!dir.is_alive().unwrap());
        // A live process is still starting it.
        assert!(unpack(None).is_err());
        dir.finish_start().unwrap();
        unpack(None).unwrap();
        // A process that only has the same pid must never get a signal.
        dir.set_root(&ProcessKey { started: own.started + 1, ..own }).unwrap();
        dir.kill_tree().unwrap();
        dir.kill_tree().unwrap();
    }
}
