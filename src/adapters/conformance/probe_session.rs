//! A session of the check's own, whose program tells everything that reaches it.

use std::{cell::Cell, collections::BTreeMap, ffi::OsString, fs, path::PathBuf};

use super::{
    call_result::{Said, Seen, Wrong},
    harness::{AGENT, Bench, MARK},
};
use crate::{
    adapters::{
        Adapter, StartConfig,
        plumbing::probe_program::{self, noted},
    },
    os::{
        files,
        process::{Presence, ProcessKey},
    },
};

/// A session, started or not.
#[derive(Debug)]
pub(super) struct Session<'a> {
    bench: &'a Bench,
    /// Its name.
    pub name: String,
    /// What it is started with.
    pub config: StartConfig,
    folder: PathBuf,
    read: Cell<usize>,
    open: Cell<bool>,
}

impl<'a> Session<'a> {
    /// A session whose program is the probe, in a folder of its own.
    ///
    /// # Errors
    /// When its folders cannot be made.
    pub fn of_probe(bench: &'a Bench, tag: &str) -> Result<Self, Wrong> {
        Self::with(bench, tag, &[], &[])
    }

    /// The same with flags for the probe and words that it writes down.
    ///
    /// # Errors
    /// When its folders cannot be made.
    pub fn with(bench: &'a Bench, tag: &str, flags: &[&str], words: &[&str]) -> Result<Self, Wrong> {
        let mut session = Self::blank(bench, tag)?;
        let (agent, folder) = (bench.folder().join("bin").join(AGENT), session.folder.clone());
        let mut argv =
            vec![agent.display().to_string(), "adapter".into(), "probe".into(), folder.display().to_string()];
        argv.extend(flags.iter().map(|flag| (*flag).to_owned()));
        if !words.is_empty() {
            argv.push("--".into());
            argv.extend(words.iter().map(|word| (*word).to_owned()));
        }
        session.config.command = Some(format!("exec {}", shell_words::join(&argv)));
        Ok(session)
    }

    /// A session whose program is shell text.
    ///
    /// # Errors
    /// When its folders cannot be made.
    pub fn of_shell(bench: &'a Bench, tag: &str, command: &str) -> Result<Self, Wrong> {
        let mut session = Self::blank(bench, tag)?;
        session.config.command = Some(command.to_owned());
        Ok(session)
    }

    fn blank(bench: &'a Bench, tag: &str) -> Result<Self, Wrong> {
        let name = format!("{}-{tag}", bench.base);
        let (work, folder) = (bench.folder().join("w").join(tag), bench.folder().join("p").join(tag));
        for folder in [&work, &folder] {
            files::private_dir(folder).map_err(|error| Wrong::differs("a folder to work in", error.to_string()))?;
        }
        let env = BTreeMap::from([(MARK.to_owned(), bench.folder().display().to_string())]);
        let config =
            StartConfig { work_dir: Some(work.display().to_string()), env: Some(env), ..StartConfig::default() };
        Ok(Self { bench, name, config, folder, read: Cell::new(0), open: Cell::new(false) })
    }

    /// The same under another name.
    #[must_use]
    pub fn called_as(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The folder that the program is started in.
    pub fn work_dir(&self) -> PathBuf {
        PathBuf::from(self.config.work_dir.as_deref().unwrap_or("/"))
    }

    /// The folder that the program writes to.
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Its start configuration as the script gets it.
    pub fn text(&self) -> Vec<u8> {
        serde_json::to_vec(&self.config).unwrap_or_default()
    }

    /// Starts it and waits until its program takes input.
    ///
    /// # Errors
    /// When `start` fails, or says that it did what it did not.
    pub fn start(&self) -> Seen {
        self.called()?.ok()?;
        self.comes_up().map(drop)
    }

    /// Calls `start`, whatever it answers.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn called(&self) -> Result<Said, Wrong> {
        self.called_among(&self.bench.adapter)
    }

    /// The same among other surroundings.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn called_among(&self, adapter: &Adapter) -> Result<Said, Wrong> {
        self.open.set(true);
        self.bench.call_as(adapter, &["start", &self.name], &self.text())
    }

    /// Waits until the program takes input.
    ///
    /// # Errors
    /// When it never does.
    pub fn comes_up(&self) -> Result<ProcessKey, Wrong> {
        let nothing = || "start exited with 0, and the program never ran".to_owned();
        self.bench.comes("start", "a session whose program runs", || self.process(), nothing)
    }

    /// The program's process, once it takes input and while it lives.
    pub fn process(&self) -> Option<ProcessKey> {
        ProcessKey::of(String::from_utf8(noted(&self.folder, probe_program::PID)?).ok()?.parse().ok()?)
    }

    /// Whether the program lives.
    ///
    /// # Errors
    /// When it does not.
    pub fn lives(&self) -> Seen {
        match self.process() {
            Some(process) if process.presence() == Presence::Alive => Ok(()),
            _ => Err(Wrong::differs(format!("the program of {} runs on", self.name), "it is gone")),
        }
    }

    /// Stops it and demands that its program is gone when the call returns.
    ///
    /// # Errors
    /// When it fails, or the program goes on.
    pub fn stop(&self) -> Seen {
        let process = self.process();
        self.open.set(false);
        self.bench.call(&["stop", &self.name], b"")?.ok()?;
        match process.map(|process| process.presence()) {
            Some(Presence::Alive) => Err(Wrong::differs("a program that is gone when stop returns", "it runs on")),
            _ => Ok(()),
        }
    }

    /// Takes note that it was stopped, or never was a session.
    pub fn is_over(&self) {
        self.open.set(false);
    }

    /// Makes room for another session of the same name: what the program wrote down is forgotten.
    pub fn forget(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        self.read.set(0);
    }

    /// Demands this answer to `is-running`.
    ///
    /// # Errors
    /// When it is another one.
    pub fn runs(&self, expected: bool) -> Seen {
        self.bench.call(&["is-running", &self.name], b"")?.says(if expected { "true" } else { "false" })
    }

    /// The environment that the program was started with.
    pub fn environment(&self) -> BTreeMap<OsString, Vec<u8>> {
        use std::os::unix::ffi::OsStringExt;
        let entries = noted(&self.folder, probe_program::ENVIRONMENT).unwrap_or_default();
        let split = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsString::from_vec(entry.get(..at)?.to_vec()), entry.get(at + 1..)?.to_vec()))
        };
        entries.split(|byte| *byte == 0).filter_map(split).collect()
    }

    /// What was typed since the last look at it.
    pub fn unread(&self) -> Vec<u8> {
        let all = noted(&self.folder, probe_program::INPUT).unwrap_or_default();
        all.get(self.read.get()..).unwrap_or_default().to_vec()
    }

    /// Takes what was typed for looked at.
    pub fn seen(&self, bytes: usize) {
        self.read.set(self.read.get() + bytes);
    }

    /// How often it was interrupted.
    pub fn interrupts(&self) -> usize {
        noted(&self.folder, probe_program::INTERRUPTS).unwrap_or_default().len()
    }
}

impl Drop for Session<'_> {
    /// A probe that fails leaves no session to the next one.
    fn drop(&mut self) {
        if self.open.get() {
            let _ = self.bench.call(&["stop", &self.name], b"");
        }
    }
}
