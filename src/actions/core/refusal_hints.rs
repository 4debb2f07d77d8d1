//! The kind and the hint of each refusal.

use std::collections::BTreeSet;

use crate::{
    domain::{
        LaneName, Refusal, TaskId, commit_id, landing_failure::FailsWith, message::MessageStatus,
        refusal::NOT_EXECUTABLE, task::TaskStatus,
    },
    wire::FailureKind,
};

/// The command that writes what `task import --github` reads.
const GH_ISSUE_LIST: &str =
    "gh issue list --limit 1000 --json number,title,body,labels,url,state,createdAt >issues.json";

/// What stands for the refused command in a hint that adds flags to it. The command line puts the caller's words there.
pub const SAME_COMMAND: &str = "fairway …";

/// The noun of a missing snapshot.
pub const SNAPSHOT: &str = "snapshot of the store";

/// The kind of a refusal, and the command that leads on from it.
pub(super) fn kind_and_hint(refusal: &Refusal) -> (FailureKind, Option<String>) {
    use FailureKind::{Busy, Conflict, Empty, External, NotFound, Refused, Untrusted, Usage};
    match refusal {
        Refusal::Invalid { .. } | Refusal::Line { .. } | Refusal::Usage { .. } => (Usage, None),
        Refusal::ArgumentMissing { hint, .. } => (Usage, Some(hint.clone())),
        Refusal::FileUnreadable { dir, .. } => {
            (Usage, Some(format!("see which files there are: ls {}", shell_words::quote(dir))))
        }
        Refusal::SandboxUnavailable { hint, .. } => (External, Some(hint.clone())),
        Refusal::SandboxRequired { lane, asked, .. } => {
            (Refused, Some(format!("to demand it of the lane no more: fairway lane edit {lane} --sandbox {asked}")))
        }
        Refusal::SandboxRunning { .. } => (Conflict, Some("wait for its end, or see which session it is: fairway session list".into())),
        Refusal::SandboxWithoutLane { .. } => {
            (Refused, Some("name a lane, or make one: fairway lane add NAME --create-worktree".into()))
        }
        Refusal::SandboxLaneUnfit { lane, .. } => {
            (Refused, Some(format!("see its branch and its state: fairway lane show {lane}")))
        }
        Refusal::BackendCannot { hint, .. } => (External, Some(hint.clone())),
        Refusal::IssueKeysMissing { .. } => {
            (Usage, Some(format!("export the issues with these keys: {GH_ISSUE_LIST}")))
        }
        Refusal::NoLaunchRole { lane: Some(lane) } => {
            (Usage, Some(format!("to set the lane's role: fairway lane edit {lane} --role ROLE")))
        }
        Refusal::NoLaunchRole { lane: None } => (Usage, Some("name a role: fairway session launch --role ROLE".into())),
        Refusal::NoStructuredProgram { .. } => {
            (Usage, Some("see which agents can, and how one is added: fairway provider list".into()))
        }
        Refusal::RequestReused { .. } => (Usage, Some("use a new --request-id".into())),
        Refusal::EventReused { .. } => (Usage, Some("another event needs another --event-id".into())),
        Refusal::NotFound { noun, near, id } => {
            let hint = match (near.as_slice(), *noun) {
                ([], "lane") => Some("list the lanes: fairway lane list".into()),
                ([], "session" | "session with the run") => {
                    Some("list the sessions: fairway session list --all".into())
                }
                ([], "run") => Some("list the jobs: fairway exec list".into()),
                ([], "task" | "task or session") => Some("list the tasks: fairway task list".into()),
                ([], "multiplexer") => Some("install it, or choose another backend: fairway adapter list".into()),
                ([], SNAPSHOT) => {
                    Some("restore a backup: fairway restore FILE; or begin a new store: fairway init --new".into())
                }
                ([], "backend") => Some("list the backends: fairway adapter list".into()),
                ([], "approval") => Some("list the open approvals: fairway approvals list".into()),
                ([], "directory") => Some(format!("make it: mkdir -p {}", shell_words::quote(id))),
                ([], "device") => Some("list the devices: fairway device list".into()),
                ([], "guide") => Some("list the guides: fairway guide --list".into()),
                ([topic, ..], "guide") => Some(format!("did you mean {topic}: fairway guide {topic}")),
                ([], _) => None,
                (near, _) => Some(format!("did you mean {}?", near.join(", "))),
            };
            (NotFound, hint)
        }
        Refusal::TaskRemoved { task, .. } => {
            (NotFound, Some(format!("see its history: fairway events --of-task {task}")))
        }
        Refusal::TitleExpected { id, words } => (Usage, Some(title_hint(id.as_ref(), words))),
        Refusal::IdUsed { .. } => (Conflict, Some("let the id be generated: fairway task add 'TITLE'".into())),
        Refusal::TaskInUse { task, is_open: true, .. } => (
            Conflict,
            Some(format!("cancel it, and it stays in the history: fairway task cancel {task} --reason TEXT")),
        ),
        Refusal::TaskInUse { task, .. } => (Conflict, Some(format!("look at its records: fairway task show {task}"))),
        Refusal::NoBackendScript { script, reason: NOT_EXECUTABLE, .. } => {
            (NotFound, Some(format!("make it executable: chmod +x {}", shell_words::quote(script))))
        }
        Refusal::NoBackendScript { .. } => (NotFound, Some("list the backends: fairway adapter list".into())),
        Refusal::RunUnregistered { .. } => (
            NotFound,
            Some(
                "to register it: POST /lifecycle with \"event\": \"started\" and a role, as in \"metadata\": {\"role\": \"backend\"}"
                    .into(),
            ),
        ),
        Refusal::UnknownBackend { known, .. } => {
            (NotFound, Some(format!("choose one of {}: fairway adapter list", known.join(", "))))
        }
        Refusal::NoLiveSession { later: Some(flag), .. } => {
            (NotFound, Some(format!("leave a message for the next session: fairway message send TEXT {flag}")))
        }
        Refusal::NoLiveSession { .. } => (NotFound, Some("list the sessions: fairway session list".into())),
        Refusal::NoneFound { noun, .. } => (NotFound, Some(format!("list them: fairway {noun} list"))),
        Refusal::Ambiguous { noun: "id", id, .. } => {
            (NotFound, Some(format!("name its kind: fairway explain task {id}, or fairway explain session {id}")))
        }
        Refusal::Ambiguous { .. } => (NotFound, None),
        Refusal::InUse { noun: "lane", id, .. } => (Conflict, Some(format!("to end it: fairway lane close {id}"))),
        Refusal::InUse { noun: "store", .. } => {
            (Conflict, Some("take its tasks along: fairway store copy --to URL".into()))
        }
        Refusal::InUse { noun: "run", id, .. } => (Conflict, Some(format!("to end it: fairway exec kill {id}"))),
        Refusal::AlreadyExists { noun: "file", .. } => (Conflict, Some(format!("replace it: {SAME_COMMAND} --force"))),
        Refusal::AlreadyExists { .. } | Refusal::InUse { .. } => (Conflict, None),
        Refusal::LaneHeld { hint, .. } => (Conflict, Some(hint.clone())),
        Refusal::WorkNotMoved { hint, .. } => (Refused, Some(hint.clone())),
        Refusal::UnsavedWork { dir: Some(dir), .. } => {
            (Refused, Some(format!("commit or stash the changes: {}", git_in(dir, "stash --include-untracked"))))
        }
        Refusal::UnsavedWork { lane, dir: None, .. } => {
            (Refused, Some(format!("to keep it as it is: fairway lane close {lane}")))
        }
        Refusal::LaneWithoutWorktree { lane } => {
            (Refused, Some(format!("name one: fairway lane edit {lane} --worktree DIR")))
        }
        Refusal::LaneDamaged { lane, .. } => (Conflict, Some(format!("mend it: fairway lane repair {lane}"))),
        Refusal::WorktreeMissing { lane, .. } => (NotFound, Some(format!("make it again: fairway lane repair {lane}"))),
        Refusal::BeforeReflog { lane, .. } => {
            (NotFound, Some(format!("compare with a commit: fairway lane diff {lane} --since COMMIT")))
        }
        Refusal::WorktreeNotOwned { dir, .. } => {
            (Refused, Some(format!("remove it yourself: git worktree remove {}", shell_words::quote(dir))))
        }
        Refusal::WrongBranch { wants, dir, .. } => {
            let branch = wants.as_deref().unwrap_or("BRANCH");
            (Refused, Some(format!("check the branch out: {}", git_in(dir, &format!("switch {branch}")))))
        }
        Refusal::MergeCommits { lane } => (Refused, Some(format!("merge instead: fairway lane sync {lane} --merge"))),
        Refusal::SyncConflict { by_hand, .. } => (Refused, Some(format!("resolve it by hand: {by_hand}"))),
        Refusal::NotLandable { reports, .. } => {
            let fixes = reports.iter().flat_map(|report| &report.blockers).map(|blocker| blocker.fix.as_str());
            let mut fixes: Vec<&str> = fixes.collect();
            fixes.dedup();
            (Refused, Some(fixes.join("\n")))
        }
        Refusal::NoTaskCommit {
            task,
            status: TaskStatus::InProgress | TaskStatus::Blocked | TaskStatus::Review,
            ..
        } => (Refused, Some(format!("name it: fairway task submit {task} --commit COMMIT"))),
        Refusal::NoTaskCommit { lane: Some(lane), .. } => {
            (Refused, Some(format!("land its lane: fairway land lane:{lane}")))
        }
        Refusal::NoTaskCommit { task, .. } => (Refused, Some(format!("look at it: fairway task show {task}"))),
        Refusal::OperationUnfinished { dir, .. } => {
            (Refused, Some(format!("finish or abort it: {}", git_in(dir, "status"))))
        }
        Refusal::BaseBehind { ahead: 0, dir, .. } => {
            (Refused, Some(format!("bring it up to date: {}", git_in(dir, "pull --ff-only"))))
        }
        // A rebase would make other commits of what was checked and landed.
        Refusal::BaseBehind { dir, upstream, .. } => {
            let merge = format!("merge --no-edit {}", shell_words::quote(upstream));
            (Refused, Some(format!("bring both together as they are: {}", git_in(dir, &merge))))
        }
        Refusal::BaseInSeveral { base, dirs } => {
            let dir = dirs.last().map_or("DIR", String::as_str);
            (Refused, Some(format!("leave {base} in all but one: {}", git_in(dir, "switch --detach"))))
        }
        Refusal::CheckoutChanged { dir, .. } => {
            (Refused, Some(format!("commit or stash the changes: {}", git_in(dir, "stash --include-untracked"))))
        }
        Refusal::FilesInTheWay { dir, files, .. } => {
            let quoted: Vec<_> = files.iter().map(|file| shell_words::quote(file)).collect();
            let dir = shell_words::quote(dir);
            (Refused, Some(format!("move them away: cd {dir} && mv {} ELSEWHERE", quoted.join(" "))))
        }
        Refusal::BaseLocked { lock, .. } => {
            (Refused, Some(format!("if no git is at work there, remove it: rm {}", shell_words::quote(lock))))
        }
        Refusal::NoBase { .. } => {
            (NotFound, Some("name the base of the lane: fairway lane edit LANE --base BRANCH".into()))
        }
        Refusal::NoCommonCommit { .. } => {
            (Refused, Some("if the history is shallow, fetch the rest of it: git fetch --unshallow".into()))
        }
        Refusal::NoLaneCommit { branch: Some(branch), known: Some(commit), .. } => {
            (Refused, Some(format!("make it again: git branch {branch} {commit}")))
        }
        Refusal::NoLaneCommit { lane, .. } => (Refused, Some(format!("look at it: fairway lane show {lane}"))),
        Refusal::BaseMoved { .. } => (Conflict, Some("look at it, then try again: fairway land --dry-run".into())),
        Refusal::NoUpstream { base, dir, is_shared, .. } => {
            let base = shell_words::quote(base);
            let command = git_in(dir, &format!("branch --set-upstream-to REMOTE/{base} {base}"));
            let alone = if *is_shared { "\nif there is one clone only, set [land] shared = false: fairway config edit" } else { "" };
            (Refused, Some(format!("name it: {command}{alone}")))
        }
        Refusal::WorkElsewhere { lane, .. } => (
            Refused,
            Some(format!("if it is lost, its tasks begin anew: fairway release --lane {lane} --force --reason TEXT")),
        ),
        Refusal::FetchFailed { .. } => {
            (Refused, Some("no work was sent back; when it answers, land again: fairway land --all --fetch".into()))
        }
        Refusal::PushFailed { .. } => {
            (Refused, Some("no work was sent back; when it is mended, land again: fairway land --all --push".into()))
        }
        Refusal::PushUnknown { .. } => {
            (Refused, Some("no work was sent back; when it answers, land again: fairway land --all --push".into()))
        }
        Refusal::PushRaced { .. } => {
            (Conflict, Some("no work was sent back; when less is pushed, land again: fairway land --all --push".into()))
        }
        Refusal::NoIdentity { .. } => {
            (Refused, Some("name yourself: git config user.name NAME && git config user.email EMAIL".into()))
        }
        Refusal::CannotRebase { .. } => (Refused, Some("set [land] style = \"squash\": fairway config edit".into())),
        Refusal::SentBackBefore { lane, base, .. } => (Refused, Some(bring_in(lane.as_ref(), base))),
        Refusal::SubmoduleCommitMissing { command, is_in_lane, .. } => {
            let verb = if *is_in_lane { "push the commit" } else { "fetch it" };
            (Refused, Some(format!("{verb}: {command}")))
        }
        Refusal::NoCandidate { lane, .. } => {
            (NotFound, Some(format!("bring in the base: fairway lane sync {lane} --merge")))
        }
        Refusal::LandPaused { .. } => (Refused, Some("resume it: fairway land resume".into())),
        Refusal::LandConflict { lane, base, .. } => (Refused, Some(bring_in(lane.as_ref(), base))),
        Refusal::LandCheckFailed(failed) => {
            let output = match failed.evidence {
                Some(number) => format!("see its output: fairway evidence show {number}"),
                None => format!("see its output: less {}", shell_words::quote(&failed.output)),
            };
            let tree = match &failed.lane {
                _ if !failed.is_behind => String::new(),
                Some(lane) => {
                    let candidate = commit_id::short(&failed.candidate);
                    format!("\nput the merged tree into the lane: fairway lane sync {lane} --onto {candidate}")
                }
                None => format!("\nmake the merged tree: git merge {}", shell_words::quote(&failed.base)),
            };
            let author = match &failed.fails_with {
                FailsWith::Other { lane: Some(lane), .. } => {
                    format!("\nagree with its author: fairway send lane:{lane} TEXT")
                }
                FailsWith::Other { commit, .. } => {
                    format!("\nsee the other work: git show {}", commit_id::short(commit))
                }
                FailsWith::Unknown | FailsWith::Nothing => String::new(),
            };
            (Refused, Some(format!("{output}{tree}{author}")))
        }
        Refusal::ChecksEnded { .. } => (
            External,
            Some(
                "land again: fairway land --queue\nif it ends again, check one tree at a time: `width = 1` below [land] in \
                 .fairway.toml"
                    .into(),
            ),
        ),
        Refusal::LandStopped(stopped) => {
            let output = shell_words::quote(&stopped.output);
            let again = if stopped.stops_all { "fairway land --queue" } else { "fairway land --all" };
            (Refused, Some(format!("see its output: less {output}\nland again when it is mended: {again}")))
        }
        Refusal::NoCommit { .. } => (NotFound, Some("commit first: git add -A && git commit -m 'first commit'".into())),
        Refusal::AlreadyClaimed { task, .. } => {
            (Conflict, Some(format!("to take over: fairway claim {task} --steal --reason TEXT")))
        }
        Refusal::AlreadyClaimedByYou { task, epoch } => {
            (Conflict, Some(format!("to renew its lease: fairway claim {task} --epoch {epoch}")))
        }
        Refusal::StaleClaim { task, by: None, .. } => {
            (Conflict, Some(format!("if it is todo, claim it again: fairway claim {task}")))
        }
        Refusal::StaleClaim { task, .. } | Refusal::StaleHandoff { task, .. } => {
            (Conflict, Some(format!("see who has it: fairway task show {task}")))
        }
        Refusal::NotClaimant { task, can_continue: true, .. } => {
            (Conflict, Some(format!("to continue the claim: fairway claim {task}")))
        }
        Refusal::NotClaimant { task, .. } => {
            (Conflict, Some(format!("to stand in for the holder of {task}: {SAME_COMMAND} --force --reason TEXT")))
        }
        Refusal::WrongState { task, status, verb } => (Conflict, Some(next_step(task, *status, verb))),
        Refusal::SessionFinal { .. } => {
            (Conflict, Some("a new launch is a new session: fairway session launch".into()))
        }
        Refusal::SessionAlive { session, .. } => {
            (Conflict, Some(format!("end it first: fairway session stop {session}")))
        }
        Refusal::RelaunchNeeds { session, command, env } => {
            let env: String = env.iter().map(|name| format!(" --env {name}=VALUE")).collect();
            let command = if *command { " -- COMMAND" } else { "" };
            (Usage, Some(format!("give it again: fairway session relaunch {session}{env}{command}")))
        }
        Refusal::NoRepository { .. } => {
            (Refused, Some("make one: git init && git add -A && git commit -m 'first commit'".into()))
        }
        Refusal::NoAgentProgram { .. } => (NotFound, Some("name the program: fairway start TASK -- PROGRAM".into())),
        Refusal::SeveralAgentPrograms { names } => {
            let provider = names.first().map_or("NAME", String::as_str);
            (Usage, Some(format!("choose one: fairway start TASK --provider {provider}")))
        }
        Refusal::SessionExited { .. } => (Conflict, Some("to settle it: fairway session reconcile".into())),
        Refusal::LaneElsewhere { lane, command, .. } => {
            let here =
                format!("if that host is gone, name a worktree of this one: fairway lane edit {lane} --worktree DIR");
            (Conflict, Some(format!("run it there: {command}\n{here}")))
        }
        Refusal::SessionElsewhere { session, command, is_silent, .. } => {
            let forget = format!("if that host or container is gone: fairway session forget {session}");
            (Conflict, Some(there_or_forget(command, *is_silent, &forget)))
        }
        Refusal::JobElsewhere { run, command, is_silent, .. } => {
            let forget = format!("to give it up, if its host or container is gone: fairway exec rm --force {run}");
            (Conflict, Some(there_or_forget(command, *is_silent, &forget)))
        }
        Refusal::OwnHost { .. } => (Conflict, Some("end its sessions: fairway session stop --all".into())),
        Refusal::HostAlive { there, force, .. } => {
            let there = there.iter().map(|there| format!("end it there: {there}\n"));
            (Conflict, Some(format!("{}give it up all the same: {force}", there.collect::<String>())))
        }
        Refusal::AlreadyOffered { handoff, is_yours, .. } => {
            let force = if *is_yours { "" } else { " --force --reason TEXT" };
            (Conflict, Some(format!("withdraw that one first: fairway handoff withdraw {handoff}{force}")))
        }
        Refusal::SessionMismatch { .. } | Refusal::AlreadyAnswered { .. } => (Conflict, None),
        Refusal::SessionAsks { session, typing, .. } => {
            let answer = format!(
                "list the questions: fairway approvals list\nanswer in its terminal: fairway session attach {session}"
            );
            let force = format!("type it all the same: fairway session nudge {session} --force TEXT");
            (Conflict, Some(if *typing { format!("{answer}\n{force}") } else { answer }))
        }
        Refusal::QuestionOver { .. } => (NotFound, Some("see what is asked now: fairway status".into())),
        Refusal::Unanswerable { hint, .. } => (Refused, Some(hint.clone())),
        Refusal::NothingClaimed { .. } => (Conflict, Some("claim one: fairway claim".into())),
        Refusal::SeveralClaimed { tasks, command } => {
            let task = tasks.first().map_or("ID", TaskId::as_str);
            (NotFound, Some(format!("name one: {command} {task}")))
        }
        Refusal::InvalidSettings { .. } => (Usage, None),
        Refusal::LinkOutside { .. } => {
            let look = "see the files: fairway setup --dry-run";
            (Refused, Some(format!("{look}\nwrite them all the same: fairway setup --follow-links")))
        }
        Refusal::ApprovalLapsed { .. } => (Conflict, Some("list the approvals: fairway approvals list".into())),
        Refusal::NotAnswerable { session, .. } => {
            (Refused, Some(format!("answer in its terminal: fairway session attach {session}")))
        }
        Refusal::SelfApproval { .. } => (Refused, None),
        Refusal::NotForYou { wants, is_role: true, .. } => {
            (Refused, Some(format!("to act as that role: {SAME_COMMAND} --as {wants}")))
        },
        Refusal::NotForYou { .. } => (Refused, Some("list the open handoffs: fairway handoff list --open".into())),
        Refusal::NotCreator { .. } => (Conflict, Some(format!("to stand in for its creator: {SAME_COMMAND} --force --reason TEXT"))),
        Refusal::RequestPending { running: true, .. } => (Conflict, Some("wait for it, then repeat".into())),
        Refusal::RequestPending { .. } => {
            (Conflict, Some("look at what it did; a new --request-id runs it again".into()))
        }
        Refusal::JobFinal { run, .. } => (Conflict, Some(format!("to see what it printed: fairway exec log {run}"))),
        Refusal::JobQueued { run } => (Conflict, Some(format!("to wait for it: fairway exec poll {run} --wait 30s"))),
        Refusal::NoTerminal { .. } => (Conflict, Some("start it with: fairway exec spawn --pty".into())),
        Refusal::InputFull { run, .. } => (Conflict, Some(format!("to see what it does: fairway exec poll {run}"))),
        Refusal::JobUnsupervised { .. } => (Conflict, Some("to settle it: fairway session reconcile".into())),
        Refusal::JobUnresponsive { run } => (Busy, Some(format!("look at it again: fairway exec poll {run}"))),
        Refusal::DepsOpen { waiting, .. } if waiting.iter().any(|reason| reason.fix.is_some()) => {
            let fixes: BTreeSet<&str> = waiting.iter().filter_map(|reason| reason.fix.as_deref()).collect();
            (Refused, Some(fixes.into_iter().collect::<Vec<_>>().join("\n")))
        }
        Refusal::DepsOpen { task, .. } => {
            (Refused, Some(format!("see what it waits for: fairway task dep tree {task}")))
        }
        Refusal::RoleMismatch { wants, .. } => {
            let own = format!("to claim in that role: {SAME_COMMAND} --role {wants}");
            (Refused, Some(format!("{own}\nto claim in any role: {SAME_COMMAND} --any-role")))
        }
        Refusal::LaneMismatch { wants, .. } => {
            (Refused, Some(format!("to claim in that lane: {SAME_COMMAND} --lane {wants}")))
        }
        Refusal::LanePaused { lane } | Refusal::LaneClosed { lane } => {
            (Refused, Some(format!("open it: fairway lane open {lane}")))
        }
        Refusal::LaneFull { lane, limit, .. } => {
            (Refused, Some(format!("raise the limit: fairway lane edit {lane} --wip {}", limit + 1)))
        }
        Refusal::ReviewFull { .. } => (Refused, Some("review what waits: fairway review next".into())),
        Refusal::PathConflict { other, .. } => {
            (Refused, Some(format!("wait for {other}, or set [claims] path_conflicts = \"warn\"")))
        }
        Refusal::DemoFailed { .. } => (External, Some("look at what it did: fairway demo --keep".into())),
        Refusal::InsideSession { .. } => (Refused, Some("run it in a terminal outside of any session".into())),
        Refusal::NotConfirmed => (Refused, None),
        Refusal::NeedsTerminal { instead, .. } => (Usage, Some((*instead).to_owned())),
        Refusal::NoWorktree { task, .. } => {
            (Refused, Some(format!("name the lane whose worktree has the work: fairway task edit {task} --lane LANE")))
        }
        Refusal::GateBlocked(report) => {
            // One command per line.
            let mut fixes: Vec<&str> = report.blockers.iter().map(|blocker| blocker.fix.as_str()).collect();
            fixes.dedup();
            (Refused, Some(fixes.join("\n")))
        }
        Refusal::Cycle { .. } => (Refused, None),
        Refusal::NothingReady { skipped } => (
            Empty,
            Some(
                if skipped.is_empty() { "see why: fairway ready --why" } else { "list the ready tasks: fairway ready" }
                    .into(),
            ),
        ),
        Refusal::WaitTimedOut { .. } => (Empty, None),
        Refusal::NotAcknowledged { status, waits, .. } => match status {
            MessageStatus::Expired | MessageStatus::Withdrawn => (Empty, None),
            _ => {
                let next = waits.iter().filter_map(|wait| wait.hint.as_ref()).map(|hint| format!("{hint}\n"));
                (Empty, Some(next.chain(["it goes on waiting: fairway outbox".to_owned()]).collect()))
            }
        },
        Refusal::FirstPromptPending { session, question: Some(_), .. } => {
            (Empty, Some(format!("answer it: fairway session attach {session}")))
        }
        Refusal::FirstPromptPending { session, .. } => {
            (Empty, Some(format!("look at its screen: fairway session peek {session}")))
        }
        Refusal::DevicesUnreadable { file, .. } => {
            (FailureKind::Failure, Some(format!("to pair every device anew: rm {}", shell_words::quote(file))))
        }
        Refusal::NoPageServer => (NotFound, Some("start one in another terminal: fairway serve --http 7431".into())),
        Refusal::PairingRefused => (Refused, Some("make another code: fairway device pair".into())),
        Refusal::ServeRunning { .. } => (Conflict, Some("it serves this project; end it to start another".into())),
        Refusal::PluginHasHooks { disable, .. } => {
            (Conflict, Some(format!("to use the entries in its place: {disable}")))
        }
        Refusal::NoSession { .. } => {
            (Refused, Some("start the agent with a session: fairway start TASK --provider PROVIDER".into()))
        }
        Refusal::GuardDenied { .. } => {
            (Refused, Some("why: fairway guard test --role ROLE --tool TOOL --input JSON".into()))
        }
        Refusal::Untrusted { .. } => (Untrusted, Some("a person looks at it, then runs: fairway trust".into())),
        Refusal::TrackedByGit { path } => (Untrusted, Some(format!("look at it, then: git rm --cached {path}"))),
    }
}

/// How a base comes into a lane, or into work without one.
fn bring_in(lane: Option<&LaneName>, base: &str) -> String {
    match lane {
        Some(lane) => format!("bring {base} in: fairway lane sync {lane} --rebase"),
        None => format!("bring {base} in: git rebase {base}"),
    }
}

/// The longest title that a hint repeats, in bytes.
const MAX_QUOTED_TITLE: usize = 120;

/// The ways to write `task add` that the arguments may have meant.
fn title_hint(id: Option<&TaskId>, words: &[String]) -> String {
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

/// The command that leads on from a transition that the task's status does not have.
fn next_step(task: &TaskId, status: TaskStatus, verb: &str) -> String {
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

/// A command of git in a directory, as a user types it.
fn git_in(dir: &str, command: &str) -> String {
    format!("git -C {} {command}", shell_words::quote(dir))
}

/// The way on for what is on another host. While that host is heard of, giving up is no way.
fn there_or_forget(command: &str, is_silent: bool, forget: &str) -> String {
    let there = format!("run it there: {command}");
    if is_silent { format!("{there}\n{forget}") } else { there }
}
