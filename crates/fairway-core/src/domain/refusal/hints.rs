//! The hints of refusals that take more than one line of code.

use std::collections::BTreeSet;

use crate::domain::blocker::{GateReport, NotReadyReason};
use crate::domain::landing::{FailedLandCheck, StoppedLanding};
use crate::domain::pull_request::{ForgeFailure, ForgeWhy};
use crate::domain::status::TaskStatus;
use crate::domain::{LaneName, TaskId};

/// A placeholder for the refused command in a hint that adds flags to it. The command line puts the caller's words there.
pub const SAME_COMMAND: &str = "fairway …";

/// The noun of a pull request that a task has not.
pub const PULL_REQUEST: &str = "open pull request of the task";

/// The noun of a missing snapshot.
pub const SNAPSHOT: &str = "snapshot of the store";

/// The hint for a base that follows no branch of a remote. The branch of a lane is there once its pull request is open.
pub(super) fn no_upstream(base: &str, dir: &str, is_shared: bool, lane: Option<&LaneName>) -> String {
    if let Some(lane) = lane {
        return format!("open its pull request first: fairway land lane:{lane} --pr");
    }
    let name = git_in(dir, &format!("branch --set-upstream-to REMOTE/{0} {0}", shell_words::quote(base)));
    let alone = "\nif there is one clone only, set [land] shared = false: fairway config edit";
    format!("name it: {name}{}", if is_shared { alone } else { "" })
}

/// The hint for an id that does not exist: similar ids, otherwise the command that lists the existing ones; `None` when there is
/// neither.
pub(super) fn missing(noun: &str, id: &str, near: &[String]) -> Option<String> {
    let text = match (near, noun) {
        ([], "lane") => "list the lanes: fairway lane list".to_owned(),
        ([], "session" | "session with the run") => "list the sessions: fairway session list --all".to_owned(),
        ([], "run") => "list the jobs: fairway exec list".to_owned(),
        ([], "task" | "task or session") => "list the tasks: fairway task list".to_owned(),
        ([], "multiplexer") => "install it, or choose another backend: fairway adapter list".to_owned(),
        ([], SNAPSHOT) => "restore a backup: fairway restore FILE\nbegin a new store: fairway init --new".to_owned(),
        ([], "backend") => "list the backends: fairway adapter list".to_owned(),
        ([], "approval") => "list the open approvals: fairway approvals list".to_owned(),
        ([], "directory") => format!("make it: mkdir -p {}", shell_words::quote(id)),
        ([], "device") => "list the devices: fairway device list".to_owned(),
        ([], PULL_REQUEST) => format!("open one: fairway land {} --pr", shell_words::quote(id)),
        ([], "guide") => "list the guides: fairway guide --list".to_owned(),
        ([topic, ..], "guide") => format!("did you mean {topic}: fairway guide {topic}"),
        ([], _) => return None,
        // A recipient of another kind, such as `lane:api`, is not what the command shows.
        ([id], noun) => match shown_by(noun).filter(|_| !id.contains(':')) {
            Some(command) => format!("did you mean {id}: {command} {id}"),
            None => format!("did you mean {id}?"),
        },
        (near, _) => format!("did you mean {}?", near.join(", ")),
    };
    Some(text)
}

/// The command that shows a thing of this noun. It changes nothing, whatever the refused command would have done.
fn shown_by(noun: &str) -> Option<&'static str> {
    Some(match noun {
        "task" => "fairway task show",
        "lane" => "fairway lane show",
        "session" => "fairway session show",
        "run" => "fairway exec poll",
        _ => return None,
    })
}

/// What to do about a forge that did not do what it was asked. Nothing is lost: the same command goes on.
pub(super) fn forge(failure: &ForgeFailure) -> String {
    let first = match failure.why {
        ForgeWhy::Login => "log in to the forge".to_owned(),
        ForgeWhy::Sso => "open the address in a browser".to_owned(),
        ForgeWhy::Rights => "give the login the right".to_owned(),
        ForgeWhy::Busy => format!("wait {} s", failure.seconds.unwrap_or(60)),
        ForgeWhy::Network => "wait until the forge answers".to_owned(),
        ForgeWhy::Refused | ForgeWhy::Missing => return "see what it may be: fairway guide backend-scripts".to_owned(),
    };
    format!("{first}, then again: {SAME_COMMAND}")
}

/// The commands that clear the blockers, one per line.
pub(super) fn fixes(reports: &[GateReport]) -> String {
    let mut fixes: Vec<&str> =
        reports.iter().flat_map(GateReport::blockers).map(|blocker| blocker.fix.as_str()).collect();
    fixes.dedup();
    fixes.join("\n")
}

