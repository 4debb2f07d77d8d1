//! The screen beside the list has the cells of the agent's terminal.

use std::{fs, process::Command};

use fairway::adapters::plumbing::screen_cells::{self, CellStyle, Row};
use unicode_width::UnicodeWidthChar as _;

use super::tmux::Window;
use crate::{
    common::TestProject,
    sessions::{Sessions, eventually},
};

/// The column in which the pane begins on a screen of [`COLS`] columns.
const PANE: usize = 112;
const COLS: u16 = 330;

/// The terminal of a session in the tmux server that fairway has started.
struct Terminal<'a> {
    world: &'a Sessions,
    socket: String,
    pane: String,
}

impl Terminal<'_> {
    fn tmux(&self, words: &[&str]) -> String {
        let mut command: Command = TestProject::command(self.world, "tmux");
        let output = command.args(["-S", &self.socket]).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-t", &self.pane, "-l", line]);
        self.tmux(&["send-keys", "-t", &self.pane, "Enter"]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", &self.pane])
    }
}

/// The cells of a row from a column on, each with its style; a wide character has an empty one behind it.
fn cells(row: &Row, from: usize) -> Vec<(String, CellStyle)> {
    let mut cells: Vec<(String, CellStyle)> = Vec::new();
    for run in row {
        for character in run.text.chars() {
            match (character.width(), cells.last_mut()) {
                (Some(0) | None, Some((last, _))) => last.push(character),
                (width, _) => {
                    cells.push((character.to_string(), run.style));
                    cells.extend((1..width.unwrap_or(1)).map(|_| (String::new(), run.style)));
                }
            }
        }
    }
    let mut cells: Vec<_> = cells.into_iter().skip(from).collect();
    while cells.last().is_some_and(|cell| *cell == (" ".to_owned(), CellStyle::default())) {
        cells.pop();
    }
    cells
}

#[test]
fn pane_has_the_cells_of_the_terminal_with_colours_at_every_width() {
    let world = Sessions::new();
    let coloured: String =
        (0..60).map(|at| format!("\x1b[38;5;{at}mline {at}\x1b[0m \x1b[1;4;42mbold\x1b[0m 日本語 {at}\n")).collect();
    fs::write(world.root().join("coloured"), coloured).unwrap();
    fs::write(world.root().join("code.rs"), "fn main() {\n    println!(\"日本 {}\", 1 + 2); // why\n}\n").unwrap();
    let drawn = "#!/bin/sh\nprintf '\\033[?1049h\\033[2J\\033[3;5H\\033[48;2;10;20;30mdrawn\\033[0m\\033[5;1H\\033[3;95mé 語 x\\033[0m'\n\
                 printf '\\033[10;10H\\033[7m bar %*s\\033[0m' 40 end\nread -r _\nprintf '\\033[?1049l'\n";
    world.script("drawn", drawn);
    world.launch(&["--role", "dev", "--backend", "tmux", "--name", "ada", "--", "sh", "-c", "PS1='$ ' exec sh"]);
    let session = world.session("ada");
    let terminal = Terminal { world: &world, socket: session["socket"].clone(), pane: session["pane"].clone() };
    let window = Window::open(&world, COLS, 60);
    window.types("fairway top");
    window.shows("[1 screen]");
    let program = world.dir().join("drawn");
    for (cols, rows) in [(80, 24), (120, 40), (200, 50)] {
        terminal.tmux(&["resize-window", "-t", &terminal.pane, "-x", &cols.to_string(), "-y", &rows.to_string()]);
        for (line, shown, leave) in [
            ("less -R coloured", "line 5", "q"),
            ("vim -u NONE -N -c 'syntax on' code.rs", "println", ":q!\r"),
            (&*program.display().to_string(), "drawn", "\r"),
        ] {
            terminal.types(line);
            eventually(line, || terminal.screen().contains(shown).then_some(()));
            eventually(&format!("the same cells at {cols} columns: {line}"), || {
                let theirs: Vec<_> = screen_cells::rows(&terminal.screen()).iter().map(|row| cells(row, 0)).collect();
                let ours = screen_cells::rows(&window.styled_screen());
                let ours: Vec<_> = ours.iter().skip(2).map(|row| cells(row, PANE)).take(theirs.len()).collect();
                (ours == theirs).then_some(())
            });
            terminal.tmux(&["send-keys", "-t", &terminal.pane, "-l", leave]);
            eventually("the shell", || {
                terminal
                    .tmux(&["display-message", "-p", "-t", &terminal.pane, "#{alternate_on}"])
                    .starts_with('0')
                    .then_some(())
            });
        }
    }
    window.press(&["q"]);
    window.is_sane();
    world.run(["session", "stop", "ada"]).exits(0);
}
