//! A supervisor's decisions as a pure state machine: events in, effects out. Times count from the supervisor's start.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::domain::job::{JobResult, JobStatus};

/// How long the output is read after the program has exited.
pub const DRAIN_TIME: Duration = Duration::from_millis(300);
/// The default time between the first signal and SIGKILL.
pub const GRACE: Duration = Duration::from_secs(2);
/// The grace of a job whose supervisor gets SIGTERM: SIGKILL may follow soon, and the result must be written before.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);
/// The interval between two scans for processes that should be gone.
const KILL_INTERVAL: Duration = Duration::from_millis(20);
/// How long killed processes may take to disappear before they are reported as survivors.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How the root process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// The exec failed, with this reason.
    ExecFailed(String),
}

/// An input of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The root process has ended.
    Exited(Exit),
    /// All output streams are closed.
    OutputClosed,
    /// The result of a scan for processes of the job; zombies do not count.
    TreeScanned {
        /// Whether any process is left.
        is_left: bool,
    },
    /// A caller asks to end the job.
    Kill {
        /// The first signal to all processes.
        signal: Signal,
        /// The time until SIGKILL.
        grace: Duration,
    },
    /// The supervisor itself got a signal to end.
    Terminate(Signal),
    /// Time has passed, or a child has ended.
    Tick,
}

/// An output of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the result to the job's directory, for recovery.
    WriteResult(JobResult),
    /// Scan for processes and answer with [`Event::TreeScanned`].
    ScanTree,
    /// Add an output event that names the processes left behind.
    ReportLeftovers,
    /// Add an output event that names the processes that survived SIGKILL.
    ReportSurvivors,
    /// Send this signal to every process that is left.
    Signal(Signal),
    /// The job has ended: read the rest of the output and record the result.
    Finish(JobResult),
}

/// Why a job is ended before its program ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    KillRequested(Signal),
    TimedOut(Duration),
    SupervisorTerminated(Signal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    /// The program runs.
    Running,
    /// The program has ended; the rest of its output is still read.
    Draining { until: Duration },
    /// All remaining processes got a signal to end.
    Terminating { until: Duration },
    /// All remaining processes get SIGKILL repeatedly.
    Killing { next: Duration, until: Duration },
    /// Nothing is left to do.
    Finished,
}

/// The state of a supervised job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateMachine {
    phase: Phase,
    timeout: Option<Duration>,
    cause: Option<Cause>,
    exit: Option<Exit>,
    output_closed: bool,
    /// Whether the processes that the program left behind were reported.
    leftovers_reported: bool,
    /// Whether some processes survived SIGKILL.
    has_survivors: bool,
}

impl StateMachine {
    /// The state of a job whose program is being started now; `timeout` counts from here.
    pub const fn new(timeout: Option<Duration>) -> Self {
        Self {
            phase: Phase::Running,
            timeout,
            cause: None,
            exit: None,
            output_closed: false,
            leftovers_reported: false,
            has_survivors: false,
        }
    }

    /// When the caller must pass [`Event::Tick`] even if nothing else happens; `None` when it need not.
    pub fn due(&self) -> Option<Duration> {
        match self.phase {
            Phase::Running => self.timeout,
            Phase::Draining { until } | Phase::Terminating { until } => Some(until),
            Phase::Killing { next, until } => Some(next.min(until)),
            Phase::Finished => None,
        }
    }

    /// Handles an event at the time `now`. Returns the next state and the effects, in the order in which the caller must carry
    /// them out.
    #[must_use]
    pub fn step(mut self, event: Event, now: Duration) -> (Self, Vec<Effect>) {
        let effects = match event {
            Event::Exited(exit) => self.exited(exit, now),
            Event::OutputClosed => {
                self.output_closed = true;
                if matches!(self.phase, Phase::Draining { .. }) { vec![Effect::ScanTree] } else { Vec::new() }
            }
            Event::TreeScanned { is_left } => self.tree_scanned(is_left, now),
            Event::Kill { signal, grace } => self.kill(Cause::KillRequested(signal), signal, grace, now),
            Event::Terminate(signal) => {
                self.kill(Cause::SupervisorTerminated(signal), Signal::SIGTERM, TERMINATE_GRACE, now)
            }
            Event::Tick => self.tick(now),
        };
        (self, effects)
    }

