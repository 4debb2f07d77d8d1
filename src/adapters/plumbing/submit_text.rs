//! Typing a text into a program's terminal and submitting it: the Enter is a key of its own, and it is looked after, since
//! programs swallow it while they are busy.

use std::{io, time::Duration};

use super::sanitize_paste as texts;
use crate::os::poll_until;

/// A terminal that is typed into.
pub trait Terminal {
    /// Screen and cursor, in any form: two equal answers mean that nothing has changed.
    ///
    /// # Errors
    /// When it cannot be determined.
    fn snapshot(&mut self) -> io::Result<Vec<u8>>;

    /// Pastes a text as it is, without submitting it.
    ///
    /// # Errors
    /// When that failed.
    fn paste(&mut self, text: &[u8]) -> io::Result<()>;

    /// Presses Enter once.
    ///
    /// # Errors
    /// When that failed.
    fn press_enter(&mut self) -> io::Result<()>;
}

/// How long is waited, and for what.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For the paste to show.
    pub echo: Duration,
    /// For the screen to come to rest after that.
    pub redraw: Duration,
    /// For the Enter to change anything.
    pub effect: Duration,
    /// The longest pause between two looks.
    pub poll_interval: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            echo: Duration::from_millis(600),
            redraw: Duration::from_secs(2),
            effect: Duration::from_secs(1),
            poll_interval: Duration::from_millis(60),
        }
    }
}

/// How often Enter is pressed at most.
const MAX_ENTER_PRESSES: u32 = 3;

/// Types a text and submits it; answers with how often Enter was pressed. It is pressed again only when the paste had
/// visibly arrived and nothing at all has changed since: a program that shows nothing gets exactly one.
///
/// # Errors
/// As the terminal fails; what was typed by then stays.
pub fn submit_text(terminal: &mut impl Terminal, text: &[u8], timeouts: &Timeouts) -> io::Result<u32> {
    let clean = texts::sanitize_paste(text);
    if clean.is_empty() {
        terminal.press_enter()?;
        return Ok(1);
    }
    let before = terminal.snapshot()?;
    terminal.paste(&clean)?;
    let echoed = wait_for_change(terminal, &before, timeouts.echo, timeouts.poll_interval)?;
    let has_echoed = echoed.is_some();
    let mut shown = echoed.unwrap_or(before);
    if has_echoed {
        // A long text is drawn in steps.
        let mut failed = None;
        poll_until::poll_until(timeouts.redraw, timeouts.poll_interval, || match terminal.snapshot() {
            Ok(now) if now == shown => Some(()),
            Ok(now) => {
                shown = now;
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
    let mut pressed = 0;
    while pressed < MAX_ENTER_PRESSES {
        terminal.press_enter()?;
        pressed += 1;
        if !has_echoed || wait_for_change(terminal, &shown, timeouts.effect, timeouts.poll_interval)?.is_some() {
            break;
        }
    }
    Ok(pressed)
}

/// Looks until the screen is another than this one; `None` when it stayed.
fn wait_for_change(
    terminal: &mut impl Terminal,
    than: &[u8],
    limit: Duration,
    pause: Duration,
) -> io::Result<Option<Vec<u8>>> {
    let seen = poll_until::poll_until(limit, pause, || match terminal.snapshot() {
        Ok(now) if now == than => None,
        other => Some(other),
    });
    seen.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that shows what is pasted, or does not, and swallows the first presses.
    struct Fake {
        echoes: bool,
        swallows: u32,
        screen: Vec<u8>,
        pasted: Vec<u8>,
        presses: u32,
    }

    impl Terminal for Fake {
        fn snapshot(&mut self) -> io::Result<Vec<u8>> {
            Ok(self.screen.clone())
        }

        fn paste(&mut self, text: &[u8]) -> io::Result<()> {
            self.pasted.extend_from_slice(text);
            if self.echoes {
                self.screen.extend_from_slice(text);
            }
            Ok(())
        }

        fn press_enter(&mut self) -> io::Result<()> {
            self.presses += 1;
            if self.echoes && self.presses > self.swallows {
                self.screen.clear();
            }
            Ok(())
        }
    }

    fn presses(echoes: bool, swallows: u32, text: &[u8]) -> (u32, Vec<u8>) {
        let mut fake = Fake { echoes, swallows, screen: Vec::new(), pasted: Vec::new(), presses: 0 };
        let short = Duration::from_millis(10);
        let timeouts = Timeouts { echo: short, redraw: short, effect: short, poll_interval: short };
        assert_eq!(submit_text(&mut fake, text, &timeouts).unwrap(), fake.presses);
        (fake.presses, fake.pasted)
    }

    #[test]
    fn enter_is_pressed_again_only_where_it_was_seen_to_be_swallowed() {
        assert_eq!(presses(true, 0, b"a\x1b[201~b"), (1, b"ab".to_vec()));
        assert_eq!(presses(true, 1, b"x").0, 2);
        assert_eq!(presses(true, 99, b"x").0, 3);
        assert_eq!(presses(false, 99, b"x").0, 1);
        assert_eq!(presses(true, 99, b""), (1, Vec::new()));
    }
}
