//! An agent's own commands of Fairway: texts that consist of nothing else need no person. The list is closed, and so is the
//! language in which such a text may be written: whatever is not known here gets the ordinary decision.

use super::shell::{has_unsupported_chars, plain_commands};

/// The name of the program.
pub(super) const PROGRAM: &str = "fairway";
/// The longest text that is looked at, in bytes.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Flags without a value that every verb may have.
const COMMON_SWITCHES: &[&str] = &["--json", "--quiet", "-q", "--help", "-h"];
/// Flags with a value that every verb may have.
const COMMON_OPTIONS: &[&str] = &["--color", "--request-id", "--epoch"];

/// A verb of an agent, with the flags that it may have.
#[derive(Debug, Clone, Copy)]
pub struct OwnVerb {
    /// Its words.
    pub path: &'static [&'static str],
    /// Flags without a value.
    pub switches: &'static [&'static str],
    /// Flags with a value.
    pub options: &'static [&'static str],
    /// A flag without which the verb is another one.
    pub required: Option<&'static str>,
}

const fn verb(
    path: &'static [&'static str],
    switches: &'static [&'static str],
    options: &'static [&'static str],
) -> OwnVerb {
    OwnVerb { path, switches, options, required: None }
}

/// The verbs. Flags that override another one, name a file or act for another session are left out on purpose.
pub const OWN_VERBS: &[OwnVerb] = &[
    verb(&["prime"], &[], &["--task", "--mode"]),
    verb(&["guide"], &[], &[]),
    verb(&["ready"], &["--why"], &["--role", "--lane", "--limit"]),
    verb(&["claim"], &["--any", "--any-role", "--own-lane", "--any-lane"], &["--role", "--lane", "--lease"]),
    verb(&["release"], &["--all"], &["--lane"]),
    verb(&["note"], &[], &["--task"]),
    verb(&["checkpoint", "record"], &[], &["--state", "--summary", "--owner", "--due"]),
    verb(&["evidence", "add"], &[], &["--result", "--kind", "--command", "--summary", "--commit"]),
    verb(&["evidence", "list"], &[], &[]),
    OwnVerb {
        path: &["evidence", "run"],
        switches: &[],
        options: &["--check", "--kind", "--summary", "--timeout"],
        required: Some("--check"),
    },
    verb(&["handoff", "create"], &[], &["--to-role", "--to-lane", "--summary", "--payload"]),
    verb(&["handoff", "accept"], &["--no-claim"], &[]),
    verb(&["handoff", "decline"], &[], &["--reason"]),
    verb(&["handoff", "list"], &["--open"], &["--to-role", "--task"]),
    verb(&["handoff", "withdraw"], &[], &[]),
    verb(&["review", "comments"], &["--all"], &[]),
    verb(&["task", "show"], &[], &[]),
    verb(&["task", "list"], &["--all", "--held"], &["--status", "--grep", "--role", "--lane", "--label", "--limit"]),
    verb(&["task", "submit"], &[], &["--commit"]),
    verb(&["done"], &[], &["--commit"]),
    verb(&["task", "done"], &[], &["--commit"]),
    verb(&["inbox"], &["--ack"], &["--wait"]),
];

/// Returns the program of each command of a shell text, when all of them are commands of Fairway in [`OWN_VERBS`]: each program
/// is `fairway` or an absolute path to it. `None` for any other text, one without commands included.
pub fn own_verb_programs(text: &str) -> Option<Vec<String>> {
    if text.len() > MAX_TEXT_BYTES || !text.contains(PROGRAM) || has_unsupported_chars(text) {
        return None;
    }
    let commands = split(text)?;
    let is_own = |words: &Vec<String>| {
        words.split_first().is_some_and(|(program, rest)| is_program(program) && is_own_verb(rest))
    };
    if commands.is_empty() || !commands.iter().all(is_own) {
        return None;
    }
    // Two readers must agree on what the text says.
    if plain_commands(text)? != commands {
        return None;
    }
    Some(commands.into_iter().filter_map(|words| words.into_iter().next()).collect())
}

