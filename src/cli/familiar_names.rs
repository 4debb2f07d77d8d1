//! Command names that people know from other tools, and the command here that does it.

/// A group of commands ("" at the top level), the typed word, or two of them, what it asks for, and the command.
type Habit = (&'static str, &'static str, &'static str, &'static str);

const HABITS: &[Habit] = &[
    ("", "accept", "approve submitted work", "fairway approve TASK"),
    ("", "allow", "answer a permission request", "fairway approvals answer ID allow"),
    ("", "archive", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "checkout", "list the lanes with their worktrees", "fairway lane list"),
    ("", "clean", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "cost", "report tokens and cost", "fairway usage"),
    ("", "deny", "answer a permission request", "fairway approvals answer ID deny"),
    ("", "finish", "finish a task", "fairway done ID"),
    ("", "lanes", "list the lanes", "fairway lane list"),
    ("", "mr", "land finished work", "fairway land TASK"),
    ("", "open", "open the board in the browser", "fairway serve --open"),
    ("", "pause", "pause a lane", "fairway lane pause LANE"),
    ("", "permissions", "list the permission requests", "fairway approvals list"),
    ("", "queue", "list the ready tasks", "fairway ready"),
    ("", "rebase", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "reject", "reject submitted work", "fairway review record TASK --verdict reject"),
    ("", "resume", "relaunch a session", "fairway relaunch ID"),
    ("", "reviews", "show the next submitted work", "fairway review"),
    ("", "submit", "submit a task", "fairway task submit ID"),
    ("", "ui", "open the board in the browser", "fairway serve --open"),
    ("", "web", "open the board in the browser", "fairway serve --open"),
    ("", "worktree", "list the lanes with their worktrees", "fairway lane list"),
    ("task", "close", "finish a task", "fairway done ID"),
    ("task", "finish", "finish a task", "fairway done ID"),
    ("task", "view", "show a task", "fairway task show ID"),
    ("lane", "delete", "remove a lane", "fairway lane rm NAME"),
    ("lane", "new", "add a lane", "fairway lane add NAME"),
    ("lane", "remove", "remove a lane", "fairway lane rm NAME"),
    ("lane", "rebase", "bring the base into a lane", "fairway lane sync NAME --rebase"),
    ("review", "approve", "approve submitted work", "fairway approve TASK"),
    ("review", "changes", "send submitted work back", "fairway changes TASK NOTE"),
    ("review", "reject", "reject submitted work", "fairway review record TASK --verdict reject"),
    ("review", "show", "show the card of a task", "fairway review next --task TASK"),
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
    ("", "list", "list the tasks", "fairway task list"),
    ("", "log", "print the event log", "fairway events"),
    ("", "logs", "print a session's terminal", "fairway session peek ID"),
    ("", "ls", "list the tasks", "fairway task list"),
    ("", "merge", "land finished work", "fairway land TASK"),
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
    ("", "sync", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "set-status", "finish a task", "fairway done ID"),
    ("", "spawn", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "broadcast", "send text to every session", "fairway send --all TEXT"),
    ("", "tell", "send text to a session", "fairway send WHO TEXT"),
    ("", "sessions", "list the sessions", "fairway session list"),
    ("", "show", "show a task", "fairway task show ID"),
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

/// A command, the typed flag or word, what it asks for, and the command line.
const FLAG_HABITS: &[Habit] = &[
    ("start", "--agent", "name its provider", "fairway start TASK --provider NAME"),
    ("start", "--after", "make it depend on a task", "fairway add TITLE --depends-on TASK"),
    ("start", "--detach", "leave it out: nothing is attached", "fairway start TASK"),
    ("start", "-d", "leave it out: nothing is attached", "fairway start TASK"),
    ("start", "--branch", "name a lane", "fairway start TASK --lane NAME"),
    ("start", "--model", "give the agent's own command", "fairway start TASK -- COMMAND --model NAME"),
    ("start", "-p", "give the first prompt", "fairway start TASK --prompt TEXT"),
    ("task add", "--after", "make it depend on a task", "fairway add TITLE --depends-on TASK"),
    ("task add", "--blocked-by", "make it depend on a task", "fairway add TITLE --depends-on TASK"),
    ("task add", "--description", "give it a description", "fairway add TITLE --body TEXT"),
    ("task add", "-d", "give it a description", "fairway add TITLE --body TEXT"),
    ("task add", "-p", "give it a priority", "fairway add TITLE --priority N"),
    ("task add", "--tag", "give it a label", "fairway add TITLE --label NAME"),
    ("task list", "-a", "list the closed ones too", "fairway task list --all"),
    ("session list", "-a", "list those that are over too", "fairway session list --all"),
    ("exec list", "-a", "list the jobs", "fairway exec list"),
    ("status", "--watch", "watch the board", "fairway top"),
    ("status", "-w", "watch the board", "fairway top"),
    ("usage", "--today", "report the last day", "fairway usage --since 24h"),
    ("", "-v", "log the steps on stderr", "fairway --debug COMMAND"),
    ("", "--verbose", "log the steps on stderr", "fairway --debug COMMAND"),
];

/// Suggests the command line for a flag that the command at `path` does not have.
pub fn flag_hint(path: &str, typed: &str) -> Option<String> {
    let typed = typed.split('=').next().unwrap_or_default();
    let is_asked = |habit: &&Habit| (habit.0 == path || habit.0.is_empty()) && habit.1 == typed;
    FLAG_HABITS.iter().find(is_asked).map(|(_, _, purpose, command)| format!("{purpose}: {command}"))
}

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
    use crate::cli::{command, short_verbs};

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
            let words = short_verbs::expanded(line.split(' ').map(Into::into).collect());
            let line = words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ");
            for name in
                line.split(' ').skip(1).take_while(|name| name.chars().all(|one| one.is_lowercase() || one == '-'))
            {
                if !at.has_subcommands() || name.starts_with('-') {
                    break;
                }
                at = at.find_subcommand(name).unwrap_or_else(|| panic!("{line}: {name} is no command")).clone();
            }
            assert!(
                !at.has_subcommands() || at.get_positionals().count() > 0 || line == "fairway --version",
                "{line} is not a whole command"
            );
        }
    }

    #[test]
    fn flag_habits_are_no_flags_and_lead_to_commands_that_have_theirs() {
        for (path, typed, purpose, line) in FLAG_HABITS {
            let at = group_of(path);
            let name = typed.trim_start_matches('-');
            assert!(at.get_arguments().all(|arg| arg.get_long() != Some(name)), "{path} {typed}");
            assert!(
                at.get_arguments().all(|arg| typed.starts_with("--") || arg.get_short() != name.chars().next()),
                "{path} {typed}"
            );
            assert!(purpose.len() <= 40, "{purpose}");
            let words: Vec<_> =
                line.split(' ').map(|word| if word == "N" { "1" } else { word }).map(Into::into).collect();
            let words = short_verbs::expanded(words);
            assert!(line.contains(" COMMAND") || command().try_get_matches_from(&words).is_ok(), "{line}");
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
