//! A session of the check, whose program records everything that reaches it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use super::call_result::{CallResult, Deviation, ProbeResult};
use super::harness::{Harness, PROBE_PROGRAM, TAG_VAR};
use crate::adapters::plumbing::probe_program::{self, read_record};
use crate::adapters::{Adapter, StartConfig};
use crate::os::files;
use crate::os::process::{ProcessKey, ProcessStatus};

/// A session of the check, started or not.
#[derive(Debug)]
pub(super) struct ProbeSession<'a> {
    bench: &'a Harness,
    pub name: String,
    /// The configuration for its `start`.
    pub config: StartConfig,
    output_dir: PathBuf,
    read_bytes: Cell<usize>,
    needs_stop: Cell<bool>,
}

impl<'a> ProbeSession<'a> {
    /// Prepares a session that runs the probe program in a directory of its own. The session is not started yet.
    pub fn of_probe(bench: &'a Harness, tag: &str) -> Result<Self, Deviation> {
        Self::with_args(bench, tag, &[], &[])
    }

    /// Prepares a session that runs the probe program with these flags. `words` are the program's further arguments, which it
    /// only records.
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

    /// Prepares a session that runs shell text instead of the probe program.
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

    /// Changes only the session's name; its directories and its configuration stay as they are.
    #[must_use]
    pub fn renamed(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub fn work_dir(&self) -> PathBuf {
        PathBuf::from(self.config.work_dir.as_deref().unwrap_or("/"))
    }

    /// The directory to which the probe program writes its records.
    pub fn output_dir(&self) -> &PathBuf {
        &self.output_dir
    }

    /// The start configuration as the script reads it from stdin.
    pub fn config_json(&self) -> Vec<u8> {
        serde_json::to_vec(&self.config).unwrap_or_default()
    }

    /// Starts the session and waits until its program reads input. It is a deviation when `start` fails, or succeeds and the
    /// program never runs.
    pub fn start(&self) -> ProbeResult {
        self.call_start()?.expect_success()?;
        self.wait_ready().map(drop)
    }

    /// Calls `start` and returns the result, even of a failed call. From now on the session is stopped when this value is
    /// dropped.
    pub fn call_start(&self) -> Result<CallResult, Deviation> {
        self.call_start_with(&self.bench.adapter)
    }

    /// Like [`call_start`](Self::call_start), but with the environment of `adapter`.
    pub fn call_start_with(&self, adapter: &Adapter) -> Result<CallResult, Deviation> {
        self.needs_stop.set(true);
        self.bench.call_with(adapter, &["start", &self.name], &self.config_json())
    }

    /// Waits until the probe program reads input, and returns its process.
    pub fn wait_ready(&self) -> Result<ProcessKey, Deviation> {
        let nothing = || "start exited with 0, and the program never ran".to_owned();
        self.bench.wait_for("start", "a session whose program runs", || self.process(), nothing)
    }

    /// The process of the probe program; `None` before it reads input and after it has ended.
    pub fn process(&self) -> Option<ProcessKey> {
        ProcessKey::of(String::from_utf8(read_record(&self.output_dir, probe_program::PID_FILE)?).ok()?.parse().ok()?)
    }

    pub fn expect_alive(&self) -> ProbeResult {
        match self.process() {
            Some(process) if process.status() == ProcessStatus::Alive => Ok(()),
            _ => Err(Deviation::differs(format!("the program of {} runs on", self.name), "it is gone")),
        }
    }

    /// Stops the session and requires that the session's program has ended when the call returns.
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

    /// Notes that the session need not be stopped when this value is dropped, because it was stopped or never started.
    pub fn mark_stopped(&self) {
        self.needs_stop.set(false);
    }

    /// Deletes the records that the probe program has written, so that the session can be started again.
    pub fn clear_output(&self) {
        for entry in fs::read_dir(&self.output_dir).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        self.read_bytes.set(0);
    }

    /// Requires that `is-running` answers `expected`.
    pub fn expect_running(&self, expected: bool) -> ProbeResult {
        self.bench.call(&["is-running", &self.name], b"")?.expect_text(if expected { "true" } else { "false" })
    }

    /// The environment of the program at its start, as the program recorded it.
    pub fn environment(&self) -> BTreeMap<OsString, Vec<u8>> {
        use std::os::unix::ffi::OsStringExt;
        let entries = read_record(&self.output_dir, probe_program::ENVIRONMENT_FILE).unwrap_or_default();
        let split = |entry: &[u8]| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            Some((OsString::from_vec(entry.get(..at)?.to_vec()), entry.get(at + 1..)?.to_vec()))
        };
        entries.split(|byte| *byte == 0).filter_map(split).collect()
    }

    /// The input that the program has received and that was not yet counted by [`mark_read`](Self::mark_read).
    pub fn unread_input(&self) -> Vec<u8> {
        let all = read_record(&self.output_dir, probe_program::INPUT_FILE).unwrap_or_default();
        all.get(self.read_bytes.get()..).unwrap_or_default().to_vec()
    }

    /// Counts the next `bytes` of the input as read.
    pub fn mark_read(&self, bytes: usize) {
        self.read_bytes.set(self.read_bytes.get() + bytes);
    }

    /// How many interrupts the program has received.
    pub fn interrupt_count(&self) -> usize {
        read_record(&self.output_dir, probe_program::INTERRUPTS_FILE).unwrap_or_default().len()
    }
}

impl Drop for ProbeSession<'_> {
    /// Stops the session, so that a failed probe does not affect the next one.
    fn drop(&mut self) {
        if self.needs_stop.get() {
            let _ = self.bench.call(&["stop", &self.name], b"");
        }
    }
}