fn is_program(word: &str) -> bool {
    word == PROGRAM || word.strip_suffix(PROGRAM).is_some_and(|dir| dir.starts_with('/') && dir.ends_with('/'))
}

/// Verbs that only read, besides those of an agent.
const LOOKS: &[OwnVerb] =
    &[verb(&["status"], &[], &[]), verb(&["overlap"], &[], &[]), verb(&["lane", "show"], &[], &[])];

/// Any program as evidence: it runs in a sandbox of its own when the session is in one.
const EVIDENCE: &[OwnVerb] = &[verb(&["evidence", "run"], &[], &["--kind", "--summary", "--timeout"])];

/// Jobs: each runs in a sandbox of its own. No environment variable can be set, since it would reach the process outside that
/// makes the sandbox.
const JOBS: &[OwnVerb] = &[
    verb(&["exec", "poll"], &[], &["--since-seq", "--wait", "--until"]),
    verb(&["exec", "log"], &["--follow", "-f"], &["--since-seq", "--limit", "--stream"]),
    verb(&["exec", "wait"], &[], &["--timeout"]),
    verb(&["exec", "send-keys"], &["--eof"], &["--literal", "-l", "--paste", "--hex", "--size"]),
    verb(&["exec", "kill"], &[], &["--signal", "--grace"]),
    verb(&["exec", "list"], &["--unfinished"], &["--limit"]),
    verb(&["exec", "rm"], &[], &[]),
    SPAWN,
];
const SPAWN: OwnVerb = verb(
    &["exec", "spawn"],
    &["--pty", "--foreground"],
    &[
        "--size", "--wait-for", "--timeout", "--max-output", "--watch", "--watch-once", "--cwd", "--stdin", "--queue",
        "--recovery", "--shell",
    ],
);

/// Whether Fairway may run a command with these arguments outside of the sandbox when a program inside asks for it, on behalf of
/// the session. It may run [`OWN_VERBS`], commands that only read, `evidence run`, commands for jobs, and hooks, but not with
/// flags that name a file or act for another session.
pub fn is_sandbox_verb(words: &[String]) -> bool {
    let is_evidence = || {
        let end = words.iter().position(|word| word == "--");
        end.and_then(|end| words.get(..end)).is_some_and(|words| is_verb_of(EVIDENCE, words))
    };
    let is_spawn = || {
        let end = words.iter().position(|word| word == "--");
        end.and_then(|end| words.get(..end)).is_some_and(|words| is_verb_of(&[SPAWN], words))
    };
    words == AUTHORIZE_PUSH
        || is_hook(words)
        || is_own_verb(words)
        || is_verb_of(LOOKS, words)
        || is_verb_of(JOBS, words)
        || is_evidence()
        || is_spawn()
}

/// The call by which a git hook inside of a sandbox asks the guard about a push.
pub const AUTHORIZE_PUSH: [&str; 3] = ["hook", "git", "authorize-push"];

/// Whether the words are a hook as a provider calls it. A hook of git would run the repository's own hook outside of the sandbox.
fn is_hook(words: &[String]) -> bool {
    let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "--launch").collect();
    let [hook, provider, event] = plain[..] else { return false };
    let is_name =
        |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_');
    let is_plain = |word: &str| is_name(word) && word.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    hook == "hook"
        && !matches!(provider, "install" | "uninstall" | "git" | "session-git")
        && is_plain(provider)
        && is_plain(event)
}

/// Whether the words behind the program are a verb of the list with flags of the list.
fn is_own_verb(words: &[String]) -> bool {
    is_verb_of(OWN_VERBS, words)
}

