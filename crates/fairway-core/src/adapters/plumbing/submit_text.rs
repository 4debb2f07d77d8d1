//! Types a text into a program's terminal and submits it. Enter is pressed separately, and again when it has no effect, because
//! programs drop it while they are busy.

use std::io;
use std::time::{Duration, Instant};

use super::sanitize_paste as texts;
use crate::domain::ansi;
use crate::domain::rules::screen_state;
use crate::os::poll_until;

/// A terminal that is typed into.
pub trait Terminal {
    /// The screen and the cursor in any form: two equal results mean that nothing has changed.
    fn snapshot(&mut self) -> io::Result<Vec<u8>>;

    /// Pastes a text as it is, without submitting it.
    fn paste(&mut self, text: &[u8]) -> io::Result<()>;

    /// Presses Enter once.
    fn press_enter(&mut self) -> io::Result<()>;
}

/// How long to wait for each step of typing.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For the pasted text to appear.
    pub echo: Duration,
    /// For the screen to stop changing after that.
    pub redraw: Duration,
    /// How long the screen must have stopped changing.
    pub quiet: Duration,
    /// For the Enter to change the screen.
    pub effect: Duration,
    /// The longest pause between two snapshots.
    pub poll_interval: Duration,
}

impl Timeouts {
    /// The timeouts for typing into a program whose questions are recognized by the texts in `questions`. When there are any, the
    /// program is an agent's command line. It may show typed text late on a busy machine, and takes an Enter that arrives
    /// together with the text for a line break, so it gets more time.
    pub const fn for_questions(questions: &[String]) -> Self {
        Self {
            echo: if questions.is_empty() { Duration::from_millis(600) } else { Duration::from_secs(5) },
            redraw: Duration::from_secs(2),
            // One was seen to take an Enter for a line break until 40 ms after a paste.
            quiet: if questions.is_empty() { Duration::ZERO } else { Duration::from_millis(100) },
            effect: Duration::from_secs(1),
            poll_interval: Duration::from_millis(60),
        }
    }
}

/// How much of a text's beginning is searched for on a screen, in characters: short enough for one line.
const SIGN_CHARS: usize = 16;
/// Agents' command lines show this and a number instead of a long text.
const PASTE_PLACEHOLDER: &str = "[Pasted";
/// How often Enter is pressed at most.
const MAX_ENTER_PRESSES: u32 = 3;

/// The result of typing a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submission {
    /// The text was submitted with this many presses of Enter.
    Submitted(u32),
    /// The screen shows a question with this text. Enter was not pressed, because it would have answered the question.
    Question(String),
}

