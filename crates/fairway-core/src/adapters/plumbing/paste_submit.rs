//! Types texts into a program, one after the other. Each is pasted whole and submitted by a separate Enter, which is pressed
//! again when the program showed the text but printed nothing after the Enter. Only decides; times count from a common start.

use std::collections::VecDeque;
use std::time::Duration;

use crate::domain::terminal_keys;
use crate::domain::terminal_modes::TerminalModes;

/// A text counts as shown when nothing was printed for this long.
const ECHO_QUIET_TIME: Duration = Duration::from_millis(80);
/// A text counts as shown after this long, even if the program keeps printing.
const MAX_ECHO_TIME: Duration = Duration::from_secs(2);
/// A program that prints nothing for this long does not show its input.
const NO_ECHO_TIMEOUT: Duration = Duration::from_millis(300);
/// An Enter counts as lost when a program that showed the text prints nothing for this long after it.
const ENTER_TIMEOUT: Duration = Duration::from_secs(1);
/// How often Enter is pressed at most.
const MAX_ENTER_PRESSES: u8 = 3;
/// How long a program may take to accept a text.
pub(super) const ACCEPT_TIMEOUT: Duration = Duration::from_secs(15);

/// The input that is to be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyboardInput {
    /// A text, pasted and submitted.
    Text(Vec<u8>),
    /// A text, pasted and not submitted.
    Paste(Vec<u8>),
    /// Keys by their names.
    Keys(Vec<String>),
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Hand these bytes to the terminal.
    Write(Vec<u8>),
    /// The input with this id was typed.
    Done(u64),
    /// The program did not accept the input in time: drop the bytes that the terminal has not taken.
    TimedOut(u64),
}

/// The inputs that wait, and the one that is being typed.
#[derive(Debug, Default)]
pub struct PasteSubmit {
    queue: VecDeque<(u64, KeyboardInput)>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    id: u64,
    submits: bool,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// The text is written to the terminal. `printed` is the time of the program's last output.
    Writing { since: Duration, printed: Option<Duration> },
    /// The text was written, and the program may be showing it.
    Showing { since: Duration, printed: Option<Duration> },
    /// Enter was pressed. `since` is the time at which the terminal had taken it.
    Pressed { shown: bool, left: u8, since: Option<Duration>, asked: Duration },
}

impl PasteSubmit {
    pub fn add(&mut self, id: u64, job: KeyboardInput) {
        self.queue.push_back((id, job));
    }

    /// Removes an input whose caller has gone, unless its typing has begun.
    pub fn cancel(&mut self, id: u64) {
        self.queue.retain(|(one, _)| *one != id);
    }

    /// Whether a text is being written to the program. Keys that a person types must then wait, so that they do not get into the
    /// middle of the text.
    pub const fn is_writing(&self) -> bool {
        matches!(&self.current, Some(Current { phase: Phase::Writing { .. }, .. }))
    }

    /// Records that the program has printed something. To be called whenever it does.
    pub fn note_output(&mut self, now: Duration) {
        match self.current.as_mut().map(|current| &mut current.phase) {
            Some(Phase::Writing { printed, .. } | Phase::Showing { printed, .. }) => *printed = Some(now),
            // An answer: no further Enter is needed.
            Some(Phase::Pressed { shown, .. }) => *shown = false,
            None => {}
        }
    }