fn is_verb_of(all: &[OwnVerb], words: &[String]) -> bool {
    let is_at = |verb: &&OwnVerb| {
        words.len() >= verb.path.len() && verb.path.iter().zip(words).all(|(name, word)| word == name)
    };
    let Some(verb) = all.iter().find(is_at) else { return false };
    let mut rest = words.iter().skip(verb.path.len());
    let mut has_required = verb.required.is_none();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') {
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let takes_value = COMMON_OPTIONS.contains(&name) || verb.options.contains(&name);
        if takes_value {
            // A value with a dash could be stdin, or an option of another reading.
            let Some(value) = value.or_else(|| rest.next().cloned()) else { return false };
            if value.starts_with('-') {
                return false;
            }
            has_required |= verb.required == Some(name);
        } else if value.is_some() || !(COMMON_SWITCHES.contains(&name) || verb.switches.contains(&name)) {
            return false;
        }
    }
    has_required
}

/// The words of each command of a text in a small language: words that are plain or quoted, and commands between `;`, `&&`, `||`
/// and the ends of lines. `None` for anything else.
fn split(text: &str) -> Option<Vec<Vec<String>>> {
    let (mut commands, mut words): (Vec<Vec<String>>, Vec<String>) = (Vec::new(), Vec::new());
    // Whether an operator asks for one more command.
    let mut is_open = false;
    let mut chars = text.chars().peekable();
    while let Some(character) = chars.peek().copied() {
        match character {
            ' ' | '\t' => drop(chars.next()),
            '\n' | ';' | '&' | '|' => {
                chars.next();
                if matches!(character, '&' | '|') && chars.next() != Some(character) {
                    return None;
                }
                if words.is_empty() && (character != '\n' || is_open) {
                    return None;
                }
                is_open = character != '\n';
                if !words.is_empty() {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => words.push(word(&mut chars)?),
        }
    }
    if words.is_empty() && is_open {
        return None;
    }
    if !words.is_empty() {
        commands.push(words);
    }
    Some(commands)
}

/// One word, which may be quoted in parts.
fn word(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut word = String::new();
    // One shell looks up a program behind a leading `=`.
    if chars.peek() == Some(&'=') {
        return None;
    }
    while let Some(character) = chars.peek().copied() {
        match character {
            ' ' | '\t' | '\n' | ';' | '&' | '|' => break,
            '\'' => {
                chars.next();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                chars.next();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' => return None,
                        // An interactive shell would look into its history.
                        '!' if !matches!(chars.peek(), Some(' ' | '"' | '\n')) => return None,
                        quoted => word.push(quoted),
                    }
                }
            }
            plain
                if plain.is_alphanumeric()
                    || matches!(plain, '_' | '-' | '.' | '/' | ':' | '@' | '%' | '+' | ',' | '=') =>
            {
                chars.next();
                word.push(plain);
            }
            _ => return None,
        }
    }
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[&str] = &[
        "fairway prime",
        "fairway prime --mode compact",
        "fairway prime --json",
        "fairway guide",
        "fairway ready",
        "fairway ready --why --limit 5",
        "fairway claim",
        "fairway claim T-4",
        "fairway claim T-4 --json",
        "fairway claim --any-lane --lease 30m",
        "fairway release T-4",
        "fairway note 'half done; the parser is next'",
        "fairway note \"half done, the parser is next!\"",
        "fairway note 'a $(cat x) `y` > z'",
        "fairway note 'two\nlines'",
        "fairway note x=1",
        "fairway note größer",
        "fairway checkpoint record T-4 --state active --summary 'parser done' --due 30m",
        "fairway evidence add T-4 --result pass --kind test --command 'cargo test' --summary=green",
        "fairway evidence list T-4",
        "fairway review comments T-4 --all",
        "fairway evidence run T-4 --check unit",
        "fairway evidence run T-4 --check=unit --timeout 10m",
        "fairway handoff create T-4 --to-role reviewer --summary ready",
        "fairway handoff accept 3",
        "fairway handoff decline 3 --reason 'no time'",
        "fairway handoff list --open",
        "fairway handoff withdraw 3",
        "fairway task show T-4",
        "fairway task list --status claimed --json",
        "fairway task submit T-4 --commit abc1234",
        "fairway done T-4 --commit abc1234 --epoch 3",
        "fairway inbox --ack",
        "fairway claim --help",
        "/usr/bin/fairway prime",
        "fairway prime\n",
        "\n  fairway prime\n\nfairway ready\n",
        "fairway prime && fairway claim || fairway ready; fairway inbox",
        "fairway evidence add T-4 --result pass && fairway done T-4",
    ];

    const OTHER: &[&str] = &[
        "",
        "fairway",
        "fairway --json prime",
        "prime",
        "Fairway prime",
        "fairway.exe prime",
        "./fairway prime",
        "../fairway prime",
        "bin/fairway prime",
        "~/bin/fairway prime",
        "$HOME/bin/fairway prime",
        "'fairway prime'",
        "fairway-evil prime",
        "/usr/bin/notfairway prime",
        "fairway trust",
        "fairway trust --yes",
        "fairway restore x.db",
        "fairway setup",
        "fairway start T-4",
        "fairway exec spawn -- rm x",
        "fairway session launch --role r",
        "fairway session stop s1",
        "fairway hook uninstall acme",
        "fairway config edit",
        "fairway approvals answer 1 allow",
        "fairway task add x",
        "fairway task edit T-4 --check unit=true",
        "fairway task cancel T-4",
        "fairway task",
        "fairway evidence",
        "fairway handoff",
        "fairway handoff rm 1",
        "fairway context",
        "fairway evidence run T-4 -- rm x",
        "fairway evidence run T-4 --check unit -- rm x",
        "fairway evidence run T-4",
        "fairway evidence run T-4 --kind --check",
        "fairway evidence add T-4 --result pass --artifact x",
        "fairway checkpoint record T-4 --state active --summary x --artifact /etc/passwd",
        "fairway claim T-4 --steal --reason x",
        "fairway claim T-4 --stea",
        "fairway claim --session x",
        "fairway claim --session=x",
        "fairway --session x claim",
        "fairway claim --as lead",
        "fairway claim --root /tmp/x",
        "fairway --root /tmp/x claim",
        "fairway -C /tmp claim",
        "fairway release T-4 --force --reason x",
        "fairway release --dead",
        "fairway done T-4 --force",
        "fairway done T-4 --reason x",
        "fairway handoff create T-4 --to reviewer --summary x",
        "fairway handoff create T-4 --to-role r --summary x --payload-file x",
        "fairway handoff create T-4 --to-role r --summary x --payload -",
        "fairway handoff create T-4 --to-role r --summary x --payload=-",
        "fairway handoff withdraw 3 --force --reason x",
        "fairway handoff accept 3 --claim",
        "fairway note --text-file x",
        "fairway note -",
        "fairway note -- x",
        "fairway note x --new-flag",
        "fairway prime --task-id T-4",
        "fairway prime --json=true",
        "fairway prime --jso",
        "fairway prime -qj",
        "fairway prime --mode",
        "fairway prime --mode --json",
        "fairway prime; rm x",
        "fairway prime;rm x",
        "fairway prime && rm x",
        "fairway prime || rm x",
        "fairway prime & rm x",
        "fairway prime &",
        "fairway prime;",
        "fairway prime &&",
        "; fairway prime",
        "fairway prime ;; fairway ready",
        "fairway prime\nrm x",
        "fairway prime | sh",
        "fairway prime |& sh",
        "fairway prime | fairway note -",
        "fairway prime > x",
        "fairway prime >x",
        "fairway prime 2>x",
        "fairway prime 2>&1",
        "fairway prime &>x",
        "fairway note x < /etc/passwd",
        "fairway note <<< x",
        "fairway note x <<E\ny\nE",
        "fairway note \"$(cat x)\"",
        "fairway note \"`cat x`\"",
        "fairway note $(cat x)",
        "fairway note $X",
        "fairway note \"$X\"",
        "fairway note ${X}",
        "fairway note $'x'",
        "fairway note $\"x\"",
        "fairway note \"a\\\"b\"",
        "fairway note a\\ b",
        "fairway note *",
        "fairway note a?",
        "fairway note [a]",
        "fairway note {a,b}",
        "fairway note ~",
        "fairway note !!",
        "fairway note \"!x\"",
        "fairway note #x",
        "fairway prime # x",
        "fairway note 'x",
        "fairway note \"x",
        "fairway note =ls",
        "fairway note <(ls)",
        "fairway prime \\\nrm",
        "fairway prime\r\nrm x",
        "fairway note \u{200b}x",
        "fairway note \u{1b}[0m",
        "X=1 fairway prime",
        "PATH=/tmp fairway prime",
        "FAIRWAY_ROOT=/tmp/x fairway prime",
        "env fairway prime",
        "env X=1 fairway prime",
        "command fairway prime",
        "exec fairway prime",
        "sudo fairway prime",
        "nohup fairway prime",
        "time fairway prime",
        "! fairway prime",
        "(fairway prime)",
        "{ fairway prime; }",
        "if fairway prime; then rm x; fi",
        "while fairway prime; do rm x; done",
        "cd /tmp && fairway prime",
        "alias fairway=rm; fairway prime",
        "fairway() { rm x; }; fairway prime",
        "function fairway { rm x; }\nfairway prime",
        "export PATH=.; fairway prime",
        "hash -p ./evil fairway; fairway prime",
        "sh -c 'fairway prime'",
        "bash -lc 'fairway prime'",
        "xargs fairway prime",
        "echo fairway prime",
        "rm x # fairway prime",
        "coproc fairway prime",
        "fairway prime\u{a0}; rm",
        "fairway prime\u{0}",
    ];

    #[test]
    fn programs_in_a_sandbox_may_use_verbs_that_read_no_file_and_act_for_no_other() {
        let judge = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            is_sandbox_verb(&words)
        };
        for good in [
            "claim T-1",
            "note done --task T-1",
            "task submit T-1",
            "status --json",
            "hook acme PreToolUse",
            "hook acme wait --launch",
            "hook git authorize-push",
            "evidence add T-1 --result pass --summary x",
            "inbox --ack",
            "lane show api",
            "evidence run T-1 --check tests",
            "evidence run T-1 --kind lint -- make --check lint",
            "exec spawn --pty --queue= -- make --watch",
            "exec spawn --foreground --shell true",
            "exec poll 01a200f8 --wait 5s --json",
            "exec send-keys 01a200f8 --literal yes Enter",
            "exec list --unfinished",
        ] {
            assert!(judge(good), "{good}");
        }
        for bad in [
            "",
            "hook git post-checkout",
            "hook git pre-push",
            "hook session-git x",
            "evidence run T-1",
            "evidence run T-1 --session s2 -- sh",
            "evidence add T-1 -- sh",
            "exec spawn --env LD_PRELOAD=/x -- sh",
            "exec spawn --env=A=b -- sh",
            "exec spawn --notify s2 -- sh",
            "exec spawn --stdin-file /etc/passwd -- sh",
            "exec spawn --stdin - -- sh",
            "exec spawn --root /x -- sh",
            "exec list --of-session s2",
            "exec rm 01a200f8 --force",
            "exec gc",
            "exec call",
            "exec worker",
            "exec supervise 01a200f8",
            "hook install acme",
            "hook acme",
            "hook acme ../x",
            "hook --root acme",
            "note --root /x",
            "note x --artifact /etc/passwd",
            "claim --session s2",
            "task add -",
            "session launch",
            "land T-1",
            "trust",
            "config edit",
            "approvals answer 3 allow",
            "sandbox run -- sh",
            "status --root /x",
            "--root /x status",
        ] {
            assert!(!judge(bad), "{bad}");
        }
    }

    #[test]
    fn agents_own_verbs_are_known() {
        for text in OWN {
            let programs = own_verb_programs(text);
            let is_program = |word: &String| word == "fairway" || word == "/usr/bin/fairway";
            assert!(
                programs.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is_program)),
                "{text}: {programs:?}"
            );
        }
    }

    #[test]
    fn everything_else_is_not() {
        assert!(OTHER.len() >= 60);
        for text in OTHER {
            assert_eq!(own_verb_programs(text), None, "{text}");
        }
    }
}
