//! What a supervisor writes down: that a run begins, what it prints, and how it ended. What the store refuses is tried again,
//! for as long as that makes sense.

use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use super::{
    Recorder, RunFolder, SinkError,
    supervise::{Host, SuperviseError},
    watchers::{Noticed, Watching},
};
use crate::{
    domain::run::{Ending, ItemType},
    os::{process::ProcessKey, signals::Caught},
};

/// How long the store may refuse the beginning before the run is left to others.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long what was printed last may take to be written before the end is.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long the store may refuse the end before it is left to others, who find it in the folder.
const CLOSING: Duration = Duration::from_secs(300);
/// How long after a failure it is tried again to hand over what is owed.
const OWING: Duration = Duration::from_secs(1);
/// The longest pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// Where it is written down that a run begins, before anything else can be.
pub(super) struct Desk<'a> {
    /// Whoever comes after us finds the end here.
    pub folder: &'a RunFolder,
    /// What we are told.
    pub signals: Caught,
    sink: &'a mut dyn Host,
    begun: Instant,
}

impl<'a> Desk<'a> {
    /// With nothing written yet.
    pub(super) fn new(folder: &'a RunFolder, signals: Caught, sink: &'a mut dyn Host) -> Self {
        Self { folder, signals, sink, begun: Instant::now() }
    }

    /// From here on there is output to be kept.
    pub(super) fn open(self, key: &'a dyn Fn(&str) -> String) -> Book<'a> {
        let (recorder, watching) = self.sink.kept();
        Book { desk: self, recorder, watching, key, pays_at: None }
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The first signal that came and means that we are to end.
    pub(super) fn told(&self) -> io::Result<Option<Signal>> {
        while let Some(signal) = self.signals.next()? {
            if signal != Signal::SIGCHLD {
                return Ok(Some(signal));
            }
        }
        Ok(None)
    }

    /// Waits a little before another try; `false` when we are told to end.
    fn may_try_again(&self, pause: &mut Duration) -> io::Result<bool> {
        let mut watched = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, timeout(Some(*pause))) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        *pause = (*pause * 2).min(PAUSE);
        Ok(self.told()?.is_none())
    }

    /// Writes down which process is about to begin.
    pub(super) fn begin(&mut self, key: &ProcessKey) -> Result<(), SuperviseError> {
        let mut pause = Duration::from_millis(20);
        loop {
            match self.sink.running(key) {
                Ok(()) => return Ok(()),
                Err(SinkError::Store(_)) if self.now() < BEGINNING && self.may_try_again(&mut pause)? => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// What is written down about a run.
pub(super) struct Book<'a> {
    /// Where the beginning was written down.
    pub desk: Desk<'a>,
    /// What is kept of the output.
    pub recorder: Recorder,
    watching: Watching,
    key: &'a dyn Fn(&str) -> String,
    /// When to try again to hand over what is owed.
    pays_at: Option<Duration>,
}

impl Book<'_> {
    /// The time since the supervisor began.
    pub(super) fn now(&self) -> Duration {
        self.desk.now()
    }

    /// The program has printed this.
    pub(super) fn printed(&mut self, stream: ItemType, bytes: &[u8]) {
        let now = self.now();
        self.recorder.push(stream, bytes, now);
        let noticed = self.watching.feed(stream, bytes, now);
        self.note(noticed);
    }

    fn note(&mut self, noticed: Vec<Noticed>) {
        for one in noticed {
            self.recorder.hit(one.place, one.hits);
            self.recorder.event(one.payload, one.meta, one.owes.as_deref().map(self.key));
        }
    }

    /// When there is something to be written or looked at, though nothing happens.
    pub(super) fn due(&self) -> Option<Duration> {
        [self.recorder.due(), self.watching.due(), self.pays_at].into_iter().flatten().min()
    }

    /// Does what is due.
    pub(super) fn go_on(&mut self) {
        let now = self.now();
        if self.watching.due().is_some_and(|due| due <= now) {
            let noticed = self.watching.tick(now);
            self.note(noticed);
        }
        if self.recorder.due().is_some_and(|due| due <= now) {
            self.recorder.flush(now, self.desk.sink);
        }
        if self.pays_at.is_some_and(|at| at <= now) {
            self.desk.sink.pay();
            self.pays_at = None;
        }
        if self.desk.sink.owes() {
            self.pays_at.get_or_insert(self.now() + OWING);
        }
    }

    /// The end of a run that never began.
    pub(super) fn unstarted(&mut self, ending: &Ending) -> Result<(), SuperviseError> {
        // Whoever comes after us will find it in the store, or not at all, if there is no room for it here.
        let _ = self.desk.folder.note_ended(ending);
        self.end(ending)
    }

    /// Writes what was printed last, then the end.
    pub(super) fn end(&mut self, ending: &Ending) -> Result<(), SuperviseError> {
        let noticed = self.watching.finish(self.now());
        self.note(noticed);
        let (since, mut pause) = (Instant::now(), Duration::from_millis(20));
        loop {
            self.recorder.flush(self.now(), self.desk.sink);
            if self.recorder.due().is_none() || since.elapsed() >= LAST_WORDS || !self.desk.may_try_again(&mut pause)? {
                break;
            }
        }
        let mut ending = ending.clone();
        if let Some(why) = self.recorder.trouble() {
            let lost = format!("its output could not all be kept: {why}");
            let said = ending.error_message.take();
            ending.error_message = Some(said.map_or_else(|| lost.clone(), |said| format!("{said}; {lost}")));
        }
        loop {
            match self.desk.sink.ended(&ending, self.recorder.output_bytes(), self.recorder.truncated()) {
                Ok(()) => return Ok(()),
                Err(SinkError::Store(why)) => {
                    // Others would take what is noted nowhere for a run that never ended, and might begin it again.
                    let is_noted = self.desk.folder.ended().is_some() || self.desk.folder.note_ended(&ending).is_ok();
                    let is_over = is_noted && since.elapsed() >= CLOSING;
                    if is_over || !self.desk.may_try_again(&mut pause)? {
                        return Err(SinkError::Store(why).into());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A span as `poll` wants it, rounded up, so that a last part of a millisecond is no busy loop.
pub(super) fn timeout(left: Option<Duration>) -> PollTimeout {
    left.map_or(PollTimeout::NONE, |left| {
        PollTimeout::try_from(left + Duration::from_micros(999)).unwrap_or(PollTimeout::MAX)
    })
}
