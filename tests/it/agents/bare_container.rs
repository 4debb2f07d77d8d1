//! Two guarded agents after three commands, in a container without any configuration of theirs: a home, temporary directories,
//! mounts and processes of its own. The keys that a person must press in the agents' windows are counted and listed.
//!
//! `just agents` runs it and prints its report. Claude Code asks its maker's server before its first screen, which a machine
//! without a network cannot: its settings say that this was done. Its usual mode has that server judge each call: its settings
//! choose the mode in which a person is asked. Codex's settings have the name and address of its model, and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use fairway_core::os::poll_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::agent_programs::Agent;
use crate::common::mock_models::{AT_ONCE, MockModels, SLOW};
use crate::common::test_project::{CommandOutput, FAIRWAY};
use crate::common::{reexec, require};
use crate::sessions::text;

/// The directory that is empty inside the container: programs, home and project are made below it.
const PLACE: &str = "/srv";

/// Hides whatever belongs to this machine's user, then runs the arguments with an environment of nothing but `-i`'s.
const ENTER: &str = "mount -t tmpfs tmpfs /srv
mount -t tmpfs tmpfs /usr/local/bin
for dir in /tmp /var/tmp; do case $PLAYER in $dir/*) ;; *) mount -t tmpfs tmpfs $dir ;; esac; done
for dir in /etc/claude-code /etc/codex /etc/gemini-cli; do if [ -d $dir ]; then mount -t tmpfs tmpfs $dir; fi; done
exec env -i \"$@\"";

/// How long anything may take that must come.
const LIMIT: Duration = Duration::from_secs(90);

/// A question in an agent's window, the keys that a person answers it with, and its kind.
const QUESTIONS: &[(&str, &[&str], &str)] = &[
    ("Yes, I trust this folder", &["Down", "Enter"], "trust in the directory"),
    ("Do you want to use this API key?", &["Up", "Enter"], "login"),
    ("Choose how you want to use Codex", &["3"], "login"),
    ("1. Use an OpenAI API key", &["Enter"], "login"),
    ("Use your own OpenAI API key", &["Enter"], "login"),
    ("1. Trust and continue", &["Enter"], "trust in the directory"),
    ("2. Trust all and continue", &["2", "Enter"], "trust in the hooks"),
    ("Do you want to proceed?", &["Enter"], "permission"),
];

/// How many commands there are to type.
const COMMANDS: usize = 3;

#[test]
#[ignore = "`just agents` runs it"]
fn two_guarded_agents_are_at_work_after_three_commands_in_a_bare_container() {
    if reexec::part().is_some() {
        return scenario();
    }
    let programs = [Agent::Claude, Agent::Codex].map(Agent::program);
    let [Some(claude), Some(codex)] = programs else { return };
    if !require::root() || !require::program("unshare") || !require::program("tmux") {
        return;
    }
    let player = env::current_exe().unwrap();
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let dirs = [claude.parent().unwrap(), codex.parent().unwrap()].map(|dir| dir.display().to_string());
    let path = format!("/usr/local/bin:{}:{}", dirs[0], variable("PATH"));
    let cache = claude.ancestors().find(|dir| dir.ends_with("fairway-tests")).and_then(Path::parent).unwrap();
    let name = "agents::bare_container::two_guarded_agents_are_at_work_after_three_commands_in_a_bare_container";
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .args(["bash", "-euc", ENTER, "bare"])
        .arg(format!("HOME={PLACE}/home"))
        .arg(format!("PATH={path}"))
        .arg(format!("XDG_CACHE_HOME={}", cache.display()))
        .args([
            "LANG=C.UTF-8",
            "TERM=xterm-256color",
            "FAIRWAY_TEST_PART=inside",
            &format!("FAIRWAY_TEST_PLACE={PLACE}"),
        ])
        .arg(&player)
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .env("PLAYER", &player)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("== report"), "{:?}", output.status);
}

/// A person at the container's terminal.
struct Person {
    home: PathBuf,
    shop: PathBuf,
    vars: Vec<(&'static str, String)>,
    models: MockModels,
    /// The commands typed, with their time.
    commands: Vec<(String, Duration)>,
    /// The keys pressed in the agents' windows: agent, question, keys, kind.
    keys: Vec<(String, &'static str, &'static [&'static str], &'static str)>,
}

impl Person {
    /// A program as the person runs it.
    fn runs(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.shop).env("HOME", &self.home);
        for name in ["PATH", "LANG", "TERM"] {
            command.env(name, env::var_os(name).unwrap_or_default());
        }
        command.envs(self.vars.iter().cloned());
        command
    }

    /// Types one of the commands that the report counts.
    fn types(&mut self, words: &[&str]) -> CommandOutput {
        let begun = Instant::now();
        let output: CommandOutput = self.runs("fairway").args(words).output().unwrap().into();
        self.commands.push((format!("fairway {}", shell_words::join(words)), begun.elapsed()));
        println!("$ fairway {}\n{}{}", words.join(" "), output.stdout, output.stderr);
        output.exits(0)
    }

    /// A look or an act that the report does not count.
    fn json(&self, words: &[&str]) -> Value {
        CommandOutput::from(self.runs("fairway").args(words).arg("--json").output().unwrap()).exits(0).json()
    }

    fn git(&self, words: &[&str]) -> String {
        let output = self.runs("git").args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn session(&self, id: &str) -> Value {
        let all = self.json(&["session", "list", "--all"]);
        all.as_array().unwrap().iter().find(|one| one["id"] == id).cloned().unwrap_or_else(|| panic!("{id}: {all}"))
    }

    fn tmux(&self, session: &Value, words: &[&str]) -> String {
        let (socket, pane) = (text(&session["socket"]), text(&session["pane"]));
        let (verb, rest) = words.split_first().unwrap();
        let output = self.runs("tmux").args(["-S", &socket, verb, "-t", &pane]).args(rest).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The end of a session's screen, where a program asks.
    fn screen(&self, session: &Value) -> String {
        let screen = self.tmux(session, &["capture-pane", "-p"]);
        let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(24)..].join("\n")
    }

    fn press(&self, session: &Value, keys: &[&str]) {
        for key in keys {
            self.tmux(session, &["send-keys", key]);
            sleep(Duration::from_millis(400));
        }
    }

    /// Answers the agents' questions in their windows until something is seen.
    fn answers_until<T>(&mut self, sessions: &[&str], what: &str, mut seen: impl FnMut(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = seen(self) {
                return found;
            }
            for id in sessions {
                let session = self.session(id);
                let screen = self.screen(&session);
                let asked = QUESTIONS.iter().find(|(sign, ..)| screen.contains(sign));
                if let Some((sign, keys, kind)) = asked {
                    self.press(&session, keys);
                    self.keys.push(((*id).to_owned(), *sign, *keys, *kind));
                    // The next question comes when this one is gone.
                    poll_until::poll_until(Duration::from_secs(30), Duration::from_millis(100), || {
                        (!self.screen(&session).contains(sign)).then_some(())
                    });
                }
            }
            if begun.elapsed() > LIMIT {
                let screens: Vec<String> = sessions.iter().map(|id| self.screen(&self.session(id))).collect();
                panic!("never: {what}\n{}\n{:#?}", screens.join("\n----\n"), self.keys);
            }
            sleep(Duration::from_millis(200));
        }
    }

    /// Sees it without any answer.
    fn sees<T>(&self, id: &str, what: &str, mut seen: impl FnMut() -> Option<T>) -> T {
        poll_until::poll_until(LIMIT, Duration::from_millis(50), &mut seen)
            .unwrap_or_else(|| panic!("never: {what}\n{}", self.screen(&self.session(id))))
    }

    fn rows(&self, query: &str) -> Vec<String> {
        let store = Connection::open(self.shop.join(".fairway/fairway.db")).unwrap();
        store.busy_timeout(Duration::from_secs(10)).unwrap();
        let mut query = store.prepare(query).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// The newest request that tells the model this.
    fn told(&self, word: &str) -> Option<crate::common::mock_models::ModelRequest> {
        self.models.requests().into_iter().rev().find(|request| request.has_new(word))
    }
}

fn scenario() {
    let models = MockModels::start();
    let place = Path::new(PLACE);
    let (home, shop) = (place.join("home"), place.join("home/shop"));
    fs::create_dir_all(&shop).unwrap();
    std::os::unix::fs::symlink(FAIRWAY, "/usr/local/bin/fairway").unwrap();
    fs::write(home.join(".claude.json"), json!({ "hasCompletedOnboarding": true }).to_string()).unwrap();
    for name in [".claude", ".codex"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    let asks = json!({ "permissions": { "defaultMode": "default" } });
    fs::write(home.join(".claude/settings.json"), asks.to_string()).unwrap();
    fs::write(
        home.join(".codex/config.toml"),
        format!("model = \"mock-model\"\nopenai_base_url = \"{}/v1\"\n", models.address()),
    )
    .unwrap();
    let key = "mock-key-000000000000000000000000".to_owned();
    let vars = vec![
        ("ANTHROPIC_BASE_URL", models.address().to_owned()),
        ("ANTHROPIC_API_KEY", key.clone()),
        ("OPENAI_API_KEY", key),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
    ];
    let mut person = Person { home, shop, vars, models, commands: Vec::new(), keys: Vec::new() };
    person.git(&["config", "--global", "user.name", "Ann"]);
    person.git(&["config", "--global", "user.email", "ann@example.org"]);
    person.git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(person.shop.join("README"), "shop\n").unwrap();
    person.git(&["add", "README"]);
    person.git(&["commit", "--quiet", "--message=shop"]);

    let begun = Instant::now();
    let work = |word: &str, then: &str| {
        format!(
            "{word}: RUN[[git push --force origin HEAD]] and RUN[[echo {word} >work.txt && git add work.txt && \
             git commit -q -m {word} && fairway note 'half of it'{then}]]"
        )
    };
    person.types(&["setup", "--yes"]);
    person.types(&["start", "Fix the tax", "--provider", "claude", "--prompt", &work("tax", "")]);
    person.types(&[
        "start",
        "Fix the date",
        "--provider",
        "codex",
        "--prompt",
        &work("date", " && fairway task submit T-2"),
    ]);
    let (claude, codex) = ("T-1-claude", "T-2-codex");
    let both = [claude, codex];

    // At work: each has read its prompt, has committed in its lane, and has written to the store.
    let arrived = "SELECT s.id FROM messages m JOIN agent_sessions s ON s.first_prompt = m.id WHERE m.status = 'acknowledged' \
                   ORDER BY s.id";
    person.answers_until(&both, "both prompts arrive", |person| (person.rows(arrived) == both).then_some(()));
    let at_work = begun.elapsed();
    let noted = "SELECT task_id FROM checkpoints WHERE summary = 'half of it' ORDER BY task_id";
    person.answers_until(&both, "both have noted", |person| (person.rows(noted) == ["T-1", "T-2"]).then_some(()));
    for (lane, word) in [("T-1", "tax"), ("T-2", "date")] {
        assert_eq!(person.git(&["log", "--format=%s", "-1", &format!("lane/{lane}")]).trim(), word);
    }
    let status = |person: &Person, task: &str| text(&person.json(&["task", "show", task])["status"]);
    person.sees(codex, "the task is submitted from the sandbox", || (status(&person, "T-2") == "review").then_some(()));
    let claims = "SELECT task_id || ' ' || session_id FROM claims ORDER BY task_id";
    assert_eq!(person.rows(claims), ["T-1 T-1-claude", "T-2 T-2-codex"]);

    // Guarded: each was denied the same call, by the rule that `setup` wrote.
    let denied = "SELECT DISTINCT session_id FROM guard_decisions WHERE allowed = 0 AND rule = 'no-force-push' ORDER BY session_id";
    person.sees(claude, "both calls are denied", || (person.rows(denied) == both).then_some(()));

    // Esc in the middle of a turn, and the next prompt.
    for id in both {
        let session = person.session(id);
        person.sees(id, "it is idle", || (person.session(id)["activity"] == "idle").then_some(()));
        let slow = format!("{SLOW}, {id}");
        person.json(&["prompt", id, &slow]);
        person.sees(id, "its turn has begun", || person.told(&slow));
        person.press(&session, &["Escape"]);
        person.sees(id, "its turn is over", || (!person.screen(&session).contains("esc to interrupt")).then_some(()));
        // Claude Code puts the text back into its input line.
        person.press(&session, &["C-u"]);
        let after = format!("after the interruption of {id}, {AT_ONCE}");
        let sent = person.json(&["prompt", id, &after, "--wait-ack", "60s"]);
        assert_eq!(sent["message"]["status"], "acknowledged", "{sent}");
        person.sees(id, "the model is told", || person.told(&after));
        person.sees(id, "it is idle again", || (person.session(id)["activity"] == "idle").then_some(()));
    }

    // One dies, which is said within a second, and comes back with its conversation.
    let pid = i32::try_from(person.session(claude)["pid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let killed = Instant::now();
    let relaunch = format!("fairway session relaunch {claude}");
    person.sees(codex, "status names the dead", || {
        let status = person.runs("fairway").arg("status").output().unwrap();
        String::from_utf8_lossy(&status.stdout).contains(&relaunch).then_some(())
    });
    let told_after = killed.elapsed();
    assert!(told_after < Duration::from_secs(1), "{told_after:?}");
    let asked = |person: &Person| person.keys.iter().filter(|(_, _, _, kind)| !kind.starts_with("permission")).count();
    let before = asked(&person);
    let go_on = "go on: RUN[[fairway claim T-1]] and RUN[[fairway task submit T-1]]";
    let again = person.json(&["session", "relaunch", claude, "--prompt", go_on]);
    assert_eq!(again["conversation"], person.session(claude)["external_session_id"]);
    let next = text(&again["id"]);
    let request = person.answers_until(&[&next], "the model is told to go on", |person| person.told("go on"));
    assert!(request.count("after the interruption of T-1-claude") > 0, "its conversation is lost");
    person.answers_until(&[&next], "the task is submitted", |person| (status(person, "T-1") == "review").then_some(()));
    assert_eq!(asked(&person), before, "the relaunch asked: {:#?}", person.keys);

    assert_eq!(person.commands.len(), COMMANDS);
    let clean = person.git(&["status", "--short", "--untracked-files=no"]);
    assert_eq!(clean, "");
    report(&person, at_work, begun.elapsed(), told_after);
    for id in [codex, next.as_str()] {
        person.json(&["session", "stop", id]);
    }
}

fn report(person: &Person, at_work: Duration, whole: Duration, told_after: Duration) {
    println!("== report: two guarded agents in a bare container");
    for (program, words) in [("claude", "--version"), ("codex", "--version")] {
        let version = person.runs(program).arg(words).output().unwrap();
        println!("{program:<8} {}", String::from_utf8_lossy(&version.stdout).trim());
    }
    println!("commands after the install: {}", person.commands.len());
    for (command, took) in &person.commands {
        println!("  {:>5.1} s  {}", took.as_secs_f64(), command.lines().next().unwrap_or_default());
    }
    let count = |kinds: &[&str]| -> usize {
        let of_kind = person.keys.iter().filter(|(_, _, _, kind)| kinds.iter().any(|word| kind.starts_with(word)));
        of_kind.map(|(_, _, keys, _)| keys.len()).sum()
    };
    println!("keys pressed in the agents' windows for login and trust: {}", count(&["login", "trust"]));
    println!("keys pressed for permissions: {}", count(&["permission"]));
    for (agent, question, keys, kind) in &person.keys {
        println!("  {agent:<11} {:<11} {kind}: {question}", keys.join(" "));
    }
    println!(
        "both at work after {:.1} s; dead agent in `status` after {} ms",
        at_work.as_secs_f64(),
        told_after.as_millis()
    );
    println!("denied in both lanes: git push --force; the whole scenario took {:.1} s", whole.as_secs_f64());
}
