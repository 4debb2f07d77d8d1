//! What a supervisor writes down: that a run begins, what it prints, and how it ended. What the store refuses is tried again,
//! for as long as that makes sense.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sys::signal::Signal,
};

use super::{
    JobDir, OutputRecorder, SinkError,
    host::{JobHost, SuperviseError},
    watchers::{WatchEvent, Watchers},
};
use crate::{
    domain::job::{ItemType, JobResult},
    os::{poll_timeout::poll_timeout, process::ProcessKey, signals::SignalPipe},
};

/// How long the store may refuse the beginning before the run is left to others.
const START_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long what was printed last may take to be written before the end is.
const FINAL_FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the store may refuse the end before it is left to others, who find it in the directory.
const RESULT_WRITE_TIMEOUT: Duration = Duration::from_secs(300);
/// How long after a failure it is tried again to hand over what is owed.
const NOTIFY_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest pause between two tries.
const MAX_RETRY_DELAY: Duration = Duration::from_millis(500);

/// Where it is written down that a run begins, before anything else can be.
pub(super) struct StartJournal<'a> {
    /// Whoever comes after us finds the end here.
    pub job_dir: &'a JobDir,
    /// What we are told.
    pub signals: SignalPipe,
    sink: &'a mut dyn JobHost,
    created: Instant,
}

impl<'a> StartJournal<'a> {
    /// With nothing written yet.
    pub(super) fn new(dir: &'a JobDir, signals: SignalPipe, sink: &'a mut dyn JobHost) -> Self {
        Self { job_dir: dir, signals, sink, created: Instant::now() }
    }

    /// From here on there is output to be kept.
    pub(super) fn into_journal(self, key: &'a dyn Fn(&str) -> String) -> Journal<'a> {
        let (recorder, watching) = self.sink.open_output();
        Journal { start_journal: self, recorder, watchers: watching, notification_key: key, notify_at: None }
    }

    fn now(&self) -> Duration {
        self.created.elapsed()
    }

    /// The first signal that came and means that we are to end.
    pub(super) fn termination_signal(&self) -> io::Result<Option<Signal>> {
        while let Some(signal) = self.signals.next()? {
            if signal != Signal::SIGCHLD {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }

    /// Waits a little before another try; `false` when we are told to end.
    fn wait_to_retry(&self, pause: &mut Duration) -> io::Result<bool> {
        let mut watched = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, poll_timeout(Some(*pause))) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        *pause = (*pause * 2).min(MAX_RETRY_DELAY);
        Ok(self.termination_signal()?.is_none())
    }

    /// Writes down which process is about to begin.
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

/// What is written down about a run.
pub(super) struct Journal<'a> {
    /// Where the beginning was written down.
    pub start_journal: StartJournal<'a>,
    /// What is kept of the output.
    pub recorder: OutputRecorder,
    watchers: Watchers,
    notification_key: &'a dyn Fn(&str) -> String,
    /// When to try again to hand over what is owed.
    notify_at: Option<Duration>,
}

impl Journal<'_> {
    /// The time since the supervisor began.
    pub(super) fn now(&self) -> Duration {
        self.start_journal.now()
    }

    /// The program has printed this.
    pub(super) fn record_output(&mut self, stream: ItemType, bytes: &[u8]) {
        let now = self.now();
        self.recorder.push(stream, bytes, now);
        let noticed = self.watchers.feed(stream, bytes, now);
        self.record_matches(noticed);
    }

    fn record_matches(&mut self, noticed: Vec<WatchEvent>) {
        for one in noticed {
            self.recorder.record_hits(one.place, one.hits);
            self.recorder.event(one.payload, one.meta, one.notification_key.as_deref().map(self.notification_key));
        }
    }

    /// When there is something to be written or looked at, though nothing happens.
    pub(super) fn due(&self) -> Option<Duration> {
        [self.recorder.due(), self.watchers.due(), self.notify_at].into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn tick(&mut self) {
        let now = self.now();
        if self.watchers.due().is_some_and(|due| due <= now) {
            let noticed = self.watchers.tick(now);
            self.record_matches(noticed);
        }
        if self.recorder.due().is_some_and(|due| due <= now) {
            self.recorder.flush(now, self.start_journal.sink);
        }
        if self.notify_at.is_some_and(|at| at <= now) {
            self.start_journal.sink.flush_notifications();
            self.notify_at = None;
        }
        if self.start_journal.sink.has_pending_notifications() {
            self.notify_at.get_or_insert(self.now() + NOTIFY_RETRY_DELAY);
        }
    }

    /// The end of a run that never began.
    pub(super) fn record_unstarted(&mut self, ending: &JobResult) -> Result<(), SuperviseError> {
        // Whoever comes after us will find it in the store, or not at all, if there is no room for it here.
        let _ = self.start_journal.job_dir.write_result(ending);
        self.record_finished(ending)
    }

    /// Writes what was printed last, then the end.
    pub(super) fn record_finished(&mut self, ending: &JobResult) -> Result<(), SuperviseError> {
        let noticed = self.watchers.finish(self.now());
        self.record_matches(noticed);
        let (since, mut pause) = (Instant::now(), Duration::from_millis(20));
        loop {
            self.recorder.flush(self.now(), self.start_journal.sink);
            if self.recorder.due().is_none()
                || since.elapsed() >= FINAL_FLUSH_TIMEOUT
                || !self.start_journal.wait_to_retry(&mut pause)?
            {
                break;
            }
        }
        let mut ending = ending.clone();
        if let Some(why) = self.recorder.write_failure() {
            let lost = format!("its output could not all be kept: {why}");
            let said = ending.error_message.take();
            ending.error_message = Some(said.map_or_else(|| lost.clone(), |said| format!("{said}; {lost}")));
        }
        loop {
            match self.start_journal.sink.record_finished(
                &ending,
                self.recorder.output_bytes(),
                self.recorder.is_truncated(),
            ) {
                Ok(()) => return Ok(()),
                Err(SinkError::Store(why)) => {
                    // Others would take what is noted nowhere for a run that never ended, and might begin it again.
                    let is_noted = self.start_journal.job_dir.read_result().is_some()
                        || self.start_journal.job_dir.write_result(&ending).is_ok();
                    let is_over = is_noted && since.elapsed() >= RESULT_WRITE_TIMEOUT;
                    if is_over || !self.start_journal.wait_to_retry(&mut pause)? {
                        return Err(SinkError::Store(why).into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}