/// The commands that fetch finished dependencies from other hosts. When there are none, the command that shows the tree of
/// unfinished dependencies.
pub(super) fn open_dependencies(task: &TaskId, waiting: &[NotReadyReason]) -> String {
    let fixes: BTreeSet<&str> = waiting.iter().filter_map(|reason| reason.fix.as_deref()).collect();
    if fixes.is_empty() {
        return format!("see what it waits for: fairway task dep tree {task}");
    }
    fixes.into_iter().collect::<Vec<_>>().join("\n")
}

pub(super) fn after_failed_check(failed: &FailedLandCheck) -> String {
    let output = match failed.evidence {
        Some(number) => format!("see its output: fairway evidence show {number}"),
        None => format!("see its output: less {}", shell_words::quote(&failed.output)),
    };
    failed.next.iter().fold(output, |lines, next| format!("{lines}\n{next}"))
}

pub(super) fn after_stop(stopped: &StoppedLanding) -> String {
    let output = shell_words::quote(&stopped.output);
    let again = if stopped.stops_all { "fairway land --queue" } else { "fairway land --all" };
    format!("see its output: less {output}\nland again when it is mended: {again}")
}

/// The longest title that a hint repeats, in bytes.
const MAX_QUOTED_TITLE: usize = 120;

/// The forms of `task add` that the caller may have meant.
pub(super) fn title(id: Option<&TaskId>, words: &[String]) -> String {
    let quoted = |words: &[String]| match shell_words::quote(&words.join(" ")) {
        text if text.len() <= MAX_QUOTED_TITLE => text.into_owned(),
        _ => "TITLE".to_owned(),
    };
    match (id, words) {
        (Some(id), words) => format!("quote the title: fairway task add --id {id} {}", quoted(words)),
        (None, [word]) => format!(
            "give it a title: fairway task add {word} TITLE\n\
             if it is the title, name an id: fairway task add --id ID {word}"
        ),
        (None, [id, title @ ..]) if TaskId::is_distinct(id) => {
            format!("quote the title: fairway task add {id} {}", quoted(title))
        }
        (None, words) => {
            let quote = format!("quote the title: fairway task add {}", quoted(words));
            match words.split_first() {
                Some((id, title)) if TaskId::parse(id).is_ok() => {
                    format!("{quote}\nor name the id: fairway task add --id {id} {}", quoted(title))
                }
                _ => quote,
            }
        }
    }
}

/// The command to run next after a refused transition: `verb` names the transition, and `status` the status that does not allow
/// it.
pub(super) fn next_step(task: &TaskId, status: TaskStatus, verb: &str) -> String {
    use TaskStatus::{Blocked, Cancelled, Done, InProgress, Review, Todo};
    let command = match (verb, status) {
        ("reopened" | "released" | "unblocked" | "resumed", Todo) => ("claim it", "claim", ""),
        (_, Todo) => ("claim it first", "claim", ""),
        ("reopened", InProgress | Blocked | Review) => ("release it instead", "release", ""),
        ("cancelled", Done | Cancelled) => ("see its history", "task show", ""),
        (_, Done | Cancelled) => ("reopen it first", "task reopen", " --reason TEXT"),
        ("unblocked", Review) => ("resume it", "task resume", ""),
        ("blocked", Review) => ("resume it first", "task resume", ""),
        ("resumed", Blocked) => ("unblock it", "task unblock", ""),
        ("marked done" | "submitted", Blocked) => ("unblock it first", "task unblock", ""),
        ("submitted", Review) => ("finish it", "done", ""),
        ("resumed", InProgress) => ("submit it first", "task submit", ""),
        _ => ("see why", "explain task", ""),
    };
    let (purpose, command, arguments) = command;
    format!("{purpose}: fairway {command} {task}{arguments}")
}

/// The ways on for a task of which nothing can land: to submit what its worktree has by now, or to finish it.
pub(super) fn nothing_to_land(task: &TaskId, status: TaskStatus, has_work: bool, is_own: bool) -> String {
    let force = if is_own { "" } else { " --force --reason TEXT" };
    match status {
        TaskStatus::Done => format!("look at it: fairway task show {task}"),
        _ if has_work => format!("submit what is checked out by now: fairway task submit {task}{force}"),
        _ => format!("if it needs no commit, finish it: fairway done {task}{force}"),
    }
}

/// The commands that make a filter one of the user's own configuration.
pub(super) fn own_filter(name: &str) -> String {
    let set = |key: &str, value: &str| {
        format!("git config --global {} {value}", shell_words::quote(&format!("filter.{name}.{key}")))
    };
    match name {
        "lfs" => "git lfs install --skip-repo".to_owned(),
        "git-crypt" => {
            [set("smudge", "'\"git-crypt\" smudge'"), set("clean", "'\"git-crypt\" clean'"), set("required", "true")]
                .join(" && ")
        }
        _ => format!("{} && {}", set("smudge", "COMMAND"), set("clean", "COMMAND")),
    }
}

/// A git command that works in the directory `dir`, as a user types it.
pub(super) fn git_in(dir: &str, command: &str) -> String {
    format!("git -C {} {command}", shell_words::quote(dir))
}
