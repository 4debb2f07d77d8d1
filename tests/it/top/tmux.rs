//! A terminal in tmux, with a shell in it.

use std::process::Output;

use crate::common::TestProject;
use crate::common::test_project::FAIRWAY;
use crate::sessions::{Sessions, eventually};

/// A tmux server of a test, with one window that runs a shell in the project.
pub struct Window<'a> {
    world: &'a Sessions,
    socket: String,
}

impl<'a> Window<'a> {
    /// Opens the window.
    pub fn open(world: &'a Sessions, cols: u16, rows: u16) -> Self {
        let socket = world.dir().join("tmp/outer").to_string_lossy().into_owned();
        let window = Self { world, socket };
        let bin = std::path::Path::new(FAIRWAY).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let (cols, rows) = (cols.to_string(), rows.to_string());
        let mut start = window.world.command("tmux");
        start.env("PATH", path).env("PS1", "$ ").env("ENV", "").env("TERM", "xterm-256color");
        start.args(["-f", "/dev/null", "-S", &window.socket, "new-session", "-d", "-x", &cols, "-y", &rows, "sh"]);
        let output = start.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        // The keys of the session inside are not those of this one.
        window.tmux(&["set-option", "-g", "prefix", "None"]);
        window.until("the shell", |screen| !screen.trim().is_empty());
        window
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let output = self.world.command("tmux").args(["-S", &self.socket]).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        output
    }

    /// Presses keys, by tmux's names.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line.
    pub fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    /// The screen.
    pub fn screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p"]).stdout).unwrap()
    }

    /// The screen with its colours.
    pub fn styled_screen(&self) -> String {
        String::from_utf8(self.tmux(&["capture-pane", "-p", "-e"]).stdout).unwrap()
    }

    /// A value of tmux's about the window.
    pub fn value(&self, format: &str) -> String {
        String::from_utf8(self.tmux(&["display-message", "-p", format]).stdout).unwrap().trim().to_owned()
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted.
    #[track_caller]
    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        eventually(what, || Some(self.screen()).filter(|screen| is_so(screen)))
    }

    /// Changes the size.
    pub fn resize(&self, cols: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &cols.to_string(), "-y", &rows.to_string()]);
    }

    /// Waits until the shell has the terminal: a key that is pressed sooner goes to the program that is ending.
    #[track_caller]
    pub fn is_in_shell(&self) {
        eventually("the shell has the terminal", || {
            (self.value("#{pane_current_command} #{alternate_on} #{cursor_flag}") == "sh 0 1").then_some(())
        });
    }

    /// Whether the terminal is one for a shell again: the usual screen, echo and whole lines.
    #[track_caller]
    pub fn is_sane(&self) {
        self.is_in_shell();
        self.types("stty -a | tr ';' '\\n' | grep -c -- '-icanon\\|-echo \\|-isig'; echo done$((1+1))");
        let screen = self.shows("done2");
        // A line that was typed before the shell was back stands above its prompt.
        let before = screen.split("done2").next().unwrap().split_whitespace().last();
        assert_eq!(before, Some("0"), "{screen}");
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        let _ = TestProject::command(self.world, "tmux").args(["-S", &self.socket, "kill-server"]).output();
    }
}
