//! The real command lines as a launch starts them: hooks, first prompt and directories come from the built-in profiles. Nothing
//! is installed, and the projects' settings name no provider.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fairway_core::config;
use fairway_core::domain::rules::screen_state;
use fairway_core::os::poll_until::poll_until;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use super::RULES;
use crate::common::agent_programs::Agent;
use crate::common::mock_models::{ESCALATED, MockModels, ModelRequest};
use crate::sessions::{EVENTUALLY_TIMEOUT, Sessions, eventually, marked, text};

/// A repository with a lane, in which an agent is launched.
struct Lane {
    world: Sessions,
    models: MockModels,
    agent: Agent,
    program: PathBuf,
    vars: Vec<(&'static str, String)>,
}

impl Lane {
    /// `None` where the agent is not installed.
    fn of(agent: Agent) -> Option<Self> {
        let program = agent.program()?;
        let (models, world) = (MockModels::start(), Sessions::with_git());
        let vars = agent.configure(&world, &models);
        world.configure(RULES);
        world.run(["trust"]).exits(0);
        world.run(["lane", "add", "l", "--create-worktree"]).exits(0);
        Some(Self { world, models, agent, program, vars })
    }

    fn worktree(&self) -> PathBuf {
        self.world.root().join(".fairway/worktrees/l")
    }

    /// The words of a launch with these flags and arguments of the agent.
    fn words(&self, flags: &[&str], args: &[String]) -> Vec<String> {
        let mut words: Vec<String> =
            ["session", "launch", "--role", "dev", "--backend", "tmux", "--id", "s"].map(str::to_owned).to_vec();
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        for (name, value) in
            self.vars.iter().map(|(name, value)| (*name, value.as_str())).chain([("TERM", "xterm-256color")])
        {
            words.extend(["--env".to_owned(), format!("{name}={value}")]);
        }
        words.extend(["--".to_owned(), self.program.display().to_string()]);
        words.extend_from_slice(args);
        words
    }

    /// Launches; answers the session with its notes.
    fn launch(&self, flags: &[&str], args: &[String]) -> Value {
        let mut words = self.words(flags, args);
        words.insert(2, "--json".to_owned());
        self.world.run(&words).exits(0).json()
    }

    /// Presses keys in the agent's own window, as a person does.
    fn press(&self, session: &Value, keys: &[&str]) {
        for key in keys {
            let socket = text(&session["socket"]);
            let pane = text(&session["pane"]);
            let done = Command::new("tmux").args(["-S", &socket, "send-keys", "-t", &pane, key]).status().unwrap();
            assert!(done.success());
            std::thread::sleep(Duration::from_millis(400));
        }
    }

    fn screen(&self) -> String {
        self.world.run(["session", "peek", "s", "--lines", "0"]).exits(0).stdout
    }

    /// Waits for a screen; one that never comes shows the last.
    #[track_caller]
    fn screen_is(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), || is_so(&self.screen()).then_some(()))
            .unwrap_or_else(|| panic!("never: {what}\n{}", self.screen()));
    }

    #[track_caller]
    fn shows(&self, what: &str) {
        self.screen_is(what, |screen| screen.contains(what));
    }

    /// The row of the session's first prompt.
    fn first_prompt(&self) -> std::collections::BTreeMap<String, String> {
        let query = "SELECT m.* FROM messages m JOIN agent_sessions s ON s.first_prompt = m.id WHERE s.id = 's'";
        self.world.rows(query).pop().expect("the first prompt")
    }

    fn first_prompt_arrives(&self) {
        eventually("it is acknowledged", || (self.first_prompt()["status"] == "acknowledged").then_some(()));
        assert_eq!(self.first_prompt()["channel"], "turn_start");
    }

    /// The rules that have denied a call, once there is one: an agent may make several calls at once.
    fn denied_by(&self) -> Vec<String> {
        eventually("a call is denied", || {
            let denied = self.world.rows("SELECT rule FROM guard_decisions WHERE allowed = 0");
            Some(denied.iter().map(|row| row["rule"].clone()).collect::<Vec<_>>()).filter(|rules| !rules.is_empty())
        })
    }

    /// A prompt that has the model ask for a command. Codex asks a person only for what its sandbox does not allow.
    fn asks_for(&self, command: &str) -> String {
        let mark = if self.agent == Agent::Codex { ESCALATED } else { "" };
        format!("RUN[[{command}{mark}]]")
    }

    /// A question of the model with choices is answered by one of them.
    fn chooses(&self) {
        let option = |label: &str| json!({ "label": label, "description": "one of two" });
        let asked = json!({ "questions": [{
            "question": "Which currency for refunds?", "header": "Currency", "multiSelect": false,
            "options": [option("Euro"), option("Dollar")],
        }] });
        let prompt = format!("TOOL[[AskUserQuestion {asked}]]");
        self.world.run(["session", "nudge", "s", "--force", &prompt]).exits(0);
        self.shows("Enter to select");
        let need = eventually("its question", || {
            let needs = self.world.json(["status"])["needs_you"].clone();
            needs.as_array().unwrap().iter().find(|need| need["kind"] == "question").cloned()
        });
        assert_eq!(need["line"], "Which currency for refunds? (Euro / Dollar)");
        let id = text(&need["id"]);
        self.world.run(["answer", &id, "Yen", "--json"]).refuses(5, "not_answerable");
        self.world.run(["answer", &id, "Dollar"]).exits(0);
        eventually("the model is told", || {
            let is_told =
                |request: &ModelRequest| request.count("Which currency for refunds?") > 1 && request.has_new("Dollar");
            self.models.requests().iter().any(is_told).then_some(())
        });
    }

    fn has(&self, name: &str) -> bool {
        self.worktree().join(name).exists()
    }

    fn stop(&self, session: &Value) {
        self.world.run(["session", "stop", "s"]).exits(0);
        let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
    }
}