    /// Returns the next step of typing, if one is due. `drained` says that the terminal has taken all bytes so far. Call this
    /// until it returns `None`.
    pub fn next_action(&mut self, now: Duration, modes: TerminalModes, drained: bool) -> Option<Action> {
        let Some(current) = &mut self.current else {
            let (id, job) = self.queue.pop_front()?;
            let phase = Phase::Writing { since: now, printed: None };
            self.current = Some(Current { id, submits: matches!(job, KeyboardInput::Text(_)), phase });
            return Some(Action::Write(encode(job, modes)));
        };
        let id = current.id;
        let waited = |since: Duration| now.saturating_sub(since);
        let (done, given_up) = match &mut current.phase {
            Phase::Writing { since, .. } if !drained => (false, waited(*since) >= ACCEPT_TIMEOUT),
            Phase::Writing { .. } if !current.submits => (true, false),
            Phase::Writing { printed, .. } => {
                current.phase = Phase::Showing { since: now, printed: *printed };
                return self.next_action(now, modes, drained);
            }
            Phase::Showing { since, printed } => {
                let is_shown = match printed {
                    Some(last) => waited((*last).max(*since)) >= ECHO_QUIET_TIME || waited(*since) >= MAX_ECHO_TIME,
                    None => waited(*since) >= NO_ECHO_TIMEOUT,
                };
                if is_shown {
                    let shown = printed.is_some();
                    current.phase = Phase::Pressed { shown, left: MAX_ENTER_PRESSES - 1, since: None, asked: now };
                    return Some(Action::Write(b"\r".to_vec()));
                }
                (false, false)
            }
            Phase::Pressed { asked, .. } if !drained => (false, waited(*asked) >= ACCEPT_TIMEOUT),
            Phase::Pressed { shown: false, .. } => (true, false),
            Phase::Pressed { left, since, asked, .. } => {
                if waited(*since.get_or_insert(now)) < ENTER_TIMEOUT {
                    (false, false)
                } else if *left == 0 {
                    (true, false)
                } else {
                    (*left, *since, *asked) = (*left - 1, None, now);
                    return Some(Action::Write(b"\r".to_vec()));
                }
            }
        };
        if done || given_up {
            self.current = None;
            return Some(if done { Action::Done(id) } else { Action::TimedOut(id) });
        }
        None
    }

    /// When [`next_action`](Self::next_action) must be called even if nothing else happens; `None` when no input is being typed.
    pub fn next_wake(&self) -> Option<Duration> {
        match &self.current.as_ref()?.phase {
            Phase::Writing { since, .. } => Some(*since + ACCEPT_TIMEOUT),
            Phase::Showing { since, printed: Some(last) } => {
                Some(((*last).max(*since) + ECHO_QUIET_TIME).min(*since + MAX_ECHO_TIME))
            }
            Phase::Showing { since, printed: None } => Some(*since + NO_ECHO_TIMEOUT),
            Phase::Pressed { since: Some(since), .. } => Some(*since + ENTER_TIMEOUT),
            Phase::Pressed { since: None, asked, .. } => Some(*asked + ACCEPT_TIMEOUT),
        }
    }
}

