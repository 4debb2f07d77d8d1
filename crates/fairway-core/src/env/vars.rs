//! Every environment variable that Fairway reads or sets, with what it means.

/// The user's home; the passwd entry stands in when it is absent.
pub const HOME: &str = "HOME";
/// Where programs are looked up.
pub const PATH: &str = "PATH";
/// The user's shell, which a session without a provider runs.
pub const SHELL: &str = "SHELL";
/// Where directories go that are needed for a while; `/tmp` when it is absent.
pub const TMPDIR: &str = "TMPDIR";
/// The base of the directory for state that outlives a project.
pub const XDG_STATE_HOME: &str = "XDG_STATE_HOME";
/// The base of the directory for the user's configuration.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The directory for sockets of this user's programs, which is gone when they log out.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
/// The kind of terminal on which a program draws.
pub const TERM: &str = "TERM";
/// The server of the tmux around a terminal.
pub const TMUX: &str = "TMUX";
/// The version of VTE, in its terminals.
pub const VTE_VERSION: &str = "VTE_VERSION";
/// The person's editor on a terminal that can show it, as shell text.
pub const VISUAL: &str = "VISUAL";
/// The person's editor, as shell text.
pub const EDITOR: &str = "EDITOR";
/// The person's browser: commands separated by `:`, each shell words.
pub const BROWSER: &str = "BROWSER";
/// The X11 display; there is one when it is set.
pub const DISPLAY: &str = "DISPLAY";
/// The Wayland display; there is one when it is set.
pub const WAYLAND_DISPLAY: &str = "WAYLAND_DISPLAY";
/// When set to anything, no colour.
pub const NO_COLOR: &str = "NO_COLOR";
/// The file to which a step of a GitHub workflow appends its summary.
pub const GITHUB_STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";
/// What telemetry by OpenTelemetry is about; a launch adds the session with its lane and task.
pub const OTEL_RESOURCE_ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
/// The width of the terminal, when the terminal itself does not tell.
pub const COLUMNS: &str = "COLUMNS";
/// The height of the terminal, when the terminal itself does not tell.
pub const LINES: &str = "LINES";

/// The project's root; `--root` goes before it, the walk upwards from the working directory comes after.
pub const FAIRWAY_ROOT: &str = "FAIRWAY_ROOT";
/// The store's file, when it shall not be `.fairway/fairway.db` under the root.
pub const FAIRWAY_DB: &str = "FAIRWAY_DB";
/// The address of the store on a server.
pub const FAIRWAY_STORE_URL: &str = "FAIRWAY_STORE_URL";
/// The password for the store's server.
#[cfg(feature = "postgres")]
pub const PGPASSWORD: &str = "PGPASSWORD";
/// The file of passwords of PostgreSQL's own programs; `~/.pgpass` when it is absent.
#[cfg(feature = "postgres")]
pub const PGPASSFILE: &str = "PGPASSFILE";
/// What the debug log has: `debug` or `trace`. Without it there is none.
pub const FAIRWAY_LOG: &str = "FAIRWAY_LOG";
/// The file to which the debug log is appended; stderr when it is absent. Hooks log only to a file.
pub const FAIRWAY_LOG_FILE: &str = "FAIRWAY_LOG_FILE";
/// When set to anything, a store may be on a network file system.
pub const FAIRWAY_NETWORK_STORE: &str = "FAIRWAY_NETWORK_STORE";
/// The role of the caller; `--as` overrides it.
pub const FAIRWAY_ROLE: &str = "FAIRWAY_ROLE";
/// The lane of the caller.
pub const FAIRWAY_LANE: &str = "FAIRWAY_LANE";
/// The task a session was launched for: a bare `claim` takes this one and no other.
pub const FAIRWAY_TASK_ID: &str = "FAIRWAY_TASK_ID";
/// The session of the caller; `--session` overrides it.
pub const FAIRWAY_SESSION_ID: &str = "FAIRWAY_SESSION_ID";
/// The session run: one `UUIDv7` from launch to exit.
pub const FAIRWAY_RUN_ID: &str = "FAIRWAY_RUN_ID";
/// The run that a script is starting, in the environment of that one call: what a failing start leaves is found by it. Not
/// `FAIRWAY_RUN_ID`, or a session that ends at once would take its own start for something it left behind.
pub const FAIRWAY_LAUNCH: &str = "FAIRWAY_LAUNCH";
/// The texts of a program's questions, one a line, in the environment of the one call that types into it: on a screen with one
/// of them nothing is typed.
pub const FAIRWAY_QUESTIONS: &str = "FAIRWAY_QUESTIONS";
/// The job that a process belongs to; processes that outlive the job are found by it.
pub const FAIRWAY_EXEC_RUN: &str = "FAIRWAY_EXEC_RUN";
/// The session's provider, a label.
pub const FAIRWAY_PROVIDER: &str = "FAIRWAY_PROVIDER";
/// The session's backend, a label.
pub const FAIRWAY_BACKEND: &str = "FAIRWAY_BACKEND";
/// The session's worktree.
pub const FAIRWAY_WORKTREE: &str = "FAIRWAY_WORKTREE";
/// The session's branch.
pub const FAIRWAY_BRANCH: &str = "FAIRWAY_BRANCH";
/// The session's transcript file.
pub const FAIRWAY_TRANSCRIPT: &str = "FAIRWAY_TRANSCRIPT";
/// The first of the ten TCP ports of the lane that a program works in.
pub const FAIRWAY_PORT: &str = "FAIRWAY_PORT";
/// Set for the programs of a check: what they check has its slot. A job with `wait` gets one before its program runs.
pub const FAIRWAY_SLOT: &str = "FAIRWAY_SLOT";
/// The name of the project that `docker compose` works on.
pub const COMPOSE_PROJECT_NAME: &str = "COMPOSE_PROJECT_NAME";
/// The worker API's socket, wherever it lies.
pub const FAIRWAY_SOCKET: &str = "FAIRWAY_SOCKET";
/// The file with the port of the worker API on 127.0.0.1, while a server offers one.
pub const FAIRWAY_PORT_FILE: &str = "FAIRWAY_PORT_FILE";
/// The file with the bearer token for that port.
pub const FAIRWAY_TOKEN_FILE: &str = "FAIRWAY_TOKEN_FILE";
/// The Fairway binary that launched the session, for its scripts.
pub const FAIRWAY_BIN: &str = "FAIRWAY_BIN";
/// The settings file with the hooks that the launch brings. The same hooks in the provider's other settings are silent in a
/// conversation in which those run.
pub const FAIRWAY_LAUNCH_HOOKS: &str = "FAIRWAY_LAUNCH_HOOKS";
/// The class of the sandbox around a program; the programs in one have it.
pub const FAIRWAY_SANDBOX: &str = "FAIRWAY_SANDBOX";
/// An adapter's program, as shell text; the bridges read it.
pub const FAIRWAY_PROVIDER_COMMAND: &str = "FAIRWAY_PROVIDER_COMMAND";
/// A session's first prompt: the bridges read it, and it carries a prompt that goes as an argument or through a pipe to
/// scripts that run shell text.
pub const FAIRWAY_INITIAL_PROMPT: &str = "FAIRWAY_INITIAL_PROMPT";
/// Where an adapter script's multiplexer listens: a socket's path, or `default` for the person's own server. Without it the
/// script uses a private one.
pub const FAIRWAY_BACKEND_SOCKET: &str = "FAIRWAY_BACKEND_SOCKET";
/// The address of the git remote that a forge script is asked about.
pub const FAIRWAY_FORGE_REMOTE: &str = "FAIRWAY_FORGE_REMOTE";
/// Which session a multiplexer's server was started for, as a digest, where it has one of its own.
pub const FAIRWAY_SERVER: &str = "FAIRWAY_SERVER";
/// A tmux pane that is to be adopted; the tmux bridge reads it.
pub const FAIRWAY_TMUX_PANE: &str = "FAIRWAY_TMUX_PANE";
/// The socket of that pane's server; the tmux bridge reads it.
pub const FAIRWAY_TMUX_SOCKET: &str = "FAIRWAY_TMUX_SOCKET";
/// The directory where adapter scripts keep their state.
pub const FAIRWAY_ADAPTER_STATE: &str = "FAIRWAY_ADAPTER_STATE";
/// The state directory under the name that other callers of the exec session protocol use.
pub const GC_EXEC_STATE_DIR: &str = "GC_EXEC_STATE_DIR";

