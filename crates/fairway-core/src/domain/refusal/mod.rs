//! Every refusal by a rule. A new one is one entry here: its row in `docs/reference/codes.md` is made from it.

mod hints;
mod table;

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::blocker::{GateReport, NotReadyReason};
use super::budget::Amount;
use super::excerpt::excerpt;
use super::id::{InvalidValue, Label};
use super::landing::{FailedLandCheck, FailedRegeneration, StopCause, StoppedLanding, landed_with};
use super::message::{Channel, MessageStatus, PromptWait};
use super::pull_request::ForgeFailure;
use super::review::{LinePlace, OpenReview, summary};
use super::sandbox::SandboxClass;
use super::status::{JobStatus, SessionStatus, TaskStatus};
use super::{LaneName, Role, SessionId, TaskId, commit_id, plural};
use crate::env::Timestamp;
pub use hints::{PULL_REQUEST, SAME_COMMAND, SNAPSHOT};
use hints::{git_in, own_filter};
use table::refusals;

/// The kind of a failure; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum FailureKind {
    /// An internal error or an error of the machine.
    Failure = 1,
    /// Invalid arguments or values.
    Usage = 2,
    /// The object does not exist, or the id is ambiguous.
    NotFound = 3,
    /// Already claimed, stale, an illegal transition.
    Conflict = 4,
    /// Refused by a rule or gate.
    Refused = 5,
    /// No task is ready, or a wait timed out.
    Empty = 6,
    /// An adapter or program failed or timed out, or a sandbox forbids to write the store.
    External = 7,
    /// The store is locked or full.
    Busy = 8,
    /// The project's configuration has not been trusted here.
    Untrusted = 9,
}

impl FailureKind {
    pub const fn exit_code(self) -> u8 {
        self as u8
    }
}

/// A ready task that `claim` without an id skipped, and the code of the rule that excluded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkippedTask {
    #[serde(rename = "task_id")]
    pub task: TaskId,
    pub code: &'static str,
}

/// Why a backend's script cannot be run, when it is there.
pub const NOT_EXECUTABLE: &str = "is not executable";

