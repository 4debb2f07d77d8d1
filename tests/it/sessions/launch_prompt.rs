//! `session launch --prompt`: the text reaches the program once, whole and as data, in each of the three ways.

use std::fs;

use fairway_core::os::process::ProcessKey;

use super::{Sessions, eventually, text};

/// Text that a shell would interpret.
const HOSTILE: &str = "say \"hi\"; $(touch canary) `touch canary` 'q' \\ $1 %s\n--flag\tend;";

/// A script of others: it keeps what it is told in files beside itself and starts `command` by a shell.
const KEEPING: &str = "#!/bin/sh
d=${0%/*}
echo \"$1\" >>\"$d/calls\"
case $1 in
  start)
    cat >\"$d/start.json\"
    [ ! -e \"$d/program\" ] || setsid -f sh \"$d/program\" \"$d\" </dev/null >/dev/null 2>&1
    ;;
  stop) ;;
  is-running) if [ -e \"$d/gone\" ]; then echo false; else echo true; fi ;;
  process-alive) if [ -e \"$d/alive\" ]; then echo true; else echo false; fi ;;
  peek) cat \"$d/screen\" 2>/dev/null; exit 0 ;;
  nudge) [ ! -e \"$d/mute\" ] || exit 2; cat >>\"$d/nudge\" ;;
  protocol) [ -e \"$d/protocol\" ] || exit 2; cat \"$d/protocol\" ;;
  *) exit 2 ;;
esac
";

fn start_of(world: &Sessions) -> serde_json::Value {
    serde_json::from_slice(&fs::read(world.dir().join("start.json")).unwrap()).unwrap()
}

fn configured(text: &str) -> Sessions {
    let world = Sessions::new();
    world.configure(text);
    world.run(["trust"]).exits(0);
    world
}

#[test]
fn argument_prompt_is_one_exact_argument() {
    let world = configured("[providers.p]\ncommand = \"sh ../keep 'a b'\"\nprompt = \"argument\"\n");
    world.script("keep", "[ -z \"${FAIRWAY_INITIAL_PROMPT:-}\" ] || exit 9; for word; do printf '%s\\0' \"$word\"; done >../words; sleep 300\n");
    let expected = format!("a b\0{HOSTILE}\0");
    let session = world.launch(&["--role", "r", "--provider", "p", "--name", "s1", "--prompt", HOSTILE]);
    assert_eq!(session["status"], "running");
    let kept = || fs::read_to_string(world.dir().join("words")).ok().filter(|kept| *kept == expected);
    eventually("the words", kept);
    world.run(["session", "stop", "s1"]).exits(0);
    // The shell's own text says where it goes.
    world.configure("[providers.p]\ncommand = \"cd .. && sh keep \\\"$1\\\" & wait\"\nprompt = \"argument\"\n");
    world.run(["trust"]).exits(0);
    fs::remove_file(world.dir().join("words")).unwrap();
    world.script("keep", "for word; do printf '%s\\0' \"$word\"; done >words; sleep 300\n");
    world.launch(&["--role", "r", "--provider", "p", "--name", "s2", "--prompt", HOSTILE]);
    let expected = format!("{HOSTILE}\0");
    eventually("the word", || fs::read_to_string(world.dir().join("words")).ok().filter(|kept| *kept == expected));
    world.run(["session", "stop", "s2"]).exits(0);
    // Text that does not say so is refused before anything is recorded.
    world.configure("[providers.p]\ncommand = \"cd .. && sh keep\"\nprompt = \"argument\"\n");
    world.run(["trust"]).exits(0);
    let run = world.run(["session", "launch", "--role", "r", "--provider", "p", "--prompt", "x", "--json"]);
    assert!(text(&run.refuses(2, "usage").error()["message"]).contains("write \"$1\" there"));
    assert!(!world.dir().join("canary").exists() && !world.root().join("canary").exists());
    assert_eq!(world.rows("SELECT id FROM agent_sessions").len(), 2);
}

#[test]
fn stdin_prompt_is_followed_by_end_of_file() {
    let world = configured("[providers.p]\ncommand = \"cat >../stdin; env >../env\"\nprompt = \"stdin\"\n");
    for words in [&["--provider", "p"][..], &["--provider", "p", "--", "sh", "-c", "cat >../stdin; env >../env"]] {
        let args = [&["--role", "r", "--prompt", HOSTILE], words].concat();
        let session = world.launch(&args);
        assert_eq!((&session["status"], &session["exit_code"]), (&"ended".into(), &0.into()));
        assert_eq!(fs::read_to_string(world.dir().join("stdin")).unwrap(), HOSTILE);
        assert!(!fs::read_to_string(world.dir().join("env")).unwrap().contains("FAIRWAY_INITIAL_PROMPT"));
    }
    // A failure behind the pipe is the program's.
    let failed =
        world.run(["session", "launch", "--json", "--role", "r", "--provider", "p", "--prompt", "x", "--", "false"]);
    failed.refuses(7, "program_failed");
    assert!(!world.root().join("canary").exists());
}

#[test]
fn other_scripts_get_the_prompt_in_a_variable() {
    for (way, command) in [
        ("argument", "set -- \"$FAIRWAY_INITIAL_PROMPT\"\nunset FAIRWAY_INITIAL_PROMPT\nexec cat -u \"$1\""),
        ("stdin", "printf %s \"$FAIRWAY"),
    ] {
        let world = configured(&format!("[providers.p]\ncommand = \"cat -u\"\nprompt = \"{way}\"\n"));
        let script = world.script("keeping", KEEPING);
        let backend = format!("exec:{}", script.display());
        let prompt = "a `b`";
        world
            .run(["session", "launch", "--role", "r", "--provider", "p", "--backend", &backend, "--prompt", prompt])
            .exits(0);
        let start = start_of(&world);
        let text = text(&start["command"]);
        assert!(!text.contains('`') && text.starts_with(command), "{text}");
        assert_eq!(start["env"]["FAIRWAY_INITIAL_PROMPT"], prompt);
        assert!(start.get("nudge").is_none());
    }
}

/// Typed by the script that can, by the caller otherwise, and never by both.
#[test]
fn nudge_is_typed_once() {
    let world = Sessions::new();
    let script = world.script("keeping", KEEPING);
    let backend = format!("exec:{}", script.display());
    let launch = |name: &str, prompt: &[&str]| {
        for file in ["calls", "nudge", "start.json"] {
            let _ = fs::remove_file(world.dir().join(file));
        }
        let args = ["session", "launch", "--role", "r", "--name", name, "--backend", &backend];
        let run = world.run(args.iter().chain(prompt).chain(&["--", "true"])).exits(0);
        let calls = fs::read_to_string(world.dir().join("calls")).unwrap();
        (run, calls.split_whitespace().filter(|call| *call != "is-running").map(str::to_owned).collect::<Vec<_>>())
    };
    // It cannot, as it does not even know the question.
    let (_, calls) = launch("s1", &["--prompt", HOSTILE]);
    assert_eq!(calls, ["protocol", "start", "get-meta", "nudge"]);
    assert_eq!(fs::read_to_string(world.dir().join("nudge")).unwrap(), HOSTILE);
    assert!(start_of(&world).get("nudge").is_none());
    // It can.
    fs::write(world.dir().join("protocol"), "{\"version\":0,\"capabilities\":[\"start-nudge\",\"ready\"]}").unwrap();
    let (run, calls) = launch("s2", &["--prompt", HOSTILE]);
    assert_eq!(calls, ["protocol", "start", "get-meta"]);
    assert_eq!((start_of(&world)["nudge"].as_str(), run.stderr.as_str()), (Some(HOSTILE), ""));
    // It can neither, and says so: the session runs, the prompt is remarked on.
    fs::remove_file(world.dir().join("protocol")).unwrap();
    fs::write(world.dir().join("mute"), "").unwrap();
    let (run, _) = launch("s3", &["--prompt", "x"]);
    assert!(run.stderr.contains("the prompt was not delivered: this backend cannot type"), "{run:?}");
    assert_eq!(world.session("s3")["status"], "running");
    // Nothing to type, nothing asked before.
    let (_, calls) = launch("s4", &[]);
    assert_eq!(calls[0], "start");
}

#[test]
fn invalid_prompt_is_refused_and_none_is_stored() {
    let world = configured("[providers.p]\ncommand = \"cat\"\nprompt = \"stdin\"\n");
    let launch = ["session", "launch", "--role", "r", "--json", "--provider", "p"];
    for (prompt, code) in [("", "invalid_value"), (" \n", "invalid_value"), ("a\u{1b}[201~b", "invalid_value")] {
        world.run(launch.iter().chain(&["--prompt", prompt])).refuses(2, code);
    }
    world.run(launch.iter().chain(&["--prompt", "x", "--prompt-file", "y"])).refuses(2, "usage");
    world.run(launch.iter().chain(&["--prompt-file", "nowhere"])).refuses(2, "invalid_value");
    let long = "x".repeat(131_072);
    let error = world
        .run_with_stdin(launch.iter().chain(&["--prompt", "-"]), long.as_bytes())
        .refuses(2, "invalid_value")
        .error();
    assert!(text(&error["message"]).contains("prompt = \"nudge\" takes more"), "{error}");
    assert!(world.rows("SELECT id FROM agent_sessions").is_empty());
    let canary = "a-prompt-like-no-other";
    world.run_with_stdin(launch.iter().chain(&["--name", "s1", "--prompt", "-"]), canary.as_bytes()).exits(0);
    fs::write(world.dir().join("prompt"), canary).unwrap();
    world.run(launch.iter().chain(&["--name", "s2", "--prompt-file", "../prompt", "--request-id", "R-1"])).exits(0);
    fs::remove_file(world.dir().join("prompt")).unwrap();
    // `cat` has shown it: that is the transcript's affair.
    let holds = |bytes: &[u8]| bytes.windows(canary.len()).any(|part| part == canary.as_bytes());
    eventually("only the transcripts hold it", || {
        let all = world.everything();
        let held: Vec<_> = all.iter().filter(|(_, (_, bytes))| holds(bytes)).map(|(path, _)| path).collect();
        (held.len() == 2 && held.iter().all(|path| path.to_string_lossy().contains("/transcripts/"))).then_some(())
    });
    // A dry run shows it, what looks like a secret apart.
    let shown = world.run(launch.iter().chain(&["--dry-run", "--prompt", "use API_KEY=abc now"])).exits(0).json();
    assert_eq!(shown["environment"]["FAIRWAY_INITIAL_PROMPT"], "use API_KEY=••• now");
    world.configure("");
    world.run(["trust"]).exits(0);
    let shown = world.json(["session", "launch", "--role", "r", "--dry-run", "--prompt", "use API_KEY=abc now"]);
    assert_eq!(shown["start"]["nudge"], "use API_KEY=••• now");
}

/// The repeat of a launch that was cut off while it typed says that it does not know.
#[test]
fn launch_that_is_cut_off_at_its_prompt_does_not_claim_it() {
    let world = Sessions::new();
    let script = world.script(
        "stuck",
        "#!/bin/sh\ncase $1 in start | stop) ;; is-running) echo true ;; nudge) echo $$ >\"${0%/*}/typing\"; exec sleep 60 ;; *) exit 2 ;; esac\n",
    );
    let backend = format!("exec:{}", script.display());
    let words = [
        "session", "launch", "--role", "r", "--name", "s1", "--backend", &backend, "--request-id", "R-1", "--prompt",
        "x",
    ];
    let mut launch = world.fairway(words.iter().chain(&["--", "true"])).spawn().unwrap();
    let pid = || fs::read_to_string(world.dir().join("typing")).ok()?.trim().parse().ok();
    let typing = eventually("it types", || ProcessKey::of(pid()?));
    launch.kill().unwrap();
    launch.wait().unwrap();
    typing.signal(nix::sys::signal::Signal::SIGKILL).unwrap();
    let run = world.run(words.iter().chain(&["--", "true"])).exits(0);
    assert!(run.stderr.contains("unknown whether the prompt was typed"), "{run:?}");
    assert_eq!(world.session("s1")["status"], "running");
}

/// The caller waits where the script does not: for a process, a prompt, or a moment.
#[test]
fn script_that_does_not_wait_is_waited_for() {
    let world =
        configured("[providers.p]\ncommand = \"cat\"\nprocess_names = [\"claude\"]\nready_prompt_prefix = \"> \"\n");
    let script = world.script("keeping", KEEPING);
    let backend = format!("exec:{}", script.display());
    let launch = world
        .fairway(["session", "launch", "--role", "r", "--name", "s1", "--provider", "p", "--backend", &backend])
        .args(["--prompt", "go"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let calls = || fs::read_to_string(world.dir().join("calls")).unwrap_or_default();
    let nudged = || world.dir().join("nudge").exists();
    eventually("it asks for the process", || (calls().matches("process-alive").count() > 3).then_some(()));
    assert!(!nudged() && calls().matches("peek").count() < 2, "the prompt's turn is after the process");
    assert_eq!(world.session("s1")["status"], "starting");
    fs::write(world.dir().join("alive"), "").unwrap();
    eventually("it asks for the prompt", || (calls().matches("peek").count() > 3).then_some(()));
    assert!(!nudged());
    fs::write(world.dir().join("screen"), "welcome\n> \n").unwrap();
    let run = crate::common::test_project::CommandOutput::from(launch.wait_with_output().unwrap()).exits(0);
    assert_eq!(run.stderr, "");
    assert!(nudged());
    assert_eq!(world.session("s1")["status"], "running");
}

/// Also of a script that says nothing of readiness: what ends at once has failed, and its last screen is told.
#[test]
fn early_exit_under_another_script_fails_the_launch() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "one"]).exits(0);
    let before = world.queue();
    let script = world.script("keeping", KEEPING);
    fs::write(world.dir().join("screen"), "no licence\nAPI_KEY=abc\n").unwrap();
    fs::write(world.dir().join("program"), "sleep 0.05; : >\"$1/gone\"; exit 3\n").unwrap();
    let backend = format!("exec:{}", script.display());
    let run = world.run([
        "session", "launch", "--json", "--role", "r", "--task-id", "T-1", "--name", "s1", "--backend", &backend,
        "--prompt", "x", "--", "true",
    ]);
    let error = run.refuses(7, "program_failed").error();
    assert_eq!(error["message"], "s1 was started, but it is not running; it last showed: no licence | API_KEY=•••");
    assert_eq!(error["details"]["screen"], "no licence\nAPI_KEY=•••");
    let row = world.session("s1");
    assert_eq!((row["status"].as_str(), row["reason"].as_str()), ("failed", "s1 was started, but it is not running"));
    assert!(!world.dir().join("nudge").exists() && world.rows("SELECT id FROM checkpoints").is_empty());
    assert_eq!(world.queue(), before);
}

#[test]
fn setup_is_the_scripts_or_the_callers_as_configured() {
    let configuration = |setup: &str| {
        format!(
            "[providers.p]\ncommand = \"true\"\n\
             [roles.r]\npre_start = [\"echo pre\"]\nsession_setup = [\"pwd >>setup; env >>setup\", \"false\"]\n\
             session_live = [\"echo live >>setup\"]\n[backends.b]\nscript = \"../keeping\"\nsetup = \"{setup}\"\n"
        )
    };
    let world = Sessions::new();
    world.script("keeping", KEEPING);
    for (setup, name) in [("script", "s1"), ("caller", "s2")] {
        world.configure(&configuration(setup));
        world.run(["trust"]).exits(0);
        let run = world
            .run(["session", "launch", "--role", "r", "--name", name, "--provider", "p", "--backend", "b"])
            .exits(0);
        let start = start_of(&world);
        let kept = fs::read_to_string(world.root().join("setup")).unwrap_or_default();
        if setup == "script" {
            assert_eq!(start["pre_start"], serde_json::json!(["echo pre"]));
            assert_eq!(start["session_live"], serde_json::json!(["echo live >>setup"]));
            assert_eq!(kept, "");
        } else {
            assert!(["pre_start", "session_setup", "session_live"].iter().all(|key| start.get(*key).is_none()));
            let root = world.root().display().to_string();
            assert!(kept.starts_with(&format!("{root}\n")) && kept.ends_with("live\n"), "{kept}");
            assert!(kept.contains(&format!("FAIRWAY_SESSION_ID={name}\n")), "{kept}");
            assert!(run.stderr.contains("session_setup failed: false: exit code 1"), "{run:?}");
        }
    }
}
