//! A supervisor's writes to the [`Sink`](super::Sink): the start, the output and the result of a job. A write that the store
//! refuses is retried within a limit.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::Signal;

use super::host::{JobHost, SuperviseError};
use super::watchers::{WatchEvent, Watchers};
use super::{JobDir, OutputRecorder, SinkError};
use crate::domain::job::{ItemType, JobResult};
use crate::os::poll::poll;
use crate::os::process::ProcessKey;
use crate::os::signals::SignalPipe;

/// How long a refused write of the start is retried before this supervisor gives the job up.
const START_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a refused write of the last output is retried before the result is written.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a refused write of the result is retried; after that, recovery reads it from the job's directory.
const RESULT_WRITE_TIMEOUT: Duration = Duration::from_secs(300);
/// How long a refused write of the result is retried after the job's directory was removed, with the project as a rule.
const GONE_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause before pending notifications are sent again.
const NOTIFY_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest pause between two attempts.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Records the start of a job; nothing else can be recorded before.
pub(super) struct StartJournal<'a> {
    /// The result is kept here too, for recovery.
    pub job_dir: &'a JobDir,
    pub signals: SignalPipe,
    sink: &'a mut dyn JobHost,
    created: Instant,
}

impl<'a> StartJournal<'a> {
    pub(super) fn new(dir: &'a JobDir, signals: SignalPipe, sink: &'a mut dyn JobHost) -> Self {
        Self { job_dir: dir, signals, sink, created: Instant::now() }
    }

    /// Begins the recording of the job's output. From the key that a watcher gives to a match, `key` makes the key by which a
    /// repeated notification is recognized.
    pub(super) fn into_journal(self, key: &'a dyn Fn(&str) -> String) -> Journal<'a> {
        let (recorder, watchers) = self.sink.open_output();
        Journal { start: self, recorder, watchers, notification_key: key, notify_at: None }
    }

    fn now(&self) -> Duration {
        self.created.elapsed()
    }

    /// Reads the signals that have arrived, up to the first one that asks this process to end; `None` when there is no such
    /// signal.
    pub(super) fn termination_signal(&self) -> io::Result<Option<Signal>> {
        while let Some(signal) = self.signals.next()? {
            if signal != Signal::SIGCHLD {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }

    /// Waits before the next attempt; `false` when a signal asks this process to end.
    fn wait_to_retry(&self, pause: &mut Duration) -> io::Result<bool> {
        let mut watched = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        poll(&mut watched, Some(*pause))?;
        *pause = (*pause * 2).min(MAX_RETRY_DELAY);
        Ok(self.termination_signal()?.is_none())
    }

    /// Records the job's process, which still waits for its release to execute the program. Retries a write that the store
    /// refuses for up to [`START_WRITE_TIMEOUT`], unless a signal asks this process to end.
    pub(super) fn record_started(&mut self, key: &ProcessKey) -> Result<(), SuperviseError> {
        let mut pause = Duration::from_millis(20);
        loop {
            match self.sink.record_started(key) {
                Ok(()) => return Ok(()),
                Err(SinkError::Store(_)) if self.now() < START_WRITE_TIMEOUT && self.wait_to_retry(&mut pause)? => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Records the output and the result of a job.
pub(super) struct Journal<'a> {
    /// The journal that recorded the start.
    pub start: StartJournal<'a>,
    /// The recorder of the output.
    pub recorder: OutputRecorder,
    watchers: Watchers,
    notification_key: &'a dyn Fn(&str) -> String,
    /// When pending notifications are sent again.
    notify_at: Option<Duration>,
}

impl Journal<'_> {
    /// The time since the supervisor's start.
    pub(super) fn now(&self) -> Duration {
        self.start.now()
    }

    /// Records output of the program, and the matches of the job's watchers in it.
    pub(super) fn record_output(&mut self, stream: ItemType, bytes: &[u8]) {
        let now = self.now();
        self.recorder.push(stream, bytes, now);
        let matches = self.watchers.feed(stream, bytes, now);
        self.record_matches(matches);
    }

    fn record_matches(&mut self, matches: Vec<WatchEvent>) {
        for event in matches {
            self.recorder.record_hits(event.place, event.hits);
            self.recorder.event(
                event.payload,
                event.meta,
                event.notification_key.as_deref().map(self.notification_key),
            );
        }
    }

    /// When [`tick`](Self::tick) next has work to do, as the time since the supervisor's start; `None` when nothing waits.
    pub(super) fn due(&self) -> Option<Duration> {
        [self.recorder.due(), self.watchers.due(), self.notify_at].into_iter().flatten().min()
    }

    /// Writes the matches and the output, and sends the notifications, that are due by now.
    pub(super) fn tick(&mut self) {
        let now = self.now();
        if self.watchers.due().is_some_and(|due| due <= now) {
            let matches = self.watchers.tick(now);
            self.record_matches(matches);
        }
        if self.recorder.due().is_some_and(|due| due <= now) {
            self.recorder.flush(now, self.start.sink);
        }
        if self.notify_at.is_some_and(|at| at <= now) {
            self.start.sink.flush_notifications();
            self.notify_at = None;
        }
        if self.start.sink.has_pending_notifications() {
            self.notify_at.get_or_insert(self.now() + NOTIFY_RETRY_DELAY);
        }
    }

    /// Records the result of a job whose program was not started.
    pub(super) fn record_unstarted(&mut self, ending: &JobResult) -> Result<(), SuperviseError> {
        // The store gets the result as well; a full disk here is no reason to skip that.
        let _ = self.start.job_dir.write_result(ending);
        self.record_finished(ending)
    }

    /// Writes the remaining output and then the result of the job. Retries writes that the store refuses, for a limited time. A
    /// result that the store does not accept stays in the job's directory for recovery.
    pub(super) fn record_finished(&mut self, ending: &JobResult) -> Result<(), SuperviseError> {
        let matches = self.watchers.finish(self.now());
        self.record_matches(matches);
        let (since, mut pause) = (Instant::now(), Duration::from_millis(20));
        loop {
            self.recorder.flush(self.now(), self.start.sink);
            if self.recorder.due().is_none()
                || since.elapsed() >= FINAL_FLUSH_TIMEOUT
                || !self.start.wait_to_retry(&mut pause)?
            {
                break;
            }
        }
        let mut ending = ending.clone();
        if let Some(why) = self.recorder.write_failure() {
            let lost = format!("its output could not all be kept: {why}");
            ending.error_message = Some(match ending.error_message.take() {
                Some(message) => format!("{message}; {lost}"),
                None => lost,
            });
        }
        loop {
            match self.start.sink.record_finished(&ending, self.recorder.output_bytes(), self.recorder.is_truncated()) {
                Ok(()) => return Ok(()),
                Err(SinkError::Store(why)) => {
                    // Without a stored result, recovery would treat the job as interrupted and might start it again.
                    let is_noted =
                        self.start.job_dir.read_result().is_some() || self.start.job_dir.write_result(&ending).is_ok();
                    let is_over = is_noted && since.elapsed() >= RESULT_WRITE_TIMEOUT
                        || since.elapsed() >= GONE_TIMEOUT && self.start.job_dir.is_gone();
                    if is_over || !self.start.wait_to_retry(&mut pause)? {
                        return Err(SinkError::Store(why).into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
