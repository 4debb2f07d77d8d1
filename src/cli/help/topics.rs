//! The topics of `fairway help`, and the groups of commands on its first page.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// The last group: commands that scripts and programs call.
pub const PLUMBING: &str = "Plumbing";

/// The commands of a person's day, in their order.
pub const FIRST_SCREEN: &[(&str, &str)] = &[
    ("setup", "Connect this repository and your agents"),
    ("add", "Add a task"),
    ("start", "Start an agent on a task"),
    ("work", "Start agents on ready tasks, and keep them going"),
    ("status", "Show what needs you, then lanes, sessions and jobs"),
    ("top", "Show the same, live"),
    ("serve --open", "Open the same in the browser"),
    ("answer", "Answer a question of an agent; a permission: fairway approvals"),
    ("send", "Send text to an agent"),
    ("review", "Show the next submitted work"),
    ("diff", "Show what a lane has changed"),
    ("approve", "Approve submitted work"),
    ("changes", "Send submitted work back, with a note"),
    ("land", "Land finished work in its base"),
    ("stop", "Stop an agent"),
    ("doctor", "Find what is wrong"),
];

/// The groups of `fairway help --all` and their commands. Each visible command belongs to exactly one group.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["setup", "start", "work", "demo", "init", "trust", "session", "help"]),
    ("Work", &["guide", "task", "lane", "ready", "claim", "release", "done", "note", "checkpoint", "exec"]),
    ("Review", &["evidence", "review", "handoff", "merge-ready", "land"]),
    ("Talk", &["send", "prompt", "answer", "inbox"]),
    ("Watch", &["status", "top", "overlap", "approvals", "events", "search", "explain", "usage", "budget"]),
    ("Project", &["config", "guard", "doctor", "backup", "restore"]),
    (
        PLUMBING,
        &[
            "adapter", "completions", "device", "hook", "host", "man", "mcp", "message", "notify", "outbox", "pr",
            "prime", "provider", "sandbox", "serve", "sidecar", "skill", "store",
        ],
    ),
];

/// The topics, in the order of the list.
pub const NAMES: &[&str] = &["options", "environment", "exit-codes", "gates", "glossary", "plumbing"];

const ENVIRONMENT: &str = "\
Environment variables. A flag overrides its variable.

  FAIRWAY_ROOT         Project root (--root)
  FAIRWAY_DB           Store file [default: .fairway/fairway.db]
  FAIRWAY_SESSION_ID   Acting session (--session)
  FAIRWAY_ROLE         Acting role (--as)
  FAIRWAY_LANE         Lane of the acting session
  FAIRWAY_TASK_ID      Task of the session; a bare claim claims only this one
  NO_COLOR             If set, no colour
  COLUMNS              Width of the terminal