/// The files below a directory that hold a text, apart from the store, its snapshots and transcripts.
fn files_with(dir: &Path, what: &str, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_symlink() || name.starts_with("fairway.db") || name == "snapshots" {
        } else if path.is_dir() {
            files_with(&path, what, found);
        } else if path.is_file() && String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(what) {
            found.push(path);
        }
    }
}

/// The processes whose command line holds a text.
fn command_lines_with(what: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    let lines = all.filter_map(|path| Some(String::from_utf8_lossy(&fs::read(path).ok()?).replace('\0', " ")));
    lines.filter(|line| line.contains(what)).collect()
}

/// Words that no other test puts into a command line at the same time.
fn secret() -> String {
    format!("the word xylophone-{}", std::process::id())
}

fn it_begins_guarded_in_a_lane(agent: Agent) {
    let Some(lane) = Lane::of(agent) else { return };
    let secret = secret();
    let prompt = format!("{secret}: RUN[[touch denied]] then RUN[[touch allowed]]");
    let session = lane.launch(&["--lane", "l", "--prompt", &prompt], &agent.unattended_args());
    assert_eq!(session["provider"], agent.name());
    assert_eq!(session["notes"], serde_json::json!([]));
    lane.first_prompt_arrives();
    eventually("it works", || lane.has("allowed").then_some(()));
    assert_eq!(lane.denied_by(), ["no-canary"]);

    let heard = eventually("the model is told", || lane.models.requests().pop());
    assert_eq!(heard.count(&secret), 1, "{heard:#?}");
    assert!(heard.count("Run `fairway prime` and begin.") > 0, "{heard:#?}");
    assert_eq!(command_lines_with(&secret), Vec::<String>::new());
    assert!(!command_lines_with("Run `fairway prime` and begin.").is_empty());
    let mut found = Vec::new();
    files_with(&lane.world.root().join(".fairway"), &secret, &mut found);
    files_with(&lane.world.dir().join("home/.local/state"), &secret, &mut found);
    assert_eq!(found, Vec::<PathBuf>::new());
    // Nothing has come into the repository.
    let changed = lane.world.git(&lane.worktree(), &["status", "--short"]);
    assert!(!changed.contains(agent.name()), "{changed}");
    lane.stop(&session);
    assert!(!lane.has("denied"));
}

#[test]
fn claude_code_begins_guarded_in_a_lane_and_its_prompt_is_in_no_command_line() {
    it_begins_guarded_in_a_lane(Agent::Claude);
}

#[test]
fn codex_begins_guarded_in_a_lane_and_its_prompt_is_in_no_command_line() {
    it_begins_guarded_in_a_lane(Agent::Codex);
}