// An entry: the message in `error`, the kind (with it the exit code) and the code, the next command in `hint` (`hint_if` where
// only some have one), the details for programs. The doc comment of the first refusal with a code is its meaning in the
// document.
refusals! {
    /// A value outside its alphabet, range or length.
    #[error("{what} {why}")]
    #[code(Usage, "invalid_value")]
    Invalid { what: &'static str, why: String },
    #[error("invalid value '{}:{}' for FILE:LINE: the commit {commit} has no such {}", place.path, place.line,
        if *has_file { "line" } else { "file" })]
    #[code(Usage, "invalid_value")]
    #[hint("{}", if *has_file {
        format!("see its lines: {} | cat -n", git_in(root, &format!("show {}",
            shell_words::quote(&format!("{commit}:{}", place.path)))))
    } else {
        format!("list its files: {}", git_in(root, &format!("ls-tree -r --name-only {commit}")))
    })]
    NoSuchLine { place: LinePlace, commit: String, has_file: bool, root: String },
    /// An invalid line in an imported file; `details.line`.
    #[error("line {line}: {why}")]
    #[code(Usage, "invalid_line")]
    #[details("line": line)]
    Line { line: usize, why: String },
    #[error("line {line}: {} has no {}", match .number {
        Some(number) => format!("issue {number}"),
        None => "the issue".to_owned(),
    }, .keys.join(", "))]
    #[code(Usage, "invalid_line")]
    #[hint("ask the forge itself: fairway task import --from github")]
    #[details("line": line)]
    IssueKeysMissing { line: usize, number: Option<u64>, keys: Vec<&'static str> },
    /// Invalid combination of arguments, unknown flag or command.
    #[error("{why}")]
    #[code(Usage, "usage")]
    Usage { why: String },
    #[error("{why}")]
    #[code(Usage, "usage")]
    #[hint("{hint}")]
    ArgumentMissing { why: String, hint: String },
    #[error("{what} cannot be read from {file}: {why}")]
    #[code(Usage, "invalid_value")]
    #[hint("see which files there are: ls {}", shell_words::quote(dir))]
    FileUnreadable { what: &'static str, file: String, why: String, dir: String },
    /// Bubblewrap is missing or too old, or the kernel allows no user namespaces; the hint has the fix.
    #[error("no sandbox can be made here: {why}")]
    #[code(External, "sandbox_unavailable")]
    #[hint("{hint}")]
    SandboxUnavailable { why: String, hint: String },
    /// The commits of a sandbox cannot be brought into the lane's branch; its repository is kept.
    #[error("the commits of a sandbox of {lane} were not taken back ({why}); its repository is kept with the number {number}")]
    #[code(External, "take_back_refused")]
    #[hint("try again: fairway sandbox take-back {lane}")]
    #[details("lane": lane, "number": number)]
    TakeBackRefused { lane: LaneName, number: u32, why: String },
    /// A launch asks for less of a sandbox than its lane demands.
    #[error("the lane {lane} demands the sandbox '{least}', not '{asked}'")]
    #[code(Refused, "sandbox_required")]
    #[hint("to demand it of the lane no more: fairway lane edit {lane} --sandbox {asked}")]
    SandboxRequired { lane: LaneName, least: SandboxClass, asked: SandboxClass },
    /// Other records refer to it, or a session, a claim, a job or a sandbox needs it.
    #[error("{} '{id}' is in use: {by}", spoken(noun))]
    #[code(Conflict, "in_use")]
    #[hint_if(match *noun {
        "lane" => Some(format!("to end it: fairway lane close {id}")),
        "store" => Some("take its tasks along: fairway store copy --to URL".to_owned()),
        "run" => Some(format!("to end it: fairway exec kill {id}")),
        _ => None,
    })]
    #[details("noun": noun, "id": id)]
    InUse { noun: &'static str, id: String, by: String },
    #[error("lane '{lane}' is in use: {by}")]
    #[code(Conflict, "in_use")]
    #[hint("withdraw what waits: fairway outbox withdraw {message}")]
    LaneHasMessages { lane: LaneName, message: i64, by: String },
    #[error("lane '{lane}' is in use: a sandbox works on it")]
    #[code(Conflict, "in_use")]
    #[hint("wait for its end, or see which session it is: fairway session list")]
    SandboxRunning { lane: LaneName },
    /// The lane, a gate or a sandbox needs a worktree that is not there.
    #[error("the lane {lane} has no worktree")]
    #[code(Refused, "no_worktree")]
    #[hint("name one: fairway lane edit {lane} --worktree DIR")]
    #[details("lane": lane)]
    LaneWithoutWorktree { lane: LaneName },
    #[error("a sandbox is for a lane, and {} is in none", .directory)]
    #[code(Refused, "no_worktree")]
    #[hint("name a lane, or make one: fairway lane add NAME --create-worktree")]
    SandboxWithoutLane { directory: String },
    /// A sandbox needs a lane whose worktree is a linked one with a branch.
    #[error("the lane {lane} cannot be worked on in a sandbox: {why}")]
    #[code(Refused, "wrong_branch")]
    #[hint("see its branch and its state: fairway lane show {lane}")]
    SandboxLaneUnfit { lane: LaneName, why: String },
    /// The backend script does not support `start`, `stop`, `attach` or `peek`.
    #[error("{script} does not know {operation}")]
    #[code(External, "adapter_unsupported")]
    #[hint("{hint}")]
    BackendCannot { script: String, operation: &'static str, hint: String },
    /// No such task, lane, session or record; `details.near` has similar ones.
    #[error("there is no {} '{id}'", spoken(noun))]
    #[code(NotFound, "not_found")]
    #[hint_if(hints::missing(noun, id, near))]
    #[details("noun": noun, "id": id, "near": near)]
    NotFound { noun: &'static str, id: String, near: Vec<String> },
    #[error("there is no task '{task}': it was removed")]
    #[code(NotFound, "not_found")]
    #[hint("see its history: fairway events --of-task {task}")]
    #[details("noun": "task", "id": task, "near": [], "removed_at": at)]
    TaskRemoved { task: TaskId, at: Timestamp },
    /// The id exists already.
    #[error("{noun} '{id}' already exists")]
    #[code(Conflict, "exists")]
    #[hint_if((*noun == "file").then(|| format!("move it away: mv --backup=numbered {0} {0}.old", shell_words::quote(id))))]
    #[details("noun": noun, "id": id)]
    AlreadyExists { noun: &'static str, id: String },
    #[error("branch '{branch}' already exists")]
    #[code(Conflict, "exists")]
    #[hint("work on it: fairway lane add {lane} --create-worktree --branch {}", shell_words::quote(branch))]
    #[details("noun": "branch", "id": branch)]
    BranchExists { lane: LaneName, branch: String },
    /// Git cannot have the branches `a` and `a/b` at once.
    #[error("branch '{branch}' cannot be made: the branch '{other}' is in its way")]
    #[code(Conflict, "exists")]
    #[hint("name another branch: fairway lane add {lane} --create-worktree --branch NAME")]
    #[details("noun": "branch", "id": other)]
    BranchInTheWay { lane: LaneName, branch: String, other: String },
    #[error("'{}' is not a program", excerpt(word))]
    #[code(Usage, "invalid_value")]
    #[hint("let a shell run it: fairway exec spawn -- sh -c {}", shell_words::quote(word))]
    NoProgram { word: String },
    /// A filter that the files need is named by the repository's configuration only.
    #[error("{why}: only the repository's configuration names the filter")]
    #[code(Refused, "filter_not_own")]
    #[hint("make it your own: {}", filters.iter().map(|filter| own_filter(filter)).collect::<Vec<_>>().join(" && "))]
    #[details("filters": filters)]
    FilterNotOwn { filters: Vec<String>, why: String },
    /// In a new worktree git works on the files of another directory; nothing was added.
    #[error("git in a worktree of {root} works on the files in {top}, as core.worktree says")]
    #[code(Refused, "worktree_misled")]
    #[hint_if(setting.as_ref().map(|setting| {
        let (set, unset) = (git_in(root, "config --worktree core.worktree"), git_in(root, "config --local --unset core.worktree"));
        format!("make it a setting of that worktree alone: {set} {} && {unset}", shell_words::quote(setting))
    }))]
    #[details("root": root, "top": top)]
    WorktreeMisled { root: String, top: String, setting: Option<String> },
    #[error("the id '{task}' was the id of a task that was removed; an id is not given out again")]
    #[code(Conflict, "exists")]
    #[hint("let the id be generated: fairway task add 'TITLE'")]
    #[details("noun": "task", "id": task)]
    IdUsed { task: TaskId },
    #[error("{task} cannot be removed: {by}")]
    #[code(Conflict, "in_use")]
    #[hint("{}", if *is_open {
        format!("cancel it, and it stays in the history: fairway task cancel {task} --reason TEXT")
    } else {
        format!("look at its records: fairway task show {task}")
    })]
    #[details("noun": "task", "id": task, "by": by)]
    TaskInUse { task: TaskId, by: String, is_open: bool },
    /// Arguments of `task add` that are a title without quotes, or an id without a title.
    #[error("{}", match .words.as_slice() {
        [word] => format!("'{}' looks like a task id, and a title is missing", excerpt(word)),
        [word, ..] if .id.is_none() && !TaskId::is_distinct(word) => {
            format!("'{}' is not a task id, and a title is one argument", excerpt(word))
        }
        _ => "a title is one argument".to_owned(),
    })]
    #[code(Usage, "usage")]
    #[hint("{}", hints::title(id.as_ref(), words))]
    TitleExpected { id: Option<TaskId>, words: Vec<String> },
    /// No backend has the name or a similar one; `known` has the names that exist.
    #[error("there is no backend '{name}'")]
    #[code(NotFound, "not_found")]
    #[hint("choose one of {}: fairway adapter list", known.join(", "))]
    #[details("noun": "backend", "id": name, "near": known)]
    UnknownBackend { name: String, known: Vec<String> },
    /// The script of a backend is missing, or is no program; `script` is its path, or the name that was looked for in
    /// PATH.
    #[error("the script {script} of the backend '{backend}' {reason}")]
    #[code(NotFound, "not_found")]
    #[hint("{}", match *reason {
        NOT_EXECUTABLE => format!("make it executable: chmod +x {}", shell_words::quote(script)),
        _ => "list the backends: fairway adapter list".to_owned(),
    })]
    #[details("noun": "backend", "id": backend, "near": [], "script": script)]
    NoBackendScript { backend: String, script: String, reason: &'static str },
    /// The script of `[forge]` cannot be run; `details.script`, `details.reason`.
    #[error("the forge script {script} {reason}")]
    #[code(NotFound, "not_found")]
    #[hint("{}", match *reason {
        NOT_EXECUTABLE => format!("make it executable: chmod +x {}", shell_words::quote(script)),
        _ => "name another one in [forge] script: fairway config edit".to_owned(),
    })]
    #[details("noun": "forge script", "script": script, "reason": reason)]
    NoForgeScript { script: String, reason: &'static str },
    #[error("there is no session with the run '{run}'")]
    #[code(NotFound, "not_found")]
    #[hint("to register it: POST /lifecycle with \"event\": \"started\" and a role, \
        as in \"metadata\": {{\"role\": \"backend\"}}")]
    #[details("noun": "session with the run", "id": run, "near": [])]
    RunUnregistered { run: String },
    #[error("there are no such {noun}s: {}", .ids.join(", "))]
    #[code(NotFound, "not_found")]
    #[hint("list them: fairway {noun} list")]
    #[details("noun": noun, "ids": ids)]
    NoneFound { noun: &'static str, ids: Vec<String> },
    /// Several match.
    #[error("{} '{id}' is ambiguous: it fits {}", spoken(noun), .found.join(", "))]
    #[code(NotFound, "ambiguous")]
    #[hint_if((*noun == "id").then(|| {
        format!("name its kind: fairway explain task {id}, or fairway explain session {id}")
    }))]
    Ambiguous { noun: &'static str, id: String, found: Vec<String> },
    #[error("lane '{lane}' is in use: {why}")]
    #[code(Conflict, "in_use")]
    #[hint("{hint}")]
    #[details("noun": "lane", "id": lane)]
    LaneHeld { lane: LaneName, why: String, hint: String },
    /// The lane's worktree contains changes or commits that exist nowhere else.
    #[error("cannot {verb} the lane {lane}: {why}")]
    #[code(Refused, "unsaved_work")]
    #[hint("{}", match dir {
        // It is its agent's work.
        Some(_) if *verb == "land" => format!("ask its agent to commit: fairway send lane:{lane} \"Commit your work.\""),
        Some(dir) => format!("commit the changes: {0} && {1}", git_in(dir, "add --all"), git_in(dir, "commit")),
        None => format!("to keep it as it is: fairway lane close {lane}"),
    })]
    UnsavedWork { lane: LaneName, verb: &'static str, why: String, dir: Option<String> },
    /// The lane's worktree is on another host; `details.host`, `details.command`.
    #[error("the worktree of the lane {lane} is on the host {host}, not on this one")]
    #[code(Conflict, "lane_elsewhere")]
    #[hint("run it there: {command}\n\
        if that host is gone, name a worktree of this one: fairway lane edit {lane} --worktree DIR")]
    #[details("lane": lane, "host": host, "command": command)]
    LaneElsewhere { lane: LaneName, host: String, command: String },
    #[error("the worktree of the lane {lane} is gone: {dir}")]
    #[code(NotFound, "not_found")]
    #[hint("make it again: fairway lane repair {lane}")]
    #[details("lane": lane, "worktree": dir)]
    WorktreeMissing { lane: LaneName, dir: String },
    /// The lane's worktree is not one of the project's repository any more: `fairway lane repair`.
    #[error("lane {lane} is damaged: {why}")]
    #[code(Conflict, "lane_damaged")]
    #[hint("mend it: fairway lane repair {lane}")]
    #[details("lane": lane)]
    LaneDamaged { lane: LaneName, why: String },
    #[error("event {event} ({}) is before the reflog of {branch}, which {}", .at.to_local(), match .begins {
        Some(begins) => format!("begins at {}", begins.to_local()),
        None => "is empty".to_owned(),
    })]
    #[code(NotFound, "not_found")]
    #[hint("compare with a commit: fairway lane diff {lane} --since COMMIT")]
    #[details("lane": lane, "event": event, "at": at, "begins_at": begins)]
    BeforeReflog { lane: LaneName, branch: String, event: i64, at: Timestamp, begins: Option<Timestamp> },
    /// The lane's worktree was not made by Fairway, which does not remove it.
    #[error("the worktree of the lane {lane} was not made by Fairway: {dir}")]
    #[code(Refused, "worktree_not_owned")]
    #[hint("remove it yourself: git worktree remove {}", shell_words::quote(dir))]
    #[details("lane": lane, "worktree": dir)]
    WorktreeNotOwned { lane: LaneName, dir: String },
    /// An ignored file could not be copied into a lane's worktree; none was.
    #[error("cannot copy {path} into {dir}: {why}; nothing was copied")]
    #[code(Failure, "copy_failed")]
    #[hint("see how much space there is: df -h {}", shell_words::quote(dir.rsplit_once('/').map_or(".", |(parent, _)| parent)))]
    CopyFailed { path: String, dir: String, why: String },
    /// A command of `[lanes] setup` failed, so that no agent starts in the lane; `details.output`.
    #[error("the setup of the lane {lane} failed: '{command}' ({how}): {}", output.lines().last().unwrap_or("no output"))]
    #[code(Refused, "setup_failed")]
    #[hint("read its output: cat {}\ntry again: fairway lane setup {lane}", shell_words::quote(log))]
    #[details("lane": lane, "command": command, "how": how, "output": output, "log": log)]
    SetupFailed { lane: LaneName, command: String, how: String, output: String, log: String },
    /// A command of `[lanes] teardown` failed; `details.output`.
    #[error("the teardown of the lane {lane} failed: '{command}' ({how}): {}", output.lines().last().unwrap_or("no output"))]
    #[code(Refused, "teardown_failed")]
    #[hint("read its output: cat {}\ntry again: fairway lane setup {lane} --teardown", shell_words::quote(log))]
    #[details("lane": lane, "command": command, "how": how, "output": output, "log": log)]
    TeardownFailed { lane: LaneName, command: String, how: String, output: String, log: String },
    /// The setup of a lane did not run to its end.
    #[error("the lane {lane} is not set up: {why}")]
    #[code(Refused, "not_set_up")]
    #[hint("set it up: fairway lane setup {lane}")]
    #[details("lane": lane)]
    LaneNotSetUp { lane: LaneName, why: String },
    /// A rebase would leave out the merge commits of the lane's branch.
    #[error("cannot rebase the lane {lane}: its branch has merge commits, which a rebase would leave out")]
    #[code(Refused, "merge_commits")]
    #[hint("merge instead: fairway lane sync {lane} --merge")]
    #[details("lane": lane)]
    MergeCommits { lane: LaneName },
    /// The base and the lane's branch conflict; the lane is unchanged; `details.files`.
    #[error("{base} conflicts with the lane {lane} in {}; the lane is unchanged", list_files(.files))]
    #[code(Refused, "sync_conflict")]
    #[hint("resolve it by hand: {by_hand}")]
    #[details("lane": lane, "base": base, "files": files, "commit": commit)]
    SyncConflict { lane: LaneName, base: String, files: Vec<String>, commit: Option<String>, by_hand: String },
    /// Gates are not met; `details` is the gate report.
    #[error("{} is not ready: {}", .report.task, join(.report.blockers(), |blocker| blocker.message.clone()))]
    #[code(Refused, "gate_blocked")]
    #[hint("{}", hints::fixes(std::slice::from_ref(report)))]
    #[details_of(report)]
    GateBlocked { report: GateReport },
    #[error("{of} cannot land: {}", join(.reports, |report| {
        let blockers = join(report.blockers(), |blocker| blocker.message.clone());
        if report.task.as_str() == of { blockers } else { format!("{}: {blockers}", report.task) }
    }))]
    #[code(Refused, "gate_blocked")]
    #[hint("{}", hints::fixes(reports))]
    #[details("tasks": reports)]
    NotLandable { of: String, reports: Vec<GateReport> },
    /// Nothing tells which commit has the work of the task, or the lane has no commit.
    #[error("{task} is {status} and has no commit")]
    #[code(Refused, "no_commit")]
    #[hint("{}", match (status, lane) {
        (TaskStatus::InProgress | TaskStatus::Blocked | TaskStatus::Review, _) => {
            format!("name it: fairway task submit {task} --commit COMMIT")
        }
        (_, Some(lane)) => format!("land its lane: fairway land lane:{lane}"),
        (_, None) => format!("look at it: fairway task show {task}"),
    })]
    NoTaskCommit { task: TaskId, status: TaskStatus, lane: Option<LaneName> },
    /// The task has no commit that its base lacks; `details.base`, `details.commit`.
    #[error("nothing to land in {task}: {}", match status {
        TaskStatus::Review => "it was submitted without a commit".to_owned(),
        TaskStatus::Done => "it was finished without a commit".to_owned(),
        _ => format!("{base} has {} already", .commit.as_deref().map_or("all of it", commit_id::short)),
    })]
    #[code(Refused, "nothing_to_land")]
    #[hint("{}", hints::nothing_to_land(task, *status, *has_work, *is_own))]
    #[details("task_id": task, "base": base, "commit": commit)]
    NothingToLand { task: TaskId, status: TaskStatus, base: String, commit: Option<String>, has_work: bool, is_own: bool },
    /// A rebase, merge, cherry-pick, revert or bisect is not finished; `details.operation`.
    #[error("{of} is in the middle of a {operation} in {dir}")]
    #[code(Refused, "operation_unfinished")]
    #[hint("finish or abort it: {}", git_in(dir, "status"))]
    #[details("operation": operation, "directory": dir)]
    OperationUnfinished { of: String, operation: &'static str, dir: String },
    /// The base lacks commits of its upstream; `details.ahead`, `details.behind`.
    #[error("the base {base} is behind {upstream} by {}{}", plural::count(*.behind, "commit"), match .ahead {
        0 => String::new(),
        ahead => format!(", and has {ahead} of its own"),
    })]
    #[code(Refused, "base_behind")]
    #[hint("{}", match ahead {
        0 => format!("bring it up to date: {}", git_in(dir, "pull --ff-only")),
        // A rebase would make other commits of what was checked and landed.
        _ => {
            let merge = git_in(dir, "merge --no-edit");
            format!("bring both together as they are: {merge} {}", shell_words::quote(upstream))
        }
    })]
    #[details("base": base, "upstream": upstream, "ahead": ahead, "behind": behind)]
    BaseBehind { base: String, upstream: String, ahead: u64, behind: u64, dir: String },
    /// The base is checked out in several worktrees; `details.directories`.
    #[error("the base {base} is checked out in several worktrees: {}", .dirs.join(", "))]
    #[code(Refused, "base_checked_out")]
    #[hint("leave {base} in all but one: {}",
        git_in(dirs.last().map_or("DIR", String::as_str), "switch --detach"))]
    #[details("base": base, "directories": dirs)]
    BaseInSeveral { base: String, dirs: Vec<String> },
    /// The checkout of the base has changes, or files that the landing would overwrite; `details.files`.
    #[error("the checkout of the base {base} in {dir} has changes: {}", list_files(.files))]
    #[code(Refused, "checkout_changed")]
    #[hint("put them aside, and take them back with 'stash pop' after the landing: {}",
        git_in(dir, "stash push --include-untracked"))]
    #[details("base": base, "directory": dir, "files": files)]
    CheckoutChanged { base: String, dir: String, files: Vec<String> },
    #[error("the landing would overwrite files in the checkout of the base {base} in {dir}: {}", list_files(.files))]
    #[code(Refused, "checkout_changed")]
    #[hint("move them away: cd {} && mv {} ELSEWHERE", shell_words::quote(dir), shell_words::join(files))]
    #[details("base": base, "directory": dir, "files": files)]
    FilesInTheWay { base: String, dir: String, files: Vec<String> },
    /// Another program has locked the base or its checkout; `details.lock`.
    #[error("the base {base} is locked by another program: {lock}")]
    #[code(Refused, "base_locked")]
    #[hint("if no git is at work there, remove it: rm {}", shell_words::quote(lock))]
    #[details("base": base, "lock": lock)]
    BaseLocked { base: String, lock: String },
    #[error("the lane {lane} has no commit{}", match .branch {
        Some(branch) => format!(": its branch {branch} does not exist"),
        None => String::new(),
    })]
    #[code(Refused, "no_commit")]
    #[hint("{}", match (branch, known) {
        (Some(branch), Some(commit)) => format!("make it again: git branch {branch} {commit}"),
        _ => format!("look at it: fairway lane show {lane}"),
    })]
    #[details("lane": lane, "branch": branch, "commit": known)]
    NoLaneCommit { lane: LaneName, branch: Option<String>, known: Option<String> },
    #[error("there is no base branch '{base}'")]
    #[code(NotFound, "not_found")]
    #[hint("name the base of the lane: fairway lane edit LANE --base BRANCH")]
    #[details("noun": "base branch", "id": base, "near": [])]
    NoBase { base: String },
    /// What was to land and its base have no commit in common here.
    #[error("{of} and {base} have no commit in common")]
    #[code(Refused, "no_common_commit")]
    #[hint("if the history is shallow, fetch the rest of it: git fetch --unshallow")]
    NoCommonCommit { of: String, base: String },
    /// The base moved again and again while its next commit was made.
    #[error("the base {base} moved while its next commit was made")]
    #[code(Conflict, "base_moved")]
    #[hint("look at it, then try again: fairway land --dry-run")]
    BaseMoved { base: String },
    /// `land --fetch` and `--push`: the base follows no branch of a remote; `details.reason`.
    #[error("the base {base} has no upstream to fetch or push: {why}")]
    #[code(Refused, "no_upstream")]
    #[hint("{}", hints::no_upstream(base, dir, *is_shared, lane.as_ref()))]
    #[details("base": base, "reason": why)]
    NoUpstream { base: String, why: String, dir: String, is_shared: bool, lane: Option<LaneName> },
    /// The branch of a lane of another host cannot be [brought here](../guides/several-machines.md#when-a-machine-is-gone).
    #[error("the work of the lane {lane} stays on the host {host}: {why}")]
    #[code(Refused, "work_elsewhere")]
    #[hint("if it is lost, its tasks begin anew: fairway release --lane {lane} --force --reason TEXT")]
    WorkElsewhere { lane: LaneName, host: String, why: String },
    /// The upstream of the base cannot be fetched; `details.upstream`, `details.reason`.
    #[error("{upstream} cannot be fetched: {why}")]
    #[code(Refused, "fetch_failed")]
    #[hint("no work was sent back; when it answers, land again: fairway land --all --fetch")]
    #[details("base": base, "upstream": upstream, "reason": why)]
    FetchFailed { base: String, upstream: String, why: String },
    /// The remote did not take what was to land; `details.upstream`, `details.reason`.
    #[error("{upstream} did not take what was to land in {base}: {why}")]
    #[code(Refused, "push_failed")]
    #[hint("no work was sent back; when it is mended, land again: fairway land --all --push\n\
        if the base takes no pushes, propose the work: fairway land --all --pr")]
    #[details("base": base, "upstream": upstream, "reason": why)]
    PushFailed { base: String, upstream: String, why: String },
    /// A push was interrupted, and the remote cannot be asked; the next `land` asks again; `details.upstream`,
    /// `details.reason`.
    #[error("it is unknown whether {upstream} has what was to land in {base}: {why}")]
    #[code(Refused, "push_unknown")]
    #[hint("no work was sent back; when it answers, land again: fairway land --all --push")]
    #[details("base": base, "upstream": upstream, "reason": why)]
    PushUnknown { base: String, upstream: String, why: String },
    /// Other pushes were faster, again and again; `details.upstream`, `details.tries`.
    #[error("{upstream} moved {tries} times in a row while what was to land in {base} was checked")]
    #[code(Conflict, "push_raced")]
    #[hint("no work was sent back; when less is pushed, land again: fairway land --all --push")]
    #[details("base": base, "upstream": upstream, "tries": tries)]
    PushRaced { base: String, upstream: String, tries: usize },
    /// Work without a lane, or without a branch of its own, cannot be a pull request.
    #[error("{of} has no branch of its own, so it cannot be a pull request")]
    #[code(Refused, "no_branch")]
    #[hint("land it without one: fairway land {of} --push")]
    NoBranchToPropose { of: String },
    /// The branch of a lane has commits at the remote that Fairway did not push; `details.branch`, `details.tip`.
    #[error("{branch} has commits that Fairway did not push, up to {}", commit_id::short(tip))]
    #[code(Conflict, "branch_moved")]
    #[hint("see them, then merge them into the lane: {}", git_in(dir, &format!("log {}..{tip}", commit_id::short(commit))))]
    #[details("branch": branch, "tip": tip, "commit": commit)]
    BranchMoved { branch: String, tip: String, commit: String, dir: String },
    /// The remote did not take the branch of a lane; `details.branch`, `details.reason`.
    #[error("{branch} did not take {of}: {why}")]
    #[code(Refused, "push_failed")]
    #[hint("no work was sent back; when it is mended, land again: fairway land {of} --pr")]
    #[details("branch": branch, "reason": why)]
    BranchNotPushed { of: String, branch: String, why: String },
    /// A forge did not do what it was asked; `details.why` is login, sso, rights, busy, network, refused or missing;
    /// `details.seconds`.
    #[error("{failure}")]
    #[code(External, "forge_failed")]
    #[hint("{}", hints::forge(failure))]
    #[details("operation": failure.operation, "why": failure.why, "seconds": failure.seconds)]
    ForgeFailed { failure: ForgeFailure },
    /// Git does not know who commits.
    #[error("git does not know who commits: {why}")]
    #[code(Refused, "no_identity")]
    #[hint("name yourself: git config user.name NAME && git config user.email EMAIL")]
    NoIdentity { why: String },
    /// A command of `land.regenerate` did not write its file anew; `details.file`, `details.output`.
    #[error("the command '{}' does not write {} anew on the merged tree of {} and {}: {}; {2} is not sent back",
        failed.command, failed.file, failed.of, failed.base, failed.why)]
    #[code(Refused, "land_regenerate_failed")]
    #[hint("{}", match &failed.output {
        Some(output) => format!("see its output: less {}", shell_words::quote(output)),
        None => "change [land] regenerate: fairway config edit".to_owned(),
    })]
    #[details("base": failed.base, "file": failed.file, "command": failed.command, "output": failed.output)]
    RegenerateFailed { failed: Box<FailedRegeneration> },
    #[error("{of} has merge commits, which a rebase would leave out")]
    #[code(Refused, "merge_commits")]
    #[hint("{next}")]
    CannotRebase { of: String, next: String },
    /// What was to land points to a commit of a submodule that others cannot get; `details.path`, `details.commit`.
    #[error("{of} sets {path} to the commit {}, \
        which neither the submodule in the checkout of {base} nor a remote of it has", commit_id::short(.commit))]
    #[code(Refused, "submodule_commit_missing")]
    #[hint("{}: {command}", if *is_in_lane { "push the commit" } else { "fetch it" })]
    #[details("base": base, "path": path, "commit": commit)]
    SubmoduleCommitMissing {
        of: String,
        base: String,
        path: String,
        commit: String,
        command: String,
        is_in_lane: bool,
    },
    /// What was to land conflicts with the base; `details.files`, `details.landed_since`.
    #[error("{of} conflicts with {base} in {}{}", list_files(.files), landed_with(.with))]
    #[code(Refused, "land_conflict")]
    #[hint("{next}")]
    #[details("base": base, "files": files, "landed_since": with)]
    LandConflict { of: String, base: String, files: Vec<String>, with: Vec<String>, next: String },
    /// It was sent back at this commit and base, which have not changed.
    #[error("{of} was sent back at this commit and base, and is not tried again until one of them changes: {why}")]
    #[code(Refused, "sent_back_before")]
    #[hint("{next}")]
    SentBackBefore { of: String, why: String, next: String },
    /// What was to land fails a check on the merged tree; `details.check`, `details.evidence`, `details.output`,
    /// `details.landed_since`, `details.base_commit`, `details.candidate`, `details.runs`, `details.fails_with_all`.
    #[error("{failed}")]
    #[code(Refused, "land_check_failed")]
    #[hint("{}", hints::after_failed_check(failed))]
    #[details(
        "base": failed.base, "check": failed.check, "landed_since": failed.with, "evidence": failed.evidence,
        "output": failed.output, "base_commit": failed.base_commit, "candidate": failed.candidate,
        "fails_alone": failed.fails_with.is_alone(), "fails_with": failed.fails_with.one(),
        "fails_with_all": failed.fails_with.landed(), "runs": failed.runs,
    )]
    LandCheckFailed { failed: Box<FailedLandCheck> },
    #[error("{commit} is no candidate of a landing of the lane {lane}, or git has removed it")]
    #[code(NotFound, "not_found")]
    #[hint("bring in the base: fairway lane sync {lane} --merge")]
    NoCandidate { lane: LaneName, commit: String },
    /// Landing is paused on this host; `details.by`, `details.since`, `details.reason`.
    #[error("landing is paused by {by} since {since}{}",
        .reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    #[code(Refused, "land_paused")]
    #[hint("resume it: fairway land resume")]
    #[details("by": by, "since": since, "reason": reason)]
    LandPaused { by: String, since: String, reason: Option<String> },
    /// A program could not be run, or a session's program ended at once.
    #[error("{why}")]
    #[code(External, "program_failed")]
    #[hint("land again: fairway land --queue\n\
        if it ends again, check one tree at a time: `width = 1` below [land] in .fairway.toml")]
    ChecksEnded { why: String },
    /// The base alone fails a check, and nothing more lands; `details.command`, `details.output`.
    #[error("{stopped}")]
    #[code(Refused, "land_base_red")]
    #[hint("{}", hints::after_stop(stopped))]
    #[details_of(stopped)]
    LandBaseRed { stopped: Box<StoppedLanding> },
    /// A command of `[land] prepare` fails; `details.on_base`: on the base alone too.
    #[error("{stopped}")]
    #[code(Refused, "land_prepare_failed")]
    #[hint("{}", hints::after_stop(stopped))]
    #[details_of(stopped)]
    LandPrepareFailed { stopped: Box<StoppedLanding> },
    /// A check finds no program (exit 127), on the base alone neither; `details.stops_all`.
    #[error("{stopped}")]
    #[code(Refused, "land_program_missing")]
    #[hint("{}", hints::after_stop(stopped))]
    #[details_of(stopped)]
    LandProgramMissing { stopped: Box<StoppedLanding> },
    #[error("there is no base branch '{base}': the repository has no commit")]
    #[code(NotFound, "not_found")]
    #[hint("commit first: git add -A && git commit -m 'first commit'")]
    NoCommit { base: String },
    /// Another claimant has the task; `details` has the claimant and the time.
    #[error("{task} is claimed by {by} since {since}")]
    #[code(Conflict, "already_claimed")]
    #[hint("to take over: fairway claim {task} --steal --reason TEXT")]
    #[details("task_id": task, "claimant": by, "claimed_at": since)]
    AlreadyClaimed { task: TaskId, by: String, since: Timestamp },
    /// You have the claim already; `details.epoch`.
    #[error("{task} is already claimed by you (epoch {epoch})")]
    #[code(Conflict, "already_yours")]
    #[hint("to renew its lease: fairway claim {task} --epoch {epoch}")]
    #[details("task_id": task, "epoch": epoch)]
    AlreadyClaimedByYou { task: TaskId, epoch: i64 },
    /// The task was claimed again since your claim, or the store was restored; `details.current_epoch`.
    #[error("your claim on {task} is stale: its epoch is {yours}, the task is at epoch {current}{}",
        claimed_by(.by.as_deref()))]
    #[code(Conflict, "stale_claim")]
    #[hint("{}", match by {
        Some(_) => format!("see who has it: fairway task show {task}"),
        None => format!("if it is todo, claim it again: fairway claim {task}"),
    })]
    #[details("task_id": task, "epoch": yours, "current_epoch": current, "claimant": by)]
    StaleClaim { task: TaskId, yours: i64, current: i64, by: Option<String> },
    #[error("handoff {id} is stale: its epoch is {made}, {task} is at epoch {current}{}", claimed_by(.by.as_deref()))]
    #[code(Conflict, "stale_claim")]
    #[hint("see who has it: fairway task show {task}")]
    #[details("handoff_id": id, "task_id": task, "epoch": made, "current_epoch": current, "claimant": by)]
    StaleHandoff { id: i64, task: TaskId, made: i64, current: i64, by: Option<String> },
    /// Only the claimant may do this; `--force --reason` overrides.
    #[error("{task} is claimed by {by}{}, not by you ({you})", if *can_continue { ", which is over" } else { "" })]
    #[code(Conflict, "not_claimant")]
    #[hint("{}", if *can_continue {
        format!("to continue the claim: fairway claim {task}")
    } else {
        format!("to stand in for the holder of {task}: {SAME_COMMAND} --force --reason TEXT")
    })]
    #[details("task_id": task, "claimant": by)]
    NotClaimant { task: TaskId, by: String, you: String, can_continue: bool },
    /// The task's state does not allow it; `details.status`.
    #[error("{task} is {status} and cannot be {verb}")]
    #[code(Conflict, "wrong_state")]
    #[hint("{}", hints::next_step(task, *status, verb))]
    #[details("task_id": task, "status": status)]
    WrongState { task: TaskId, status: TaskStatus, verb: &'static str },
    /// The newest change is another actor's, older than a minute, or has no undo.
    #[error("nothing of {task} was taken back: {why}")]
    #[code(Conflict, "not_undoable")]
    #[hint("see what was done: fairway task show {task}")]
    #[details("task_id": task)]
    NotUndoable { task: TaskId, why: String },
    /// Dependencies are not done; `details.waiting_on`.
    #[error("{task} has {}: {}", if .waiting.iter().all(|reason| reason.fix.is_some()) {
        "dependencies that are not here"
    } else {
        "unfinished dependencies"
    }, join(.waiting, |reason| reason.message.clone()))]
    #[code(Refused, "deps_open")]
    #[hint("{}", hints::open_dependencies(task, waiting))]
    #[details("task_id": task, "waiting_on": waiting)]
    DepsOpen { task: TaskId, waiting: Vec<NotReadyReason> },
    /// The task or handoff is for another role.
    #[error("{task} is for the role {wants}; {}", match .have {
        Some(have) => format!("you act as {have}"),
        None => "no role is set".to_owned(),
    })]
    #[code(Refused, "role_mismatch")]
    #[hint("to claim in that role: {SAME_COMMAND} --role {wants}\n\
        to claim in any role: {SAME_COMMAND} --any-role")]
    #[details("task_id": task, "role": wants, "your_role": have)]
    RoleMismatch { task: TaskId, wants: Role, have: Option<Role> },
    /// The task or handoff is for another lane.
    #[error("{task} belongs to the lane {wants}; you work in {have}")]
    #[code(Refused, "lane_mismatch")]
    #[hint("to claim in that lane: {SAME_COMMAND} --lane {wants}")]
    #[details("task_id": task, "lane": wants, "your_lane": have)]
    LaneMismatch { task: TaskId, wants: LaneName, have: LaneName },
    /// The lane is paused and takes no claims.
    #[error("the lane {lane} is paused")]
    #[code(Refused, "lane_paused")]
    #[hint("open it: fairway lane open {lane}")]
    #[details("lane": lane)]
    LanePaused { lane: LaneName },
    /// The lane is closed and takes no claims.
    #[error("the lane {lane} is closed")]
    #[code(Refused, "lane_closed")]
    #[hint("open it: fairway lane open {lane}")]
    #[details("lane": lane)]
    LaneClosed { lane: LaneName },
    /// The lane's WIP limit is reached.
    #[error("the lane {lane} is full: {held} of {limit} tasks are claimed")]
    #[code(Refused, "lane_full")]
    #[hint("raise the limit: fairway lane edit {lane} --wip {}", limit + 1)]
    #[details("lane": lane, "held": held, "wip_limit": limit)]
    LaneFull { lane: LaneName, held: i64, limit: i64 },
    /// The open reviews have reached `[review] capacity`; `details.waiting`.
    #[error("the limit of {} is reached: {}", plural::count(*.limit, "open review"), summary(.waiting))]
    #[code(Refused, "review_full")]
    #[hint("review what waits: fairway review next")]
    #[details("capacity": limit, "waiting": waiting.iter().map(|review| {
        json!({ "task_id": review.task, "waits_for": review.waits_for })
    }).collect::<Vec<_>>())]
    ReviewFull { limit: u32, waiting: Vec<OpenReview> },
    /// Another claimed task has overlapping paths.
    #[error("{task} touches '{path}', which overlaps '{other_path}' of {other} (claimed by {by})")]
    #[code(Refused, "path_conflict")]
    #[hint("see how far {other} is: fairway explain task {other}")]
    #[details("task_id": task, "path": path, "other_task_id": other, "other_path": other_path, "claimant": by)]
    PathConflict { task: TaskId, path: String, other: TaskId, other_path: String, by: String },
    #[error("no role: --role is missing, and {}", match .lane {
        Some(lane) => format!("the lane {lane} has none"),
        None => "there is no lane that has one".to_owned(),
    })]
    #[code(Usage, "usage")]
    #[hint("{}", match lane {
        Some(lane) => format!("to set the lane's role: fairway lane edit {lane} --role ROLE"),
        None => "name a role: fairway session launch --role ROLE".to_owned(),
    })]
    NoLaunchRole { lane: Option<LaneName> },
    #[error("the provider {provider} cannot run structured: [providers.{provider}.acp] has no command")]
    #[code(Usage, "usage")]
    #[hint("see which agents can, and how one is added: fairway provider list")]
    NoStructuredProgram { provider: String },
    /// The session has ended; a new launch is a new session.
    #[error("the session {session} has {status} and cannot be changed")]
    #[code(Conflict, "session_final")]
    #[hint("a new launch is a new session: fairway start TASK")]
    #[details("session_id": session, "status": status)]
    SessionFinal { session: SessionId, status: SessionStatus },
    /// The session to relaunch is or may be alive, or was relaunched already.
    #[error("the session {session} is not over: {why}")]
    #[code(Conflict, "session_alive")]
    #[hint("end it first: fairway session {} {session}", if *is_launched { "stop" } else { "end" })]
    SessionAlive { session: SessionId, why: String, is_launched: bool },
    #[error("the session {session} was launched with {}", match (.command, .env.is_empty()) {
        (true, true) => "a command of its own, which is not stored".to_owned(),
        (true, false) => format!("a command of its own and {}, which are not stored", .env.join(", ")),
        (false, _) => format!("a value of its own for {}, which is not stored", .env.join(", ")),
    })]
    #[code(Usage, "usage")]
    #[hint("give it again: fairway session relaunch {session}{}{}",
        env.iter().map(|name| format!(" --env {name}=VALUE")).collect::<String>(),
        if *command { " -- COMMAND" } else { "" })]
    RelaunchNeeds { session: SessionId, command: bool, env: Vec<String> },
    #[error("{consequence}: {root} is not in a git repository")]
    #[code(Refused, "no_worktree")]
    #[hint("make one: git init && git add -A && git commit -m 'first commit'")]
    NoRepository { consequence: &'static str, root: String },
    #[error("no agent program was found: {} are not in PATH", .names.join(", "))]
    #[code(NotFound, "not_found")]
    #[hint("name the program: fairway start TASK -- PROGRAM")]
    NoAgentProgram { names: Vec<String> },
    #[error("several agent programs are installed: {}", .names.join(", "))]
    #[code(Usage, "usage")]
    #[hint("choose one: fairway start TASK --provider {}", names.first().map_or("NAME", String::as_str))]
    SeveralAgentPrograms { names: Vec<String> },
    /// The session is recorded as live, and its backend reports that it does not run.
    #[error("the session {session} is recorded as {status}, but its backend reports that it is not running")]
    #[code(Conflict, "session_gone")]
    #[hint("to settle it: fairway session reconcile")]
    #[details("session_id": session, "status": status)]
    SessionExited { session: SessionId, status: SessionStatus },
    /// Typed text or an interrupt would answer what the session asks; `details.question`; `--force` overrides.
    #[error("the session {session} asks: {}", excerpt(.question))]
    #[code(Conflict, "session_asks")]
    #[hint("list the questions: fairway approvals list{}{}", if *is_structured {
        "\nanswer one: fairway approvals answer ID allow".to_owned()
    } else {
        format!("\nanswer in its terminal: fairway session attach {session}")
    }, if *typing {
        format!("\ntype it all the same: fairway send {session} TEXT --type --force")
    } else {
        String::new()
    })]
    #[details("session_id": session, "question": question)]
    SessionAsks { session: SessionId, question: String, typing: bool, is_structured: bool },
    /// Nothing is typed into a parked session.
    #[error("the session {session} is {parking}")]
    #[code(Conflict, "session_parked")]
    #[hint("end its parking: fairway session unpark {session}")]
    #[details("session_id": session)]
    SessionParked { session: SessionId, parking: String },
    /// The usage limit of its provider has not passed.
    #[error("{task} does not start: {provider} is {parking}")]
    #[code(Conflict, "provider_parked")]
    #[hint("start it all the same: fairway start {task} --anyway")]
    #[details("provider": provider, "until": until)]
    ProviderParked { task: String, provider: Label, parking: String, until: Timestamp },
    /// A budget is used up.
    #[error("{what}")]
    #[code(Conflict, "budget_spent")]
    #[hint("raise it: {raise}")]
    BudgetSpent { what: String, raise: String },
    /// A new cap of a budget is not above what is used.
    #[error("amount {cap} is used already: {why}")]
    #[code(Usage, "invalid_value")]
    #[hint("raise it: {raise}")]
    CapUsed { cap: Amount, why: String, raise: String },
    /// A reminder is for a session that ended its turn with an unfinished task.
    #[error("the session {session} has not stopped: {why}")]
    #[code(Conflict, "session_not_stopped")]
    #[hint("say something else to it: fairway prompt {session} TEXT")]
    #[details("session_id": session, "reason": why)]
    SessionNotStopped { session: SessionId, why: String },
    #[error("there is no question '{item}': {why}")]
    #[code(NotFound, "not_found")]
    #[hint("see what is asked now: fairway status")]
    #[details("noun": "question", "id": item, "near": [])]
    QuestionOver { item: String, why: String },
    /// The provider asks in its own window, which an answer from Fairway does not reach, or the `answer` cannot go in at
    /// once.
    #[error("approval {id} cannot be answered from here: {why}")]
    #[code(Refused, "not_answerable")]
    #[hint("answer in its terminal: fairway session attach {session}")]
    #[details("approval_id": id, "session_id": session)]
    NotAnswerable { id: i64, session: SessionId, why: String },
    /// An answer that cannot go in at once. `hint`: a purpose with its command.
    #[error("{item} cannot be answered now: {why}")]
    #[code(Refused, "not_answerable")]
    #[hint("{hint}")]
    #[details("question_id": item)]
    Unanswerable { item: String, why: String, hint: String },
    /// `note` without `--task`, by a caller who has claimed no task.
    #[error("you ({you}) have claimed no task")]
    #[code(Conflict, "nothing_claimed")]
    #[hint("claim one: fairway claim")]
    NothingClaimed { you: String },
    #[error("you have claimed {} tasks: {}", .tasks.len(), list(.tasks, ", "))]
    #[code(NotFound, "ambiguous")]
    #[hint("name one: {command}")]
    #[details("noun": "task", "found": tasks)]
    SeveralClaimed { tasks: Vec<TaskId>, command: String },
    /// No live session is in the audience of a text. `later` is the audience whose next session can get it.
    #[error("{of} has no live session{}", if .later.is_none() { " but the sender" } else { "" })]
    #[code(NotFound, "not_found")]
    #[hint("{}", match later {
        Some(audience) => format!("leave it for the next session: fairway send {audience} TEXT --later"),
        None => "list the sessions: fairway session list".to_owned(),
    })]
    NoLiveSession { of: String, later: Option<String> },
    /// The session belongs to another task, session run or role.
    #[error("{why}")]
    #[code(Conflict, "session_mismatch")]
    SessionMismatch { why: String },
    #[error("session {session} runs on host {host}, not on this host")]
    #[code(Conflict, "session_mismatch")]
    #[hint("run it there: {command}{}", if *is_silent {
        format!("\nif that host or container is gone: fairway session forget {session}")
    } else {
        String::new()
    })]
    #[details("session_id": session, "host": host, "command": command)]
    SessionElsewhere { session: SessionId, host: String, command: String, is_silent: bool },
    /// The task has an open handoff; `details.handoff_id`.
    #[error("{task} is offered already: handoff {handoff} to {to} is open")]
    #[code(Conflict, "already_offered")]
    #[hint("withdraw that one first: fairway handoff withdraw {handoff}{}",
        if *is_yours { "" } else { " --force --reason TEXT" })]
    #[details("task_id": task, "handoff_id": handoff)]
    AlreadyOffered { task: TaskId, handoff: i64, to: String, is_yours: bool },
    /// A task is handed in from a lane that lacks its commits; `details.commit`.
    #[error("{place} lacks the work of {task}, which is at {}", commit_id::short(.commit))]
    #[code(Refused, "work_not_here")]
    #[hint("bring it in: {}\nif other work is meant, name it: {SAME_COMMAND} --commit COMMIT",
        git_in(dir, &format!("merge {}", commit_id::short(commit))))]
    #[details("task_id": task, "commit": commit, "directory": dir)]
    WorkNotHere { task: TaskId, commit: String, place: String, dir: String },
    /// `handoff accept --move` cannot bring the work into your lane; the message says why; `details.handoff_id`.
    #[error("cannot move the work of handoff {handoff}: {why}")]
    #[code(Refused, "work_not_moved")]
    #[hint("{hint}")]
    #[details("handoff_id": handoff)]
    WorkNotMoved { handoff: i64, why: String, hint: String },
    /// The handoff or approval has an answer.
    #[error("{noun} {id} is already {status}")]
    #[code(Conflict, "already_answered")]
    #[details("noun": noun, "id": id, "status": status)]
    AlreadyAnswered { noun: &'static str, id: i64, status: &'static str },
    /// The approval expired: the provider continued without an answer from Fairway.
    #[error("approval {id} is no longer pending{}", .why.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    #[code(Conflict, "approval_lapsed")]
    #[hint("list the approvals: fairway approvals list")]
    #[details("approval_id": id)]
    ApprovalLapsed { id: i64, why: Option<String> },
    /// A session may not answer its own approval request.
    #[error("session {session} cannot answer its own approval request {id}")]
    #[code(Refused, "own_approval")]
    #[details("approval_id": id, "session_id": session)]
    SelfApproval { id: i64, session: SessionId },
    /// A provider's settings are not JSON or not in its form; they stay unchanged.
    #[error("{path} {why}; it was not changed")]
    #[code(Usage, "settings_invalid")]
    InvalidSettings { path: String, why: String },
    /// A file that setup would write is outside of the repository, by a link.
    #[error("{file} is {target}, outside of the repository, by a link")]
    #[code(Refused, "link_outside")]
    #[hint("see the files: fairway setup --dry-run\n\
        write them all the same: fairway setup --follow-links")]
    LinkOutside { file: String, target: String },
    #[error("handoff {id} is for the role {wants}; you act as {have}")]
    #[code(Refused, "role_mismatch")]
    #[hint("to act as that role: {SAME_COMMAND} --as {wants}")]
    #[details("handoff_id": id, "role": wants, "your_role": have)]
    HandoffForRole { id: i64, wants: String, have: String },
    #[error("handoff {id} is for the lane {wants}; you work in {have}")]
    #[code(Refused, "lane_mismatch")]
    #[hint("list the open handoffs: fairway handoff list --open")]
    #[details("handoff_id": id, "lane": wants, "your_lane": have)]
    HandoffForLane { id: i64, wants: String, have: String },
    /// Only the creator may withdraw the record; `--force --reason` overrides.
    #[error("{noun} {id} was created by {by}, not by you ({you})")]
    #[code(Conflict, "not_creator")]
    #[hint("{}", if *may_force {
        format!("to stand in for its creator: {SAME_COMMAND} --force --reason TEXT")
    } else {
        "the author of the work cannot do that; see its open comments: fairway review comments".to_owned()
    })]
    NotCreator { noun: &'static str, id: i64, by: String, you: String, may_force: bool },
    /// A command of `demo` failed, or its scripted agent did not come to its end.
    #[error("the demo stopped at: {command}")]
    #[code(External, "demo_failed")]
    #[hint("look at what it did: fairway demo --keep")]
    DemoFailed { command: String },
    /// A person's command, called inside a session.
    #[error("{command} is a person's command and is refused inside a session")]
    #[code(Refused, "inside_session")]
    #[hint("run it in a terminal outside of any session")]
    InsideSession { command: &'static str },
    /// The person at the terminal did not say yes; nothing was changed.
    #[error("not confirmed; nothing was changed")]
    #[code(Refused, "not_confirmed")]
    NotConfirmed,
    #[error("{command} needs a terminal to ask at")]
    #[code(Usage, "usage")]
    #[hint("{instead}")]
    NeedsTerminal { command: &'static str, instead: &'static str },
    #[error("{task} has no worktree to look at: {why}")]
    #[code(Refused, "no_worktree")]
    #[hint("name the lane whose worktree has the work: fairway task edit {task} --lane LANE")]
    #[details("task_id": task)]
    NoWorktree { task: TaskId, why: String },
    /// A dependency or parent would form a cycle; `details.path`.
    #[error("that would close a cycle: {}", list(.path, " → "))]
    #[code(Refused, "cycle")]
    #[details("path": path)]
    Cycle { path: Vec<TaskId> },
    /// No claimable task; `details.skipped` has the first hundred ready tasks that rules exclude, `details.excluded` their number.
    #[error("{}", if .skipped.is_empty() { "no task is ready".to_owned() } else {
        format!("no claimable task: role, lane or path rules exclude {}", plural::count(*.excluded, "ready task"))
    })]
    #[code(Empty, "nothing_ready")]
    #[hint("{}", if skipped.is_empty() {
        "see why: fairway ready --why"
    } else {
        "list the ready tasks: fairway ready"
    })]
    #[details("skipped": skipped, "excluded": excluded)]
    NothingReady { skipped: Vec<SkippedTask>, excluded: usize },
    /// No message within `--wait`.
    #[error("nothing arrived within {within}")]
    #[code(Empty, "nothing_arrived")]
    WaitTimedOut { within: String },
    /// The prompt was not acknowledged in time, expired or was withdrawn; `details.status`, `details.way`,
    /// `details.waits`.
    #[error("prompt {id} is not acknowledged: {}{}", match (.status, .way) {
        (MessageStatus::Expired | MessageStatus::Withdrawn, _) => format!("it is {}", .status),
        (_, Some(way)) => format!("after {within} it is {} (via {way})", .status),
        (_, None) => format!("after {within} it is {}", .status),
    }, .waits.as_ref().map(|waits| format!("; {}", waits.text)).unwrap_or_default())]
    #[code(Empty, "not_acknowledged")]
    #[hint_if((!matches!(status, MessageStatus::Expired | MessageStatus::Withdrawn)).then(|| {
        let next = waits.iter().filter_map(|wait| wait.hint.as_ref()).map(|hint| format!("{hint}\n"));
        next.chain(["it goes on waiting: fairway outbox".to_owned()]).collect()
    }))]
    #[details(
        "message_id": id, "status": status, "way": way,
        "reason": waits.as_ref().map(|wait| wait.reason), "hint": waits.as_ref().and_then(|wait| wait.hint.as_deref()),
    )]
    NotAcknowledged {
        id: i64,
        status: MessageStatus,
        way: Option<Channel>,
        within: String,
        waits: Option<Box<PromptWait>>,
    },
    /// The turn of the prompt did not end in time, has failed, or its session has ended; `details.session_id`.
    #[error("prompt {id} has no answer: {why}")]
    #[code(Empty, "not_answered")]
    #[hint("read the conversation: fairway session peek {session}")]
    #[details("message_id": id, "session_id": session)]
    NotAnswered { id: i64, session: String, why: String },
    /// The session runs, and its first prompt did not arrive within `--wait`; `details.question`.
    #[error("the session {session} runs, but its first prompt has not arrived within {within}{}",
        .question.as_ref().map(|question| format!(": it asks a person: {question}")).unwrap_or_default())]
    #[code(Empty, "first_prompt_pending")]
    #[hint("{}", match question {
        Some(_) => format!("answer it: fairway session attach {session}"),
        None => format!("look at its screen: fairway session peek {session}"),
    })]
    #[details("session_id": session, "question": question, "message_id": message)]
    FirstPromptPending { session: String, question: Option<String>, message: Option<i64>, within: String },
    /// The `--request-id` belongs to another command, or the `--event-id` to another event.
    #[error("the request id '{id}' was used for another command")]
    #[code(Usage, "request_reused")]
    #[hint("use a new --request-id")]
    RequestReused { id: String },
    /// An `--event-id` that was used for something else.
    #[error("the event id '{id}' was used for another event of this session")]
    #[code(Usage, "request_reused")]
    #[hint("another event needs another --event-id")]
    EventReused { id: String },
    /// The request of this `--request-id` is in progress or was interrupted; not retried.
    #[error("request '{id}' is in progress or was interrupted: {became}; it was not started again")]
    #[code(Conflict, "request_open")]
    #[hint("{}", if *running {
        "wait for it, then repeat"
    } else {
        "look at what it did; a new --request-id runs it again"
    })]
    RequestPending { id: String, became: String, running: bool },
    /// The job has ended; `details.status`.
    #[error("job {run} has ended ({status})")]
    #[code(Conflict, "run_final")]
    #[hint("to see what it printed: fairway exec log {run}")]
    #[details("run_id": run, "status": status)]
    JobFinal { run: String, status: JobStatus },
    /// The job is queued and reads no input yet.
    #[error("job {run} is queued and reads no input yet")]
    #[code(Conflict, "run_queued")]
    #[hint("to wait for it: fairway exec poll {run} --wait 30s")]
    JobQueued { run: String },
    /// The job has no terminal to type into.
    #[error("job {run} has no terminal: it was started without --pty")]
    #[code(Conflict, "no_terminal")]
    #[hint("start one with a terminal: fairway exec spawn --pty -- COMMAND")]
    NoTerminal { run: String },
    /// The job's program does not read; `details.bytes` were typed.
    #[error("the input of job {run} is full because its program does not read it; {taken} bytes were written")]
    #[code(Conflict, "input_full")]
    #[hint("to see what it does: fairway exec poll {run}")]
    #[details("run_id": run, "bytes": taken)]
    InputFull { run: String, taken: usize },
    /// The job's supervisor died, or the job belongs to another host; `details.host`, `details.command`.
    #[error("job {run} has no supervisor: its supervisor died")]
    #[code(Conflict, "run_unsupervised")]
    #[hint("to settle it: fairway session reconcile")]
    JobUnsupervised { run: String },
    #[error("job {run} belongs to the host {host}, not to this one")]
    #[code(Conflict, "run_unsupervised")]
    #[hint("run it there: {command}{}", if *is_silent {
        format!("\nto give it up, if its host or container is gone: fairway exec rm --force {run}")
    } else {
        String::new()
    })]
    #[details("run_id": run, "host": host, "command": command)]
    JobElsewhere { run: String, host: String, command: String, is_silent: bool },
    /// That host was heard of within `sessions.stale_after`; `details.host`, `details.heard_ago`; `--force --reason`
    /// overrides.
    #[error("the host {host} was heard of {ago} ago: {subject} may be at work there")]
    #[code(Conflict, "host_alive")]
    #[hint("{}give it up all the same: {force}",
        there.iter().map(|there| format!("end it there: {there}\n")).collect::<String>())]
    #[details("host": host, "heard_ago": ago)]
    HostAlive { subject: String, host: String, ago: String, there: Option<String>, force: String },
    #[error("the host {host} is this one")]
    #[code(Conflict, "host_alive")]
    #[hint("end its sessions: fairway session stop --all")]
    #[details("host": host)]
    OwnHost { host: String },
    /// The job's supervisor does not answer.
    #[error("the supervisor of job {run} does not answer")]
    #[code(Busy, "run_busy")]
    #[hint("look at it again: fairway exec poll {run}")]
    JobUnresponsive { run: String },
    /// The file of the paired devices is broken, or others could have written it.
    #[error("the paired devices cannot be read from {file}: {why}")]
    #[code(Failure, "devices_unreadable")]
    #[hint("to pair every device anew, move it away: mv --backup=numbered {0} {0}.old", shell_words::quote(file))]
    DevicesUnreadable { file: String, why: String },
    /// `device pair`: no server shows the page of this project.
    #[error("no server shows the page of this project")]
    #[code(NotFound, "no_page_server")]
    #[hint("start one in another terminal: fairway serve --http 7431")]
    NoPageServer,
    /// The code is unknown, used or too old, or wrong ones came before it.
    #[error("this code pairs no device: it is unknown, was used, is older than {minutes} minutes, or was followed by too many wrong ones")]
    #[code(Refused, "pairing_refused")]
    #[hint("make another code: fairway device pair")]
    PairingRefused { minutes: u64 },
    /// A token of a notification is of another project, or long over.
    #[error("this token answers nothing: no notification of this project has it, or it is long over")]
    #[code(Refused, "token_unknown")]
    #[hint("look at what needs you: fairway status")]
    TokenUnknown,
    /// The item of this token of a notification is settled. The HTTP status is 410.
    #[error("this token is used up: {item} was answered or is settled")]
    #[code(Refused, "token_used")]
    #[hint("look at what needs you: fairway status")]
    TokenUsed { item: String },
    /// A token of a notification ends after a day. The HTTP status is 410.
    #[error("this token of {item} has ended: it was valid for a day")]
    #[code(Refused, "token_expired")]
    #[hint("look at what needs you: fairway status")]
    TokenExpired { item: String },
    /// A server runs for this project already.
    #[error("a server is already listening at {place}")]
    #[code(Conflict, "serve_running")]
    #[hint("it serves this project; end it to start another")]
    ServeRunning { place: String },
    /// A plugin of the provider brings the hooks already.
    #[error("the plugin {plugin}, which {file} enables, brings the hooks of {provider}: \
        with entries beside it each event would run two hooks")]
    #[code(Conflict, "plugin_has_hooks")]
    #[hint("to use the entries in its place: {disable}")]
    PluginHasHooks { provider: &'static str, plugin: String, file: String, disable: String },
    /// A tool acts for a session, and the environment of its server names none.
    #[error("{tool} acts for a session, and the environment names none")]
    #[code(Refused, "no_session")]
    #[hint("start the agent with a session: fairway start TASK --provider PROVIDER")]
    NoSession { tool: &'static str },
    /// The guard denies a tool call; `details.rule`.
    #[error("{}{reason}", rule.as_ref().map(|rule| format!("{rule}: ")).unwrap_or_default())]
    #[code(Refused, "guard_denied")]
    #[hint("why: fairway guard test --role ROLE --tool TOOL --input JSON")]
    #[details("rule": rule)]
    GuardDenied { reason: String, rule: Option<String> },
    /// This content, or a script that the store names, has not been trusted with `fairway trust`.
    #[error("{why}")]
    #[code(Untrusted, "untrusted")]
    #[hint("a person looks at it, then runs: fairway trust")]
    Untrusted { why: String },
    /// A word that names no key, where keys are typed.
    #[error("'{name}' is not a key; use tmux key names such as Enter, C-c, M-x, S-Up or F5")]
    #[code(Usage, "usage")]
    #[hint("type it as text: fairway exec send-keys JOB -l {}", shell_words::quote(name))]
    NoKey { name: String },
    #[error("the script {file} can be written by others (mode {mode})")]
    #[code(Untrusted, "untrusted")]
    #[hint("take that right away: chmod go-w {}", shell_words::quote(file))]
    WritableByOthers { file: String, mode: String },
    #[error("{path} is tracked by git: a committed copy could act in your name")]
    #[code(Untrusted, "untrusted")]
    #[hint("look at it, then: git rm --cached {path}")]
    TrackedByGit { path: String },
}

/// The first files of a list, and how many more there are.
fn list_files(files: &[String]) -> String {
    const MAX_LISTED: usize = 5;
    let listed: Vec<&str> = files.iter().take(MAX_LISTED).map(String::as_str).collect();
    match files.len().saturating_sub(MAX_LISTED) {
        0 => listed.join(", "),
        more => format!("{} and {more} more", listed.join(", ")),
    }
}

fn list(tasks: &[TaskId], separator: &str) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(separator)
}

