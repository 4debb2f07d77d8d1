//! The screen beside the list, and the one on the page, have the cells of the agent's terminal.

use std::fs;
use std::process::Command;

use fairway_core::adapters::plumbing::screen_cells::{self, CellStyle, Mark, Row, Run};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar as _;

use super::tmux::Window;
use crate::api::Server;
use crate::common::fixtures::add_lane;
use crate::common::webdriver::Chromium;
use crate::common::{TestProject, require};
use crate::sessions::{Sessions, eventually};

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

/// The rows on the page: each run with its text, its marks and whether it has colours.
const ON_PAGE: &str = "
    const screen = document.querySelector('#lane pre.cells[data-session=ada]');
    if (!screen) return [];
    const rows = [[]];
    for (const node of screen.childNodes) {
        if (node.nodeType === 3 && node.data === '\\n') rows.push([]);
        else if (node.nodeType === 3) rows.at(-1).push([node.data, '', false, false]);
        else rows.at(-1).push([node.textContent, node.className, node.style.color !== '', node.style.backgroundColor !== '']);
    }
    return rows";

/// The same of a terminal's screen.
fn for_page(screen: &str) -> Value {
    let default = vt100::Color::Default;
    let run = |run: &Run| {
        let marks = [(Mark::Bold, "b"), (Mark::Dim, "d"), (Mark::Italic, "i"), (Mark::Underline, "u")];
        let marks: String = marks.into_iter().filter(|(mark, _)| run.style.has(*mark)).map(|(_, one)| one).collect();
        let is_inverse = run.style.has(Mark::Inverse);
        json!([run.text, marks, is_inverse || run.style.fg != default, is_inverse || run.style.bg != default])
    };
    screen_cells::rows(screen).iter().map(|row| row.iter().map(run).collect::<Value>()).collect()
}

#[test]
fn pane_and_page_have_the_cells_of_the_terminal_with_colours_at_every_width() {
    if !require::program("chromedriver") || !require::program("chromium") {
        return;
    }
    let world = Sessions::new();
    world.real_time();
    add_lane(&world, "api", None, None);
    let coloured: String =
        (0..60).map(|at| format!("\x1b[38;5;{at}mline {at}\x1b[0m \x1b[1;4;42mbold\x1b[0m 日本語 {at}\n")).collect();
    fs::write(world.root().join("coloured"), coloured).unwrap();
    fs::write(world.root().join("code.rs"), "fn main() {\n    println!(\"日本 {}\", 1 + 2); // why\n}\n").unwrap();
    let drawn = "#!/bin/sh\nprintf '\\033[?1049h\\033[2J\\033[3;5H\\033[48;2;10;20;30mdrawn\\033[0m\\033[5;1H\\033[3;95mé 語 x\\033[0m'\n\
                 printf '\\033[10;10H\\033[7m bar %*s\\033[0m' 40 end\nread -r _\nprintf '\\033[?1049l'\n";
    world.script("drawn", drawn);
    world.launch(&[
        "--role", "dev", "--lane", "api", "--backend", "tmux", "--name", "ada", "--", "sh", "-c", "PS1='$ ' exec sh",
    ]);
    let session = world.session("ada");
    let terminal = Terminal { world: &world, socket: session["socket"].clone(), pane: session["pane"].clone() };
    let window = Window::open(&world, COLS, 60);
    window.types("fairway top");
    window.shows("[1 screen]");
    let program = world.dir().join("drawn");
    let server = Server::start(&world, &["--open"]);
    let browser = Chromium::start(&world);
    browser.resize(1440, 900);
    browser.open(server.at["open_url"].as_str().unwrap());
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
            eventually(&format!("the same on the page at {cols} columns: {line}"), || {
                (browser.run(ON_PAGE) == for_page(&terminal.screen())).then_some(())
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
    // However wide the terminal is, it fits its place, and what it shows has the colours of the program.
    terminal.types("printf '\\033[38;5;208mo%0199d\\n\\033[0m' 0");
    let fits = "const screen = document.querySelector('#lane pre.cells'); const run = screen.querySelector('span');
        return [screen.scrollWidth <= screen.clientWidth, run && getComputedStyle(run).color]";
    eventually("it fits", || (browser.run(fits) == json!([true, "rgb(255, 135, 0)"])).then_some(()));
    assert_eq!(browser.log(), Vec::<String>::new());
    window.press(&["q"]);
    window.is_sane();
    world.run(["session", "stop", "ada"]).exits(0);
}