/// In a directory that it does not know it asks a person. Fairway does not answer, and the prompt comes after the answer.
fn prompt_survives_the_trust_question(agent: Agent, question: &str, keys: &[&[&str]]) {
    let Some(mut lane) = Lane::of(agent) else { return };
    lane.vars.retain(|(name, _)| *name != "GEMINI_CLI_TRUST_WORKSPACE");
    let home = lane.world.dir().join("home");
    let untrusted = |path: &str, change: &dyn Fn(String) -> String| {
        let text = fs::read_to_string(home.join(path)).unwrap();
        fs::write(home.join(path), change(text)).unwrap();
    };
    match agent {
        Agent::Claude => untrusted(".claude.json", &|text| text.replace("hasTrustDialogAccepted\":true", "x\":1")),
        Agent::Gemini => {
            // A launch cannot bring its hooks.
            drop(lane.world.run(["hook", "install", "gemini", "--user"]).exits(0));
        }
        Agent::Codex => untrusted(".codex/config.toml", &|text| text.split("[projects").next().unwrap().to_owned()),
    }
    let session = lane.launch(&["--lane", "l", "--prompt", &secret()], &[]);
    lane.shows(question);
    // Nothing types meanwhile.
    lane.world.run(["session", "reconcile"]).exits(0);
    std::thread::sleep(Duration::from_secs(2));
    lane.shows(question);
    assert_eq!(lane.first_prompt()["status"], "queued");
    let is_told = |request: &ModelRequest| request.count(&secret()) > 0;
    assert!(!lane.models.requests().iter().any(is_told));
    for part in keys {
        lane.press(&session, part);
        std::thread::sleep(Duration::from_secs(2));
    }
    lane.first_prompt_arrives();
    let heard = eventually("the model is told", || lane.models.requests().into_iter().find(is_told));
    assert_eq!(heard.count(&secret()), 1, "{heard:#?}");
    lane.stop(&session);
}

/// Two keys: the choice of trust, and Enter.
#[test]
fn claude_code_trust_question_is_left_to_a_person_and_the_prompt_comes_after_it() {
    prompt_survives_the_trust_question(Agent::Claude, "Yes, I trust this folder", &[&["Down", "Enter"]]);
}

/// It restarts itself once a person has answered.
#[test]
fn gemini_cli_restarts_after_its_trust_question_and_the_prompt_comes_after_it() {
    prompt_survives_the_trust_question(Agent::Gemini, "2. Trust parent", &[&["Enter"]]);
}

/// Three keys: Enter for the directory, and the choice with Enter for the hooks.
#[test]
fn codex_trust_questions_are_left_to_a_person_and_the_prompt_comes_after_them() {
    prompt_survives_the_trust_question(Agent::Codex, "Trust this folder?", &[&["Enter"], &["2", "Enter"]]);
}

/// Codex skips hooks that nobody has trusted. The launch says so; once trusted, they hold in every later launch.
#[test]
fn codex_launch_says_that_its_hooks_wait_for_trust_until_they_are_trusted() {
    let Some(lane) = Lane::of(Agent::Codex) else { return };
    let session = lane.launch(&["--lane", "l", "--prompt", &secret()], &[]);
    let note = text(&session["notes"][0]);
    assert!(note.contains("skips the hooks of Fairway until you trust them") && note.contains("no guard"), "{note}");
    lane.shows("Hooks need review");
    lane.press(&session, &["2", "Enter"]);
    lane.first_prompt_arrives();
    lane.world.run(["session", "stop", "s"]).exits(0);
    lane.world.run(["lane", "add", "m", "--create-worktree"]).exits(0);
    let again = lane.launch(&["--lane", "m"], &[]);
    assert_eq!(again["notes"], serde_json::json!(["session s has ended; the new session is s-2"]));
    lane.world.run(["session", "stop", "s-2"]).exits(0);
    let _ = Command::new("tmux").args(["-S", &text(&session["socket"]), "kill-server"]).output();
}

