//! A session of the check's own, whose program tells everything that reaches it.

use std::{cell::Cell, collections::BTreeMap, ffi::OsString, fs, path::PathBuf};

use super::{
    call_result::{CallResult, Deviation, ProbeResult},
    harness::{Harness, PROBE_PROGRAM, TAG_VAR},
};
use crate::{
    adapters::{
        Adapter, StartConfig,
        plumbing::probe_program::{self, read_record},
    },
    os::{
        files,
        process::{ProcessKey, ProcessStatus},
    },
};

/// A session, started or not.
#[derive(Debug)]
pub(super) struct ProbeSession<'a> {
    bench: &'a Harness,
    pub name: String,
    /// The configuration of its start.
    pub config: StartConfig,
    output_dir: PathBuf,
    read_bytes: Cell<usize>,
    needs_stop: Cell<bool>,
}

impl<'a> ProbeSession<'a> {
    /// A session whose program is the probe, in a directory of its own.
    pub fn of_probe(bench: &'a Harness, tag: &str) -> Result<Self, Deviation> {
        Self::with_args(bench, tag, &[], &[])
    }

    /// A session with flags for the probe, and words that it writes down.
    pub fn with_args(bench: &'a Harness, tag: &str, flags: &[&str], words: &[&str]) -> Result<Self, Deviation> {
        let mut session = Self::without_command(bench, tag)?;
        let (agent, directory) = (bench.dir().join("bin").join(PROBE_PROGRAM), session.output_dir.clone());
        let mut argv =
            vec![agent.display().to_string(), "adapter".into(), "probe".into(), directory.display().to_string()];
        argv.extend(flags.iter().map(|flag| (*flag).to_owned()));
        if !words.is_empty() {
            argv.push("--".into());
            argv.extend(words.iter().map(|word| (*word).to_owned()));
        }
        session.config.command = Some(format!("exec {}", shell_words::join(&argv)));
        Ok(session)
    }

    /// A session whose program is shell text.
    pub fn of_shell(bench: &'a Harness, tag: &str, command: &str) -> Result<Self, Deviation> {
        let mut session = Self::without_command(bench, tag)?;
        session.config.command = Some(command.to_owned());
        Ok(session)
    }

    fn without_command(bench: &'a Harness, tag: &str) -> Result<Self, Deviation> {
        let name = format!("{}-{tag}", bench.name_prefix);
        let (work, directory) = (bench.dir().join("w").join(tag), bench.dir().join("p").join(tag));
        for directory in [&work, &directory] {
            files::private_dir(directory)
                .map_err(|error| Deviation::differs("a directory to work in", error.to_string()))?;
        }
        let env = BTreeMap::from([(TAG_VAR.to_owned(), bench.dir().display().to_string())]);
        let config =
            StartConfig { work_dir: Some(work.display().to_string()), env: Some(env), ..StartConfig::default() };
        Ok(Self { bench, name, config, output_dir: directory, read_bytes: Cell::new(0), needs_stop: Cell::new(false) })
    }

    /// The session under another name.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    /// The directory that the program is started in.
    pub fn work_dir(&self) -> PathBuf {
        PathBuf::from(self.config.work_dir.as_deref().unwrap_or("/"))
    }

    /// The directory that the program writes to.
    pub fn output_dir(&self) -> &PathBuf {
        &self.output_dir
    }

    /// Its start configuration as the script gets it.
    pub fn config_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.config).unwrap_or_default()
    }

    /// Starts it and waits until its program takes input.
    ///
    /// # Errors
    /// When `start` fails, or says that it did what it did not.
    pub fn start(&self) -> ProbeResult {
        self.call_start()?.expect_success()?;
        self.wait_ready().map(drop)
    }

    /// Calls `start`, whatever it answers.
    pub fn call_start(&self) -> Result<CallResult, Deviation> {
        self.call_start_with(&self.bench.adapter)
    }

    /// Calls `start` among other surroundings.
    pub fn call_start_with(&self, adapter: &Adapter) -> Result<CallResult, Deviation> {
        self.needs_stop.set(true);
        self.bench.call_with(adapter, &["start", &self.name], &self.config_json())
    }

    /// Waits until the program takes input.
    ///
    /// # Errors
    /// When it never does.
    pub fn wait_ready(&self) -> Result<ProcessKey, Deviation> {
        let nothing = || "start exited with 0, and the program never ran".to_owned();
        self.bench.wait_for("start", "a session whose program runs", || self.process(), nothing)
    }

    /// The program's process, once it takes input and while it lives.
    pub fn process(&self) -> Option<ProcessKey> {
        ProcessKey::of(String::from_utf8(read_record(&self.output_dir, probe_program::PID_FILE)?).ok()?.parse().ok()?)
    }

    /// Whether the program lives.
    pub fn expect_alive(&self) -> ProbeResult {
        match self.process() {
            Some(process) if process.status() == ProcessStatus::Alive => Ok(()),
            _ => Err(Deviation::differs(format!("the program of {} runs on", self.name), "it is gone")),
        }
    }

    /// Stops it and demands that its program is gone when the call returns.
    ///
    /// # Errors
    /// When it fails, or the program goes on.
    pub fn stop(&self) -> ProbeResult {
        let process = self.process();
        self.needs_stop.set(false);
        self.bench.call(&["stop", &self.name], b"")?.expect_success()?;
        match process.map(|process| process.status()) {
            Some(ProcessStatus::Alive) => {
                Err(Deviation::differs("a program that is gone when stop returns", "it runs on"))
            }
            _ => Ok(()),
        }
    }

    /// Takes note that it was stopped, or never was a session.
    pub fn mark_stopped(&self) {
        self.needs_stop.set(false);
    }

    /// Makes room for another session of the same name: what the program wrote down is forgotten.
    pub fn clear_output(&self) {
        for entry in fs::read_dir(&self.output_dir).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        self.read_bytes.set(0);
    }

    /// Demands this answer to `is-running`.
    ///
    /// # Errors
    /// When it is another one.
    pub fn expect_running(&self, expected: bool) -> ProbeResult {
        self.bench.call(&["is-running", &self.name], b"")?.expect_text(if expected { "true" } else { "false" })
    }

    /// The environment that the program was started with.
    pub fn environment(&self) -> BTreeMap<OsString, Vec<u8>> {
        use std::os::unix::ffi::OsStringExt;
        let entries = read_record(&self.output_dir, probe_program::ENVIRONMENT_FILE).unwrap_or_default();
        let split = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsString::from_vec(entry.get(..at)?.to_vec()), entry.get(at + 1..)?.to_vec()))
        };
        entries.split(|byte| *byte == 0).filter_map(split).collect()
    }

    /// The input since the last look at it.
    pub fn unread_input(&self) -> Vec<u8> {
        let all = read_record(&self.output_dir, probe_program::INPUT_FILE).unwrap_or_default();
        all.get(self.read_bytes.get()..).unwrap_or_default().to_vec()
    }

    /// Takes what was typed for looked at.
    pub fn mark_read(&self, bytes: usize) {
        self.read_bytes.set(self.read_bytes.get() + bytes);
    }

    /// How often it was interrupted.
    pub fn interrupt_count(&self) -> usize {
        read_record(&self.output_dir, probe_program::INTERRUPTS_FILE).unwrap_or_default().len()
    }
}

impl Drop for ProbeSession<'_> {
    /// A probe that fails leaves no session to the next one.
    fn drop(&mut self) {
        if self.needs_stop.get() {
            let _ = self.bench.call(&["stop", &self.name], b"");
        }
    }
}
