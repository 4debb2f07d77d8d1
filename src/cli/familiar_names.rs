//! Command names that people know from other tools, and the command here that does it.

use fairway_core::domain::TaskId;

/// A group of commands ("" at the top level), the words that are typed, what they ask for, and the command. A second word is one that
/// follows; `TASK` there stands for the id of a task. Of the command a word in capitals is a placeholder.
type Habit = (&'static str, &'static [&'static str], &'static str, &'static str);

const HABITS: &[Habit] = &[
    ("", &["abandon"], "close a lane", "fairway lane close LANE"),
    ("", &["abandon TASK", "cancel"], "cancel a task", "fairway task cancel TASK --reason TEXT"),
    ("", &["about", "agent-guide"], "print how an agent works", "fairway guide"),
    ("", &["accept", "lgtm"], "approve submitted work", "fairway approve TASK"),
    (
        "",
        &["agent", "checkout TASK", "dispatch", "go", "launch", "new-session", "run TASK", "up"],
        "start an agent on a task",
        "fairway start TASK",
    ),
    (
        "",
        &["agent list", "agent ls", "list-sessions", "list-units", "ps", "sessions", "who"],
        "list the agents",
        "fairway agents",
    ),
    ("", &["agent stop", "kill", "kill-session"], "stop an agent", "fairway stop SESSION"),
    ("", &["allow"], "answer a permission request", "fairway approvals answer ID allow"),
    (
        "",
        &["archive", "clean", "gc", "prune", "system", "worktree prune"],
        "remove the worktrees of landed lanes",
        "fairway lane prune --landed",
    ),
    ("", &["ask", "msg", "reply", "say", "tell"], "send text to an agent", "fairway send WHO TEXT"),
    (
        "",
        &["assign", "record handoff"],
        "offer a task to a role",
        "fairway handoff create TASK --to-role ROLE --summary TEXT",
    ),
    ("", &["attach", "chat", "connect", "shell"], "attach to a session", "fairway session attach SESSION"),
    ("", &["audit", "journal", "log", "op log", "reflog"], "print the event log", "fairway events"),
    ("", &["backends"], "list the backends", "fairway adapter list"),
    (
        "",
        &["backlog", "issue", "issue list", "issues", "list", "ls", "tasks", "tickets"],
        "list the tasks",
        "fairway task list",
    ),
    ("", &["blame"], "explain a file's work", "fairway search PATH"),
    ("", &["block"], "block a claimed task", "fairway task block TASK --reason TEXT"),
    ("", &["board", "info"], "show the project's status", "fairway status"),
    (
        "",
        &["branch", "checkout", "lanes", "switch", "workspace", "worktree"],
        "list the lanes with their branches",
        "fairway lane list",
    ),
    ("", &["broadcast"], "send text to every session", "fairway send --all TEXT"),
    ("", &["browse", "open", "ui", "web"], "open the board in the browser", "fairway serve --open"),
    ("", &["caps", "limits"], "show the budgets", "fairway budget"),
    ("", &["cost", "metrics", "stats", "tokens"], "report tokens and cost", "fairway usage"),
    ("", &["build", "run", "spawn"], "start a background job", "fairway exec spawn -- COMMAND"),
    ("", &["capture-pane", "logs", "peek", "tail"], "look at a session's screen", "fairway session peek SESSION"),
    (
        "",
        &["cat TASK", "inspect TASK", "issue view", "show", "show TASK", "view"],
        "show a task",
        "fairway task show TASK",
    ),
    ("", &["check", "health"], "find what is wrong", "fairway doctor"),
    ("", &["auth", "clone", "install", "login"], "connect this repository and your agents", "fairway setup"),
    ("", &["close", "finish", "issue close", "mark", "set-status"], "finish a task", "fairway done TASK"),
    ("", &["comment"], "comment on a line of the work", "fairway review comment TASK FILE:LINE TEXT"),
    ("", &["commit", "submit"], "submit your committed work", "fairway task submit TASK"),
    ("", &["completion"], "print completions", "fairway completions SHELL"),
    ("", &["configure", "set"], "edit the configuration", "fairway config edit"),
    ("", &["conflicts"], "list overlaps between lanes", "fairway overlap"),
    ("", &["continue", "restart", "resume"], "relaunch a session", "fairway relaunch SESSION"),
    ("", &["create", "issue create", "issue new", "new"], "add a task", "fairway add TITLE"),
    ("", &["cron"], "correct the records of sessions", "fairway session reconcile"),
    ("", &["dashboard", "monitor", "tui"], "watch the board", "fairway top"),
    ("", &["db backup"], "back up the store", "fairway backup FILE"),
    ("", &["delete", "drop", "remove", "rm"], "remove a task", "fairway task rm TASK"),
    ("", &["deny"], "answer a permission request", "fairway approvals answer ID deny"),
    ("", &["depend"], "make a task depend on another", "fairway task dep add TASK TASK"),
    ("", &["deploy", "merge", "mr", "ship", "squash"], "land finished work", "fairway land TASK"),
    ("", &["describe"], "edit a task", "fairway task edit TASK --body TEXT"),
    ("", &["detach"], "press the keys that attach names", "fairway session attach --help"),
    ("", &["disable", "pause"], "pause a lane", "fairway lane pause LANE"),
    ("", &["docs"], "list the guides", "fairway guide --list"),
    ("", &["down", "exit", "kill-server", "quit"], "stop every agent", "fairway session stop --all"),
    ("", &["edit", "issue edit", "update"], "edit a task", "fairway task edit TASK"),
    ("", &["enable", "unpause"], "open a lane", "fairway lane open LANE"),
    ("", &["env"], "list the variables", "fairway help environment"),
    ("", &["epic", "split"], "add a task below another", "fairway add TITLE --parent TASK"),
    (
        "",
        &["evolog", "history", "log TASK", "logs TASK"],
        "print the events of a task",
        "fairway events --of-task TASK",
    ),
    ("", &["example", "examples", "quickstart", "tutorial"], "run a day in a scratch repository", "fairway demo"),
    ("", &["export"], "export the tasks", "fairway task export"),
    ("", &["fetch", "pull", "rebase", "sync"], "bring the base into a lane", "fairway lane sync LANE"),
    ("", &["find", "grep"], "search tasks, records and conversations", "fairway search TEXT"),
    ("", &["get", "roles", "rules", "settings"], "show the settings", "fairway config show"),
    ("", &["grab", "pick", "take"], "claim a task", "fairway claim TASK"),
    ("", &["hooks install"], "install the hooks of an agent", "fairway hook install PROVIDER"),
    ("", &["hooks"], "check the hooks", "fairway doctor hooks"),
    ("", &["hosts", "remote"], "list the hosts", "fairway host list"),
    ("", &["images", "models", "providers"], "list the agents that are known", "fairway provider list"),
    ("", &["import github"], "import the issues of a forge", "fairway task import --from github"),
    ("", &["import"], "import tasks", "fairway task import FILE"),
    ("", &["inspect", "is-active"], "show a session", "fairway session show SESSION"),
    ("", &["issue comment"], "record a note on a task", "fairway note TEXT --task TASK"),
    ("", &["label", "tag"], "label a task", "fairway task edit TASK --label NAME"),
    ("", &["list-jobs", "run list"], "list the jobs", "fairway jobs"),
    ("", &["mail", "messages"], "read your messages", "fairway inbox"),
    ("", &["me", "whoami"], "print your identity and tasks", "fairway prime"),
    ("", &["move"], "move a task to a lane", "fairway task edit TASK --lane LANE"),
    ("", &["next", "plan", "queue", "ready-tasks", "todo"], "list the ready tasks", "fairway ready"),
    ("", &["no", "questions", "yes"], "show what needs you", "fairway status"),
    ("", &["notifications"], "show where notifications go", "fairway notify"),
    ("", &["permissions"], "list the permission requests", "fairway approvals list"),
    ("", &["prio", "priority"], "edit a task", "fairway task edit TASK --priority N"),
    ("", &["publish", "push"], "land finished work, and push", "fairway land TASK --push"),
    ("", &["record checkpoint"], "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    (
        "",
        &["record evidence", "test"],
        "run a check, and record it as evidence",
        "fairway evidence run TASK -- COMMAND",
    ),
    ("", &["record review"], "record a review", "fairway review record TASK --verdict VERDICT"),
    ("", &["reject"], "reject submitted work", "fairway review record TASK --verdict reject"),
    ("", &["reload", "validate"], "check the configuration", "fairway config check"),
    ("", &["rename"], "edit a task", "fairway task edit TASK --title TEXT"),
    ("", &["rename-session"], "name the next session", "fairway session launch --id NAME --role ROLE"),
    ("", &["reopen", "revert"], "reopen a task", "fairway task reopen TASK --reason TEXT"),
    ("", &["request-changes"], "send submitted work back", "fairway changes TASK TEXT"),
    ("", &["reset"], "find and repair what is wrong", "fairway doctor --fix"),
    ("", &["resume TASK"], "resume a submitted task", "fairway task resume TASK"),
    ("", &["reviews"], "show the next submitted work", "fairway review"),
    ("", &["run view"], "print a job's output", "fairway exec log JOB"),
    ("", &["run watch"], "follow a job's output", "fairway exec log JOB --follow"),
    ("", &["send-keys"], "type text into a session", "fairway send SESSION TEXT --type"),
    ("", &["stash", "stash list", "stash pop"], "show what a lane has changed", "fairway diff LANE"),
    ("", &["pause TASK"], "block a claimed task", "fairway task block TASK --reason TEXT"),
    ("", &["unassign", "unclaim"], "release a task", "fairway release TASK"),
    ("", &["unblock", "unpause TASK"], "unblock a task", "fairway task unblock TASK"),
    ("", &["undo"], "take your newest change back", "fairway task undo TASK"),
    ("", &["uninstall"], "remove what setup has added", "fairway setup --undo"),
    ("", &["upgrade", "version"], "print the version", "fairway --version"),
    ("", &["verify"], "check the gates of a task", "fairway merge-ready TASK"),
    ("", &["wait", "watch"], "follow the events", "fairway events --follow"),
    ("", &["why"], "list the blocked tasks", "fairway ready --why"),
    ("", &["workspace add", "worktree add"], "add a lane", "fairway lane add NAME --create-worktree"),
    ("", &["workspace forget", "worktree remove"], "remove a lane", "fairway lane rm LANE"),
    ("", &["apply"], "import tasks", "fairway task import FILE"),
    ("", &["cherry-pick"], "land finished work", "fairway land TASK"),
    ("", &["cordon", "drain"], "pause a lane", "fairway lane pause LANE"),
    ("", &["daemon-reload"], "check the configuration", "fairway config check"),
    ("", &["duplicate", "enqueue", "fork"], "add a task", "fairway add TITLE"),
    ("", &["follow"], "follow the events", "fairway events --follow"),
    ("", &["get agents", "get sessions"], "list the agents", "fairway agents"),
    ("", &["get tasks"], "list the tasks", "fairway task list"),
    ("", &["get lanes", "group", "volume"], "list the lanes with their branches", "fairway lane list"),
    ("", &["is-failed"], "show a session", "fairway session show SESSION"),
    ("", &["journalctl"], "print the event log", "fairway events"),
    ("", &["kill-window"], "stop an agent", "fairway stop SESSION"),
    ("", &["list-keys"], "list the commands", "fairway help --all"),
    ("", &["logout"], "remove what setup has added", "fairway setup --undo"),
    ("", &["new-window", "split-window"], "start an agent on a task", "fairway start TASK"),
    ("", &["parallel", "scale"], "keep so many agents at work", "fairway work --agents N"),
    ("", &["resolve"], "bring the base into a lane", "fairway lane sync LANE"),
    ("", &["rollout", "rollout undo"], "take your newest change back", "fairway task undo TASK"),
    ("", &["self-update"], "print the version", "fairway --version"),
    ("", &["send-key"], "type text into a session", "fairway send SESSION TEXT --type"),
    ("", &["try-restart"], "relaunch a session", "fairway relaunch SESSION"),
    ("", &["cat"], "look at a session's screen", "fairway session peek SESSION"),
    ("", &["bisect"], "find the work behind a change", "fairway search TEXT"),
    ("task", &["accept", "approve"], "approve submitted work", "fairway approve TASK"),
    ("task", &["assign"], "offer a task to a role", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("task", &["close", "finish"], "finish a task", "fairway done TASK"),
    ("task", &["comment", "note"], "record a note on a task", "fairway note TEXT --task TASK"),
    ("task", &["create", "new"], "add a task", "fairway add TITLE"),
    ("task", &["delete", "remove"], "remove a task", "fairway task rm TASK"),
    ("task", &["depend", "depends"], "make a task depend on another", "fairway task dep add TASK TASK"),
    ("task", &["get", "info", "inspect", "view"], "show a task", "fairway task show TASK"),
    ("task", &["label", "tag"], "label a task", "fairway task edit TASK --label NAME"),
    ("task", &["log", "status"], "explain a task", "fairway explain task TASK"),
    ("task", &["ls"], "list the tasks", "fairway task list"),
    ("task", &["merge"], "land finished work", "fairway land TASK"),
    ("task", &["move"], "move a task to a lane", "fairway task edit TASK --lane LANE"),
    ("task", &["next", "ready"], "list the ready tasks", "fairway ready"),
    ("task", &["prio", "priority"], "edit a task", "fairway task edit TASK --priority N"),
    ("task", &["reject"], "reject submitted work", "fairway review record TASK --verdict reject"),
    ("task", &["rename"], "edit a task", "fairway task edit TASK --title TEXT"),
    ("task", &["search"], "search tasks, records and conversations", "fairway search TEXT"),
    ("task", &["set", "update"], "edit a task", "fairway task edit TASK"),
    ("task", &["start"], "start an agent on a task", "fairway start TASK"),
    ("task", &["stop"], "release a task", "fairway release TASK"),
    ("lane", &["attach"], "list the agents", "fairway agents"),
    ("lane", &["cd", "info", "path", "status", "view"], "show a lane", "fairway lane show LANE"),
    ("lane", &["create", "new"], "add a lane", "fairway lane add NAME"),
    ("lane", &["delete", "remove"], "remove a lane", "fairway lane rm LANE"),
    ("lane", &["log"], "show what a lane has changed", "fairway diff LANE"),
    ("lane", &["finish", "land", "merge"], "land a lane", "fairway land lane:LANE"),
    ("lane", &["ls"], "list the lanes with their branches", "fairway lane list"),
    ("lane", &["pull", "update"], "bring the base into a lane", "fairway lane sync LANE"),
    ("lane", &["rebase"], "bring the base into a lane", "fairway lane sync LANE --rebase"),
    ("lane", &["resume", "start"], "open a lane", "fairway lane open LANE"),
    ("lane", &["stop"], "pause a lane", "fairway lane pause LANE"),
    ("review", &["accept", "approve"], "approve submitted work", "fairway approve TASK"),
    ("review", &["add"], "record a review", "fairway review record TASK --verdict VERDICT"),
    ("review", &["changes", "request-changes"], "send submitted work back", "fairway changes TASK TEXT"),
    ("review", &["diff"], "show what a task has changed", "fairway diff TASK"),
    ("review", &["ls"], "list the reviews", "fairway review list TASK"),
    ("review", &["open", "show", "view"], "show the card of a task", "fairway review TASK"),
    ("review", &["reject"], "reject submitted work", "fairway review record TASK --verdict reject"),
    ("review", &["start"], "show the next submitted work", "fairway review"),
    ("session", &["add", "create", "new", "run", "start"], "launch a session", "fairway session launch --role ROLE"),
    ("session", &["info", "inspect"], "show a session", "fairway session show SESSION"),
    ("session", &["kill", "rm"], "stop an agent", "fairway stop SESSION"),
    ("session", &["log", "logs", "tail", "view"], "look at a session's screen", "fairway session peek SESSION"),
    ("session", &["ls", "ps"], "list the agents", "fairway agents"),
    ("session", &["restart", "resume"], "relaunch a session", "fairway relaunch SESSION"),
    ("session", &["prompt", "send"], "send text to an agent", "fairway send SESSION TEXT"),
    ("session", &["send-keys"], "type text into a session", "fairway send SESSION TEXT --type"),
    ("session", &["watch"], "attach to a session", "fairway session attach SESSION"),
    ("exec", &["attach", "tail", "watch"], "follow a job's output", "fairway exec log JOB --follow"),
    ("exec", &["cancel", "stop"], "kill a job", "fairway exec kill JOB"),
    ("exec", &["logs"], "print a job's output", "fairway exec log JOB"),
    ("exec", &["ls", "ps"], "list the jobs", "fairway jobs"),
    ("exec", &["resume", "run", "start"], "start a background job", "fairway exec spawn -- COMMAND"),
    ("exec", &["show", "status"], "show a job", "fairway exec poll JOB"),
    ("approvals", &["allow", "approve"], "answer a permission request", "fairway approvals answer ID allow"),
    ("approvals", &["deny", "reject"], "answer a permission request", "fairway approvals answer ID deny"),
    ("approvals", &["ls", "show"], "list the permission requests", "fairway approvals list"),
    ("message", &["list", "ls"], "list what is not delivered", "fairway outbox"),
    ("message", &["inbox", "read"], "read your messages", "fairway inbox"),
    ("message", &["prompt"], "send text to an agent", "fairway send SESSION TEXT"),
    ("message", &["rm", "withdraw"], "withdraw a message", "fairway outbox withdraw ID"),
    ("handoff", &["add", "new"], "offer a task to a role", "fairway handoff create TASK --to-role ROLE --summary TEXT"),
    ("handoff", &["ls"], "list the handoffs", "fairway handoff list"),
    ("handoff", &["rm"], "withdraw a handoff", "fairway handoff withdraw ID"),
    ("pr", &["checkout"], "list the lanes with their branches", "fairway lane list"),
    ("pr", &["close"], "send submitted work back", "fairway changes TASK TEXT"),
    ("pr", &["create", "new", "open"], "open a pull request for a task", "fairway land TASK --pr"),
    ("pr", &["diff"], "show what a task has changed", "fairway diff TASK"),
    ("pr", &["merge"], "land finished work", "fairway land TASK"),
    ("pr", &["review", "view"], "show the card of a task", "fairway review TASK"),
    ("evidence", &["ls"], "list the evidence", "fairway evidence list TASK"),
    ("checkpoint", &["add"], "record a checkpoint", "fairway checkpoint record TASK --state STATE --summary TEXT"),
    ("checkpoint", &["ls"], "list the checkpoints", "fairway checkpoint list TASK"),
    ("config", &["get", "list", "ls", "path"], "show the settings", "fairway config show"),
    ("config", &["init"], "begin a project", "fairway init"),
    ("config", &["set"], "edit the configuration", "fairway config edit"),
    ("config", &["validate"], "check the configuration", "fairway config check"),
    ("adapter", &["ls"], "list the backends", "fairway adapter list"),
    ("guard", &["add", "allow", "deny"], "edit the configuration", "fairway config edit"),
    ("guard", &["logs"], "list the guard decisions", "fairway guard log"),
    ("provider", &["add"], "edit the configuration", "fairway config edit"),
    ("provider", &["ls"], "list the agents that are known", "fairway provider list"),
    ("doctor", &["fix"], "find and repair what is wrong", "fairway doctor --fix"),
    ("host", &["ls"], "list the hosts", "fairway host list"),
    ("budget", &["set"], "raise a cap", "fairway budget raise day 5usd --reason needed"),
    ("sandbox", &["show", "status"], "show what a lane's sandbox opens", "fairway sandbox explain LANE"),
];

/// A command, the typed flag or word, what it asks for, and the command line. `N` stands for a number, and `*` for any word that is no
/// task's id.
const FLAG_HABITS: &[Habit] = &[
    ("start", &["--continue", "--resume"], "relaunch a session", "fairway relaunch SESSION"),
    ("start", &["--detach", "--background", "-d"], "leave it out: nothing is attached", "fairway start TASK"),
    (
        "start",
        &["--dangerously-skip-permissions", "--model", "--yolo", "-m"],
        "give the agent's own command",
        "fairway start TASK -- COMMAND",
    ),
    ("start", &["--name", "-n"], "launch it by a name", "fairway session launch --id NAME --role ROLE"),
    ("start", &["--task", "-t"], "name the task alone", "fairway start TASK"),
    ("start", &["--all"], "keep agents on every ready task", "fairway work"),
    ("work", &["N"], "give the number of agents", "fairway work --agents N"),
    ("task add", &["--title"], "the title stands by itself", "fairway add TITLE"),
    ("send", &["--message", "--text", "--to", "-m"], "name who, then the text", "fairway send WHO TEXT"),
    ("status", &["--watch", "-w"], "watch the board", "fairway top"),
    ("status", &["*"], "show a session", "fairway session show SESSION"),
    ("session list", &["--watch", "-w"], "watch the board", "fairway top"),
    ("exec list", &["--all", "-a"], "the list has all that are kept", "fairway jobs"),
    ("usage", &["--today"], "report the last day", "fairway usage --since 24h"),
    ("answer", &["N"], "answer a permission request", "fairway approvals answer ID allow"),
    ("answer", &["*"], "see what is asked", "fairway status"),
    ("review next", &["--approve"], "approve submitted work", "fairway approve TASK"),
    ("review next", &["--next"], "leave it out", "fairway review"),
    ("review next", &["--diff"], "show what a task has changed", "fairway diff TASK"),
    ("review record", &["--land"], "land approved work", "fairway land TASK"),
    ("review record", &["--all"], "show the next submitted work", "fairway review"),
    ("lane diff", &["--cached", "--staged"], "see the files and sizes", "fairway diff --stat"),
    ("land", &["--all-ready"], "land all finished work", "fairway land --all"),
    ("land", &["--merge", "--rebase", "--squash"], "set [land] style", "fairway config edit"),
    ("land", &["--force", "--no-verify"], "check the gates of a task", "fairway merge-ready TASK"),
    ("top", &["-b", "-n", "--batch"], "print one frame", "fairway top --once"),
    ("top", &["--interval", "--watch", "-d"], "leave it out: it follows by itself", "fairway top"),
    ("session stop", &["--force", "-9"], "leave it out: all its processes end", "fairway stop SESSION"),
    ("session relaunch", &["--all"], "relaunch those that have died", "fairway relaunch --dead"),
    ("serve", &["--bind", "--host"], "listen in your network", "fairway serve --http --listen IP:PORT"),
    ("serve", &["--port", "-p"], "name the port", "fairway serve --http 8080"),
    ("serve", &["--daemon", "-d"], "install it as a service", "fairway serve --install"),
    ("mcp", &["*"], "serve the tools on stdin and stdout", "fairway mcp"),
    ("setup", &["*"], "connect one agent", "fairway setup --provider PROVIDER"),
    ("setup", &["--force", "--global"], "see what it would do", "fairway setup --dry-run"),
    ("init", &["--force"], "begin a new store", "fairway init --new"),
    ("config", &["--list", "-l"], "show the settings", "fairway config show"),
    ("config", &["--global"], "edit the configuration", "fairway config edit"),
    ("exec", &["-i", "-t", "-it"], "attach to a session", "fairway session attach SESSION"),
    ("", &["--list", "-l"], "list the tasks", "fairway task list"),
    ("", &["-v", "--verbose"], "log the steps on stderr", "fairway --debug COMMAND"),
];

/// Flags of other tools, whether they have a value, and the flags that they may mean. The first that the command has counts.
const FLAGS: &[(&[&str], bool, &[&str])] = &[
    (&["-a"], false, &["all"]),
    (&["-y", "--assume-yes"], false, &["yes"]),
    (&["-f", "-w", "--watch"], false, &["follow"]),
    (&["-s", "--oneline", "--porcelain", "--short"], false, &["quiet"]),
    (&["-o", "--format", "--output"], true, &["json"]),
    (&["-n", "--count", "--max-count"], true, &["limit", "agents", "tail", "lines"]),
    (&["-n"], false, &["dry-run"]),
    (&["-c", "-j", "--jobs", "--max", "--parallel", "--workers"], true, &["agents", "limit"]),
    (&["-m", "--comment", "--message", "--note"], true, &["notes", "summary", "reason", "body"]),
    (&["-b", "-d", "--description"], true, &["body"]),
    (&["-p"], true, &["priority", "prompt"]),
    (&["-l", "-t", "--tag"], true, &["label"]),
    (&["--after", "--blocked-by", "--needs"], true, &["depends-on"]),
    (&["-b", "--branch", "--worktree"], true, &["lane"]),
    (&["--agent", "--assignee", "--with"], true, &["provider", "role"]),
];

/// Suggests the command line for a flag or word that the command at `path` does not take.
pub fn flag_hint(path: &str, typed: &str) -> Option<String> {
    let is_number = !typed.is_empty() && typed.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = !typed.starts_with('-') && !TaskId::is_distinct(typed);
    let key = if is_number { "N" } else { typed.split('=').next().unwrap_or_default() };
    let is_asked = |habit: &&Habit| {
        (habit.0 == path || habit.0.is_empty()) && (habit.1.contains(&key) || is_word && habit.1 == ["*"])
    };
    let (_, _, purpose, command) = FLAG_HABITS.iter().find(is_asked)?;
    Some(format!("{purpose}: {}", filled(command, &[typed])))
}

/// Writes a command line again with the flag of the command that a flag of another tool means.
pub fn with_meant_flag(command: &clap::Command, typed: &str, line: &[&str]) -> Option<String> {
    let name = typed.split('=').next().unwrap_or_default();
    let of_name = FLAGS.iter().filter(|(typed, ..)| typed.contains(&name));
    let known = |long: &&str| command.get_arguments().find(|arg| arg.get_long() == Some(*long));
    let (has_value, meant) =
        of_name.into_iter().find_map(|(_, has_value, all)| Some((*has_value, all.iter().find_map(known)?)))?;
    let at = line.iter().position(|word| word.split('=').next() == Some(name))?;
    let (before, behind) = (line.get(1..at)?, line.get(at + 1..)?);
    let (inside, takes) = (line[at].split_once('=').map(|(_, value)| value), meant.get_action().takes_values());
    let skipped = usize::from(has_value && !takes && inside.is_none());
    let flag = format!("--{}", meant.get_long()?);
    let missing = Some("VALUE").filter(|_| behind.is_empty());
    let value = inside.or(missing).filter(|_| takes);
    let words = before.iter().copied().chain([flag.as_str()]).chain(value).chain(behind.iter().skip(skipped).copied());
    let words: Vec<&str> = words.collect();
    let is_short = words.iter().all(|word| word.len() <= MAX_REPEATED);
    is_short.then(|| format!("write it as: fairway {}", shell_words::join(words)))
}

/// Suggests the command for a word that is not a command of `group`, such as a name from another tool. `rest` are the words behind it,
/// which stand in the command for its placeholders. Returns `None` when no suggestion is known.
pub fn hint(group: &str, word: &str, rest: &[&str]) -> Option<String> {
    let next = rest.first().copied().unwrap_or_default();
    let of_group = || HABITS.iter().filter(|(of, ..)| *of == group);
    let with = |second: &str| of_group().find(|(_, typed, ..)| typed.contains(&&*format!("{word} {second}")));
    let plain = || of_group().find(|(_, typed, ..)| typed.contains(&word)).map(|habit| (habit, rest));
    let (habit, rest) = with(next)
        .map(|habit| (habit, rest.get(1..).unwrap_or_default()))
        .or_else(|| with("TASK").filter(|_| TaskId::is_distinct(next)).map(|habit| (habit, rest)))
        .or_else(plain)?;
    let (_, _, purpose, command) = habit;
    Some(format!("{purpose}: {}", filled(command, rest)))
}

/// The longest text that a suggestion repeats, in bytes.
const MAX_REPEATED: usize = 80;

/// Puts the words, but flags, in the places of a command's placeholders. The last placeholder takes all that are left; the id of a task
/// before a text is the task's.
fn filled(command: &str, words: &[&str]) -> String {
    let (mut id, words) = match words {
        [id, text @ ..] if command.contains(" TEXT --task TASK") && TaskId::is_distinct(id) => (Some(*id), text),
        words => (None, words),
    };
    // A number behind a flag is its value.
    let is_value =
        |at: usize| at > 0 && words[at - 1].starts_with('-') && words[at].bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |(at, word): &(usize, &&str)| !word.starts_with('-') && word.len() <= MAX_REPEATED && !is_value(*at);
    let mut words = words.iter().enumerate().filter(is_name).map(|(_, word)| *word);
    let parts = command.split(' ').map(|part| {
        let (prefix, name) = part.strip_prefix("lane:").map_or(("", part), |name| ("lane:", name));
        let word = match name {
            "TEXT" | "TITLE" => Some(words.by_ref().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty()),
            "COMMAND" => Some(shell_words::join(words.by_ref())).filter(|text| !text.is_empty()),
            "TASK" if id.is_some() => id.take().map(str::to_owned),
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
    word == "N" || word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase())
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::cli::{command, short_verbs};
    use crate::hooks::Provider;

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
            "PROVIDER" => Provider::ALL[0].label(),
            "IP:PORT" => "127.0.0.1:7431",
            "ID" | "JOB" => "1",
            "TASK" => "T-1",
            word => word,
        });
        short_verbs::expanded(words.map(Into::into).collect())
    }

    #[test]
    fn habits_are_no_commands_and_lead_to_commands() {
        let tree = command();
        let mut known = BTreeSet::new();
        for (group, words, purpose, line) in HABITS {
            for word in *words {
                assert!(known.insert((group, word)), "{group} {word} twice");
                let first = word.split(' ').next().unwrap();
                assert!(group_of(&tree, group).find_subcommand(first).is_none(), "{group} {word} is a command");
                assert!(!group.is_empty() || short_verbs::find(first).is_none(), "{word} is a short verb");
            }
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
        for (path, flags, purpose, line) in FLAG_HABITS {
            let at = group_of(&tree, path);
            for typed in *flags {
                let name = typed.trim_start_matches('-');
                let is_short = |arg: &clap::Arg| typed.len() == 2 && arg.get_short() == name.chars().next();
                assert!(at.get_arguments().all(|arg| arg.get_long() != Some(name) && !is_short(arg)), "{path} {typed}");
            }
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