/// Installed hooks and those of the launch run both; each event counts once.
#[test]
fn claude_code_event_counts_once_when_the_hooks_are_installed_as_well() {
    let Some(lane) = Lane::of(Agent::Claude) else { return };
    lane.world.run(["hook", "install", "claude", "--user"]).exits(0);
    let secret = secret();
    let prompt = format!("{secret}: RUN[[touch denied]] then RUN[[touch allowed]]");
    let session = lane.launch(&["--lane", "l", "--prompt", &prompt], &lane.agent.unattended_args());
    lane.first_prompt_arrives();
    eventually("it works", || lane.has("allowed").then_some(()));
    eventually("it is idle", || (lane.world.session("s")["activity"] == "idle").then_some(()));
    assert_eq!(lane.denied_by(), ["no-canary"]);
    assert!(!lane.has("denied"));
    let heard = lane.models.requests().pop().unwrap();
    assert_eq!(heard.count("You are the session s,"), 1, "{heard:#?}");
    assert_eq!(heard.count(&secret), 1, "{heard:#?}");
    let log = "SELECT data FROM events WHERE kind = 'session.activity' AND session_id = 's'";
    let to_busy = lane.world.rows(log).into_iter().filter(|row| row["data"].contains("\"to\":\"busy\"")).count();
    assert_eq!(to_busy, 1);
    lane.stop(&session);
}

/// The settings of a launch come before those of the user and of the lane.
#[test]
fn claude_code_is_guarded_where_other_settings_files_turn_hooks_off() {
    let Some(lane) = Lane::of(Agent::Claude) else { return };
    for (dir, file) in [(lane.world.dir().join("home"), "settings.json"), (lane.worktree(), "settings.local.json")] {
        fs::create_dir_all(dir.join(".claude")).unwrap();
        fs::write(dir.join(".claude").join(file), "{\"disableAllHooks\": true}").unwrap();
    }
    let prompt = "RUN[[touch denied]] then RUN[[touch allowed]]";
    let session = lane.launch(&["--lane", "l", "--prompt", prompt], &lane.agent.unattended_args());
    eventually("it works", || lane.has("allowed").then_some(()));
    assert_eq!(lane.denied_by(), ["no-canary"]);
    assert!(!lane.has("denied"));
    lane.stop(&session);
}

/// An agent that the session's agent starts has its environment, but not the launch's hooks: the installed ones act in it.
#[test]
fn agent_started_inside_a_launched_session_is_guarded_by_the_installed_hooks() {
    let Some(lane) = Lane::of(Agent::Claude) else { return };
    lane.world.run(["hook", "install", "claude", "--user"]).exits(0);
    let words = lane.agent.headless_args("'RUN[[touch denied]] then RUN[[touch allowed]]'");
    fs::write(lane.world.dir().join("inner.sh"), format!("{} {}", lane.program.display(), words.join(" "))).unwrap();
    let prompt = format!("RUN[[sh {}/inner.sh]]", lane.world.dir().display());
    let session = lane.launch(&["--lane", "l", "--prompt", &prompt], &lane.agent.unattended_args());
    eventually("the inner one works", || lane.has("allowed").then_some(()));
    assert_eq!(lane.denied_by(), ["no-canary"]);
    assert!(!lane.has("denied"));
    lane.stop(&session);
}

/// In Codex's own sandbox, without its exception for temporary directories, an agent in a lane claims, commits and rebases.
#[test]
fn codex_in_its_sandbox_claims_and_commits_in_a_linked_worktree() {
    let Some(lane) = Lane::of(Agent::Codex) else { return };
    let config = lane.world.dir().join("home/.codex/config.toml");
    let other = lane.world.dir().join("other");
    fs::create_dir(&other).unwrap();
    let sandbox = format!(
        "[sandbox_workspace_write]\nwritable_roots = [\"{}\"]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n",
        other.display()
    );
    fs::write(&config, fs::read_to_string(&config).unwrap() + &sandbox).unwrap();
    lane.world.run(["task", "add", "T-1", "one"]).exits(0);
    fs::write(lane.world.root().join("base"), "").unwrap();
    lane.world.git(&lane.world.root(), &["add", "base"]);
    lane.world.git(&lane.world.root(), &["commit", "--quiet", "--message=on main"]);
    let commands = [
        format!("{} claim T-1", env!("CARGO_BIN_EXE_fairway")),
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b".to_owned(),
        "touch work; git add work; git commit -m in-lane".to_owned(),
        "git rebase main".to_owned(),
        format!("touch {}/mine", other.display()),
        format!("touch {}/outside", lane.world.root().display()),
        "touch finished".to_owned(),
    ];
    // One call, so that they run in order.
    let prompt = format!("RUN[[{}]]", commands.join("; "));
    let session = lane.launch(&["--lane", "l", "--prompt", &prompt], &lane.agent.unattended_args());
    eventually("it has finished", || lane.has("finished").then_some(()));
    let claims = lane.world.rows("SELECT session_id FROM claims WHERE task_id = 'T-1'");
    assert_eq!(claims.len(), 1, "{}", lane.screen());
    assert_eq!(claims[0]["session_id"], "s");
    let log = lane.world.git(&lane.world.root(), &["log", "--format=%s", "lane/l"]);
    assert_eq!(log.lines().take(2).collect::<Vec<_>>(), ["in-lane", "on main"], "{}", lane.screen());
    assert!(other.join("mine").exists(), "a directory of the user's own is writable still");
    // The sandbox is on.
    assert!(!lane.world.root().join("outside").exists());
    lane.stop(&session);
}