fn encode(job: KeyboardInput, modes: TerminalModes) -> Vec<u8> {
    match job {
        KeyboardInput::Text(text) | KeyboardInput::Paste(text) if modes.bracketed_paste && !text.is_empty() => {
            [b"\x1b[200~", &*text, b"\x1b[201~"].concat()
        }
        KeyboardInput::Text(text) | KeyboardInput::Paste(text) => text,
        KeyboardInput::Keys(words) => {
            words.iter().flat_map(|word| terminal_keys::bytes_in_mode(word, modes.application_cursor_keys)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn enter() -> Action {
        Action::Write(b"\r".to_vec())
    }

    fn begun(text: &str) -> PasteSubmit {
        let mut keyboard = PasteSubmit::default();
        keyboard.add(1, KeyboardInput::Text(text.into()));
        assert_eq!(keyboard.next_action(at(0), TerminalModes::default(), true), Some(Action::Write(text.into())));
        keyboard
    }

    #[test]
    fn enter_comes_once_the_text_is_shown_and_is_not_repeated_when_answered() {
        let mut keyboard = begun("hi");
        assert_eq!(keyboard.next_action(at(1), TerminalModes::default(), false), None);
        assert!(keyboard.is_writing());
        keyboard.note_output(at(5));
        assert_eq!(keyboard.next_action(at(10), TerminalModes::default(), true), None);
        assert!(!keyboard.is_writing());
        keyboard.note_output(at(60));
        assert_eq!(keyboard.next_action(at(139), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_wake(), Some(at(140)));
        assert_eq!(keyboard.next_action(at(140), TerminalModes::default(), true), Some(enter()));
        assert_eq!(keyboard.next_action(at(141), TerminalModes::default(), true), None);
        keyboard.note_output(at(150));
        assert_eq!(keyboard.next_action(at(150), TerminalModes::default(), true), Some(Action::Done(1)));
        assert_eq!(keyboard.next_action(at(150), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_wake(), None);
    }

    #[test]
    fn swallowed_enter_is_pressed_again_at_most_twice() {
        let mut keyboard = begun("hi");
        keyboard.note_output(at(0));
        assert_eq!(keyboard.next_action(at(20), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_action(at(100), TerminalModes::default(), true), Some(enter()));
        for again in 0..2 {
            let from = 100 + again * 1_000;
            assert_eq!(keyboard.next_action(at(from), TerminalModes::default(), true), None);
            assert_eq!(keyboard.next_action(at(from + 999), TerminalModes::default(), true), None);
            assert_eq!(keyboard.next_action(at(from + 1_000), TerminalModes::default(), true), Some(enter()));
        }
        assert_eq!(keyboard.next_action(at(2_100), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_action(at(3_100), TerminalModes::default(), true), Some(Action::Done(1)));
    }

    #[test]
    fn program_that_shows_nothing_gets_one_enter() {
        let mut keyboard = begun("hi");
        assert_eq!(keyboard.next_action(at(0), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_action(at(299), TerminalModes::default(), true), None);
        assert_eq!(keyboard.next_action(at(300), TerminalModes::default(), true), Some(enter()));
        assert_eq!(keyboard.next_action(at(301), TerminalModes::default(), true), Some(Action::Done(1)));
    }

    #[test]
    fn program_that_never_stops_printing_is_not_waited_for() {
        let mut keyboard = begun("hi");
        for time in 0..40 {
            keyboard.note_output(at(time * 50));
            assert_eq!(keyboard.next_action(at(time * 50), TerminalModes::default(), true), None);
        }
        keyboard.note_output(at(2_000));
        assert_eq!(keyboard.next_action(at(2_000), TerminalModes::default(), true), Some(enter()));
    }

    #[test]
    fn program_that_accepts_no_text_is_given_up() {
        let mut keyboard = begun("hi");
        keyboard.add(2, KeyboardInput::Keys(vec!["y".into(), "Enter".into()]));
        keyboard.add(3, KeyboardInput::Text("gone".into()));
        keyboard.cancel(3);
        assert_eq!(keyboard.next_action(at(14_999), TerminalModes::default(), false), None);
        assert_eq!(keyboard.next_action(at(15_000), TerminalModes::default(), false), Some(Action::TimedOut(1)));
        assert_eq!(
            keyboard.next_action(at(15_000), TerminalModes::default(), true),
            Some(Action::Write(b"y\r".to_vec()))
        );
        assert_eq!(keyboard.next_action(at(15_001), TerminalModes::default(), true), Some(Action::Done(2)));
        assert_eq!(keyboard.next_action(at(15_001), TerminalModes::default(), true), None);
    }

    #[test]
    fn paste_is_bracketed_for_a_program_that_asked() {
        let mut modes = TerminalModes::default();
        modes.update(b"\x1b[?2004h\x1b[?1h");
        assert_eq!(encode(KeyboardInput::Text("a\nb".into()), modes), b"\x1b[200~a\nb\x1b[201~");
        assert_eq!(encode(KeyboardInput::Text(Vec::new()), modes), b"");
        assert_eq!(encode(KeyboardInput::Keys(vec!["Up".into()]), modes), b"\x1bOA");
    }
}
