//! Every verb with a call that works in a populated project, and the places where a person's text goes. A verb of the parser
//! that has no row here fails the tests that walk over all of them.

/// Stands for the text in a call.
pub const TEXT_PLACEHOLDER: &str = "{}";

/// A verb.
pub struct CommandRow {
    /// Its words.
    pub path: &'static str,
    /// The calls that must come before it in that world.
    pub before: &'static [&'static str],
    /// A call that exits 0 in a [populated](super::TestProject::populated) project; words without spaces.
    pub good: &'static str,
    /// Calls with [`TEXT_PLACEHOLDER`] where a person's text goes.
    pub texts: &'static [&'static str],
}

const fn row(path: &'static str, good: &'static str, texts: &'static [&'static str]) -> CommandRow {
    CommandRow { path, before: &[], good, texts }
}

impl CommandRow {
    /// The ways to call it whose output is its own: what one attaches to shows itself, the commands of a demo too, a hook
    /// that has nothing to say prints nothing, a landing needs a repository, and an answer an open question.
    pub fn variants(&self) -> &'static [&'static [&'static str]] {
        match self.path {
            "answer" | "sandbox run" | "sandbox check" | "sandbox explain" | "sandbox take-back" | "session attach"
            | "session structured" | "hook" | "config edit" | "demo" | "land" | "land show" | "mcp" => &[&["--help"]],
            // A drawing is for a terminal.
            "top" => &[&[], &["--help"]],
            _ => &[&[], &["--json"], &["--help"]],
        }
    }
}

/// A verb of programs: it needs a world in which they may run.
const fn trusted_row(path: &'static str, good: &'static str, texts: &'static [&'static str]) -> CommandRow {
    CommandRow { path, before: &["trust"], good, texts }
}

/// A verb of a lane's worktree: the lane gets the repository of a [`populated`](super::TestProject::populated) one.
const fn git_row(path: &'static str, good: &'static str, texts: &'static [&'static str]) -> CommandRow {
    CommandRow { path, before: &["lane edit ui --worktree repository --base main"], good, texts }
}

/// The submitted task has its work in the repository, with a line to comment on.
const COMMENTED_WORK: &[&str] = &["lane edit ui --worktree repository --base main", "task edit T-6 --lane ui"];