/// By the launch's permission profile Codex's own sandbox lets an agent in a lane commit and rebase, and keeps the files by which
/// git finds the lane's repository and the programs to run.
#[test]
fn codex_in_its_sandbox_cannot_write_gits_own_files_of_a_lane() {
    let Some(lane) = Lane::of(Agent::Codex) else { return };
    let plan = lane.world.run(lane.words(&["--lane", "l", "--dry-run", "--json"], &[])).exits(0).json();
    let words: Vec<String> = plan["start"]["argv"].as_array().unwrap().iter().map(text).collect();
    let of_profile = |word: &&String| word.starts_with("default_permissions=") || word.starts_with("permissions.");
    let profile: Vec<&String> = words.iter().filter(of_profile).collect();
    assert_eq!(profile.len(), 2, "{words:?}");
    // Without the exception for temporary directories, in which this test is.
    let temporary = [":slash_tmp", ":tmpdir"].map(|name| format!("permissions.fairway.filesystem.{name}=\"read\""));

    let common = lane.world.root().join(".git");
    let record = common.join("worktrees/l");
    let (record, common) = (record.display(), common.display());
    fs::write(lane.world.root().join("base"), "").unwrap();
    lane.world.git(&lane.world.root(), &["add", "base"]);
    lane.world.git(&lane.world.root(), &["commit", "--quiet", "--message=on main"]);
    let files = ["commondir", "gitdir", "config"].map(|name| match name {
        "config" => lane.world.root().join(".git/config"),
        name => lane.world.root().join(".git/worktrees/l").join(name),
    });
    let before = files.each_ref().map(|file| fs::read_to_string(file).unwrap());
    let script = format!(
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
        touch work && git add work && git commit -qm in-lane && git rebase -q main && touch finished
        for file in commondir gitdir config.worktree; do echo x >>{record}/$file; done
        echo x >>{common}/config; echo x >{common}/hooks/pre-commit
        mv {record}/commondir {record}/moved; mv {record} {record}.moved; mv {common}/hooks {common}/moved
        touch {}/outside; true",
        lane.world.root().display()
    );
    let mut codex = lane.world.command(lane.program.to_str().unwrap());
    codex.arg("sandbox").args(profile.into_iter().chain(&temporary).flat_map(|word| ["-c", word.as_str()]));
    let run = codex.args(["sh", "-c", &script]).current_dir(lane.worktree()).output().unwrap();
    assert!(lane.has("finished"), "{run:?}");
    let log = lane.world.git(&lane.world.root(), &["log", "--format=%s", "lane/l"]);
    assert_eq!(log.lines().take(2).collect::<Vec<_>>(), ["in-lane", "on main"], "{run:?}");
    assert_eq!(files.each_ref().map(|file| fs::read_to_string(file).unwrap_or_default()), before, "{run:?}");
    for path in ["worktrees/l/config.worktree", "worktrees/l/moved", "worktrees/l.moved", "hooks/pre-commit", "moved"] {
        assert!(!lane.world.root().join(".git").join(path).exists(), "{path}: {run:?}");
    }
    // The sandbox is on.
    assert!(!lane.world.root().join("outside").exists());
}

