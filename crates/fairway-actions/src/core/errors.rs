//! Classification of errors: code, kind, message, hint and details. Those of refusals are in [`Refusal`].

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

use fairway_core::adapters::AdapterError;
use fairway_core::config::ConfigError;
use fairway_core::config::project::OUTPUT_FILE;
use fairway_core::domain::id::InvalidValue;
use fairway_core::domain::{Refusal, SessionId};
use fairway_core::os::git::GitError;
use fairway_core::os::packages::install_command;
use fairway_core::os::run_streaming::StreamError;
use fairway_core::render::{OutError, escape_line};
use fairway_core::store::StoreError;
use fairway_core::wire::{Failure, FailureKind};

/// An error for a state that the code excludes. It shows a bug in Fairway.
#[derive(Debug, Error)]
#[error("internal error: {0} (please report this)")]
pub struct InternalError(String);

pub fn internal(why: impl Display) -> anyhow::Error {
    InternalError(why.to_string()).into()
}

/// Context of an error about a store that lost events: there is no snapshot to restore.
#[derive(Debug, Error)]
#[error("there is no snapshot of the store")]
pub struct NoSnapshot;

/// How far an import came before an error. The tasks of its complete steps stay.
#[derive(Debug, Error)]
#[error("{written} of {all} tasks are imported")]
pub struct ImportStopped {
    pub written: usize,
    pub all: usize,
    /// The file as the person named it; `-` for stdin.
    pub path: PathBuf,
}

/// Determines code, kind, message, hint and details of any error that a use case or entry point returns.
pub fn classify(error: &anyhow::Error) -> Failure {
    let failure = with_room(classify_cause(error));
    let Some(stopped) = error.downcast_ref::<ImportStopped>() else { return failure };
    let file = stopped.path.to_string_lossy();
    let file = if file == "-" { "- <FILE".into() } else { shell_words::quote(&file) };
    let again = format!("import the rest: fairway task import {file}");
    let hint = failure.hint.map_or_else(|| again.clone(), |hint| format!("{hint}\n{again}"));
    Failure { message: format!("{}; {stopped}", failure.message), hint: Some(hint), ..failure }
}

/// Adds what makes room to a failure for lack of space: worktrees take most of it.
fn with_room(failure: Failure) -> Failure {
    let is_for_space = ["No space left on device", "Out of diskspace", "Disk quota exceeded"];
    if failure.code != "store_full" && !is_for_space.iter().any(|words| failure.message.contains(words)) {
        return failure;
    }
    let room = "see what each lane takes: fairway lane list --size\nremove what can be made again: fairway lane trim";
    let hint = failure.hint.map_or_else(|| room.to_owned(), |hint| format!("{hint}\n{room}"));
    Failure { hint: Some(hint), ..failure }
}

fn classify_cause(error: &anyhow::Error) -> Failure {
    for cause in error.chain() {
        if let Some(failure) = cause.downcast_ref::<Refusal>().map(refusal) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<InvalidValue>() {
            return refusal(&failure.clone().into());
        }
        if let Some(failure) = cause.downcast_ref::<StoreError>() {
            let hint = error.downcast_ref::<NoSnapshot>().and_then(|_| hint_without_snapshot(failure));
            let failure = store(failure);
            return Failure { hint: hint.map(str::to_owned).or(failure.hint), ..failure };
        }
        if let Some(failure) = cause.downcast_ref::<ConfigError>().map(config) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<StreamError>() {
            let code = match failure {
                StreamError::NotFound { .. } => "program_not_found",
                StreamError::Interrupted { .. } => "interrupted",
                StreamError::NoDir { .. } | StreamError::Start { .. } | StreamError::Watch(_) => "program_failed",
            };
            return plain(code, FailureKind::External, failure.to_string());
        }
        if let Some(failure) = cause.downcast_ref::<GitError>() {
            return git(failure);
        }
        if let Some(failure) = cause.downcast_ref::<AdapterError>().map(adapter) {
            return failure;
        }
        if let Some(failure) = cause.downcast_ref::<OutError>() {
            return plain("output", FailureKind::Failure, failure.to_string());
        }
    }
    plain("failure", FailureKind::Failure, format!("{error:#}"))
}