A launched session also has:

  FAIRWAY_BIN, FAIRWAY_RUN_ID, FAIRWAY_PROVIDER, FAIRWAY_BACKEND,
  FAIRWAY_WORKTREE, FAIRWAY_BRANCH, FAIRWAY_TRANSCRIPT, FAIRWAY_SOCKET,
  FAIRWAY_PORT (the first of its lane's ten ports), FAIRWAY_PORT_FILE,
  FAIRWAY_TOKEN_FILE, FAIRWAY_LAUNCH_HOOKS,
  FAIRWAY_SANDBOX

Settings that have a variable: fairway config show
";

const EXIT_CODES: &str = "\
Exit codes. With --json an error is one JSON object on stderr; its `code`
says more (docs/reference/codes.md).

  0  ok         Done, already done, or the reader closed the pipe
  1  failure    Any other error
  2  usage      Invalid arguments or values
  3  not found  No such thing, or an ambiguous name
  4  conflict   Already claimed, stale claim, or illegal transition
  5  refused    A rule or gate refuses
  6  empty      Nothing to claim, or nothing arrived in time
  7  external   A program or backend failed or timed out
  8  busy       The store is locked or not writable; try again
  9  untrusted  The configuration is not trusted: fairway trust
";

const GATES: &str = "\
Gates are conditions that a task must meet before `done` or a merge.
.fairway.toml names them: [gates.done] require, [gates.merge] require.

  evidence              Passing evidence since the last claim
  checks                Each check of the task passed at the current commit
  reviews               Each required domain approved the current commit
  handoffs_accepted     No unanswered handoff
  no_open_questions     The newest written checkpoint does not await input
  clean_worktree        No uncommitted changes
  based_on              The work is based on the base branch
  comments              No open comment on a line
  reviewed_executables  Files that run later are approved, or unchanged

Unmet gates are blockers. List them: fairway merge-ready TASK
";

const GLOSSARY: &str = "\
Terms

  project     A repository with a .fairway directory
  store       The SQLite file with all data, .fairway/fairway.db
  task        A unit of work with a status, dependencies and gates
  lane        A named place of work: role, branch, worktree, WIP limit
  role        The kind of worker that a task needs
  ready       Claimable now: open, dependencies done, lane open
  claim       The exclusive right of one session or person to a task
  epoch       The claim's number, by which a stale claim is refused
  lease       Time after which an idle claim may be taken over
  gate        A condition for done or merge; unmet, it is a blocker
  check       A command that a task must pass
  evidence    The stored result of a check or program
  checkpoint  A progress note on a task
  handoff     An offer of a task to another role or lane
  session     A registered agent process over its life
  provider    The kind of an agent's CLI
  backend     The program that runs sessions: shell, tmux, screen, zellij
  job         A background command with captured output
  queue       Jobs that run one after another
  message     A text from one party to another
  prompt      A message meant to become an agent's next input
  hook        A program that a provider calls at an event
  guard       Rules that allow or deny an agent's tool calls
  approval    A provider's permission request and its answer
  trust       The permission for a configuration to run programs
  reconcile   Correct the records to match running processes
";

/// The text of a help topic. Returns `None` for an unknown topic. The caller must have built `command`.
pub fn text(name: &str, command: &Command) -> Option<String> {
    Some(match name {
        "options" | "global-options" => options(command),
        "environment" => ENVIRONMENT.to_owned(),
        "exit-codes" => EXIT_CODES.to_owned(),
        "gates" => GATES.to_owned(),
        "glossary" => GLOSSARY.to_owned(),
        "plumbing" => plumbing(command),
        _ => return None,
    })
}

fn options(command: &Command) -> String {
    let mut text = "Global options, accepted by every command at any place:\n\n".to_owned();
    let flags: Vec<&Arg> = command.get_arguments().filter(|arg| arg.get_long().is_some()).collect();
    for arg in flags {
        let short = arg.get_short().map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
        let value = arg.get_value_names().filter(|_| arg.get_action().takes_values()).and_then(<[_]>::first);
        let value = value.map(|value| format!(" <{value}>")).unwrap_or_default();
        let long = format!("{short}--{}{value}", arg.get_long().unwrap_or_default());
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace(" (see a summary with '-h')", "");
        let _ = writeln!(text, "  {long:<23}{help}");
    }
    text.push_str(
        "\nWHEN is auto, always or never. A DURATION has units: 30s, 10m, 2h, 7d.\n\
         FILE and TEXT may be - for stdin where the help says so.\n",
    );
    text
}

/// Commands that scripts, hooks and runtimes call, the hidden ones too.
fn plumbing(command: &Command) -> String {
    let mut text = "Commands for scripts, hooks and agent runtimes:\n\n".to_owned();
    let names = GROUPS.last().map(|(_, names)| *names).unwrap_or_default();
    for found in names.iter().filter_map(|name| command.find_subcommand(name)) {
        line(&mut text, found.get_name(), found);
    }
    text.push_str("\nCalled by backend scripts, each as `fairway adapter NAME`:\n\n");
    for found in command.find_subcommand("adapter").into_iter().flat_map(Command::get_subcommands) {
        if found.is_hide_set() {
            line(&mut text, found.get_name(), found);
        }
    }
    text
}

fn line(text: &mut String, name: &str, command: &Command) {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(text, "  {name:<16}{about}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{command, short_verbs};

    #[test]
    fn first_screen_names_commands_and_short_verbs() {
        let command = command();
        for (name, _) in FIRST_SCREEN {
            let word = name.split(' ').next().unwrap();
            assert!(command.find_subcommand(word).is_some() || short_verbs::find(word).is_some(), "{name}");
        }
    }

    #[test]
    fn each_visible_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.sort_unstable();
        let command = command();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name).collect();
        visible.sort_unstable();
        assert_eq!(grouped, visible);
    }
}