/// Every verb, in the order of the help.
pub const COMMANDS: &[CommandRow] = &[
    row("init", "init", &["init --root {}"]),
    row("setup", "setup --dry-run", &["setup --dry-run --provider {}", "setup --dry-run --root {}"]),
    row("demo", "demo --help", &["demo --help --dir {}"]),
    row(
        "task add",
        "task add N-1 title",
        &[
            "task add N-{n} {}",
            "task add {} title",
            "task add --id {} title",
            "task add N-{n} t --body {}",
            "task add N-{n} t --body-file {}",
            "task add N-{n} t --role {}",
            "task add N-{n} t --lane {}",
            "task add N-{n} t --parent {}",
            "task add N-{n} t --priority {}",
            "task add N-{n} t --label {}",
            "task add N-{n} t --path {}",
            "task add N-{n} t --depends-on {}",
            "task add N-{n} t --check {}",
            "task add N-{n} t --check a={}",
            "task add N-{n} t --review-domain {}",
            "task add N-{n} t --request-id {}",
            "task add N-{n} t --as {}",
            "task add N-{n} t --session {}",
            "task add N-{n} t --root {}",
            "task add N-{n} t --color {}",
        ],
    ),
    row(
        "task list",
        "task list",
        &[
            "task list --status {}", "task list --grep {}", "task list --label {}", "task list --lane {}",
            "task list --limit {}",
        ],
    ),
    row("task show", "task show T-1", &["task show {}"]),
    row(
        "task edit",
        "task edit T-1 --title other",
        &["task edit {} --title x", "task edit T-1 --title {}", "task edit T-1 --body {}", "task edit T-1 --label {}"],
    ),
    row("task dep add", "task dep add T-1 T-4", &["task dep add T-1 {}", "task dep add {} T-1"]),
    row("task dep rm", "task dep rm T-1 T-4", &["task dep rm T-1 {}"]),
    row("task dep tree", "task dep tree T-1", &["task dep tree {}"]),
    row("task block", "task block T-2 --reason rain", &["task block {} --reason r", "task block T-2 --reason {}"]),
    row("task claim", "task claim T-1", &["task claim {}", "task claim T-1 --steal --reason {}"]),
    row("task release", "task release T-2", &["task release {}", "task release T-2 --reason {}"]),
    row("task merge-check", "task merge-check T-7", &["task merge-check {}", "task merge-check T-7 --base {}"]),
    row("task resume", "task resume T-6", &["task resume {}", "task resume T-6 --force --reason {}"]),
    row(
        "task done",
        "task done T-7",
        &["task done {}", "task done T-7 --commit {}", "task done T-7 --force --reason {}"],
    ),
    row("task unblock", "task unblock T-3", &["task unblock T-3 --force --reason {}"]),
    row("task submit", "task submit T-2", &["task submit T-2 --commit {}"]),
    row("task cancel", "task cancel T-4 --reason rain", &["task cancel T-4 --reason {}"]),
    row("task reopen", "task reopen T-5 --reason again", &["task reopen T-5 --reason {}"]),
    CommandRow {
        path: "task undo",
        before: &["task edit T-4 --priority 0"],
        good: "task undo T-4",
        texts: &["task undo {}", "task undo T-4 --event {}"],
    },
    row("task rm", "task rm T-4", &["task rm {}", "task rm T-4 {}"]),
    row(
        "task import",
        "task import tasks.jsonl",
        &["task import {}", "task import {} --dry-run", "task import --from {} tasks.jsonl"],
    ),
    row("task export", "task export", &["task export --format {}"]),
    row(
        "lane add",
        "lane add api",
        &[
            "lane add {}", "lane add l{n} --title {}", "lane add l{n} --role {}", "lane add l{n} --branch {}",
            "lane add l{n} --base {}", "lane add l{n} --worktree {}", "lane add l{n} --wip {}",
            "lane add l{n} --provider {}", "lane add l{n} --backend {}",
        ],
    ),
    row("lane list", "lane list", &[]),
    row("lane show", "lane show ui", &["lane show {}"]),
    git_row("lane diff", "lane diff ui", &["lane diff {}", "lane diff ui --since {}"]),
    git_row("lane sync", "lane sync ui", &["lane sync {}"]),
    row("lane edit", "lane edit ui --wip 3", &["lane edit ui --title {}", "lane edit ui --branch {}"]),
    row("lane pause", "lane pause ui", &["lane pause {}"]),
    row("lane open", "lane open ui", &["lane open {}"]),
    row("lane close", "lane close ui", &["lane close {}"]),
    CommandRow {
        path: "lane setup",
        before: &["lane edit ui --worktree repository --base main", "trust"],
        good: "lane setup ui",
        texts: &["lane setup {}"],
    },
    row("lane rm", "lane rm ui", &["lane rm {}"]),
    row("lane prune", "lane prune", &[]),
    row("lane trim", "lane trim", &[]),
    git_row("lane repair", "lane repair ui", &["lane repair {}"]),
    row("ready", "ready", &["ready --role {}", "ready --lane {}", "ready --limit {}"]),
    row(
        "claim",
        "claim T-1",
        &[
            "claim {}",
            "claim --role {}",
            "claim T-1 --lane {}",
            "claim T-1 --lease {}",
            "claim T-1 --steal --reason {}",
            "claim T-1 --epoch {}",
        ],
    ),
    row("release", "release T-2", &["release {}", "release T-2 --reason {}", "release T-2 --force --reason {}"]),
    row("note", "note --task T-2 here", &["note --task T-2 {}", "note --task {} here"]),
    row("done", "done T-7", &["done {}", "done T-7 --commit {}", "done T-7 --force --reason {}"]),
    row(
        "checkpoint record",
        "checkpoint record T-2 --state active --summary here",
        &[
            "checkpoint record {} --state active --summary s",
            "checkpoint record T-2 --state {} --summary s",
            "checkpoint record T-2 --state active --summary {}",
            "checkpoint record T-2 --state active --summary s --owner {}",
            "checkpoint record T-2 --state active --summary s --artifact {}",
            "checkpoint record T-2 --state active --summary s --due {}",
        ],
    ),
    row("checkpoint list", "checkpoint list T-2", &["checkpoint list {}"]),
    row("checkpoint show", "checkpoint show 1", &["checkpoint show {}"]),
    row("checkpoint latest", "checkpoint latest T-2", &["checkpoint latest {}"]),
    row("checkpoint overdue", "checkpoint overdue", &[]),
    row(
        "evidence run",
        "evidence run T-2 --check ok",
        &[
            "evidence run {} -- true",
            "evidence run T-2 --kind {} -- true",
            "evidence run T-2 --check {}",
            "evidence run T-2 --summary {} -- true",
            "evidence run T-2 --timeout {} -- true",
            "evidence run T-2 -- true {}",
        ],
    ),
    row(
        "evidence add",
        "evidence add T-2 --result pass",
        &[
            "evidence add {} --result pass",
            "evidence add T-2 --result {}",
            "evidence add T-2 --result pass --kind {}",
            "evidence add T-2 --result pass --command {}",
            "evidence add T-2 --result pass --artifact {}",
            "evidence add T-2 --result pass --summary {}",
            "evidence add T-2 --result pass --commit {}",
        ],
    ),
    row("evidence list", "evidence list T-2", &["evidence list {}"]),
    row("evidence show", "evidence show 1", &["evidence show {}", "evidence show 1 --lines {}"]),
    row(
        "handoff create",
        "handoff create T-3 --to qa --summary over",
        &[
            "handoff create {} --to qa --summary s",
            "handoff create T-3 --to {} --summary s",
            "handoff create T-3 --to-lane {} --summary s",
            "handoff create T-3 --to qa --summary {}",
            "handoff create T-3 --to qa --summary s --payload {}",
            "handoff create T-3 --to qa --summary s --payload-file {}",
        ],
    ),
    row("handoff list", "handoff list", &["handoff list --to {}", "handoff list --task {}"]),
    row("handoff accept", "handoff accept 1 --as qa", &["handoff accept {} --as qa"]),
    row(
        "handoff decline",
        "handoff decline 1 --reason no --as qa",
        &["handoff decline {} --reason r", "handoff decline 1 --as qa --reason {}"],
    ),
    row(
        "handoff withdraw",
        "handoff withdraw 1",
        &["handoff withdraw {}", "handoff withdraw 1 --session s1 --force --reason {}"],
    ),
    row(
        "review request",
        "review request T-2 --domain data",
        &[
            "review request {} --domain data",
            "review request T-2 --domain {}",
            "review request T-2 --domain d --reviewer {}",
        ],
    ),
    row(
        "review record",
        "review record T-2 --domain code --verdict changes",
        &[
            "review record {} --domain code --verdict changes",
            "review record T-2 --domain code --verdict {}",
            "review record T-2 --domain {} --verdict changes",
            "review record T-2 --domain code --verdict changes --reviewer {}",
            "review record T-2 --domain code --verdict changes --commit {}",
            "review record T-2 --domain code --verdict changes --notes {}",
            "review record T-2 --domain code --verdict changes --notes-file {}",
        ],
    ),
    row("review list", "review list T-2", &["review list {}"]),
    CommandRow {
        path: "review withdraw",
        before: &["review request T-2 --domain data"],
        good: "review withdraw 1 --force --reason r",
        texts: &["review withdraw {}", "review withdraw 1 --force --reason {}"],
    },
    row("review next", "review next", &["review next --task {}", "review next --defer {}"]),
    CommandRow {
        path: "review comment",
        before: COMMENTED_WORK,
        good: "review comment T-6 cart.txt:1 why",
        texts: &[
            "review comment {} cart.txt:1 why",
            "review comment T-6 {} why",
            "review comment T-6 cart.txt:1 {}",
            "review comment T-6 cart.txt:1 --text-file {}",
            "review comment T-6 cart.txt:1 why --commit {}",
        ],
    },
    row("review comments", "review comments T-6", &["review comments {}"]),
    CommandRow {
        path: "review resolve",
        before: &[COMMENTED_WORK[0], COMMENTED_WORK[1], "review comment T-6 cart.txt:1 why"],
        good: "review resolve 1",
        texts: &["review resolve {}", "review resolve 1 --force --reason {}"],
    },
    row("merge-ready", "merge-ready T-7", &["merge-ready {}", "merge-ready T-7 --base {}"]),
    row(
        "send",
        "send s1 hello",
        &[
            "send {} hello",
            "send s1 {}",
            "send s1 --text-file {}",
            "send lane:ui hello --priority {}",
            "send s1 hello --ttl {}",
        ],
    ),
    row(
        "message send",
        "message send hi --to-role qa",
        &[
            "message send {} --to-role qa",
            "message send hi --to-role {}",
            "message send hi --to-lane {}",
            "message send hi --to-session {}",
            "message send hi --to-role qa --priority {}",
            "message send hi --to-role qa --source {}",
            "message send hi --to-role qa --dedup {}",
            "message send hi --to-role qa --ttl {}",
            "message send --text-file {} --to-role qa",
        ],
    ),
    row("inbox", "inbox --session s1", &["inbox --as qa --wait {}", "inbox --session {}", "inbox --as {}"]),
    row(
        "answer",
        "answer --help",
        &["answer {} yes", "answer question:s1:1 {}", "answer question:s1:1 --text-file {}"],
    ),
    row(
        "prompt",
        "prompt s1 hello",
        &[
            "prompt {} hello",
            "prompt s1 {}",
            "prompt s1 --body-file {}",
            "prompt s1 --text-file {}",
            "prompt s1 hello --priority {}",
            "prompt s1 hello --source {}",
            "prompt s1 hello --dedup {}",
            "prompt s1 hello --ttl {}",
            "prompt s1 hello --wait-ack {}",
        ],
    ),
    row("pr sync", "pr sync", &[]),
    row("outbox", "outbox", &["outbox --to {}"]),
    row("outbox list", "outbox list", &["outbox --to {}", "outbox list --to {}", "outbox list --limit {}"]),
    row("outbox withdraw", "outbox withdraw 1", &["outbox withdraw {}", "outbox withdraw 1 --force --reason {}"]),
    CommandRow {
        path: "sidecar",
        // Of one that nobody sees any more, so that it ends.
        before: &["session upsert --id gone --role worker --status stale"],
        good: "sidecar --session gone",
        texts: &[
            "sidecar --session {}",
            "sidecar --session gone --provider {}",
            "sidecar --session gone --provider codex --transcript {}",
        ],
    },
    row("hook", "hook claude EventOfTomorrow", &["hook {} PreToolUse", "hook claude {}"]),
    row(
        "hook install",
        "hook install claude",
        &["hook install {}", "hook install claude --dry-run --file {}", "hook install codex --project --root {}"],
    ),
    row("hook uninstall", "hook uninstall claude", &["hook uninstall {}", "hook uninstall gemini --file {}"]),
    row("approvals list", "approvals list", &[]),
    row("approvals watch", "approvals watch --for 10ms", &["approvals watch --for {}"]),
    row(
        "approvals answer",
        "approvals answer 1 allow",
        &["approvals answer {} allow", "approvals answer 1 {}", "approvals answer 1 deny --reason {}"],
    ),
    row("approvals", "approvals", &[]),
    trusted_row(
        "session launch",
        "session launch --role worker --name s3 --command true",
        &[
            "session launch --dry-run --role {}",
            "session launch --dry-run --role worker --lane {}",
            "session launch --dry-run --role worker --backend {}",
            "session launch --dry-run --role worker --provider {}",
            "session launch --dry-run --role worker --task-id {}",
            "session launch --dry-run --role worker --name {}",
            "session launch --dry-run --role worker --worktree {}",
            "session launch --dry-run --role worker --branch {}",
            "session launch --dry-run --role worker --transcript {}",
            "session launch --dry-run --role worker --env {}",
            "session launch --dry-run --role worker --env A={}",
            "session launch --dry-run --role worker --command {}",
            "session launch --dry-run --role worker -- {}",
            "session launch --dry-run --role worker --prompt {}",
            "session launch --dry-run --role worker --prompt-file {}",
            "session launch --role worker --name s{n}x --env A={} -- true",
            "session launch --role worker --name s{n}x --branch {} -- true",
            "session launch --role worker --name s{n}x --transcript ./x{} -- true",
            "session launch --role worker --name s{n}x -- true {}",
        ],
    ),
    trusted_row(
        "session relaunch",
        "session relaunch s2 -- true",
        &[
            "session relaunch {}",
            "session relaunch s2 --env A={} -- true",
            "session relaunch s2 --prompt {} -- true",
            "session relaunch s2 --prompt-file {} -- true",
            "session relaunch s2 -- true {}",
        ],
    ),
    trusted_row(
        "start",
        "start T-4 --lane ui --backend shell -- true",
        &[
            "start {} --dry-run --lane ui -- true",
            "start {} --lane ui --backend shell -- true",
            "start T-4 --dry-run --role {} -- true",
            "start T-4 --dry-run --lane {} -- true",
            "start T-4 --dry-run --lane ui --backend {} -- true",
            "start T-4 --dry-run --lane ui --provider {} -- true",
            "start T-4 --dry-run --lane ui --env {} -- true",
            "start T-4 --dry-run --lane ui --env A={} -- true",
            "start T-4 --dry-run --lane ui --prompt {} -- true",
            "start T-4 --dry-run --lane ui --prompt-file {} -- true",
            "start T-4 --dry-run --lane ui -- {}",
            "start T-4 --dry-run --lane ui -- true {}",
        ],
    ),
    row(
        "session upsert",
        "session upsert --id s3 --role worker",
        &[
            "session upsert --id {} --role worker",
            "session upsert --role {}",
            "session upsert --id s1 --lane {}",
            "session upsert --id s1 --task-id {}",
            "session upsert --id s1 --provider {}",
            "session upsert --id s1 --backend {}",
            "session upsert --id s1 --name {}",
            "session upsert --id s1 --external-session-id {}",
            "session upsert --id s1 --pid {}",
            "session upsert --id s1 --pane {}",
            "session upsert --id s1 --socket {}",
            "session upsert --id s1 --transcript {}",
            "session upsert --id s1 --worktree {}",
            "session upsert --id s1 --branch {}",
            "session upsert --id s1 --activity {}",
            "session upsert --id s1 --status {}",
            "session upsert --id s1 --started-at {}",
            "session upsert --id s1 --run-id {}",
        ],
    ),
    row(
        "work",
        "work --until 2000-01-01T00:00:00Z",
        &[
            "work --until {}",
            "work --until 2000-01-01T00:00:00Z --provider {}",
            "work --until 2000-01-01T00:00:00Z --role {}",
            "work --until 2000-01-01T00:00:00Z --sandbox {}",
        ],
    ),
    row("status", "status", &[]),
    row("top", "top --once", &[]),
    row(
        "search",
        "search hello",
        &["search {}", "search --of-task {} x", "search --of-lane {} x", "search --regex {}"],
    ),
    row("notify", "notify", &["notify --test {}"]),
    row("sandbox run", "sandbox run --help", &["sandbox run --lane api --env {} -- true"]),
    row("sandbox check", "sandbox check --help", &["sandbox check --network {}"]),
    row("sandbox explain", "sandbox explain --help", &["sandbox explain {}"]),
    trusted_row("sandbox take-back", "sandbox take-back --help", &["sandbox take-back {}"]),
    git_row("overlap", "overlap", &["overlap {}"]),
    row("land pause", "land pause why", &["land pause {}"]),
    row("land resume", "land resume", &[]),
    row("land show", "land show --help", &[]),
    row("land", "land --help", &["land {}", "land lane:{}", "land --dry-run {}"]),
    row("session list", "session list", &[]),
    row("session show", "session show s1", &["session show {}"]),
    row("session status", "session status s1", &["session status {}"]),
    row(
        "session heartbeat",
        "session heartbeat s1",
        &[
            "session heartbeat {}",
            "session heartbeat s1 --activity {}",
            "session heartbeat s1 --activity requires_action --waiting-for {}",
            "session heartbeat s1 --context-usage {}",
            "session heartbeat s1 --run-id {}",
        ],
    ),
    CommandRow {
        path: "session forget",
        before: &["session end s1"],
        good: "session forget s1",
        texts: &["session forget {}", "session forget s1 --force --reason {}"],
    },
    row(
        "session end",
        "session end s1",
        &[
            "session end {}",
            "session end s1 --status {}",
            "session end s1 --exit-code {}",
            "session end s2 --reason {}",
        ],
    ),
    row(
        "session event",
        "session event --state started --provider acme --external-session-id x --role worker",
        &[
            "session event --state {} --provider acme --external-session-id x --role worker",
            "session event --state started --provider {} --external-session-id x --role worker",
            "session event --state started --provider acme --external-session-id {} --role worker",
            "session event --state started --provider acme --external-session-id x --role {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --id {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --lane {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --task-id {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --backend {}",
            "session event --state failed --provider acme --external-session-id x{n} --role worker --summary {}",
            "session event --state failed --provider acme --external-session-id x{n} --role worker --summary-file {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --transcript {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --worktree {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --branch {}",
            "session event --state started --provider acme --external-session-id x{n} --role worker --event-id {}",
            "session event --state completed --provider acme --external-session-id x{n} --role worker --task-id T-1 --artifact {}",
            "session event --state completed --provider acme --external-session-id x{n} --role worker --task-id T-1 --handoff-to {}",
            "session event --state waitingOnInput --provider acme --external-session-id x{n} --role worker --task-id T-1 --summary {}",
        ],
    ),
    row("session reconcile", "session reconcile", &[]),
    row("session attach", "session attach s4", &["session attach {}"]),
    row("session terminal", "session terminal s4", &["session terminal {}"]),
    row("session structured", "session structured --help", &["session structured {}"]),
    row("session peek", "session peek s2", &["session peek {}", "session peek s2 --lines {}"]),
    row(
        "session nudge",
        "session nudge s4 hi",
        &["session nudge {} hi", "session nudge s4 {}", "session nudge s4 --text-file {}"],
    ),
    row(
        "session park",
        "session park s4 --for 1h",
        &[
            "session park {} --for 1h",
            "session park s4 --until {}",
            "session park s4 --for {}",
            "session park s4 --for 1h --reason {}",
        ],
    ),
    row("session unpark", "session unpark s4", &["session unpark {}"]),
    row("session continue", "session continue --help", &["session continue {}"]),
    row("session interrupt", "session interrupt s4", &["session interrupt {}"]),
    row("session stop", "session stop s2", &["session stop {}"]),
    row(
        "session meta set",
        "session meta set s4 key value",
        &["session meta set {} k v", "session meta set s4 {} v", "session meta set s4 k {}"],
    ),
    row("session meta get", "session meta get s4 key", &["session meta get {} k", "session meta get s4 {}"]),
    row("session meta rm", "session meta rm s4 key", &["session meta rm {} k", "session meta rm s4 {}"]),
    row(
        "exec spawn",
        "exec spawn --foreground --shell pwd",
        // In the foreground, so that what a call does is over when it has answered.
        &[
            "exec spawn --foreground --notify {} -- true",
            "exec spawn --foreground --queue={} -- true",
            "exec spawn --foreground --pty --size {} -- true",
            "exec spawn --foreground --timeout {} -- true",
            "exec spawn --foreground --wait-for {} -- true",
            "exec spawn --foreground --max-output {} -- true",
            "exec spawn --foreground --watch {} -- true",
            "exec spawn --foreground --watch x={} -- true",
            "exec spawn --foreground --watch-once={}=x -- true",
            "exec spawn --foreground --cwd {} -- true",
            "exec spawn --foreground --env {} -- true",
            "exec spawn --foreground --env A={} -- true",
            "exec spawn --foreground --stdin={} -- true",
            "exec spawn --foreground --stdin-file {} -- true",
            "exec spawn --foreground --recovery {} -- true",
            "exec spawn --foreground --request-id {} -- true",
            "exec spawn --foreground -- echo {}",
        ],
    ),
    row(
        "exec poll",
        "exec poll 000007d1",
        &[
            "exec poll {}",
            "exec poll 000007d1 --since-seq {}",
            "exec poll 000007d1 --wait {}",
            "exec poll 000007d1 --wait 1ms --until {}",
        ],
    ),
    row(
        "exec log",
        "exec log 000007d1",
        &[
            "exec log {}",
            "exec log 000007d1 --since-seq {}",
            "exec log 000007d1 --limit {}",
            "exec log 000007d1 --stream {}",
            "exec log --follow {}",
        ],
    ),
    row("exec wait", "exec wait 000007d1", &["exec wait {}", "exec wait 000007d1 --timeout {}"]),
    row(
        "exec kill",
        "exec kill 000007d1",
        &["exec kill {}", "exec kill 000007d1 --signal {}", "exec kill 000007d1 --grace {}"],
    ),
    CommandRow {
        path: "exec send-keys",
        // The keys do not end it, and the record of them is written when the call is made.
        before: &[
            "exec spawn --pty --timeout 5m --shell stty\traw;echo;cat",
            "exec poll 0007a509 --wait 30s --until output",
        ],
        good: "exec send-keys 0007a509 Enter",
        texts: &[
            "exec send-keys {} Enter",
            "exec send-keys 0007a509 {}",
            "exec send-keys 0007a509 -l {}",
            "exec send-keys 0007a509 --paste {}",
            "exec send-keys 0007a509 --hex {}",
            "exec send-keys 0007a509 --size {}",
        ],
    },
    row("exec list", "exec list", &["exec list --of-session {}", "exec list --limit {}"]),
    row("exec rm", "exec rm 000007d1", &["exec rm {}", "exec rm 000007d1 {}"]),
    row("exec gc", "exec gc", &[]),
    row("exec call", "exec call --file call.json", &["exec call --file {}"]),
    row("exec worker", "exec worker --until-empty", &[]),
    // It asks about a call of the acting session; where there are no rules, nothing is allowed.
    row("guard check", "guard check --help", &["guard check --tool {}", "guard check --tool Bash --input {}"]),
    row(
        "guard test",
        "guard test --role qa --input ls",
        &[
            "guard test --role {} --input ls",
            "guard test --role qa --tool {} --input ls",
            "guard test --role qa --input {}",
        ],
    ),
    row("guard log", "guard log", &["guard log --of-session {}", "guard log --limit {}"]),
    row("explain task", "explain task T-1", &["explain task {}"]),
    row("explain session", "explain session s1", &["explain session {}"]),
    row("explain", "explain T-1", &["explain {}"]),
    row("provider list", "provider list", &["provider list --root {}"]),
    row("adapter list", "adapter list", &["adapter list --root {}"]),
    row(
        "adapter check",
        "adapter check shell --operation unknown",
        &["adapter check {}", "adapter check shell --operation {}"],
    ),
    row(
        "adapter check forge",
        "adapter check forge github --help",
        &["adapter check forge {}", "adapter check forge x --number {}"],
    ),
    row("adapter install", "adapter install scripts", &["adapter install ./x{}"]),
    row("trust", "trust", &[]),
    row("doctor agents", "doctor agents --dry-run", &["doctor agents --dry-run {}"]),
    row("doctor hooks", "doctor hooks", &["doctor hooks {}"]),
    row("doctor", "doctor", &[]),
    row("backup", "backup copy.db", &["backup ./x{}", "backup --force ./x{}"]),
    row("restore", "restore kept.db", &["restore {}"]),
    row("store show", "store show", &[]),
    row("store migrate", "store migrate", &[]),
    row("store restored", "store restored --yes", &[]),
    row("host list", "host list", &[]),
    row("host renew", "host renew --yes", &[]),
    row(
        "host retire",
        "host retire elsewhere --force --reason late",
        &["host retire {} --reason late", "host retire elsewhere --force --reason {}"],
    ),
    // It needs a server that runs, and a device that a browser paired.
    row("device pair", "device pair --help", &["device pair --name {}", "device pair --expires {}"]),
    row("device list", "device list", &[]),
    row("device revoke", "device revoke --help", &["device revoke {}"]),
    // Both need a server.
    row("store copy", "store copy --help", &["store copy --to {}"]),
    row(
        "events",
        "events",
        &[
            "events --since {}", "events --of-task {}", "events --of-session {}", "events --of-lane {}",
            "events --kind {}", "events --tail {}",
        ],
    ),
    row("serve", "serve --for 10ms", &["serve --for 10ms --http {}", "serve --for 10ms --session {}"]),
    row("mcp", "mcp", &["mcp --root {}"]),
    row("skill", "skill", &[]),
    row("guide", "guide", &["guide --root {}", "guide {}"]),
    row("prime", "prime", &["prime --task-id {}", "prime --mode {}", "prime --session {}", "prime --as {}"]),
    row("usage", "usage", &["usage --by {}", "usage --since {}", "usage --of-session {}"]),
    row("budget", "budget", &[]),
    CommandRow {
        path: "budget raise",
        before: &[],
        good: "budget raise T-1 5usd --reason more --help",
        texts: &[
            "budget raise {} 5usd --reason r",
            "budget raise T-1 {} --reason r",
            "budget raise T-1 5usd --reason {}",
        ],
    },
    row("config show", "config show", &[]),
    row("config check", "config check", &[]),
    row("config edit", "config edit --help", &[]),
    row("config example", "config example", &[]),
    row("config schema", "config schema", &[]),
    row("completions", "completions bash", &["completions {}"]),
    row("man", "man", &["man {}"]),
    row("help", "help glossary", &["help {}"]),
];