fn git(error: &GitError) -> Failure {
    let hint = match error {
        GitError::NotInPath => Some(match install_command("git") {
            Some(command) => format!("install git: {command}"),
            None => "install git with the package manager of this system".to_owned(),
        }),
        // A partial clone, in a call that fetches nothing.
        GitError::Failed { why, .. } if why.contains("promisor remote") => {
            Some("get the objects that are not here: git fetch --refetch --no-filter".to_owned())
        }
        GitError::NotSigned { unlock, .. } => Some(format!("unlock the key, then again: {unlock}")),
        GitError::Failed { step: "add" | "diff" | "diff-files", .. } => {
            Some("compare what is committed: git diff BASE...BRANCH".to_owned())
        }
        _ => None,
    };
    Failure { hint, ..plain("git_failed", FailureKind::External, error.to_string()) }
}

fn plain(code: &'static str, kind: FailureKind, message: String) -> Failure {
    Failure { code, kind, message, hint: None, retryable: kind == FailureKind::Busy, details: Value::Null }
}

fn refusal(refusal: &Refusal) -> Failure {
    let failure = plain(refusal.code(), refusal.kind(), refusal.to_string());
    Failure { hint: refusal.hint(), details: refusal.details(), ..failure }
}

/// The hint for a damaged output store.
const OUTPUT_FILE_HINT: &str = "move runs.db, runs.db-wal and runs.db-shm away: only the output of jobs is lost";

fn is_output_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == OUTPUT_FILE)
}

/// The hint where there is no snapshot to restore.
fn hint_without_snapshot(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Damaged { path: Some(path), .. } if is_output_file(path) => None,
        StoreError::Damaged { .. } => Some("there is no snapshot; restore a backup: fairway restore FILE"),
        StoreError::Lost { .. } => Some(
            "there is no snapshot; restore a backup: fairway restore FILE\ngo on without them: fairway doctor --accept",
        ),
        StoreError::Gone { .. } => {
            Some("there is no snapshot; restore a backup: fairway restore FILE\nbegin a new store: fairway init --new")
        }
        _ => None,
    }
}