/// Types a text and presses Enter. Nothing is typed when the screen shows one of the `questions`, and Enter is not pressed when
/// it shows one after the text was typed. Enter is pressed again only when the text visibly arrived, and the screen has not
/// changed since Enter or shows that an agent took it for a line break. So a program that shows nothing gets exactly one Enter.
///
/// # Errors
/// When the terminal fails; text that was typed before that is not removed.
pub fn submit_text(
    terminal: &mut impl Terminal,
    text: &[u8],
    questions: &[String],
    timeouts: &Timeouts,
) -> io::Result<Submission> {
    let question = |shown: &[u8], questions: &[String]| {
        let shown = ansi::strip_escapes(&String::from_utf8_lossy(shown));
        screen_state::find_question(&shown, questions).map(|sign| Submission::Question(sign.to_owned()))
    };
    let clean = texts::sanitize_paste(text);
    if clean.is_empty() && questions.is_empty() {
        terminal.press_enter()?;
        return Ok(Submission::Submitted(1));
    }
    let before = terminal.snapshot()?;
    if let Some(asks) = question(&before, questions) {
        return Ok(asks);
    }
    if clean.is_empty() {
        terminal.press_enter()?;
        return Ok(Submission::Submitted(1));
    }
    terminal.paste(&clean)?;
    // An agent's command line draws other things too, so a change alone does not prove that the text has arrived.
    let sign = if questions.is_empty() { None } else { PasteSign::of(&clean, &before) };
    let echoed = wait_for_change(terminal, &before, sign.as_ref(), timeouts.echo, timeouts.poll_interval)?;
    let has_echoed = echoed.is_some();
    let mut shown = echoed.unwrap_or(before);
    if has_echoed {
        // A long text is drawn in steps.
        let (mut failed, mut changed) = (None, Instant::now());
        poll_until::poll_until(timeouts.redraw, timeouts.poll_interval, || match terminal.snapshot() {
            Ok(now) if now == shown => (changed.elapsed() >= timeouts.quiet).then_some(()),
            Ok(now) => {
                (shown, changed) = (now, Instant::now());
                None
            }
            Err(error) => {
                failed = Some(error);
                Some(())
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
    }
    // The text itself may quote a question, and it is on the screen by now.
    let typed = String::from_utf8_lossy(&clean).into_owned();
    let others: Vec<String> = questions
        .iter()
        .filter(|sign| screen_state::find_question(&typed, &[(*sign).clone()]).is_none())
        .cloned()
        .collect();
    if let Some(asks) = question(&shown, &others) {
        return Ok(asks);
    }
    let mut pressed = 0;
    while pressed < MAX_ENTER_PRESSES {
        terminal.press_enter()?;
        pressed += 1;
        if !has_echoed {
            break;
        }
        if let Some(now) = wait_for_change(terminal, &shown, None, timeouts.effect, timeouts.poll_interval)? {
            if !sign.as_ref().is_some_and(|sign| sign.has_one_line_more(&shown, &now)) {
                break;
            }
            if let Some(asks) = question(&now, &others) {
                return Ok(asks);
            }
            shown = now;
        }
    }
    Ok(Submission::Submitted(pressed))
}

/// How a pasted text is recognized on a screen.
struct PasteSign {
    /// The beginning of the text.
    beginning: String,
    /// How often the screen showed it before the paste.
    earlier: usize,
}

impl PasteSign {
    /// `None` for a text without visible characters.
    fn of(text: &[u8], before: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(text);
        let beginning: String = text.trim_start().lines().next()?.chars().take(SIGN_CHARS).collect();
        let beginning = beginning.trim_end().to_owned();
        let unseen = Self { beginning, earlier: 0 };
        Some(Self { earlier: unseen.count(before), ..unseen })
    }

    fn count(&self, shown: &[u8]) -> usize {
        let shown = ansi::strip_escapes(&String::from_utf8_lossy(shown));
        shown.matches(&self.beginning).count() + shown.matches(PASTE_PLACEHOLDER).count()
    }

    fn is_on(&self, shown: &[u8]) -> bool {
        self.count(shown) > self.earlier
    }

    /// Whether the text still stands above the same row of its input line's frame, with one empty row more in between.
    fn has_one_line_more(&self, before: &[u8], after: &[u8]) -> bool {
        match (self.row_below(before), self.row_below(after)) {
            (Some((empty, row)), Some((more, same))) => more == empty + 1 && row == same,
            _ => false,
        }
    }

    /// The first row below the text that is not empty, and how many empty rows stand before it.
    fn row_below(&self, shown: &[u8]) -> Option<(usize, String)> {
        let shown = ansi::strip_escapes(&String::from_utf8_lossy(shown));
        let rows: Vec<&str> = shown.lines().map(str::trim).collect();
        let is_text = |row: &&str| row.contains(&self.beginning) || row.contains(PASTE_PLACEHOLDER);
        let below = &rows[rows.iter().rposition(is_text)? + 1..];
        let empty = below.iter().position(|row| !row.is_empty())?;
        Some((empty, below[empty].to_owned()))
    }
}

/// Waits until the screen differs from `than` and shows the sign, if there is one. At the limit, a change without the sign
/// counts, too. `None` when the screen has not changed.
fn wait_for_change(
    terminal: &mut impl Terminal,
    than: &[u8],
    sign: Option<&PasteSign>,
    limit: Duration,
    pause: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let mut changed = None;
    let seen = poll_until::poll_until(limit, pause, || match terminal.snapshot() {
        Ok(now) if now == than => None,
        Ok(now) if sign.is_none_or(|sign| sign.is_on(&now)) => Some(Ok(now)),
        Ok(now) => {
            changed = Some(now);
            None
        }
        Err(error) => Some(Err(error)),
    });
    Ok(seen.transpose()?.or(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that shows pasted text or does not, and drops the first presses of Enter.
    struct Fake {
        echoes: bool,
        /// The question that the program asks as soon as something was pasted.
        asks: &'static str,
        swallows: u32,
        /// A swallowed Enter becomes a line break in the input line, as soon after the paste as this.
        breaks_lines: Option<Duration>,
        pasted_at: Instant,
        screen: Vec<u8>,
        /// The screen that it shows after this number of snapshots.
        later: Option<(u32, &'static str)>,
        pasted: Vec<u8>,
        presses: u32,
        screen_at_enter: Vec<u8>,
    }

    impl Terminal for Fake {
        fn snapshot(&mut self) -> io::Result<Vec<u8>> {
            if let Some((looks, shows)) = &mut self.later {
                *looks = looks.saturating_sub(1);
                if *looks == 0 {
                    self.screen.extend_from_slice(shows.as_bytes());
                    self.later = None;
                }
            }
            Ok(self.screen.clone())
        }

        fn paste(&mut self, text: &[u8]) -> io::Result<()> {
            self.pasted.extend_from_slice(text);
            if self.echoes {
                self.screen.extend_from_slice(text);
            }
            self.screen.extend_from_slice(self.asks.as_bytes());
            if self.breaks_lines.is_some() {
                self.screen.extend_from_slice(b"\n-----");
            }
            self.pasted_at = Instant::now();
            Ok(())
        }

        fn press_enter(&mut self) -> io::Result<()> {
            self.presses += 1;
            self.screen_at_enter = self.screen.clone();
            let is_early = self.breaks_lines.is_some_and(|span| self.pasted_at.elapsed() < span);
            if self.echoes && self.presses > self.swallows && !is_early {
                self.screen.clear();
            } else if self.breaks_lines.is_some() {
                let frame = self.screen.len() - b"\n-----".len();
                self.screen.insert(frame, b'\n');
            }
            Ok(())
        }
    }

    fn fake(echoes: bool, swallows: u32) -> Fake {
        let (screen, pasted, screen_at_enter) = (Vec::new(), Vec::new(), Vec::new());
        let (breaks_lines, pasted_at) = (None, Instant::now());
        Fake {
            echoes,
            asks: "",
            swallows,
            breaks_lines,
            pasted_at,
            screen,
            later: None,
            pasted,
            presses: 0,
            screen_at_enter,
        }
    }

    fn submit(fake: &mut Fake, text: &[u8]) -> Submission {
        let short = Duration::from_millis(10);
        let timeouts =
            Timeouts { echo: short, redraw: short, quiet: Duration::ZERO, effect: short, poll_interval: short };
        submit_text(fake, text, &["Allow this?".to_owned()], &timeouts).unwrap()
    }

    fn presses(echoes: bool, swallows: u32, text: &[u8]) -> (u32, Vec<u8>) {
        let mut fake = fake(echoes, swallows);
        assert_eq!(submit(&mut fake, text), Submission::Submitted(fake.presses));
        (fake.presses, fake.pasted)
    }

    #[test]
    fn question_on_the_screen_gets_neither_text_nor_enter() {
        let asks = Submission::Question("Allow this?".into());
        for text in [&b"yes"[..], b""] {
            let mut standing = Fake { screen: b"\x1b[1mAllow\x1b[0m this?".to_vec(), ..fake(true, 0) };
            assert_eq!(submit(&mut standing, text), asks);
            assert_eq!((standing.presses, standing.pasted), (0, Vec::new()));
        }
        // The question appears after the paste: the text stays and is not submitted.
        for echoes in [true, false] {
            let mut coming = Fake { asks: "\nAllow this?", ..fake(echoes, 0) };
            assert_eq!(submit(&mut coming, b"yes"), asks);
            assert_eq!((coming.presses, coming.pasted), (0, b"yes".to_vec()));
        }
        let mut quoted = fake(true, 0);
        assert_eq!(submit(&mut quoted, b"it said: Allow this?"), Submission::Submitted(1));
    }

    /// The agent first draws something else, then shows the text or a placeholder for it.
    #[test]
    fn enter_waits_for_the_text_and_not_for_another_change() {
        for shows in ["the first word", "[Pasted text #1 +9 lines]"] {
            let mut busy = Fake { asks: "drawing\n", later: Some((20, shows)), ..fake(false, 0) };
            let timeouts = Timeouts::for_questions(&["Allow this?".to_owned()]);
            let timeouts = Timeouts { poll_interval: Duration::from_millis(1), ..timeouts };
            let done = submit_text(&mut busy, b"the first word", &["Allow this?".to_owned()], &timeouts).unwrap();
            assert_eq!((done, busy.presses > 0), (Submission::Submitted(busy.presses), true));
            assert!(String::from_utf8(busy.screen_at_enter).unwrap().contains(shows));
        }
        // Another change alone counts at the timeout.
        let mut other = Fake { asks: "drawing", ..fake(false, 0) };
        assert_eq!(submit(&mut other, b"x"), Submission::Submitted(3));
    }

    #[test]
    fn enter_is_pressed_again_only_where_it_was_seen_to_be_swallowed() {
        assert_eq!(presses(true, 0, b"a\x1b[201~b"), (1, b"ab".to_vec()));
        assert_eq!(presses(true, 1, b"x").0, 2);
        assert_eq!(presses(true, 99, b"x").0, 3);
        assert_eq!(presses(false, 99, b"x").0, 1);
        assert_eq!(presses(true, 99, b""), (1, Vec::new()));
    }

    #[test]
    fn enter_that_an_agent_took_for_a_line_break_is_pressed_again() {
        let mut breaking = Fake { breaks_lines: Some(Duration::ZERO), ..fake(true, 1) };
        assert_eq!(submit(&mut breaking, b"the first word"), Submission::Submitted(2));
        assert!(breaking.screen.is_empty());
    }

    /// For a while after a paste an agent takes each Enter for a line break.
    #[test]
    fn enter_follows_a_paste_by_more_than_the_time_of_a_paste() {
        let mut early = Fake { breaks_lines: Some(Duration::from_millis(40)), ..fake(true, 0) };
        let questions = ["Allow this?".to_owned()];
        let done = submit_text(&mut early, b"one", &questions, &Timeouts::for_questions(&questions)).unwrap();
        assert_eq!(done, Submission::Submitted(1));
    }
}
