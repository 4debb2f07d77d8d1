//! Command names that people know from other tools, and the command here that does it.

use crate::domain::TaskId;

/// A group of commands ("" at the top level), the typed word, what it asks for, and the command. A second word is one that follows;
/// `TASK` there stands for the id of a task. Of the command a word in capitals is a placeholder.
type Habit = (&'static str, &'static str, &'static str, &'static str);

const HABITS: &[Habit] = &[
    ("", "about", "print how an agent works", "fairway guide"),
    ("", "abandon TASK", "cancel a task", "fairway task cancel TASK --reason TEXT"),
    ("", "abandon", "close a lane", "fairway lane close LANE"),
    ("", "accept", "approve submitted work", "fairway approve TASK"),
    ("", "agent list", "list the agents", "fairway agents"),
    ("", "agent ls", "list the agents", "fairway agents"),
    ("", "agent stop", "stop an agent", "fairway stop SESSION"),
    ("", "agent", "start an agent on a task", "fairway start TASK"),
    ("", "agent-guide", "print how an agent works", "fairway guide"),
    ("", "allow", "answer a permission request", "fairway approvals answer ID allow"),
    ("", "archive", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "ask", "send text to an agent", "fairway send WHO TEXT"),
    ("", "assign", "offer a task to a role", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("", "attach", "attach to a session", "fairway session attach SESSION"),
    ("", "auth", "log in to the forge", "fairway land TASK --pr"),
    ("", "backends", "list the backends", "fairway adapter list"),
    ("", "backlog", "list the tasks", "fairway task list"),
    ("", "blame", "explain a file's work", "fairway search PATH"),
    ("", "block", "block a claimed task", "fairway task block TASK --reason TEXT"),
    ("", "board", "show the project's status", "fairway status"),
    ("", "branch", "list the lanes with their branches", "fairway lane list"),
    ("", "broadcast", "send text to every session", "fairway send --all TEXT"),
    ("", "browse", "open the board in the browser", "fairway serve --open"),
    ("", "build", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "cancel", "cancel a task", "fairway task cancel TASK --reason TEXT"),
    ("", "capture-pane", "look at a session's screen", "fairway session peek SESSION"),
    ("", "cat TASK", "show a task", "fairway task show TASK"),
    ("", "chat", "attach to a session", "fairway session attach SESSION"),
    ("", "check", "find what is wrong", "fairway doctor"),
    ("", "checkout TASK", "start an agent on a task", "fairway start TASK"),
    ("", "checkout", "list the lanes with their worktrees", "fairway lane list"),
    ("", "clean", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "clone", "connect this repository and your agents", "fairway setup"),
    ("", "close", "finish a task", "fairway done TASK"),
    ("", "comment", "comment on a line of the work", "fairway review comment TASK FILE:LINE TEXT"),
    ("", "commit", "submit your committed work", "fairway task submit TASK"),
    ("", "completion", "print completions", "fairway completions SHELL"),
    ("", "configure", "edit the configuration", "fairway config edit"),
    ("", "conflicts", "list overlaps between lanes", "fairway overlap"),
    ("", "connect", "attach to a session", "fairway session attach SESSION"),
    ("", "continue", "relaunch a session", "fairway relaunch SESSION"),
    ("", "cost", "report tokens and cost", "fairway usage"),
    ("", "create", "add a task", "fairway add TITLE"),
    ("", "dashboard", "watch the board", "fairway top"),
    ("", "db backup", "back up the store", "fairway backup FILE"),
    ("", "deny", "answer a permission request", "fairway approvals answer ID deny"),
    ("", "deploy", "land finished work", "fairway land TASK"),
    ("", "depend", "make a task depend on another", "fairway task dep add TASK TASK"),
    ("", "describe", "edit a task", "fairway task edit TASK --body TEXT"),
    ("", "detach", "press the keys that attach names", "fairway session attach --help"),
    ("", "disable", "pause a lane", "fairway lane pause LANE"),
    ("", "dispatch", "start an agent on a task", "fairway start TASK"),
    ("", "docs", "list the guides", "fairway guide --list"),
    ("", "down", "stop every agent", "fairway session stop --all"),
    ("", "edit", "edit a task", "fairway task edit TASK"),
    ("", "enable", "open a lane", "fairway lane open LANE"),
    ("", "evolog", "print the events of a task", "fairway events --of-task TASK"),
    ("", "export", "export the tasks", "fairway task export"),
    ("", "fetch", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "find", "search tasks, records and conversations", "fairway search TEXT"),
    ("", "finish", "finish a task", "fairway done TASK"),
    ("", "go", "start an agent on a task", "fairway start TASK"),
    ("", "grep", "search tasks, records and conversations", "fairway search TEXT"),
    ("", "health", "find what is wrong", "fairway doctor"),
    ("", "history", "print the events of a task", "fairway events --of-task TASK"),
    ("", "hooks", "check the hooks", "fairway doctor hooks"),
    ("", "hosts", "list the hosts", "fairway host list"),
    ("", "images", "list the agents that are known", "fairway provider list"),
    ("", "import", "import tasks", "fairway task import FILE"),
    ("", "info", "show the project's status", "fairway status"),
    ("", "inspect TASK", "show a task", "fairway task show TASK"),
    ("", "inspect", "show a session", "fairway session show SESSION"),
    ("", "install", "connect this repository and your agents", "fairway setup"),
    ("", "is-active", "show a session", "fairway session show SESSION"),
    ("", "issue close", "finish a task", "fairway done TASK"),
    ("", "issue comment", "record a note on a task", "fairway note TEXT --task TASK"),
    ("", "issue create", "add a task", "fairway add TITLE"),
    ("", "issue edit", "edit a task", "fairway task edit TASK"),
    ("", "issue list", "list the tasks", "fairway task list"),
    ("", "issue new", "add a task", "fairway add TITLE"),
    ("", "issue view", "show a task", "fairway task show TASK"),
    ("", "issue", "list the tasks", "fairway task list"),
    ("", "issues", "list the tasks", "fairway task list"),
    ("", "journal", "print the event log", "fairway events"),
    ("", "kill", "stop a session", "fairway stop SESSION"),
    ("", "kill-server", "stop every agent", "fairway session stop --all"),
    ("", "kill-session", "stop a session", "fairway stop SESSION"),
    ("", "lanes", "list the lanes", "fairway lane list"),
    ("", "launch", "start an agent on a task", "fairway start TASK"),
    ("", "lgtm", "approve submitted work", "fairway approve TASK"),
    ("", "list", "list the tasks", "fairway task list"),
    ("", "list-jobs", "list the jobs", "fairway jobs"),
    ("", "list-sessions", "list the sessions", "fairway agents"),
    ("", "list-units", "list the sessions", "fairway agents"),
    ("", "log TASK", "print the events of a task", "fairway events --of-task TASK"),
    ("", "log", "print the event log", "fairway events"),
    ("", "login", "connect this repository and your agents", "fairway setup"),
    ("", "logs TASK", "print the events of a task", "fairway events --of-task TASK"),
    ("", "logs", "print a session's terminal", "fairway session peek SESSION"),
    ("", "ls", "list the tasks", "fairway task list"),
    ("", "mail", "read your messages", "fairway inbox"),
    ("", "mark", "finish a task", "fairway done TASK"),
    ("", "merge", "land finished work", "fairway land TASK"),
    ("", "messages", "read your messages", "fairway inbox"),
    ("", "metrics", "report tokens and cost", "fairway usage"),
    ("", "models", "list the agents that are known", "fairway provider list"),
    ("", "mr", "land finished work", "fairway land TASK"),
    ("", "msg", "send text to an agent", "fairway send WHO TEXT"),
    ("", "new", "add a task", "fairway add TITLE"),
    ("", "new-session", "start an agent on a task", "fairway start TASK"),
    ("", "next", "list the ready tasks", "fairway ready"),
    ("", "notifications", "show where notifications go", "fairway notify"),
    ("", "op log", "print the event log", "fairway events"),
    ("", "open", "open the board in the browser", "fairway serve --open"),
    ("", "pause", "pause a lane", "fairway lane pause LANE"),
    ("", "peek", "look at a session", "fairway session peek SESSION"),
    ("", "permissions", "list the permission requests", "fairway approvals list"),
    ("", "plan", "list the ready tasks", "fairway ready"),
    ("", "providers", "list the agents that are known", "fairway provider list"),
    ("", "prune", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "ps", "list the sessions", "fairway agents"),
    ("", "publish", "land finished work", "fairway land TASK --push"),
    ("", "pull", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "push", "land finished work, and push", "fairway land TASK --push"),
    ("", "questions", "list the permission requests", "fairway approvals list"),
    ("", "queue", "list the ready tasks", "fairway ready"),
    ("", "quickstart", "run a day in a scratch repository", "fairway demo"),
    ("", "rebase", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "record checkpoint", "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    ("", "record evidence", "record evidence", "fairway evidence run TASK -- COMMAND"),
    ("", "record handoff", "offer a task", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("", "record review", "record a review", "fairway review record TASK --verdict VERDICT"),
    ("", "reflog", "print the event log", "fairway events"),
    ("", "reject", "reject submitted work", "fairway review record TASK --verdict reject"),
    ("", "reload", "check the configuration", "fairway config check"),
    ("", "remote", "list the hosts", "fairway host list"),
    ("", "remove", "remove a task", "fairway task rm TASK"),
    ("", "rename-session", "name the next session", "fairway session launch --id NAME --role ROLE"),
    ("", "reopen", "reopen a task", "fairway task reopen TASK --reason TEXT"),
    ("", "reply", "send text to an agent", "fairway send WHO TEXT"),
    ("", "request-changes", "send submitted work back", "fairway changes TASK TEXT"),
    ("", "reset", "find and repair what is wrong", "fairway doctor --fix"),
    ("", "restart", "relaunch a session", "fairway relaunch SESSION"),
    ("", "resume TASK", "resume a submitted task", "fairway task resume TASK"),
    ("", "resume", "relaunch a session", "fairway relaunch SESSION"),
    ("", "revert", "reopen a task", "fairway task reopen TASK --reason TEXT"),
    ("", "reviews", "show the next submitted work", "fairway review"),
    ("", "rm", "remove a task", "fairway task rm TASK"),
    ("", "roles", "show the settings", "fairway config show"),
    ("", "rules", "show the settings", "fairway config show"),
    ("", "run list", "list the jobs", "fairway jobs"),
    ("", "run view", "print a job's output", "fairway exec log JOB"),
    ("", "run watch", "follow a job's output", "fairway exec log JOB --follow"),
    ("", "run", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "say", "send text to an agent", "fairway send WHO TEXT"),
    ("", "send-keys", "type text into a session", "fairway session nudge SESSION TEXT"),
    ("", "sessions", "list the sessions", "fairway agents"),
    ("", "set-status", "finish a task", "fairway done TASK"),
    ("", "ship", "land finished work", "fairway land TASK"),
    ("", "show TASK", "show a task", "fairway task show TASK"),
    ("", "show", "show a task", "fairway task show TASK"),
    ("", "spawn", "start a background job", "fairway exec spawn -- COMMAND"),
    ("", "split", "add a task below another", "fairway add TITLE --parent TASK"),
    ("", "squash", "land finished work", "fairway land TASK"),
    ("", "stash", "show what a lane has changed", "fairway diff LANE"),
    ("", "stats", "report tokens and cost", "fairway usage"),
    ("", "submit", "submit a task", "fairway task submit TASK"),
    ("", "switch", "list the lanes with their worktrees", "fairway lane list"),
    ("", "sync", "bring the base into a lane", "fairway lane sync LANE"),
    ("", "system", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "tag", "land finished work", "fairway land TASK"),
    ("", "tasks", "list the tasks", "fairway task list"),
    ("", "tell", "send text to a session", "fairway send WHO TEXT"),
    ("", "test", "run a check of a task", "fairway evidence run TASK -- COMMAND"),
    ("", "tickets", "list the tasks", "fairway task list"),
    ("", "todo", "list the ready tasks", "fairway ready"),
    ("", "tokens", "report tokens and cost", "fairway usage"),
    ("", "tui", "watch the board", "fairway top"),
    ("", "tutorial", "run a day in a scratch repository", "fairway demo"),
    ("", "ui", "open the board in the browser", "fairway serve --open"),
    ("", "unblock", "unblock a task", "fairway task unblock TASK"),
    ("", "undo", "find what is wrong", "fairway doctor"),
    ("", "uninstall", "remove what setup has added", "fairway setup --undo"),
    ("", "unpause", "open a lane", "fairway lane open LANE"),
    ("", "up", "start an agent on a task", "fairway start TASK"),
    ("", "update", "edit a task", "fairway task edit TASK"),
    ("", "upgrade", "print the version", "fairway --version"),
    ("", "validate", "check the configuration", "fairway config check"),
    ("", "verify", "check the gates of a task", "fairway merge-ready TASK"),
    ("", "version", "print the version", "fairway --version"),
    ("", "view", "show a task", "fairway task show TASK"),
    ("", "wait", "follow the events", "fairway events --follow"),
    ("", "watch", "follow the events", "fairway events --follow"),
    ("", "web", "open the board in the browser", "fairway serve --open"),
    ("", "who", "list the sessions", "fairway agents"),
    ("", "why", "list the blocked tasks", "fairway ready --why"),
    ("", "workspace add", "add a lane", "fairway lane add NAME --create-worktree"),
    ("", "workspace forget", "remove a lane", "fairway lane rm LANE"),
    ("", "workspace", "list the lanes with their worktrees", "fairway lane list"),
    ("", "worktree add", "add a lane", "fairway lane add NAME --create-worktree"),
    ("", "worktree prune", "remove the worktrees of landed lanes", "fairway lane prune --landed"),
    ("", "worktree remove", "remove a lane", "fairway lane rm LANE"),
    ("", "worktree", "list the lanes with their worktrees", "fairway lane list"),
    ("task", "approve", "approve submitted work", "fairway approve TASK"),
    ("task", "assign", "offer a task to a role", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("task", "close", "finish a task", "fairway done TASK"),
    ("task", "comment", "record a note on a task", "fairway note TEXT --task TASK"),
    ("task", "create", "add a task", "fairway add TITLE"),
    ("task", "delete", "remove a task", "fairway task rm TASK"),
    ("task", "finish", "finish a task", "fairway done TASK"),
    ("task", "get", "show a task", "fairway task show TASK"),
    ("task", "info", "show a task", "fairway task show TASK"),
    ("task", "inspect", "show a task", "fairway task show TASK"),
    ("task", "log", "explain a task", "fairway explain task TASK"),
    ("task", "ls", "list the tasks", "fairway task list"),
    ("task", "merge", "land finished work", "fairway land TASK"),
    ("task", "new", "add a task", "fairway add TITLE"),
    ("task", "next", "list the ready tasks", "fairway ready"),
    ("task", "note", "record a note on a task", "fairway note TEXT --task TASK"),
    ("task", "ready", "list the ready tasks", "fairway ready"),
    ("task", "remove", "remove a task", "fairway task rm TASK"),
    ("task", "search", "search tasks, records and conversations", "fairway search TEXT"),
    ("task", "start", "start an agent on a task", "fairway start TASK"),
    ("task", "status", "explain a task", "fairway explain task TASK"),
    ("task", "stop", "release a task", "fairway release TASK"),
    ("task", "update", "edit a task", "fairway task edit TASK"),
    ("task", "view", "show a task", "fairway task show TASK"),
    ("lane", "create", "add a lane", "fairway lane add NAME"),
    ("lane", "delete", "remove a lane", "fairway lane rm LANE"),
    ("lane", "finish", "land a lane", "fairway land lane:LANE"),
    ("lane", "info", "show a lane", "fairway lane show LANE"),
    ("lane", "land", "land a lane", "fairway land lane:LANE"),
    ("lane", "log", "show what a lane has changed", "fairway diff LANE"),
    ("lane", "ls", "list the lanes", "fairway lane list"),
    ("lane", "merge", "land a lane", "fairway land lane:LANE"),
    ("lane", "new", "add a lane", "fairway lane add NAME"),
    ("lane", "pull", "bring the base into a lane", "fairway lane sync LANE"),
    ("lane", "rebase", "bring the base into a lane", "fairway lane sync LANE --rebase"),
    ("lane", "remove", "remove a lane", "fairway lane rm LANE"),
    ("lane", "resume", "open a lane", "fairway lane open LANE"),
    ("lane", "start", "open a lane", "fairway lane open LANE"),
    ("lane", "status", "show a lane", "fairway lane show LANE"),
    ("lane", "stop", "pause a lane", "fairway lane pause LANE"),
    ("lane", "update", "bring the base into a lane", "fairway lane sync LANE"),
    ("lane", "view", "show a lane", "fairway lane show LANE"),
    ("review", "accept", "approve submitted work", "fairway approve TASK"),
    ("review", "add", "record a review", "fairway review record TASK --verdict VERDICT"),
    ("review", "approve", "approve submitted work", "fairway approve TASK"),
    ("review", "changes", "send submitted work back", "fairway changes TASK TEXT"),
    ("review", "diff", "show what a task has changed", "fairway diff TASK"),
    ("review", "ls", "list the reviews", "fairway review list TASK"),
    ("review", "open", "show the card of a task", "fairway review TASK"),
    ("review", "reject", "reject submitted work", "fairway review record TASK --verdict reject"),
    ("review", "request-changes", "send submitted work back", "fairway changes TASK TEXT"),
    ("review", "show", "show the card of a task", "fairway review TASK"),
    ("review", "start", "show the next submitted work", "fairway review"),
    ("review", "view", "show the card of a task", "fairway review TASK"),
    ("session", "add", "launch a session", "fairway session launch --role ROLE"),
    ("session", "info", "show a session", "fairway session show SESSION"),
    ("session", "inspect", "show a session", "fairway session show SESSION"),
    ("session", "kill", "stop a session", "fairway stop SESSION"),
    ("session", "log", "print a session's terminal", "fairway session peek SESSION"),
    ("session", "logs", "print a session's terminal", "fairway session peek SESSION"),
    ("session", "ls", "list the sessions", "fairway agents"),
    ("session", "new", "launch a session", "fairway session launch --role ROLE"),
    ("session", "ps", "list the sessions", "fairway agents"),
    ("session", "prompt", "send a prompt", "fairway prompt SESSION TEXT"),
    ("session", "restart", "relaunch a session", "fairway relaunch SESSION"),
    ("session", "resume", "relaunch a session", "fairway relaunch SESSION"),
    ("session", "rm", "stop a session", "fairway stop SESSION"),
    ("session", "run", "launch a session", "fairway session launch --role ROLE"),
    ("session", "send", "send a prompt", "fairway send SESSION TEXT"),
    ("session", "send-keys", "type text into a session", "fairway session nudge SESSION TEXT"),
    ("session", "start", "launch a session", "fairway session launch --role ROLE"),
    ("session", "tail", "look at a session's screen", "fairway session peek SESSION"),
    ("session", "view", "look at a session's screen", "fairway session peek SESSION"),
    ("session", "watch", "attach to a session", "fairway session attach SESSION"),
    ("exec", "attach", "follow a job's output", "fairway exec log JOB --follow"),
    ("exec", "cancel", "kill a job", "fairway exec kill JOB"),
    ("exec", "logs", "print a job's output", "fairway exec log JOB"),
    ("exec", "ls", "list the jobs", "fairway jobs"),
    ("exec", "ps", "list the jobs", "fairway jobs"),
    ("exec", "run", "start a job", "fairway exec spawn -- COMMAND"),
    ("exec", "show", "show a job", "fairway exec poll JOB"),
    ("exec", "start", "start a job", "fairway exec spawn -- COMMAND"),
    ("exec", "status", "show a job", "fairway exec poll JOB"),
    ("exec", "stop", "kill a job", "fairway exec kill JOB"),
    ("exec", "tail", "follow a job's output", "fairway exec log JOB --follow"),
    ("exec", "watch", "follow a job's output", "fairway exec log JOB --follow"),
    ("approvals", "allow", "answer a permission request", "fairway approvals answer ID allow"),
    ("approvals", "approve", "answer a permission request", "fairway approvals answer ID allow"),
    ("approvals", "deny", "answer a permission request", "fairway approvals answer ID deny"),
    ("approvals", "ls", "list the open approvals", "fairway approvals list"),
    ("approvals", "reject", "answer a permission request", "fairway approvals answer ID deny"),
    ("approvals", "show", "list the open approvals", "fairway approvals list"),
    ("message", "ls", "list the messages", "fairway message list"),
    ("message", "read", "read the messages", "fairway inbox"),
    ("message", "rm", "withdraw a message", "fairway message withdraw ID"),
    ("handoff", "ls", "list the handoffs", "fairway handoff list"),
    ("handoff", "rm", "withdraw a handoff", "fairway handoff withdraw ID"),
    ("pr", "checkout", "list the lanes with their worktrees", "fairway lane list"),
    ("pr", "close", "send submitted work back", "fairway changes TASK TEXT"),
    ("pr", "create", "open a pull request for a task", "fairway land TASK --pr"),
    ("pr", "diff", "show what a task has changed", "fairway diff TASK"),
    ("pr", "merge", "land finished work", "fairway land TASK"),
    ("pr", "new", "open a pull request for a task", "fairway land TASK --pr"),
    ("pr", "open", "open a pull request for a task", "fairway land TASK --pr"),
    ("pr", "review", "show the card of a task", "fairway review TASK"),
    ("pr", "view", "show the card of a task", "fairway review TASK"),
    ("evidence", "ls", "list the evidence", "fairway evidence list TASK"),
    ("checkpoint", "add", "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    ("checkpoint", "ls", "list the checkpoints", "fairway checkpoint list TASK"),
    ("config", "set", "edit the configuration", "fairway config edit"),
    ("config", "get", "show the settings", "fairway config show"),
    ("config", "list", "show the settings", "fairway config show"),
    ("config", "ls", "show the settings", "fairway config show"),
    ("config", "validate", "check the configuration", "fairway config check"),
    ("adapter", "ls", "list the backends", "fairway adapter list"),
    ("guard", "logs", "list the guard decisions", "fairway guard log"),
    ("provider", "ls", "list the agents that are known", "fairway provider list"),
    ("host", "ls", "list the hosts", "fairway host list"),
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
    ("review next", "--approve", "approve submitted work", "fairway approve TASK"),
    ("land", "--all-ready", "land all finished work", "fairway land --all"),
    ("top", "--watch", "leave it out: it follows by itself", "fairway top"),
    ("", "-v", "log the steps on stderr", "fairway --debug COMMAND"),
    ("", "--verbose", "log the steps on stderr", "fairway --debug COMMAND"),
];

/// Suggests the command line for a flag that the command at `path` does not have.
pub fn flag_hint(path: &str, typed: &str) -> Option<String> {
    let typed = typed.split('=').next().unwrap_or_default();
    let is_asked = |habit: &&Habit| (habit.0 == path || habit.0.is_empty()) && habit.1 == typed;
    FLAG_HABITS.iter().find(is_asked).map(|(_, _, purpose, command)| format!("{purpose}: {command}"))
}

/// Suggests the command for a word that is not a command of `group`, such as a name from another tool. `rest` are the words behind it,
/// which stand in the command for its placeholders. Returns `None` when no suggestion is known.
pub fn hint(group: &str, word: &str, rest: &[&str]) -> Option<String> {
    let next = rest.first().copied().unwrap_or_default();
    let of_group = || HABITS.iter().filter(|(of, ..)| *of == group);
    let with = |second: &str| of_group().find(|(_, typed, ..)| typed.split_once(' ') == Some((word, second)));
    let plain = || of_group().find(|(_, typed, ..)| *typed == word).map(|habit| (habit, rest));
    let (habit, rest) = with(next)
        .map(|habit| (habit, rest.get(1..).unwrap_or_default()))
        .or_else(|| with("TASK").filter(|_| TaskId::is_distinct(next)).map(|habit| (habit, rest)))
        .or_else(plain)?;
    let (_, _, purpose, command) = habit;
    Some(format!("{purpose}: {}", filled(command, rest)))
}

/// The longest text that a suggestion repeats, in bytes.
const MAX_REPEATED: usize = 80;

/// Puts the words, but flags, in the places of a command's placeholders. The last placeholder takes all that are left.
fn filled(command: &str, words: &[&str]) -> String {
    let mut words = words.iter().copied().filter(|word| !word.starts_with('-') && word.len() <= MAX_REPEATED);
    let parts = command.split(' ').map(|part| {
        let (prefix, name) = part.strip_prefix("lane:").map_or(("", part), |name| ("lane:", name));
        let word = match name {
            "TEXT" | "TITLE" => Some(words.by_ref().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty()),
            "COMMAND" => Some(shell_words::join(words.by_ref())).filter(|text| !text.is_empty()),
            name if is_placeholder(name) => words.next().map(str::to_owned),
            _ => None,
        };
        match word {
            Some(word) if name == "COMMAND" => word,
            Some(word) => format!("{prefix}{}", shell_words::quote(&word)),
            None => part.to_owned(),
        }
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
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

    fn group_of<'t>(tree: &'t clap::Command, path: &str) -> &'t clap::Command {
        path.split(' ')
            .filter(|name| !name.is_empty())
            .fold(tree, |above, name| above.find_subcommand(name).unwrap_or_else(|| panic!("{path} is no command")))
    }

    /// Words that a command accepts, with values in the places of its placeholders.
    fn sample(line: &str) -> Vec<std::ffi::OsString> {
        let words = line.split(' ').map(|word| match word {
            "N" => "1",
            "FILE:LINE" => "a:1",
            "VERDICT" => "approve",
            "STATE" => "active",
            "SHELL" => "bash",
            "ID" | "JOB" => "1",
            "TASK" => "T-1",
            word => word,
        });
        short_verbs::expanded(words.map(Into::into).collect())
    }

    #[test]
    fn habits_are_no_commands_and_lead_to_commands() {
        let tree = command();
        for (at, (group, word, purpose, line)) in HABITS.iter().enumerate() {
            assert!(HABITS[..at].iter().all(|(of, other, ..)| (of, other) != (group, word)), "{group} {word} twice");
            let first = word.split(' ').next().unwrap();
            assert!(group_of(&tree, group).find_subcommand(first).is_none(), "{group} {word} is a command");
            assert!(!group.is_empty() || short_verbs::find(first).is_none(), "{word} is a short verb");
            assert!(purpose.len() <= 42, "{purpose}");
            if line.ends_with("--version") || line.ends_with("--help") {
                continue;
            }
            if let Err(error) = tree.clone().try_get_matches_from(sample(line)) {
                panic!("{line}: {error}");
            }
        }
    }

    #[test]
    fn flag_habits_are_no_flags_and_lead_to_commands_that_have_theirs() {
        let tree = command();
        for (path, typed, purpose, line) in FLAG_HABITS {
            let at = group_of(&tree, path);
            let name = typed.trim_start_matches('-');
            assert!(at.get_arguments().all(|arg| arg.get_long() != Some(name)), "{path} {typed}");
            assert!(
                at.get_arguments().all(|arg| typed.starts_with("--") || arg.get_short() != name.chars().next()),
                "{path} {typed}"
            );
            assert!(purpose.len() <= 40, "{purpose}");
            assert!(line.contains(" COMMAND") || tree.clone().try_get_matches_from(sample(line)).is_ok(), "{line}");
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