fn store(error: &StoreError) -> Failure {
    use FailureKind::{Busy, Conflict, External, Failure as Fault, NotFound, Refused, Usage};
    let (code, kind, hint) = match error {
        StoreError::Newer { .. } => ("store_newer", Fault, Some("use the newer fairway that made it")),
        StoreError::Foreign { path, .. } if is_output_file(path) => ("store_foreign", Fault, Some(OUTPUT_FILE_HINT)),
        StoreError::Damaged { path: Some(path), .. } if is_output_file(path) => {
            ("store_damaged", Fault, Some(OUTPUT_FILE_HINT))
        }
        StoreError::Foreign { .. } => {
            ("store_foreign", Fault, Some("is it the right file? FAIRWAY_DB says where the store is"))
        }
        StoreError::Damaged { .. } => (
            "store_damaged",
            Fault,
            Some("restore the newest snapshot; the bytes here are kept: fairway restore --latest"),
        ),
        StoreError::Lost { .. } => (
            "store_damaged",
            Fault,
            Some("restore the newest snapshot: fairway restore --latest\ngo on without them: fairway doctor --accept"),
        ),
        StoreError::Gone { .. } => (
            "store_gone",
            Fault,
            Some("restore the newest snapshot: fairway restore --latest\nbegin a new store: fairway init --new"),
        ),
        StoreError::NotOwned { .. } => (
            "store_not_owned",
            Refused,
            Some("run Fairway as that user, or have your own store: FAIRWAY_DB=$HOME/fairway.db fairway init"),
        ),
        StoreError::NetworkFileSystem { .. } => (
            "store_network",
            Refused,
            Some(
                "move it to a local disk with FAIRWAY_DB; or, where locks are known to work, set FAIRWAY_NETWORK_STORE=1",
            ),
        ),
        StoreError::Busy => ("store_busy", Busy, Some("try again; fairway doctor tells who may hold it")),
        StoreError::Held { .. } => ("store_busy", Busy, Some("try again when it is done")),
        StoreError::Replaced => ("store_replaced", Busy, Some("try again: the next call opens the new one")),
        StoreError::Full => ("store_full", Busy, Some("make room on the disk, then try again")),
        StoreError::ReadOnly { dir, .. } => return store_read_only(error, dir.as_deref()),
        StoreError::Unreadable { .. } => ("store_damaged", Fault, Some("check the store: fairway doctor")),
        StoreError::OldSqlite { .. }
        | StoreError::ColumnType { .. }
        | StoreError::Migration(_)
        | StoreError::ServerMigration { .. }
        | StoreError::Io { .. }
        | StoreError::Sqlite(_)
        | StoreError::Incomplete { .. }
        | StoreError::Postgres(_) => ("store_failed", Fault, Some("check the store: fairway doctor")),
        StoreError::Address { .. } => (
            "store_address",
            Usage,
            Some("write it as in: FAIRWAY_STORE_URL='postgres://USER@HOST/DATABASE?schema=NAME'"),
        ),
        StoreError::NoAddress => (
            "no_store_address",
            NotFound,
            Some("name the server, or set FAIRWAY_STORE_URL: fairway init --store postgres://USER@HOST/DATABASE"),
        ),
        StoreError::NoPostgres => (
            "no_postgres",
            Fault,
            Some("use a released fairway, or build one with it: cargo install --locked --path . --features postgres"),
        ),
        StoreError::PasswordOnCommandLine => (
            "password_in_arguments",
            Usage,
            Some(
                "leave it out, and give it by PGPASSFILE (~/.pgpass), FAIRWAY_STORE_URL or [store] url in .fairway/local.toml",
            ),
        ),
        StoreError::Unreachable { .. } => {
            ("store_unreachable", Busy, Some("check the server and the network, then run the same command again"))
        }
        StoreError::ServerBusy { .. } => (
            "store_busy",
            Busy,
            Some(
                "try again; if all connections are in use, allow more on the server, or stop programs: a serve or top holds 3, a waiting \
                     command 2",
            ),
        ),
        StoreError::NotWritten { .. } => ("store_busy", Busy, Some("run the same command again")),
        StoreError::OutcomeUnknown { .. } => return outcome_unknown(error),
        StoreError::Denied { why, .. } if why.starts_with("permission denied") => {
            ("store_denied", External, Some("let it connect: psql -c 'GRANT CONNECT ON DATABASE DATABASE TO USER'"))
        }
        StoreError::Denied { why, .. } if why.ends_with("does not exist") => {
            ("store_denied", External, Some("create the user on the server, or name another one: createuser USER"))
        }
        StoreError::Denied { .. } => (
            "store_denied",
            External,
            Some(
                "give the password in PGPASSWORD, or in ~/.pgpass as HOST:PORT:DATABASE:USER:PASSWORD: chmod 600 ~/.pgpass",
            ),
        ),
        // rustls: the certificate is sound, and is for another name.
        StoreError::Tls { why, .. } if why.contains("not valid for name") => (
            "store_tls",
            External,
            Some("name the server in the address as its certificate does, or have a certificate made for that name"),
        ),
        StoreError::Tls { .. } => (
            "store_tls",
            External,
            Some(
                "name the certificate of the server's authority in the address: sslrootcert=FILE; \
                 sslmode=require encrypts without knowing the server",
            ),
        ),
        StoreError::NoRights { .. } => (
            "store_read_only",
            External,
            Some(
                "let it use the schema, as its owner: psql DATABASE -c 'GRANT OWNER TO USER'\n\
                 create a schema: psql DATABASE -c 'GRANT CREATE ON DATABASE DATABASE TO USER'",
            ),
        ),
        StoreError::ServerReadOnly { .. } => {
            ("store_read_only", External, Some("see why the server takes no writes: fairway doctor"))
        }
        StoreError::NoDatabase { .. } => {
            ("store_missing", NotFound, Some("create the database, then the store: createdb DATABASE && fairway init"))
        }
        StoreError::Server { .. } => (
            "store_server",
            External,
            Some(
                "it needs PostgreSQL 14 or newer without a pooler, and a database in UTF8: \
                 createdb --template=template0 --encoding=UTF8 DATABASE",
            ),
        ),
        StoreError::NotThere { .. } => ("store_missing", NotFound, Some("create it: fairway init")),
        StoreError::MovedAway { schema, left, .. } => return store_moved_away(error, schema, left),
        StoreError::Older { .. } => ("store_older", Fault, Some("bring it up to date: fairway store migrate")),
        StoreError::NotEmpty { target } if !target.contains("://") => {
            return Failure {
                hint: Some(format!("move that file away: mv {0} {0}.old", shell_words::quote(target))),
                ..plain("store_not_empty", Conflict, escape_line(&error.to_string()))
            };
        }
        StoreError::NotEmpty { .. } => (
            "store_not_empty",
            Conflict,
            Some("name another schema, as in: fairway store copy --to 'postgres://USER@HOST/DATABASE?schema=NAME'"),
        ),
        StoreError::HostCloned { .. } => (
            "host_cloned",
            Conflict,
            Some(
                "only the copy gets a new id: if this machine is the copy, run it here, else on the other one: fairway host renew",
            ),
        ),
        StoreError::Rewound { .. } => (
            "store_rewound",
            Conflict,
            Some(
                "once for all hosts, raise its numbers above the old ones, then run the same command again: fairway store restored",
            ),
        ),
        StoreError::NoFile { .. } => (
            "store_on_server",
            Refused,
            Some(
                "use the server's own tools: pg_dump --schema=SCHEMA DATABASE\nafter a restore: fairway store restored",
            ),
        ),
    };
    // SQLite may quote arbitrary bytes of a damaged file; the message must stay one line.
    let message = escape_line(&error.to_string());
    Failure { hint: hint.map(str::to_owned), ..plain(code, kind, message) }
}