    fn exited(&mut self, exit: Exit, now: Duration) -> Vec<Effect> {
        if self.exit.is_some() || self.phase == Phase::Finished {
            return Vec::new();
        }
        self.exit = Some(exit);
        let mut effects = vec![Effect::WriteResult(self.job_result())];
        if self.phase == Phase::Running {
            self.phase = Phase::Draining { until: now + DRAIN_TIME };
            if self.output_closed {
                effects.push(Effect::ScanTree);
            }
        } else {
            effects.push(Effect::ScanTree);
        }
        effects
    }

    fn tree_scanned(&mut self, is_left: bool, now: Duration) -> Vec<Effect> {
        // Until the root process is reaped, something is left.
        let is_left = is_left || self.exit.is_none();
        match self.phase {
            Phase::Running | Phase::Finished => Vec::new(),
            _ if !is_left => self.finish(),
            // A process that is about to end by itself is no leftover.
            Phase::Draining { until } if now < until => Vec::new(),
            Phase::Draining { .. } => {
                self.phase = Phase::Terminating { until: now + GRACE };
                self.leftovers_reported = true;
                vec![Effect::ReportLeftovers, Effect::Signal(Signal::SIGTERM)]
            }
            Phase::Terminating { until } if now >= until => {
                self.phase = Phase::Killing { next: now + KILL_INTERVAL, until: now + KILL_TIMEOUT };
                vec![Effect::Signal(Signal::SIGKILL)]
            }
            Phase::Terminating { .. } => Vec::new(),
            Phase::Killing { until, .. } if now >= until => {
                self.has_survivors = true;
                let mut effects = vec![Effect::ReportSurvivors, Effect::WriteResult(self.job_result())];
                effects.extend(self.finish());
                effects
            }
            Phase::Killing { next, until } if now >= next => {
                self.phase = Phase::Killing { next: now + KILL_INTERVAL, until };
                vec![Effect::Signal(Signal::SIGKILL)]
            }
            Phase::Killing { .. } => Vec::new(),
        }
    }

    fn finish(&mut self) -> Vec<Effect> {
        self.phase = Phase::Finished;
        vec![Effect::Finish(self.job_result())]
    }

    fn kill(&mut self, cause: Cause, signal: Signal, grace: Duration, now: Duration) -> Vec<Effect> {
        // A job that has ended keeps its cause.
        if self.exit.is_none() {
            self.cause.get_or_insert(cause);
        }
        let mut effects = Vec::new();
        if matches!(self.phase, Phase::Draining { .. }) && !self.leftovers_reported {
            self.leftovers_reported = true;
            effects.push(Effect::ReportLeftovers);
        }
        match self.phase {
            Phase::Finished | Phase::Killing { .. } => return Vec::new(),
            _ if signal == Signal::SIGKILL || grace.is_zero() => {
                self.phase = Phase::Killing { next: now + KILL_INTERVAL, until: now + KILL_TIMEOUT };
            }
            Phase::Terminating { until } => self.phase = Phase::Terminating { until: until.min(now + grace) },
            Phase::Running | Phase::Draining { .. } => self.phase = Phase::Terminating { until: now + grace },
        }
        let is_last = matches!(self.phase, Phase::Killing { .. });
        effects.push(Effect::Signal(if is_last { Signal::SIGKILL } else { signal }));
        effects.push(Effect::ScanTree);
        effects
    }

    fn tick(&mut self, now: Duration) -> Vec<Effect> {
        match self.phase {
            Phase::Running => match self.timeout {
                Some(timeout) if now >= timeout => self.kill(Cause::TimedOut(timeout), Signal::SIGTERM, GRACE, now),
                _ => Vec::new(),
            },
            Phase::Draining { until } if now < until && !self.output_closed => Vec::new(),
            Phase::Finished => Vec::new(),
            _ => vec![Effect::ScanTree],
        }
    }

