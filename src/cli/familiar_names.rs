//! Command names that people know from other tools, and the command here that does it.

/// A group of commands ("" at the top level), the typed word, or two of them, what it asks for, and the command.
type Habit = (&'static str, &'static str, &'static str, &'static str);

const HABITS: &[Habit] = &[
    ("", "add", "add a task", "fairway task add TITLE"),
    ("", "new", "add a task", "fairway task add TITLE"),
    ("", "create", "add a task", "fairway task add TITLE"),
    ("", "agent-guide", "print how an agent works", "fairway guide"),
    ("", "attach", "attach to a session", "fairway session attach ID"),
    ("", "board", "show the project's status", "fairway status"),
    ("", "cancel", "cancel a task", "fairway task cancel ID --reason TEXT"),
    ("", "dashboard", "watch the board", "fairway top"),
    ("", "db backup", "back up the store", "fairway backup FILE"),
    ("", "edit", "edit a task", "fairway task edit ID"),
    ("", "import", "import tasks", "fairway task import FILE"),
    ("", "kill", "stop a session", "fairway session stop ID"),
    ("", "launch", "start an agent on a task", "fairway start TASK"),
    ("", "relaunch", "relaunch a session", "fairway session relaunch ID"),
    ("", "list", "list the tasks", "fairway task list"),
    ("", "log", "print the event log", "fairway events"),
    ("", "logs", "print the event log", "fairway events"),
    ("", "ls", "list the tasks", "fairway task list"),
    ("", "merge", "check the merge gates", "fairway merge-ready TASK"),
    ("", "next", "list the ready tasks", "fairway ready"),
    ("", "peek", "look at a session", "fairway session peek ID"),
    ("", "ps", "list the sessions", "fairway session list"),
    ("", "record evidence", "record evidence", "fairway evidence run TASK -- COMMAND"),
    ("", "record handoff", "offer a task", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("", "record review", "record a review", "fairway review record TASK --verdict VERDICT"),
    ("", "record checkpoint", "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    ("", "restart", "relaunch a session", "fairway session relaunch ID"),
    ("", "rm", "remove a task", "fairway task rm ID"),
    ("", "run", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "send-keys", "press keys in a job's terminal", "fairway exec send-keys JOB KEY"),
    ("", "set-status", "finish a task", "fairway done ID"),
    ("", "spawn", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "broadcast", "send text to every session", "fairway send --all TEXT"),
    ("", "tell", "send text to a session", "fairway send WHO TEXT"),
    ("", "sessions", "list the sessions", "fairway session list"),
    ("", "show", "show a task", "fairway task show ID"),
    ("", "stop", "stop a session", "fairway session stop ID"),
    ("", "tasks", "list the tasks", "fairway task list"),
    ("", "tui", "watch the board", "fairway top"),
    ("", "version", "print the version", "fairway --version"),
    ("", "watch", "follow the events", "fairway events --follow"),
    ("", "why", "list the blocked tasks", "fairway ready --why"),
    ("task", "create", "add a task", "fairway task add TITLE"),
    ("task", "log", "explain a task", "fairway explain task ID"),
    ("task", "ls", "list the tasks", "fairway task list"),
    ("task", "new", "add a task", "fairway task add TITLE"),
    ("task", "ready", "list the ready tasks", "fairway ready"),
    ("task", "delete", "remove a task", "fairway task rm ID"),
    ("task", "start", "claim a task", "fairway claim ID"),
    ("task", "status", "explain a task", "fairway explain task ID"),
    ("task", "stop", "release a task", "fairway release ID"),
    ("lane", "create", "add a lane", "fairway lane add NAME"),
    ("lane", "ls", "list the lanes", "fairway lane list"),
    ("lane", "status", "show a lane", "fairway lane show NAME"),
    ("lane", "stop", "pause a lane", "fairway lane pause NAME"),
    ("lane", "start", "open a lane", "fairway lane open NAME"),
    ("session", "add", "launch a session", "fairway session launch --role ROLE"),
    ("session", "kill", "stop a session", "fairway session stop ID"),
    ("session", "log", "print a session's terminal", "fairway session peek ID"),
    ("session", "logs", "print a session's terminal", "fairway session peek ID"),
    ("session", "ls", "list the sessions", "fairway session list"),
    ("session", "ps", "list the sessions", "fairway session list"),
    ("session", "restart", "relaunch a session", "fairway session relaunch ID"),
    ("session", "resume", "relaunch a session", "fairway session relaunch ID"),
    ("session", "rm", "stop a session", "fairway session stop ID"),
    ("session", "run", "launch a session", "fairway session launch --role ROLE"),
    ("session", "send", "send a prompt", "fairway send ID TEXT"),
    ("session", "start", "launch a session", "fairway session launch --role ROLE"),
    ("session", "watch", "attach to a session", "fairway session attach ID"),
    ("exec", "attach", "follow a job's output", "fairway exec log JOB --follow"),
    ("exec", "logs", "print a job's output", "fairway exec log JOB"),
    ("exec", "ls", "list the jobs", "fairway exec list"),
    ("exec", "ps", "list the jobs", "fairway exec list"),
    ("exec", "run", "start a job", "fairway exec spawn -- COMMAND"),
    ("exec", "show", "show a job", "fairway exec poll JOB"),
    ("exec", "start", "start a job", "fairway exec spawn -- COMMAND"),
    ("exec", "status", "show a job", "fairway exec poll JOB"),
    ("exec", "stop", "kill a job", "fairway exec kill JOB"),
    ("exec", "watch", "follow a job's output", "fairway exec log JOB --follow"),
    ("approvals", "show", "list the open approvals", "fairway approvals list"),
    ("approvals", "ls", "list the open approvals", "fairway approvals list"),
    ("message", "ls", "list the messages", "fairway message list"),
    ("message", "read", "read the messages", "fairway inbox"),
    ("message", "rm", "withdraw a message", "fairway message withdraw ID"),
    ("handoff", "ls", "list the handoffs", "fairway handoff list"),
    ("handoff", "rm", "withdraw a handoff", "fairway handoff withdraw ID"),
    ("review", "ls", "list the reviews", "fairway review list TASK"),
    ("review", "add", "record a review", "fairway review record TASK --verdict VERDICT"),
    ("evidence", "ls", "list the evidence", "fairway evidence list TASK"),
    ("checkpoint", "add", "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    ("checkpoint", "ls", "list the checkpoints", "fairway checkpoint list TASK"),
    ("config", "list", "show the settings", "fairway config show"),
    ("config", "ls", "show the settings", "fairway config show"),
    ("config", "validate", "check the configuration", "fairway config check"),
    ("adapter", "ls", "list the backends", "fairway adapter list"),
    ("guard", "logs", "list the guard decisions", "fairway guard log"),
];

/// Suggests the command for a word that is not a command of `group`, such as a name from another tool. `after` is the next
/// word on the command line. Returns `None` when no suggestion is known.
pub fn hint(group: &str, word: &str, after: Option<&str>) -> Option<String> {
    let two = after.map(|after| format!("{word} {after}"));
    let is_typed = |typed: &str| typed == word || two.as_deref() == Some(typed);
    let found = HABITS.iter().find(|(of, typed, ..)| *of == group && is_typed(typed));
    found.map(|(_, _, purpose, command)| format!("{purpose}: {command}"))
}

/// Finds the name nearest to a typed one. Returns `None` when no name is near enough for a typing error.
pub fn near<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let length = typed.chars().count();
    names
        .map(|name| (strsim::damerau_levenshtein(&typed, name), name))
        // Allows one typing error in three letters, and two in six.
        .filter(|(distance, name)| *distance <= (length.min(name.chars().count()) / 3).min(2))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    fn group_of(path: &str) -> clap::Command {
        path.split(' ').filter(|name| !name.is_empty()).fold(command(), |above, name| {
            above.find_subcommand(name).unwrap_or_else(|| panic!("{path} is no command")).clone()
        })
    }

    #[test]
    fn habits_are_no_commands_and_lead_to_commands() {
        for (group, word, purpose, line) in HABITS {
            assert!(group_of(group).find_subcommand(word).is_none(), "{group} {word} is a command");
            assert!(purpose.len() <= 40, "{purpose}");
            let mut at = command();
            for name in
                line.split(' ').skip(1).take_while(|name| name.chars().all(|one| one.is_lowercase() || one == '-'))
            {
                if !at.has_subcommands() || name.starts_with('-') {
                    break;
                }
                at = at.find_subcommand(name).unwrap_or_else(|| panic!("{line}: {name} is no command")).clone();
            }
            assert!(!at.has_subcommands() || line == &"fairway --version", "{line} is not a whole command");
        }
    }

    #[test]
    fn near_corrects_typing_errors_and_does_not_guess() {
        let top = command();
        let names = || top.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
        for (typed, expected) in [
            ("taks", Some("task")),
            ("clam", Some("claim")),
            ("realease", Some("release")),
            ("chekpoint", Some("checkpoint")),
            ("sesion", Some("session")),
            ("evnets", Some("events")),
            ("status", Some("status")),
            ("board", None),
            ("ls", None),
            ("ps", None),
            ("x", None),
            ("deploy", None),
        ] {
            assert_eq!(near(typed, names()), expected, "{typed}");
        }
        let flags = ["epoch", "as", "to-session", "to-role", "status", "limit"];
        for (typed, expected) in
            [("epcoh", Some("epoch")), ("task", None), ("search", None), ("to", None), ("limt", Some("limit"))]
        {
            assert_eq!(near(typed, flags.into_iter()), expected, "{typed}");
        }
    }
}
