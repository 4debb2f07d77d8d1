//! The terminal: its other screen and raw mode as long as a [`Screen`] is there, and frames on it.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::panic;
use std::sync::Once;

use nix::sys::termios::{self, SetArg};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

use fairway_core::os::terminal::{self, RawMode};

/// The other screen without a cursor, and pasted text in brackets.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[0m\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?1049l";

/// The terminal while it shows frames. Dropping it restores the terminal.
#[derive(Debug)]
pub(super) struct Screen {
    _raw: RawMode,
}

impl Screen {
    /// Switches the terminal to raw mode and to the alternate screen. Fails when stdin is no terminal.
    pub(super) fn enter() -> io::Result<Self> {
        let raw = RawMode::enable(io::stdin().as_fd())?
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "stdin is no terminal"))?;
        leave_at_panic(&raw);
        write_all(ENTER)?;
        Ok(Self { _raw: raw })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The hook has left it before it told of the panic; once more would put the cursor back above that.
        if !std::thread::panicking() {
            let _ = write_all(LEAVE);
        }
    }
}

/// Makes a panic leave the other screen and raw mode before it prints its message.
fn leave_at_panic(raw: &RawMode) {
    static HOOK: Once = Once::new();
    let original = raw.original().clone();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        // The hook may run in any thread.
        let original = std::sync::Mutex::new(original);
        panic::set_hook(Box::new(move |info| {
            let _ = write_all(LEAVE);
            if let Ok(original) = original.lock() {
                let _ = termios::tcsetattr(io::stdin(), SetArg::TCSANOW, &original);
            }
            before(info);
        }));
    });
}

fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes frames as control sequences, each frame in one piece.
#[derive(Debug, Default)]
pub(super) struct Ansi {
    text: String,
    has_colour: bool,
}

impl Ansi {
    pub(super) fn new(has_colour: bool) -> Self {
        Self { text: String::new(), has_colour }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn go(&mut self, x: u16, y: u16) {
        // Writing into a String cannot fail.
        let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
    }
}

/// The control sequence that resets the terminal's style and sets that of a cell.
pub(super) fn sequence_of(cell: &Cell, has_colour: bool) -> String {
    let mut sequence = "\x1b[0".to_owned();
    for (modifier, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
    ] {
        if cell.modifier.contains(modifier) {
            sequence.push_str(code);
        }
    }
    for (colour, base) in [(cell.fg, 30), (cell.bg, 40)] {
        // Writing into a String cannot fail.
        let _ = match colour {
            Color::Red if has_colour => write!(sequence, ";{}", base + 1),
            Color::Green if has_colour => write!(sequence, ";{}", base + 2),
            Color::Yellow if has_colour => write!(sequence, ";{}", base + 3),
            Color::Indexed(index) if has_colour => write!(sequence, ";{};5;{index}", base + 8),
            Color::Rgb(red, green, blue) if has_colour => write!(sequence, ";{};2;{red};{green};{blue}", base + 8),
            _ => Ok(()),
        };
    }
    sequence.push('m');
    sequence
}

impl Backend for Ansi {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<(), io::Error>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut next: Option<(u16, u16)> = None;
        let mut last: Option<&Cell> = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                self.go(x, y);
            }
            if last.is_none_or(|last| (last.fg, last.bg, last.modifier) != (cell.fg, cell.bg, cell.modifier)) {
                self.text.push_str(&sequence_of(cell, self.has_colour));
                last = Some(cell);
            }
            self.push(cell.symbol());
            // After a wide character terminals may disagree about the place.
            next = (super::text::width(cell.symbol()) == 1).then_some((x + 1, y));
        }
        self.push("\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), io::Error> {
        self.push("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> Result<(), io::Error> {
        self.push("\x1b[?25h");
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, io::Error> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), io::Error> {
        let Position { x, y } = position.into();
        self.go(x, y);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), io::Error> {
        self.push("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> Result<(), io::Error> {
        self.clear()
    }

    fn size(&self) -> Result<Size, io::Error> {
        Ok(size())
    }

    fn window_size(&mut self) -> Result<WindowSize, io::Error> {
        Ok(WindowSize { columns_rows: size(), pixels: Size::default() })
    }

    fn flush(&mut self) -> Result<(), io::Error> {
        write_all(&std::mem::take(&mut self.text))
    }
}

/// The size of the terminal at stdout; 80 columns and 24 lines when stdout is no terminal.
pub(super) fn size() -> Size {
    let (rows, columns) = terminal::size().unwrap_or((24, 80));
    Size { width: columns, height: rows }
}