    /// How the job has ended, as far as that is known.
    fn job_result(&self) -> JobResult {
        let (exit_code, signal) = match self.exit {
            Some(Exit::Code(code)) => (Some(i64::from(code)), None),
            Some(Exit::Signal(signal)) => (None, Some(i64::from(signal))),
            Some(Exit::ExecFailed(_)) | None => (None, None),
        };
        let (status, error_message) = match (&self.cause, &self.exit) {
            (Some(Cause::KillRequested(with)), _) => {
                (JobStatus::Canceled, Some(format!("it was killed on request, by {with}")))
            }
            (Some(Cause::TimedOut(timeout)), _) => {
                let span = humantime::format_duration(*timeout);
                (JobStatus::TimedOut, Some(format!("it ran longer than {span}")))
            }
            (Some(Cause::SupervisorTerminated(signal)), _) => {
                (JobStatus::Canceled, Some(format!("its supervisor was ended by {signal}")))
            }
            (None, Some(Exit::Code(0))) => (JobStatus::Succeeded, None),
            (None, Some(Exit::Code(_)) | None) => (JobStatus::Failed, None),
            (None, Some(Exit::Signal(number))) => {
                let name = Signal::try_from(*number).map_or_else(|_| number.to_string(), |name| name.to_string());
                (JobStatus::Failed, Some(format!("it was ended by {name}")))
            }
            (None, Some(Exit::ExecFailed(why))) => (JobStatus::Failed, Some(why.clone())),
        };
        let error_message = match (self.has_survivors, error_message) {
            (false, said) => said,
            (true, None) => Some(SURVIVORS_MESSAGE.to_owned()),
            (true, Some(said)) => Some(format!("{said}; {SURVIVORS_MESSAGE}")),
        };
        JobResult { status, exit_code, signal, error_message }
    }
}

