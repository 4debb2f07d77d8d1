//! Keyboard to a program: one text after the other, each pasted whole and then submitted by an Enter of its own, which is
//! pressed again when the program showed the text and then nothing at all. Decides only; times are spans since some start.

use std::{collections::VecDeque, time::Duration};

use crate::domain::{keys, modes::Modes};

/// A text is shown once nothing was printed for so long.
const QUIET: Duration = Duration::from_millis(80);
/// Or after so long, whatever goes on being printed.
const SHOWING: Duration = Duration::from_secs(2);
/// A program that prints nothing for so long shows no input.
const SILENCE: Duration = Duration::from_millis(300);
/// Enter was lost when nothing is printed for so long after it by a program that showed the text.
const ANSWER: Duration = Duration::from_secs(1);
/// How often Enter is pressed at most.
const PRESSES: u8 = 3;
/// How long a program may take to accept a text.
pub(super) const ACCEPTING: Duration = Duration::from_secs(15);

/// What is to be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// A text, pasted and submitted.
    Text(Vec<u8>),
    /// Keys by their names.
    Keys(Vec<String>),
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Hand these bytes to the terminal.
    Write(Vec<u8>),
    /// The job is done.
    Done(u64),
    /// The program did not accept it in time: forget what the terminal has not taken.
    GivenUp(u64),
}

/// Texts that wait, and the one that is being typed.
#[derive(Debug, Default)]
pub struct Keyboard {
    queue: VecDeque<(u64, Job)>,
    now: Option<Current>,
}

#[derive(Debug)]
struct Current {
    id: u64,
    submits: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// The text goes to the terminal; when something was last printed.
    Writing { since: Duration, printed: Option<Duration> },
    /// The program shows it.
    Showing { since: Duration, printed: Option<Duration> },
    /// Enter is pressed, and since when it has been taken.
    Pressed { shown: bool, left: u8, since: Option<Duration>, asked: Duration },
}

impl Keyboard {
    /// Puts a job at the end of the queue.
    pub fn add(&mut self, id: u64, job: Job) {
        self.queue.push_back((id, job));
    }

    /// Forgets a job whose caller is gone, unless it has begun.
    pub fn forget(&mut self, id: u64) {
        self.queue.retain(|(one, _)| *one != id);
    }

    /// Whether what a person types must wait, so that it does not get into the middle of a text.
    #[must_use]
    pub const fn is_writing(&self) -> bool {
        matches!(&self.now, Some(Current { phase: Phase::Writing { .. }, .. }))
    }

    /// The program printed something.
    pub fn printed(&mut self, now: Duration) {
        match self.now.as_mut().map(|current| &mut current.phase) {
            Some(Phase::Writing { printed, .. } | Phase::Showing { printed, .. }) => *printed = Some(now),
            // An answer: no further Enter is needed.
            Some(Phase::Pressed { shown, .. }) => *shown = false,
            None => {}
        }
    }

    /// What is to be done now; `drained` says that the terminal has taken everything. Ask until there is nothing.
    pub fn next(&mut self, now: Duration, modes: Modes, drained: bool) -> Option<Step> {
        let Some(current) = &mut self.now else {
            let (id, job) = self.queue.pop_front()?;
            let phase = Phase::Writing { since: now, printed: None };
            self.now = Some(Current { id, submits: matches!(job, Job::Text(_)), phase });
            return Some(Step::Write(written(job, modes)));
        };
        let id = current.id;
        let waited = |since: Duration| now.saturating_sub(since);
        let (done, given_up) = match &mut current.phase {
            Phase::Writing { since, .. } if !drained => (false, waited(*since) >= ACCEPTING),
            Phase::Writing { .. } if !current.submits => (true, false),
            Phase::Writing { printed, .. } => {
                current.phase = Phase::Showing { since: now, printed: *printed };
                return self.next(now, modes, drained);
            }
            Phase::Showing { since, printed } => {
                let is_shown = match printed {
                    Some(last) => waited((*last).max(*since)) >= QUIET || waited(*since) >= SHOWING,
                    None => waited(*since) >= SILENCE,
                };
                if is_shown {
                    let shown = printed.is_some();
                    current.phase = Phase::Pressed { shown, left: PRESSES - 1, since: None, asked: now };
                    return Some(Step::Write(b"\r".to_vec()));
                }
                (false, false)
            }
            Phase::Pressed { asked, .. } if !drained => (false, waited(*asked) >= ACCEPTING),
            Phase::Pressed { shown: false, .. } => (true, false),
            Phase::Pressed { left, since, asked, .. } => {
                if waited(*since.get_or_insert(now)) < ANSWER {
                    (false, false)
                } else if *left == 0 {
                    (true, false)
                } else {
                    (*left, *since, *asked) = (*left - 1, None, now);
                    return Some(Step::Write(b"\r".to_vec()));
                }
            }
        };
        if done || given_up {
            self.now = None;
            return Some(if done { Step::Done(id) } else { Step::GivenUp(id) });
        }
        None
    }

