//! Another host, as messages name it, and a command to type there.

use super::excerpt::excerpt;

/// The placeholder for a host name that cannot be an address.
const UNKNOWN_ADDRESS: &str = "HOST";
/// The placeholder for a directory that cannot be typed.
const UNKNOWN_ROOT: &str = "DIR";
/// The longest name of a host, in bytes.
const MAX_ADDRESS_BYTES: usize = 253;

/// Another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherHost {
    /// Its name for people: with the pid namespace where the local host has the same name.
    pub name: String,
    /// The name to connect to; `None` when no host can have the name, and when the local host has it.
    address: Option<String>,
    /// The root of its checkout; `None` when it is unknown.
    root: Option<String>,
}

impl OtherHost {
    /// Describes another host. `recorded` is its name and pid namespace from the store, `local` the name of the local host. The
    /// stored name and root are not trusted: messages show them escaped, and commands contain only what is safe to paste.
    pub fn new(recorded: &str, local: &str, root: Option<String>) -> Self {
        let machine = recorded.rsplit_once('/').map_or(recorded, |(machine, _)| machine);
        let is_same_name = machine == local;
        let name = excerpt(if is_same_name { recorded } else { machine });
        let address = (!is_same_name && is_address(machine)).then(|| machine.to_owned());
        Self { name, address, root }
    }

    /// Rewrites a command about a session of the other host so that it can be typed on the local host: it then runs over `ssh`. A
    /// command that needs only the store is returned unchanged.
    pub fn from_here(&self, command: &str) -> String {
        let words = shell_words::split(command).unwrap_or_default();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let needs_host = |words: &[&str]| match words {
            ["session", "relaunch", rest @ ..] if rest.contains(&"--here") => false,
            ["session", verb, ..] => HOST_VERBS.contains(verb),
            // It is typed, and not queued.
            ["send", rest @ ..] => rest.contains(&"--now") || rest.contains(&"urgent"),
            _ => false,
        };
        match words.as_slice() {
            ["fairway", all @ ..] if needs_host(all) => self.command(all),
            _ => command.to_owned(),
        }
    }

    /// The command, for a shell of the local host, that runs `fairway` with these words on the other host over `ssh`. A
    /// placeholder stands for an address or a root that cannot be pasted safely.
    pub fn command(&self, words: &[&str]) -> String {
        let root = match self.root.as_deref() {
            Some(root) if root.chars().any(char::is_control) => Some(UNKNOWN_ROOT),
            root => root,
        };
        let root = root.iter().flat_map(|root| ["--root", root]);
        let all: Vec<&str> = std::iter::once("fairway").chain(root).chain(words.iter().copied()).collect();
        let typed = shell_words::join(&all);
        // ssh joins its arguments with spaces, and the shell of the other host reads them once more.
        let is_plain = all.iter().all(|word| shell_words::quote(word) == *word);
        let typed = if is_plain { typed } else { shell_words::quote(&typed).into_owned() };
        format!("ssh {} {typed}", self.address.as_deref().unwrap_or(UNKNOWN_ADDRESS))
    }
}

/// The verbs of `fairway session` that need the session's host.
const HOST_VERBS: &[&str] = &["attach", "peek", "nudge", "interrupt", "stop", "meta", "relaunch"];

/// Whether a text can be the name of a host. It holds nothing that a shell or ssh would read otherwise.
fn is_address(text: &str) -> bool {
    text.len() <= MAX_ADDRESS_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(recorded: &str, root: Option<&str>, words: &[&str]) -> String {
        OtherHost::new(recorded, "laptop", root.map(str::to_owned)).command(words)
    }

    #[test]
    fn command_names_host_and_root_and_is_typed_as_it_is() {
        let words = ["lane", "diff", "cart"];
        assert_eq!(
            command("build1/4026531836", Some("/srv/shop"), &words),
            "ssh build1 fairway --root /srv/shop lane diff cart"
        );
        assert_eq!(command("build-1.example", None, &words), "ssh build-1.example fairway lane diff cart");
    }

    #[test]
    fn only_a_command_that_needs_the_host_of_its_session_goes_there() {
        let host = OtherHost::new("build1/1", "laptop", None);
        assert_eq!(host.from_here("fairway session attach s1"), "ssh build1 fairway session attach s1");
        assert_eq!(host.from_here("fairway send s1 TEXT --now"), "ssh build1 fairway send s1 TEXT --now");
        for command in [
            "fairway session forget s1",
            "fairway session relaunch s1 --here",
            "fairway send s1 TEXT",
            "fairway release T-1",
            "git fetch",
            "fairway session 'a",
        ] {
            assert_eq!(host.from_here(command), command);
        }
    }

    #[test]
    fn word_that_a_shell_would_change_survives_both_shells() {
        let typed = command("build1/1", Some("/srv/my shop; reboot"), &["lane", "diff", "cart"]);
        let local = shell_words::split(&typed).unwrap();
        assert_eq!(local[..2], ["ssh", "build1"]);
        let remote = shell_words::split(&local[2..].join(" ")).unwrap();
        assert_eq!(remote, ["fairway", "--root", "/srv/my shop; reboot", "lane", "diff", "cart"]);
    }

    #[test]
    fn name_that_is_no_address_is_shown_escaped_and_never_part_of_the_command() {
        for name in ["-oProxyCommand=reboot", "a b", "$(reboot)", "a;b", "", "a\nhint: b", "ümlaut", "a\u{1b}[2J"] {
            let host = OtherHost::new(&format!("{name}/1"), "laptop", None);
            assert_eq!(host.command(&["ready"]), "ssh HOST fairway ready", "{name:?}");
            assert!(!host.name.contains(char::is_control), "{name:?}");
        }
        assert_eq!(command("a/1", Some("/srv/a\nb"), &["ready"]), "ssh a fairway --root DIR ready");
    }

    #[test]
    fn host_with_the_local_name_is_told_apart_by_its_namespace() {
        let container = OtherHost::new("laptop/402", "laptop", None);
        assert_eq!(container.name, "laptop/402");
        assert_eq!(container.command(&["ready"]), "ssh HOST fairway ready");
        assert_eq!(OtherHost::new("build1/402", "laptop", None).name, "build1");
    }
}