/// A write that may be done or not. Only a `--request-id` makes it safe to repeat.
fn outcome_unknown(error: &StoreError) -> Failure {
    let has_request_id = matches!(error, StoreError::OutcomeUnknown { has_request_id: true, .. });
    let hint = if has_request_id {
        "run the same command again, with the same --request-id: it is done once"
    } else {
        "a repetition is safe with a --request-id; see whether it is done first: fairway events --tail 5"
    };
    let failure = plain("outcome_unknown", FailureKind::Busy, escape_line(&error.to_string()));
    Failure { hint: Some(hint.into()), retryable: has_request_id, ..failure }
}

/// A store that was moved to a file. Its other hosts must not begin an empty one by mistake.
fn store_moved_away(error: &StoreError, schema: &str, left: &str) -> Failure {
    let hint = format!(
        "work where the file is, or bring it back: psql DATABASE -c 'ALTER SCHEMA {left} RENAME TO {schema}'\n\
         begin an empty one: fairway init"
    );
    Failure { hint: Some(hint), ..plain("store_missing", FailureKind::NotFound, escape_line(&error.to_string())) }
}

/// A store that this process may not write. Repeating the command does not help, so the failure is not retryable.
fn store_read_only(error: &StoreError, dir: Option<&Path>) -> Failure {
    let failure = plain("store_read_only", FailureKind::External, escape_line(&error.to_string()));
    let Some(dir) = dir else { return failure };
    let text = dir.display().to_string();
    let hint = format!("let this process write the store's directory: chmod u+w {}", shell_words::quote(&text));
    Failure { hint: Some(hint), details: json!({ "directory": text }), ..failure }
}

