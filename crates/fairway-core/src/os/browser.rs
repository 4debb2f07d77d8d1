//! Opening a URL in the user's browser.

use std::ffi::{OsStr, OsString};
use std::process::{Child, Stdio};
use std::{io, thread};

use super::command::{command, in_new_session};

/// The program that asks the desktop for its browser.
const DESKTOP_OPENER: &str = "xdg-open";

/// The known facts about the user's browser.
#[derive(Debug, Clone, Copy)]
pub struct Browser<'a> {
    /// The variable `BROWSER`: commands separated by `:`, each shell words in which `%s` stands for the URL.
    pub browser: Option<&'a str>,
    /// Whether there is a display. Without one, the desktop's opener would take over the terminal.
    pub has_display: bool,
}

impl Browser<'_> {
    /// Opens `url` with the first browser command that can be started: one of `BROWSER`, or without that variable the opener of
    /// the desktop. It runs without a shell and without a terminal. Returns `false` when none can be started.
    pub fn open(&self, url: &str) -> bool {
        let commands = match self.browser {
            Some(commands) => commands.split(':').filter_map(|command| argv(command, url)).collect(),
            None if self.has_display => vec![vec![DESKTOP_OPENER.into(), url.into()]],
            None => Vec::new(),
        };
        commands.iter().any(|argv| start(argv).is_ok())
    }
}

fn argv(command: &str, url: &str) -> Option<Vec<OsString>> {
    let words = shell_words::split(command).ok().filter(|words| !words.is_empty())?;
    let mut argv: Vec<OsString> = words.iter().map(|word| word.replace("%s", url).into()).collect();
    if !command.contains("%s") {
        argv.push(url.into());
    }
    Some(argv)
}

fn start(argv: &[OsString]) -> io::Result<()> {
    let (program, args) = argv.split_first().map_or((OsStr::new(""), &[][..]), |(one, rest)| (one.as_os_str(), rest));
    let mut command = command(program, args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child: Child = in_new_session(&mut command, false).spawn()?;
    // A browser may run as long as it is open.
    thread::Builder::new().name("browser".into()).spawn(move || drop(child.wait())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_one_argument_of_the_browser() {
        let argv = |command| argv(command, "http://x/?a=b c");
        let words = |words: &[&str]| Some(words.iter().map(Into::into).collect());
        assert_eq!(argv("firefox"), words(&["firefox", "http://x/?a=b c"]));
        assert_eq!(argv("my\\ browser --new '%s'"), words(&["my browser", "--new", "http://x/?a=b c"]));
        assert_eq!(argv(""), None);
        assert_eq!(argv("'"), None);
        let none = Browser { browser: None, has_display: false };
        assert!(!none.open("http://x"));
        assert!(!Browser { browser: Some("/no/such/program"), has_display: true }.open("http://x"));
        assert!(Browser { browser: Some("/no/such/program:true"), has_display: false }.open("http://x"));
    }
}