/// The question for a permission is known by its screen: nothing is typed into it, and it is answered from here by its recorded
/// dialog.
fn permission_question_is_known(agent: Agent, ready: &str, args: &[&str]) {
    let Some(lane) = Lane::of(agent) else { return };
    // No hook waits: the agent asks in its own window.
    lane.world.configure(&format!("[hooks]\napproval_wait = \"0s\"\n{RULES}"));
    lane.world.run(["trust"]).exits(0);
    if agent == Agent::Gemini {
        // Its hooks come by no launch.
        lane.world.run(["hook", "install", "gemini", "--user"]).exits(0);
    }
    let args: Vec<String> = args.iter().map(|word| (*word).to_owned()).collect();
    let session = lane.launch(&["--lane", "l"], &args);
    lane.shows(ready);
    // On a busy machine a program reads nothing for a while. An Enter that it reads together with the text is a line break.
    let run = text(&session["run_id"]);
    let signal = |signal| marked(&run).unwrap().iter().for_each(|key| drop(key.signal(signal)));
    signal(Signal::SIGSTOP);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            signal(Signal::SIGCONT);
        });
        lane.world.run(["session", "nudge", "s", &lane.asks_for("touch asked")]).exits(0);
    });
    let signs = config::built_in_profiles()[agent.name()].permission_question.clone().unwrap();
    lane.screen_is("it asks", |screen| screen_state::find_question(screen, &signs).is_some());
    lane.world.run(["session", "nudge", "s", "yes", "--json"]).refuses(4, "session_asks");
    std::thread::sleep(Duration::from_secs(1));
    assert!(screen_state::find_question(&lane.screen(), &signs).is_some() && !lane.has("asked"), "{}", lane.screen());

    // It is answered from here, in its dialog.
    let asked = |command: &str| {
        let needs = || lane.world.json(["status"])["needs_you"].clone();
        let request = || {
            let is_it = |need: &&Value| need["line"].as_str().is_some_and(|line| line.contains(command));
            needs().as_array().unwrap().iter().find(is_it).cloned()
        };
        let need = poll_until(EVENTUALLY_TIMEOUT, Duration::from_millis(20), request)
            .unwrap_or_else(|| panic!("never: the request\n{}\n{}", needs(), lane.screen()));
        lane.screen_is(command, |screen| {
            screen_state::find_question(screen, &signs).is_some() && screen.contains(command)
        });
        text(&need["id"]).split_once(':').unwrap().1.to_owned()
    };
    let id = asked("touch asked");
    let allowed = lane.world.run(["approvals", "answer", &id, "allow"]).exits(0);
    assert!(allowed.stdout.ends_with(", in its dialog\n"), "{allowed:?}");
    eventually("the command ran", || lane.has("asked").then_some(()));
    let status =
        |id: &str| lane.world.rows(&format!("SELECT status FROM approvals WHERE id = {id}"))[0]["status"].clone();
    // Its input line is there while it works, too: what is typed then is not surely its next prompt.
    eventually("its turn is over", || (lane.world.session("s")["activity"] == "idle").then_some(()));
    assert_eq!(status(&id), "allowed");
    lane.world.run(["session", "nudge", "s", "--force", &lane.asks_for("touch denied-here")]).exits(0);
    let id = asked("touch denied-here");
    // Another dialog than the one that is meant is left alone.
    let other = format!("UPDATE approvals SET input = '{{\"command\":\"touch other\"}}' WHERE id = {id}");
    let before = lane.world.rows(&format!("SELECT input FROM approvals WHERE id = {id}"))[0]["input"].clone();
    lane.world.write_rows(&other);
    lane.world.run(["approvals", "answer", &id, "allow", "--json"]).refuses(5, "not_answerable");
    lane.world.write_rows(&format!("UPDATE approvals SET input = '{before}' WHERE id = {id}"));
    lane.world.run(["approvals", "answer", &id, "deny"]).exits(0);
    lane.screen_is("its dialog is gone", |screen| screen_state::find_question(screen, &signs).is_none());
    assert_eq!((status(&id).as_str(), lane.has("denied-here")), ("denied", false));
    if agent == Agent::Claude {
        lane.chooses();
    }
    lane.stop(&session);
}

#[test]
fn permission_question_of_claude_code_is_known() {
    permission_question_is_known(Agent::Claude, "manual mode", &["--permission-mode", "default"]);
}

#[test]
fn permission_question_of_gemini_cli_is_known() {
    permission_question_is_known(Agent::Gemini, "Type your message", &[]);
}

#[test]
fn permission_question_of_codex_is_known() {
    let args = Agent::Codex.unattended_args();
    permission_question_is_known(
        Agent::Codex,
        "Ask Codex to do anything",
        &args.iter().map(String::as_str).collect::<Vec<_>>(),
    );
}