fn adapter(error: &AdapterError) -> Failure {
    let hint = match error {
        AdapterError::ProgramEnded { session, .. } => {
            Some(format!("see its last output: fairway session peek {session}"))
        }
        AdapterError::Busy { .. } => Some("try again later".into()),
        _ => None,
    };
    let details = match error {
        AdapterError::ProgramEnded { screen, .. } if !screen.is_empty() => json!({ "screen": screen }),
        _ => Value::Null,
    };
    let failure = plain(error.code(), FailureKind::External, error.to_string());
    Failure { hint, details, retryable: error.is_retryable(), ..failure }
}

/// A hint with another command, for an operation that the session's backend script does not support. `None` for an operation that
/// no other command replaces.
pub(crate) fn alternative_hint(operation: &str, session: &SessionId) -> Option<String> {
    Some(match operation {
        "nudge" => format!("to leave it a message: fairway send {session} TEXT"),
        "interrupt" => format!("to end it: fairway session stop {session}"),
        "send-keys" => format!("to press the key yourself: fairway session attach {session}"),
        _ => return None,
    })
}

/// The hint when the project of `FAIRWAY_ROOT` is gone.
fn root_gone_hint(root: &Path, found: Option<&Path>, session: Option<&str>) -> String {
    let quoted = |path: &Path| shell_words::quote(&path.to_string_lossy()).into_owned();
    let now = found.map_or_else(|| "DIR".to_owned(), quoted);
    match session {
        // A command may name the project. The hooks of the session judge by the old path, and deny.
        Some(session) => format!(
            "move the project back: mv {now} {}\n\
             or launch the session again at the new path: fairway --root {now} session relaunch {session}",
            quoted(root)
        ),
        None => format!("name the project where it is now: fairway --root {now}"),
    }
}

fn config(error: &ConfigError) -> Failure {
    let (code, kind, hint) = match error {
        ConfigError::NoProject { missing: Some(path), .. } => {
            let root = path.parent().unwrap_or(path).to_string_lossy();
            let root = shell_words::quote(&root);
            let hint = format!(
                "write its trusted text again, as a person: fairway --root {root} init\n\
                 or set the project up anew, as after an undo: fairway --root {root} setup"
            );
            return Failure { hint: Some(hint), ..plain("no_project", FailureKind::NotFound, error.to_string()) };
        }
        ConfigError::NoProject { .. } => {
            ("no_project", FailureKind::NotFound, Some("connect this repository and your agents: fairway setup"))
        }
        ConfigError::RootGone { root, found, session } => {
            let hint = root_gone_hint(root, found.as_deref(), session.as_deref());
            return Failure { hint: Some(hint), ..plain("no_project", FailureKind::NotFound, error.to_string()) };
        }
        ConfigError::NotInRepository { place, repository } => {
            let text = format!("gitdir: {}", repository.display());
            let (text, file) = (shell_words::quote(&text), place.join(".git").to_string_lossy().into_owned());
            let hint = format!("connect it, then go on: echo {text} >{} && fairway init", shell_words::quote(&file));
            return Failure { hint: Some(hint), ..plain("no_worktree", FailureKind::Refused, error.to_string()) };
        }
        ConfigError::NoWorkingDir { .. } => (
            "no_project",
            FailureKind::NotFound,
            Some("go to a directory that exists, or name the project: fairway --root DIR"),
        ),
        ConfigError::Unreadable { .. } => ("config_unreadable", FailureKind::Failure, None),
        ConfigError::Syntax { .. } | ConfigError::UnknownKey { .. } | ConfigError::Value { .. } => {
            ("config_invalid", FailureKind::Usage, Some("see all problems: fairway config check"))
        }
        ConfigError::All { problems } => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let hint = Some("see every key and its values: fairway config example".to_owned());
            let details = json!({ "problems": problems });
            return Failure { hint, details, ..plain("config_invalid", FailureKind::Usage, error.to_string()) };
        }
    };
    Failure { hint: hint.map(str::to_owned), ..plain(code, kind, error.to_string()) }
}
