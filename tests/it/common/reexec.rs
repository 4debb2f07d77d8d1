//! A test that starts its own binary again, to play a part in another process: workers of a storm, and the controls,
//! which do on purpose what Fairway must not do.

use std::env;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use fairway_core::os::poll_until;

use super::TestProject;

const PART_VAR: &str = "FAIRWAY_TEST_PART";
const DIR_VAR: &str = "FAIRWAY_TEST_PLACE";

/// The part that this process was started to play; `None` in the test itself.
pub fn part() -> Option<String> {
    env::var(PART_VAR).ok()
}

/// The folder that a part was given.
pub fn part_dir() -> PathBuf {
    env::var_os(DIR_VAR).unwrap().into()
}

/// This binary, to run only the test of this full name, in this part.
pub fn reexec(world: &TestProject, test: &str, part: &str, place: &Path) -> Command {
    let mut command = world.command(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PART_VAR, part).env(DIR_VAR, place);
    command
}

/// Processes that wait at a line until all of them stand there.
pub struct StartBarrier {
    children: Vec<Child>,
    folder: PathBuf,
}

impl StartBarrier {
    /// Starts `count` commands. Each must call [`on_the_line`] (a shell: [`WAIT`]) before it begins.
    pub fn spawn(folder: &Path, count: usize, mut command: impl FnMut(usize) -> Command) -> Self {
        fs::create_dir_all(folder).unwrap();
        let children = (0..count)
            .map(|number| {
                let mut command = command(number);
                let errors = File::create(folder.join(format!("errors-{number}"))).unwrap();
                command.env("LINE", folder.join(format!("ready-{number}")));
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(errors).spawn().unwrap()
            })
            .collect();
        Self { children, folder: folder.to_owned() }
    }

    /// Lets them go when all stand there; answers how each ended and how long it took until the last one did.
    pub fn release(mut self) -> (Vec<ExitStatus>, Duration) {
        let count = self.children.len();
        let all = poll_until::poll_until(Duration::from_secs(60), Duration::from_millis(20), || {
            (0..count).all(|number| self.folder.join(format!("ready-{number}")).exists()).then_some(())
        });
        assert!(all.is_some(), "not all of {count} came to the line");
        let start = Instant::now();
        for child in &mut self.children {
            drop(child.stdin.take());
        }
        let ended = self.children.iter_mut().map(|child| child.wait().unwrap()).collect();
        (ended, start.elapsed())
    }
}

/// How a shell waits at the line.
pub const SHELL_WAIT_AT_START_LINE: &str = ": >\"$LINE\"; read -r _;";

/// Waits at the line: until the parent closes our stdin.
pub fn wait_at_start_line() {
    File::create(env::var_os("LINE").unwrap()).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// The errors that every process wrote.
pub fn errors(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name().to_string_lossy().starts_with("errors-") {
            text.push_str(&fs::read_to_string(entry.path()).unwrap());
        }
    }
    text
}
