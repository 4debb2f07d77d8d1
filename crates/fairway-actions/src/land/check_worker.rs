//! A process that checks one tree while others check other trees: a command ends every process below its own, so two commands at
//! once need two processes. The tree comes on stdin, the results go to stdout.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::getppid;
use serde::{Deserialize, Serialize};

use super::check_commands::{CheckLimits, CheckPlace, CheckStep, CommandRun, Progress, run_until_failure};
use fairway_core::os::exit_reason::ExitReason;
use fairway_core::os::run_streaming::StreamError;

/// The work for a worker process.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckJob {
    /// The process that reads the results. The worker ends when this process ends.
    pub(super) parent: i32,
    pub(super) dir: PathBuf,
    /// The words to put before each command, which run it in a sandbox; empty without one.
    pub(super) sandbox: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) steps: Vec<CheckStep>,
    pub(super) limits: CheckLimits,
}

/// A line of a worker's output. After the line `Ran` comes the output of the command, of the given number of bytes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Note(String),
    Ran { exit: ExitReason, elapsed: Duration, how: String, earlier: Option<String>, output_bytes: usize },
    Failed(String),
}

/// A complete message of a worker.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    Note(String),
    /// A command has run.
    Ran(CommandRun),
    /// Why the worker could not continue.
    Failed(String),
}

/// Runs the checks that come on `input` as the JSON of a `CheckJob`, and reports on `output`. Does nothing when the process
/// that started this one has ended already.
///
/// # Errors
/// When the job cannot be read or the results cannot be written.
pub fn run_checks(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let job: CheckJob = serde_json::from_reader(input)?;
    // The command ends with this process.
    prctl::set_pdeathsig(Signal::SIGTERM)?;
    if getppid().as_raw() != job.parent {
        return Ok(());
    }
    let mut tell = |progress: Progress| write_progress(&mut output, progress).map_err(StreamError::Watch);
    let place = CheckPlace { dir: &job.dir, sandbox: &job.sandbox, env: &job.env };
    match run_until_failure(&place, &job.steps, job.limits, &mut tell) {
        Ok(()) => Ok(()),
        Err(error) => write_line(&mut output, &Line::Failed(error.to_string())),
    }
}

fn write_progress(output: &mut impl Write, progress: Progress) -> io::Result<()> {
    match progress {
        Progress::Note(text) => write_line(output, &Line::Note(text)),
        Progress::Ran(run) => {
            let CommandRun { exit, elapsed, output: bytes, how, earlier } = run;
            write_line(output, &Line::Ran { exit, elapsed, how, earlier, output_bytes: bytes.len() })?;
            output.write_all(&bytes)?;
            output.flush()
        }
    }
}

fn write_line(output: &mut impl Write, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    output.write_all(&text)?;
    output.flush()
}

/// Removes the first complete report from a worker's output and returns it; `None` while there is none. Fails when the output
/// is not a report.
pub(super) fn take_report(written: &mut Vec<u8>) -> io::Result<Option<Report>> {
    let Some(end) = written.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let line: Line = serde_json::from_slice(written.get(..end).unwrap_or_default())?;
    let (report, end) = match line {
        Line::Note(text) => (Report::Note(text), end + 1),
        Line::Failed(text) => (Report::Failed(text), end + 1),
        Line::Ran { exit, elapsed, how, earlier, output_bytes } => {
            let whole = end.saturating_add(1).saturating_add(output_bytes);
            let Some(output) = written.get(end + 1..whole) else { return Ok(None) };
            (Report::Ran(CommandRun { exit, elapsed, output: output.to_vec(), how, earlier }), whole)
        }
    };
    written.drain(..end);
    Ok(Some(report))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(commands: &[&str]) -> Vec<u8> {
        let step =
            |command: &&str| CheckStep { announcement: format!("checking {command}"), command: (*command).into() };
        let limits = CheckLimits { timeout: Duration::from_secs(60), retries: 0 };
        let (parent, steps) = (getppid().as_raw(), commands.iter().map(step).collect());
        serde_json::to_vec(&CheckJob {
            parent,
            dir: PathBuf::from("/"),
            sandbox: Vec::new(),
            env: Vec::new(),
            steps,
            limits,
        })
        .unwrap()
    }

    #[test]
    fn reports_are_whole_however_they_arrive_and_the_first_failure_is_the_last_command() {
        let mut written = Vec::new();
        run_checks(&*job(&["printf 'a\\nb\\n'", "exit 3", "true"]), &mut written).unwrap();
        let (mut arrived, mut reports) = (Vec::new(), Vec::new());
        for byte in written {
            arrived.push(byte);
            while let Some(report) = take_report(&mut arrived).unwrap() {
                reports.push(report);
            }
        }
        assert_eq!(arrived, b"");
        let told = |report: &Report| match report {
            Report::Note(text) | Report::Failed(text) => text.clone(),
            Report::Ran(run) => format!("{}: {:?}", run.how, String::from_utf8_lossy(&run.output)),
        };
        let told: Vec<String> = reports.iter().map(told).collect();
        let expected = ["checking printf 'a\\nb\\n'", "exit 0: \"a\\nb\\n\"", "checking exit 3", "exit 3: \"\""]
            .map(str::to_owned);
        assert_eq!(told, expected);
    }

    #[test]
    fn job_of_another_parent_runs_nothing() {
        let mut job: CheckJob = serde_json::from_slice(&job(&["true"])).unwrap();
        job.parent = 1;
        if getppid().as_raw() != 1 {
            let mut written = Vec::new();
            run_checks(&*serde_json::to_vec(&job).unwrap(), &mut written).unwrap();
            assert_eq!(written, b"");
        }
        assert!(take_report(&mut b"nonsense\n".to_vec()).is_err());
    }
}