    /// When to ask again though nothing happens.
    #[must_use]
    pub fn wake(&self) -> Option<Duration> {
        match &self.now.as_ref()?.phase {
            Phase::Writing { since, .. } => Some(*since + ACCEPTING),
            Phase::Showing { since, printed: Some(last) } => Some(((*last).max(*since) + QUIET).min(*since + SHOWING)),
            Phase::Showing { since, printed: None } => Some(*since + SILENCE),
            Phase::Pressed { since: Some(since), .. } => Some(*since + ANSWER),
            Phase::Pressed { since: None, asked, .. } => Some(*asked + ACCEPTING),
        }
    }
}

fn written(job: Job, modes: Modes) -> Vec<u8> {
    match job {
        Job::Text(text) if modes.bracketed && !text.is_empty() => [b"\x1b[200~", &*text, b"\x1b[201~"].concat(),
        Job::Text(text) => text,
        Job::Keys(words) => words.iter().flat_map(|word| keys::bytes_in(word, modes.application_arrows)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn enter() -> Step {
        Step::Write(b"\r".to_vec())
    }

    fn begun(text: &str) -> Keyboard {
        let mut keyboard = Keyboard::default();
        keyboard.add(1, Job::Text(text.into()));
        assert_eq!(keyboard.next(at(0), Modes::default(), true), Some(Step::Write(text.into())));
        keyboard
    }

    #[test]
    fn enter_comes_once_the_text_is_shown_and_is_not_repeated_when_answered() {
        let mut keyboard = begun("hi");
        assert_eq!(keyboard.next(at(1), Modes::default(), false), None);
        assert!(keyboard.is_writing());
        keyboard.printed(at(5));
        assert_eq!(keyboard.next(at(10), Modes::default(), true), None);
        assert!(!keyboard.is_writing());
        keyboard.printed(at(60));
        assert_eq!(keyboard.next(at(139), Modes::default(), true), None);
        assert_eq!(keyboard.wake(), Some(at(140)));
        assert_eq!(keyboard.next(at(140), Modes::default(), true), Some(enter()));
        assert_eq!(keyboard.next(at(141), Modes::default(), true), None);
        keyboard.printed(at(150));
        assert_eq!(keyboard.next(at(150), Modes::default(), true), Some(Step::Done(1)));
        assert_eq!(keyboard.next(at(150), Modes::default(), true), None);
        assert_eq!(keyboard.wake(), None);
    }

    #[test]
    fn an_enter_that_was_swallowed_is_pressed_again_and_no_more_than_twice() {
        let mut keyboard = begun("hi");
        keyboard.printed(at(0));
        assert_eq!(keyboard.next(at(20), Modes::default(), true), None);
        assert_eq!(keyboard.next(at(100), Modes::default(), true), Some(enter()));
        for again in 0..2 {
            let from = 100 + again * 1_000;
            assert_eq!(keyboard.next(at(from), Modes::default(), true), None);
            assert_eq!(keyboard.next(at(from + 999), Modes::default(), true), None);
            assert_eq!(keyboard.next(at(from + 1_000), Modes::default(), true), Some(enter()));
        }
        assert_eq!(keyboard.next(at(2_100), Modes::default(), true), None);
        assert_eq!(keyboard.next(at(3_100), Modes::default(), true), Some(Step::Done(1)));
    }

    #[test]
    fn a_program_that_shows_nothing_gets_one_enter() {
        let mut keyboard = begun("hi");
        assert_eq!(keyboard.next(at(0), Modes::default(), true), None);
        assert_eq!(keyboard.next(at(299), Modes::default(), true), None);
        assert_eq!(keyboard.next(at(300), Modes::default(), true), Some(enter()));
        assert_eq!(keyboard.next(at(301), Modes::default(), true), Some(Step::Done(1)));
    }

    #[test]
    fn one_that_never_stops_printing_is_not_waited_for() {
        let mut keyboard = begun("hi");
        for time in 0..40 {
            keyboard.printed(at(time * 50));
            assert_eq!(keyboard.next(at(time * 50), Modes::default(), true), None);
        }
        keyboard.printed(at(2_000));
        assert_eq!(keyboard.next(at(2_000), Modes::default(), true), Some(enter()));
    }

    #[test]
    fn one_that_accepts_nothing_is_given_up() {
        let mut keyboard = begun("hi");
        keyboard.add(2, Job::Keys(vec!["y".into(), "Enter".into()]));
        keyboard.add(3, Job::Text("gone".into()));
        keyboard.forget(3);
        assert_eq!(keyboard.next(at(14_999), Modes::default(), false), None);
        assert_eq!(keyboard.next(at(15_000), Modes::default(), false), Some(Step::GivenUp(1)));
        assert_eq!(keyboard.next(at(15_000), Modes::default(), true), Some(Step::Write(b"y\r".to_vec())));
        assert_eq!(keyboard.next(at(15_001), Modes::default(), true), Some(Step::Done(2)));
        assert_eq!(keyboard.next(at(15_001), Modes::default(), true), None);
    }

    #[test]
    fn a_paste_is_marked_for_those_who_asked() {
        let mut modes = Modes::default();
        modes.see(b"\x1b[?2004h\x1b[?1h");
        assert_eq!(written(Job::Text("a\nb".into()), modes), b"\x1b[200~a\nb\x1b[201~");
        assert_eq!(written(Job::Text(Vec::new()), modes), b"");
        assert_eq!(written(Job::Keys(vec!["Up".into()]), modes), b"\x1bOA");
    }
}