const SURVIVORS_MESSAGE: &str = "some of its processes could not be ended";

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Plays events at their times and returns the effects of each.
    fn play(timeout: Option<Duration>, events: &[(u64, Event)]) -> (StateMachine, Vec<Vec<Effect>>) {
        let mut machine = StateMachine::new(timeout);
        let mut seen = Vec::new();
        for (millis, event) in events {
            let (next, effects) = machine.step(event.clone(), at(*millis));
            machine = next;
            seen.push(effects);
        }
        (machine, seen)
    }

    fn ending(status: JobStatus, code: Option<i64>, signal: Option<i64>, why: Option<&str>) -> JobResult {
        JobResult { status, exit_code: code, signal, error_message: why.map(str::to_owned) }
    }

    fn kill(grace: u64) -> Event {
        Event::Kill { signal: Signal::SIGTERM, grace: at(grace) }
    }

    const GONE: Event = Event::TreeScanned { is_left: false };
    const LEFT: Event = Event::TreeScanned { is_left: true };
    use Effect::{Finish, ReportLeftovers, ReportSurvivors, ScanTree, Signal as Send, WriteResult};

    #[test]
    fn exit_is_recorded_at_once_and_written_after_output_and_processes_end() {
        let done = ending(JobStatus::Succeeded, Some(0), None, None);
        let exit = Event::Exited(Exit::Code(0));
        let (machine, seen) = play(None, &[(5, exit.clone()), (9, Event::OutputClosed), (9, GONE)]);
        assert_eq!(seen, [vec![WriteResult(done.clone())], vec![ScanTree], vec![Finish(done.clone())]]);
        assert_eq!(machine.due(), None);
        // The other order: a program that closes its streams before it ends.
        let (_, seen) = play(None, &[(5, Event::OutputClosed), (9, exit), (9, GONE)]);
        assert_eq!(seen, [vec![], vec![WriteResult(done.clone()), ScanTree], vec![Finish(done)]]);
    }

    #[test]
    fn stream_that_stays_open_is_waited_for_only_so_long() {
        let exit = Event::Exited(Exit::Code(3));
        let (machine, seen) = play(None, &[(0, exit.clone()), (299, Event::Tick)]);
        assert_eq!((machine.due(), &*seen[1]), (Some(DRAIN_TIME), &[][..]));
        let (machine, seen) =
            play(None, &[(0, exit), (300, Event::Tick), (300, LEFT), (301, Event::Tick), (301, LEFT)]);
        assert_eq!(seen[1..], [vec![ScanTree], vec![ReportLeftovers, Send(Signal::SIGTERM)], vec![ScanTree], vec![]]);
        assert_eq!(machine.due(), Some(at(2_300)));
        let (machine, effects) = machine.step(Event::Tick, at(2_300));
        assert_eq!(effects, [ScanTree]);
        let (machine, effects) = machine.step(LEFT, at(2_300));
        assert_eq!((effects, machine.due()), (vec![Send(Signal::SIGKILL)], Some(at(2_320))));
        let (machine, effects) = machine.step(LEFT, at(2_310));
        assert_eq!(effects, [], "no sooner than that");
        let (_, effects) = machine.step(GONE, at(2_311));
        assert_eq!(effects, [Finish(ending(JobStatus::Failed, Some(3), None, None))]);
    }

    #[test]
    fn kill_ends_the_tree_and_an_exit_with_0_does_not_make_it_a_success() {
        let (_, seen) = play(None, &[(0, kill(500)), (0, LEFT), (3, Event::Exited(Exit::Code(0))), (3, GONE)]);
        let canceled = ending(JobStatus::Canceled, Some(0), None, Some("it was killed on request, by SIGTERM"));
        assert_eq!(
            seen,
            [
                vec![Send(Signal::SIGTERM), ScanTree],
                vec![],
                vec![WriteResult(canceled.clone()), ScanTree],
                vec![Finish(canceled)]
            ]
        );
    }

    #[test]
    fn job_is_not_over_before_its_program_is_reaped() {
        let (_, seen) = play(None, &[(0, kill(500)), (0, GONE), (1, Event::Tick), (1, GONE)]);
        assert_eq!(seen[1..], [vec![], vec![ScanTree], vec![]]);
    }

    #[test]
    fn tree_that_ignores_the_first_signal_is_killed_after_the_grace() {
        let (machine, seen) = play(None, &[(0, kill(500)), (0, LEFT), (499, Event::Tick), (499, LEFT)]);
        assert_eq!((machine.due(), &*seen[3]), (Some(at(500)), &[][..]));
        let (_, effects) = machine.step(LEFT, at(500));
        assert_eq!(effects, [Send(Signal::SIGKILL)]);
    }

    #[test]
    fn second_kill_can_only_hasten_it() {
        let (machine, _) = play(None, &[(0, kill(5_000)), (100, kill(60_000))]);
        assert_eq!(machine.due(), Some(at(5_000)));
        let (machine, _) = machine.step(kill(200), at(100));
        assert_eq!(machine.due(), Some(at(300)));
        let (machine, effects) = machine.step(Event::Kill { signal: Signal::SIGKILL, grace: at(9) }, at(150));
        assert_eq!(effects, [Send(Signal::SIGKILL), ScanTree]);
        let (machine, effects) = machine.step(kill(200), at(160));
        assert_eq!(effects, []);
        let (_, effects) = machine.step(Event::Exited(Exit::Signal(9)), at(161));
        let first = "it was killed on request, by SIGTERM";
        assert_eq!(effects, [WriteResult(ending(JobStatus::Canceled, None, Some(9), Some(first))), ScanTree]);
    }

    #[test]
    fn kill_after_the_exit_hastens_the_end_and_does_not_change_it() {
        let (machine, seen) = play(None, &[(0, Event::Exited(Exit::Code(0))), (10, kill(0)), (10, LEFT), (20, GONE)]);
        assert_eq!(seen[1], [ReportLeftovers, Send(Signal::SIGKILL), ScanTree]);
        assert_eq!(seen[3], [Finish(ending(JobStatus::Succeeded, Some(0), None, None))]);
        assert_eq!(machine.due(), None);
    }

    #[test]
    fn time_runs_out_and_the_supervisor_may_be_told_to_end() {
        let (machine, seen) = play(Some(at(1_000)), &[(999, Event::Tick), (1_000, Event::Tick)]);
        assert_eq!(seen, [vec![], vec![Send(Signal::SIGTERM), ScanTree]]);
        let (_, effects) = machine.step(Event::Exited(Exit::Signal(15)), at(1_001));
        let late = ending(JobStatus::TimedOut, None, Some(15), Some("it ran longer than 1s"));
        assert_eq!(effects, [WriteResult(late), ScanTree]);
        let (machine, seen) = play(Some(at(1_000)), &[(1, Event::Terminate(Signal::SIGHUP))]);
        assert_eq!((seen, machine.due()), (vec![vec![Send(Signal::SIGTERM), ScanTree]], Some(at(1_001))));
        let (_, effects) = machine.step(Event::Exited(Exit::Code(0)), at(1_001));
        let told = ending(JobStatus::Canceled, Some(0), None, Some("its supervisor was ended by SIGHUP"));
        assert_eq!(effects, [WriteResult(told), ScanTree]);
    }

    #[test]
    fn foreign_signal_and_a_program_that_never_began_have_failed() {
        let (_, seen) = play(None, &[(0, Event::Exited(Exit::Signal(9)))]);
        assert_eq!(seen[0], [WriteResult(ending(JobStatus::Failed, None, Some(9), Some("it was ended by SIGKILL")))]);
        let (_, seen) =
            play(None, &[(0, Event::Exited(Exit::ExecFailed("no".into()))), (0, Event::Exited(Exit::Code(127)))]);
        assert_eq!(seen, [vec![WriteResult(ending(JobStatus::Failed, None, None, Some("no")))], vec![]]);
    }

    #[test]
    fn process_that_cannot_be_killed_is_named_and_left() {
        let (machine, seen) =
            play(None, &[(0, Event::Exited(Exit::Code(0))), (0, Event::OutputClosed), (0, LEFT), (300, LEFT)]);
        assert_eq!(seen[2..], [vec![], vec![ReportLeftovers, Send(Signal::SIGTERM)]]);
        let (machine, _) = machine.step(LEFT, at(2_300));
        let (_, effects) = machine.step(LEFT, at(7_300));
        let left = ending(JobStatus::Succeeded, Some(0), None, Some(SURVIVORS_MESSAGE));
        assert_eq!(effects, [ReportSurvivors, WriteResult(left.clone()), Finish(left)]);
    }

    use proptest::prelude::*;

    /// An event from outside, with the time that passes before it.
    fn happening() -> impl Strategy<Value = (u64, Event)> {
        let event = prop_oneof![
            Just(Event::Exited(Exit::Code(0))),
            Just(Event::Exited(Exit::Signal(9))),
            Just(Event::OutputClosed),
            Just(Event::Tick),
            Just(GONE),
            Just(LEFT),
            Just(Event::Terminate(Signal::SIGTERM)),
            (0_u64..3_000).prop_map(kill),
        ];
        (0_u64..1_000, event)
    }

    proptest! {
        /// For any sequence of events: the result is written to the directory when the program has ended, and the job finishes
        /// once, after that, with this result. When only time passes, every job whose program has ended finishes, without an
        /// endless loop at one time.
        #[test]
        fn every_job_ends_once(timeout in proptest::option::of(0_u64..5_000), happenings in proptest::collection::vec(happening(), 0..40)) {
            let mut machine = StateMachine::new(timeout.map(at));
            let (mut now, mut noted, mut finished, mut has_exited) = (0, Vec::new(), Vec::new(), false);
            let exit = [(0, Event::Exited(Exit::Code(1)))];
            // From here on only time passes; the remaining processes do not end by themselves.
            let rest = std::iter::repeat_n((0, Event::Tick), 2_000);
            for (pause, event) in happenings.into_iter().chain(exit).chain(rest) {
                now += pause;
                if event == Event::Tick && pause == 0 && has_exited {
                    now = machine.due().map_or(now, |due| now.max(u64::try_from(due.as_millis()).unwrap()));
                }
                has_exited |= matches!(event, Event::Exited(_));
                let mut events = std::collections::VecDeque::from([event]);
                let mut steps = 0;
                while let Some(event) = events.pop_front() {
                    steps += 1;
                    prop_assert!(steps < 10, "it goes round in circles");
                    let (next, effects) = machine.step(event, at(now));
                    machine = next;
                    for effect in effects {
                        prop_assert!(finished.is_empty(), "{effect:?} after the end");
                        match effect {
                            WriteResult(ending) => noted.push(ending),
                            Finish(ending) => finished.push(ending),
                            ScanTree => events.push_back(LEFT),
                            _ => {}
                        }
                    }
                }
            }
            prop_assert_eq!(finished.len(), 1);
            prop_assert_eq!(noted.last(), finished.last());
            // Once when the program ended, and once more when processes survived SIGKILL.
            prop_assert!(noted.len() <= 2 && noted.iter().all(|one| one.status == finished[0].status));
            prop_assert_eq!(machine.due(), None);
        }
    }
}