/// For tests: the time that the clock shows, RFC 3339.
pub const FAIRWAY_TEST_TIME: &str = "FAIRWAY_TEST_TIME";
/// For tests: a number from which ids count upwards.
pub const FAIRWAY_TEST_SEED: &str = "FAIRWAY_TEST_SEED";
/// For tests: how the guard process fails, which denies the call: `panic`, `crash` or `hang`.
pub const FAIRWAY_TEST_FAULT: &str = "FAIRWAY_TEST_FAULT";

/// Overrides `tasks.prefix`.
pub const FAIRWAY_TASKS_PREFIX: &str = "FAIRWAY_TASKS_PREFIX";
/// Overrides `claims.lease`.
pub const FAIRWAY_CLAIMS_LEASE: &str = "FAIRWAY_CLAIMS_LEASE";
/// Overrides `claims.path_conflicts`.
pub const FAIRWAY_CLAIMS_PATH_CONFLICTS: &str = "FAIRWAY_CLAIMS_PATH_CONFLICTS";
/// Overrides `sessions.default_backend`.
pub const FAIRWAY_SESSIONS_DEFAULT_BACKEND: &str = "FAIRWAY_SESSIONS_DEFAULT_BACKEND";
/// Overrides `sessions.stale_after`.
pub const FAIRWAY_SESSIONS_STALE_AFTER: &str = "FAIRWAY_SESSIONS_STALE_AFTER";
/// Overrides `agents.continue`.
pub const FAIRWAY_AGENTS_CONTINUE: &str = "FAIRWAY_AGENTS_CONTINUE";
/// Overrides `sessions.launch_timeout`.
pub const FAIRWAY_SESSIONS_LAUNCH_TIMEOUT: &str = "FAIRWAY_SESSIONS_LAUNCH_TIMEOUT";

/// Whether a shell can set a variable of this name.
pub fn is_variable_name(name: &str) -> bool {
    let is_first = |character: char| character.is_ascii_alphabetic() || character == '_';
    let is_rest = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.starts_with(is_first) && name.chars().all(is_rest)
}

/// The variables that identify a session, and the one of a check: its environment has them, and other processes must not.
pub const SESSION_IDENTITY: &[&str] = &[
    FAIRWAY_SESSION_ID, FAIRWAY_RUN_ID, FAIRWAY_ROLE, FAIRWAY_LANE, FAIRWAY_TASK_ID, FAIRWAY_PROVIDER, FAIRWAY_BACKEND,
    FAIRWAY_WORKTREE, FAIRWAY_BRANCH, FAIRWAY_TRANSCRIPT, FAIRWAY_PORT, FAIRWAY_SOCKET, FAIRWAY_PORT_FILE,
    FAIRWAY_TOKEN_FILE, FAIRWAY_LAUNCH_HOOKS, FAIRWAY_SLOT,
];