/// Calls of the plumbing that scripts call and no help names, with [`TEXT_PLACEHOLDER`] where something of theirs goes.
pub const PLUMBING: &[&str] = &[
    "adapter unpack {}",
    "adapter run {}",
    "adapter run {} --detach",
    "adapter run {} --apart",
    "adapter prompt {}",
    "adapter cancel {}",
    "adapter tee ./x{}",
    "adapter tee t --limit {}",
    "adapter kill-tree {}",
    "adapter alive {}",
    "adapter peek {}",
    "adapter list-running --with {}",
    "adapter replay {}",
    "adapter replay {} --clear",
    "adapter run {} --record",
    "adapter deliver {}",
    "adapter keys {} Enter",
    "adapter unseat screen {}",
    "adapter hidden {} 20 true",
    "adapter peek x {}",
    "adapter meta get {} key",
    "adapter meta get x {}",
    "adapter meta set {} key",
    "adapter meta remove {} key",
    "adapter settle {} ./no-script",
    "adapter kill-tree --own-start {}",
    "adapter fact {} folder",
    "adapter process-alive {}",
    "adapter list-running {}",
    "adapter last-activity {}",
    "adapter input {}",
    "adapter press {} Enter",
    "adapter press x {}",
    "adapter interrupt {}",
    "adapter follow {}",
    "adapter follow --ask {}",
    "adapter find {}",
    "adapter socket {}",
    "adapter submit {} ./no-script",
    "adapter submit x ./no{}",
    "adapter copy-to {} a b",
    "adapter copy-to x {} b",
    "adapter copy-to x a {}",
];

/// The words of every verb that the parser knows and its help names, in its order.
pub fn parsed_commands() -> Vec<String> {
    fn walk(command: &clap::Command, above: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands() {
            if below.is_hide_set() {
                continue;
            }
            let path = format!("{above} {}", below.get_name()).trim().to_owned();
            walk(below, &path, found);
            if !below.is_subcommand_required_set() {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&fairway::cli::command(), "", &mut found);
    found
}
