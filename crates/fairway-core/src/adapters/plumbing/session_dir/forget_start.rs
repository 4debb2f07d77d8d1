//! Forgetting how a session was started: its prompt, its commands and its environment are needed for the start alone.

use std::path::Path;
use std::{fs, io};

use super::dir::{ENVIRONMENT_FILE, NAME_FILE, START_FILE, STARTED_BY_FILE, SessionDir, read_optional};

impl SessionDir {
    /// Removes what only the start needed and what may be secret: the caller's environment, and all of the start configuration
    /// but the part that is needed while the session lives. The caller must have the lock of the state directory. Returns whether
    /// there was anything to remove.
    pub(super) fn forget_start(&self) -> io::Result<bool> {
        let Some(start) = self.start_config()? else { return Ok(false) };
        let retained = start.without_start();
        let is_new = retained != start;
        if is_new {
            self.write_file(START_FILE, &serde_json::to_vec(&retained).map_err(io::Error::other)?)?;
        }
        match fs::remove_file(self.file(ENVIRONMENT_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(is_new),
            done => done.map(|()| true),
        }
    }

    /// Removes the inputs that only the start needed from all sessions in this state directory whose starting process is gone
    /// without having removed them, as after a crash. Returns the number of these sessions. With `dry_run` only counts them.
    pub fn forget_abandoned_starts(state_dir: &Path, dry_run: bool) -> usize {
        let paths = fs::read_dir(state_dir).into_iter().flatten().flatten().map(|entry| entry.path());
        // A start that has ended has removed them already.
        let unfinished = paths.filter(|path| !path.join(STARTED_BY_FILE).exists());
        let names = unfinished.filter_map(|path| read_optional(&path.join(NAME_FILE)).ok().flatten());
        let dirs = names.filter_map(|name| Some(Self::of(state_dir, std::str::from_utf8(&name).ok()?)));
        dirs.filter(|dir| dir.has_start_to_forget() && (dry_run || dir.forget_unless_starting().unwrap_or(false)))
            .count()
    }

    fn has_start_to_forget(&self) -> bool {
        let is_full = |start: crate::adapters::StartConfig| start != start.without_start();
        !self.is_start_in_progress()
            && (self.file(ENVIRONMENT_FILE).exists() || self.start_config().ok().flatten().is_some_and(is_full))
    }

    fn forget_unless_starting(&self) -> io::Result<bool> {
        let _turn = self.lock_state_dir()?;
        if self.is_start_in_progress() { Ok(false) } else { self.forget_start() }
    }

    /// Whether the start may still read its configuration: the starting process is alive, or the root process has not started the
    /// program yet.
    fn is_start_in_progress(&self) -> bool {
        self.is_starting() || (self.program().is_none() && self.is_alive().unwrap_or(true))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::adapters::StartConfig;
    use crate::adapters::plumbing::StartFiles;
    use crate::os::process::ProcessKey;

    #[test]
    fn start_of_a_gone_caller_is_forgotten_and_one_in_progress_is_not() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        let own = ProcessKey::of(i32::try_from(std::process::id()).unwrap()).unwrap();
        let gone = ProcessKey { started: own.started + 1, ..own.clone() };
        let env = [("FAIRWAY_RUN_ID", "r1"), ("TOKEN", "geheim"), ("FAIRWAY_INITIAL_PROMPT", "geheim")];
        let start = StartConfig {
            env: Some(env.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
            nudge: Some("geheim".into()),
            argv: Some(vec!["sh".into(), "-c".into(), "geheim".into()]),
            transcript: Some("/t".into()),
            ..StartConfig::default()
        };
        let around = BTreeMap::from([("SECRET".into(), "geheim".into())]);
        let dir = SessionDir::of(&state, "x");
        let create = |starter: &ProcessKey| {
            let files =
                StartFiles { start: &start, caller_env: &around, work_dir: Path::new("/"), starter: Some(starter) };
            dir.create(&files).unwrap();
        };
        let leaks = || {
            let texts = fs::read_dir(dir.path()).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
            texts.filter(|text| String::from_utf8_lossy(text).contains("geheim")).count()
        };
        create(&own);
        assert_eq!((SessionDir::forget_abandoned_starts(&state, false), leaks()), (0, 2));
        dir.kill_tree().unwrap();
        create(&gone);
        assert_eq!(SessionDir::forget_abandoned_starts(&state, true), 1);
        assert_eq!(leaks(), 2);
        assert_eq!(SessionDir::forget_abandoned_starts(&state, false), 1);
        assert_eq!((SessionDir::forget_abandoned_starts(&state, false), leaks()), (0, 0));
        // A session whose start has ended is not examined again.
        dir.kill_tree().unwrap();
        create(&own);
        dir.finish_start().unwrap();
        assert_eq!((SessionDir::forget_abandoned_starts(&state, false), leaks()), (0, 0));
        let kept = dir.start_config().unwrap().unwrap();
        assert_eq!((kept.var("FAIRWAY_RUN_ID"), kept.transcript.as_deref()), (Some("r1"), Some("/t")));
    }
}