/// A part of each item, in one sentence.
fn join<T>(items: &[T], part: impl Fn(&T) -> String) -> String {
    items.iter().map(part).collect::<Vec<_>>().join("; ")
}

fn claimed_by(claimant: Option<&str>) -> String {
    claimant.map_or_else(|| " and has no claimant".into(), |claimant| format!(" (claimed by {claimant})"))
}

/// A noun as a sentence says it. `details` keep older words, which are a promise.
fn spoken(noun: &'static str) -> &'static str {
    const SPOKEN: [(&str, &str); 2] = [("run", "job"), ("adapter script", "backend script")];
    SPOKEN.iter().find(|(kept, _)| *kept == noun).map_or(noun, |(_, spoken)| spoken)
}

impl Refusal {
    /// [`Refusal::NotFound`] without suggestions.
    pub fn not_found(noun: &'static str, id: impl Into<String>) -> Self {
        Self::NotFound { noun, id: id.into(), near: Vec::new() }
    }

    pub fn invalid(what: &'static str, why: impl Into<String>) -> Self {
        Self::Invalid { what, why: why.into() }
    }
}

impl From<InvalidValue> for Refusal {
    fn from(InvalidValue { what, why }: InvalidValue) -> Self {
        Self::Invalid { what, why }
    }
}

impl From<StoppedLanding> for Refusal {
    fn from(stopped: StoppedLanding) -> Self {
        let (cause, stopped) = (stopped.cause, Box::new(stopped));
        match cause {
            StopCause::BaseRed => Self::LandBaseRed { stopped },
            StopCause::PrepareFailed => Self::LandPrepareFailed { stopped },
            StopCause::ProgramMissing => Self::LandProgramMissing { stopped },
        }
    }
}

#[cfg(test)]
mod codes_document;
