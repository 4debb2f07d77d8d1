//! Answers to questions: typed at once into the question that they name, into no other, and settled with that.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::{fs, thread};

use serde_json::{Value, json};

use super::{Sessions, eventually, text};
use crate::common::fixtures::ask_by_checkpoint;

/// A backend that keeps what it is told to type, each with its session.
const BACKEND: &str = "#!/bin/sh
case $1 in
is-running) echo true ;;
start | stop | interrupt) ;;
nudge) { printf '%s\\t' \"$2\"; cat; echo; } >>\"${0%/*}/typed\" ;;
*) exit 2 ;;
esac
";

fn with_backend(world: &Sessions) -> String {
    format!("exec:{}", world.script("backend", BACKEND).display())
}

fn launch(world: &Sessions, name: &str) {
    let backend = with_backend(world);
    world.launch(&["--role", "r", "--backend", &backend, "--name", name, "--", "true"]);
}

fn typed(world: &Sessions) -> Vec<String> {
    typed_in(world.dir())
}

fn typed_in(dir: &Path) -> Vec<String> {
    let all = fs::read_to_string(dir.join("typed")).unwrap_or_default();
    all.lines().filter_map(|line| line.split_once('\t')).map(|(_, text)| text.to_owned()).collect()
}

fn ask(world: &Sessions, session: &str, question: &str) {
    let asks = ["--activity", "requires_action", "--waiting-for", question];
    world.run([&["session", "heartbeat", session], &asks[..]].concat()).exits(0);
}

fn questions(world: &Sessions) -> Vec<Value> {
    let needs = world.json(["status"])["needs_you"].clone();
    needs.as_array().unwrap().iter().filter(|need| need["kind"] == "question").cloned().collect()
}

fn ids(world: &Sessions) -> Vec<String> {
    questions(world).iter().map(|need| text(&need["id"])).collect()
}

#[test]
fn offered_answer_is_typed_at_once_and_settles_its_question() {
    let world = Sessions::new();
    launch(&world, "q1");
    ask(&world, "q1", "A: run the tests?");
    let need = questions(&world).pop().unwrap();
    assert_eq!(need["commands"][0]["command"], "fairway answer question:q1:1 TEXT");
    // The same question in another report is the same one.
    ask(&world, "q1", "A: run the tests?");
    let answered = world.run(["answer", "question:q1:1", "yes A"]).exits(0);
    assert_eq!(answered.stdout, "answered question:q1:1: typed 5 bytes into q1\n");
    assert_eq!(typed(&world), ["yes A"]);
    assert_eq!((ids(&world).len(), world.rows("SELECT id FROM messages").len()), (0, 0));
    assert_eq!(world.json(["session", "show", "q1"])["activity"], "busy");
    // The next question is another one, also with the same text.
    ask(&world, "q1", "A: run the tests?");
    assert_eq!(ids(&world), ["question:q1:2"]);
    world.run(["answer", "question:q1:1", "again", "--json"]).refuses(3, "not_found");
    ask(&world, "q1", "B: drop the database?");
    let refused = world.run(["answer", "question:q1:2", "yes, go on", "--json"]).refuses(3, "not_found").error();
    let message = text(&refused["message"]);
    assert!(message.contains("question:q1:3: B: drop the database?"), "{message}");
    assert_eq!(refused["details"]["id"], "question:q1:2");
    assert_eq!(typed(&world), ["yes A"]);
    // A prompt is no answer: it waits, and says how the question is answered.
    let waits = world.run(["prompt", "q1", "go on"]).exits(0);
    assert!(waits.stderr.contains("fairway answer question:q1:3 TEXT"), "{waits:?}");
    world.run_with_stdin(["answer", "question:q1:3", "-"], b"no\n").exits(0);
    assert_eq!(typed(&world), ["yes A", "no"]);
}

/// The question of an idle session by checkpoint, which no report of the session settles.
#[test]
fn answer_to_a_checkpoint_settles_it_on_every_board_at_once() {
    let world = Sessions::new();
    world.run(["task", "add", "T-1", "Refunds"]).exits(0);
    launch(&world, "q2");
    world.run(["--session", "q2", "--as", "r", "claim", "T-1"]).exits(0);
    ask_by_checkpoint(&world, "q2", "T-1", "net or gross?");
    world.run(["session", "heartbeat", "q2", "--activity", "busy"]).exits(0);
    let id = ids(&world).pop().unwrap();
    // In the middle of its turn nothing is typed, and nothing waits.
    let refused = world.run(["answer", &id, "gross", "--json"]).refuses(5, "not_answerable").error();
    assert!(text(&refused["message"]).contains("the session is busy"), "{refused}");
    world.run(["session", "heartbeat", "q2", "--activity", "idle"]).exits(0);
    assert_eq!(typed(&world), [] as [&str; 0]);
    // A prompt reaches the agent and answers nothing: the person is told so, with what answers.
    for words in [["prompt", "q2", "gross, please"], ["send", "q2", "I said gross"]] {
        let told = world.run(words).exits(0).stderr;
        assert!(told.contains("does not answer the question of q2 (net or gross?)"), "{told}");
        assert!(told.contains(&format!("answer it: fairway answer {id} TEXT")), "{told}");
    }
    assert_eq!((typed(&world).len(), ids(&world)), (2, vec![id.clone()]));
    fs::write(world.dir().join("typed"), "").unwrap();
    world.run(["answer", &id, "gross"]).exits(0);
    assert_eq!((typed(&world), ids(&world).len()), (vec!["gross".to_owned()], 0));
    assert_eq!(world.run(["prompt", "q2", "go on"]).exits(0).stderr, "");
    fs::write(world.dir().join("typed"), "q2\tgross\n").unwrap();
    let blockers = world.run(["merge-ready", "T-1", "--json"]).stdout;
    assert!(!blockers.contains("open_question"), "{blockers}");
    let newest = world.json(["checkpoint", "latest", "T-1"]);
    assert_eq!((&newest["state"], newest["session_id"].is_null()), (&json!("active"), true), "{newest}");
    assert!(text(&newest["summary"]).ends_with(": gross"), "{newest}");
    world.run(["answer", &id, "net", "--json"]).refuses(3, "not_found");
    assert_eq!(typed(&world), ["gross"]);
}

#[test]
fn dialog_of_a_provider_takes_no_text() {
    let world = Sessions::new();
    let script = format!("{}\n", BACKEND.replace("*) exit 2", "peek) cat \"${0%/*}/screen\" ;;\n*) exit 2"));
    let backend = format!("exec:{}", world.script("shows", &script).display());
    world.configure("[providers.agent]\ncommand = \"true\"\npermission_question = [\"Allow this command?\"]\n");
    world.run(["trust"]).exits(0);
    fs::write(world.dir().join("screen"), "Allow this command?\n > yes").unwrap();
    world.launch(&["--role", "r", "--backend", &backend, "--provider", "agent", "--name", "q3", "--", "true"]);
    // Its runtime says only that it waits: the look is that of a prompt.
    ask(&world, "q3", "which one?");
    let refused = world.run(["answer", "question:q3:1", "yes", "--json"]).refuses(4, "session_asks").error();
    assert_eq!(refused["details"]["question"], "Allow this command?");
    assert_eq!((typed(&world), ids(&world)), (Vec::new(), vec!["question:q3:1".to_owned()]));
    fs::write(world.dir().join("screen"), "> ").unwrap();
    world.run(["answer", "question:q3:1", "the first"]).exits(0);
    assert_eq!(typed(&world), ["the first"]);
    // A question that the provider's hook reported is its dialog, whatever the screen shows.
    let hook = "UPDATE agent_sessions SET activity = 'requires_action', waiting_for = 'plan?', activity_source = 'hook', \
                questions = 2, version = version + 1";
    world.write_rows(hook);
    let need = questions(&world).pop().unwrap();
    assert_eq!(need["commands"].as_array().unwrap().len(), 1, "{need}");
    assert_eq!(need["commands"][0]["command"], "fairway session attach q3");
    let refused = world.run(["answer", "question:q3:2", "yes"]).exits(4);
    assert!(refused.stderr.contains("fairway session attach q3"), "{refused:?}");
    assert_eq!(typed(&world), ["the first"]);
}

/// A session of Claude Code whose screen is a file. A key that is pressed in it is kept, and ends what it shows.
fn with_screen() -> Sessions {
    let world = Sessions::new();
    let script = "peek) cat \"${0%/*}/screen\" ;;
send-keys) echo \"$3\" >>\"${0%/*}/keys\"; cp \"${0%/*}/next\" \"${0%/*}/screen\" ;;\n*) exit 2";
    let backend = format!("exec:{}", world.script("shows", &BACKEND.replace("*) exit 2", script)).display());
    world.configure("[hooks]\napproval_wait = \"0s\"\n[guard]\ndefault = \"allow\"\n");
    world.run(["trust"]).exits(0);
    for name in ["screen", "next"] {
        fs::write(world.dir().join(name), "> \n").unwrap();
    }
    world.launch(&["--role", "r", "--backend", &backend, "--provider", "claude", "--name", "q6", "--", "true"]);
    world
}

/// The screen shows a dialog that was recorded with the program.
fn shows(world: &Sessions, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/screens").join(name);
    fs::copy(path, world.dir().join("screen")).unwrap();
}

fn keys(world: &Sessions) -> Vec<String> {
    let all = fs::read_to_string(world.dir().join("keys")).unwrap_or_default();
    all.lines().map(str::to_owned).collect()
}

/// Claude Code asks for a tool by its hook, which does not wait.
fn asks_for(world: &Sessions, tool: &str, input: &Value) {
    let payload = json!({
        "session_id": "c", "cwd": world.root(), "hook_event_name": "PermissionRequest", "tool_name": tool,
        "tool_use_id": "t", "tool_input": input,
    });
    let mut hook = world.fairway(["hook", "claude", "PermissionRequest"]);
    let mut running = hook.env("FAIRWAY_SESSION_ID", "q6").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    assert!(running.wait().unwrap().success());
}

#[test]
fn permission_is_answered_in_the_recorded_dialog_while_it_shows_exactly_that_call() {
    let world = with_screen();
    let approvals = || world.json(["approvals", "list", "--all"]);
    asks_for(&world, "Bash", &json!({ "command": "touch made-by-tool", "description": "say hello" }));
    let needs = world.json(["status"])["needs_you"].clone();
    let commands: Vec<String> =
        needs[0]["commands"].as_array().unwrap().iter().map(|next| text(&next["command"])).collect();
    let expected = ["fairway approvals answer 1 allow", "fairway approvals answer 1 deny", "fairway session attach q6"];
    assert_eq!((text(&needs[0]["id"]).as_str(), &commands[..]), ("approval:1", &expected.map(str::to_owned)[..]));
    // Another call, another dialog, and none.
    for (screen, why) in [
        ("claude-permission-80.txt", None),
        ("claude-choices-80.txt", Some("does not show a dialog whose keys are recorded")),
        ("claude-idle-80.txt", Some("does not show a dialog whose keys are recorded")),
    ] {
        shows(&world, screen);
        let Some(why) = why else {
            let path = world.dir().join("screen");
            let other = fs::read_to_string(&path).unwrap().replace("touch made-by-tool", "rm made-by-tool");
            fs::write(path, other).unwrap();
            let refused =
                world.run(["approvals", "answer", "1", "allow", "--json"]).refuses(5, "not_answerable").error();
            assert!(text(&refused["message"]).contains("its screen shows another dialog"), "{refused}");
            assert!(text(&refused["hint"]).contains("fairway session attach q6"), "{refused}");
            continue;
        };
        let refused = world.run(["approvals", "answer", "1", "allow", "--json"]).refuses(5, "not_answerable").error();
        assert!(text(&refused["message"]).contains(why), "{refused}");
    }
    assert_eq!((keys(&world), text(&approvals()[0]["status"])), (Vec::new(), "pending".to_owned()));
    // The session that asks may not.
    shows(&world, "claude-permission-80.txt");
    world.run(["--session", "q6", "approvals", "answer", "1", "allow", "--json"]).refuses(5, "own_approval");
    let said = world.run(["approvals", "answer", "1", "allow"]).exits(0).stdout;
    assert_eq!((said.as_str(), keys(&world)), ("allowed Bash of q6, in its dialog\n", vec!["1".to_owned()]));
    assert_eq!(world.session("q6")["activity"], "busy");
    assert!(text(&approvals()[0]["answered_by"]).contains('@'), "{}", approvals());
    // An answer is given once.
    assert!(world.run(["approvals", "answer", "1", "allow"]).exits(0).stdout.starts_with("unchanged: "));
    world.run(["approvals", "answer", "1", "deny", "--json"]).refuses(4, "already_answered");

    asks_for(&world, "Bash", &json!({ "command": "touch made-by-tool" }));
    shows(&world, "claude-permission-120.txt");
    // The program takes no key.
    fs::copy(world.dir().join("screen"), world.dir().join("next")).unwrap();
    let refused = world.run(["approvals", "answer", "2", "deny", "--json"]).refuses(5, "not_answerable").error();
    let message = text(&refused["message"]);
    assert!(
        message.ends_with("(4) were pressed, and the dialog is still there; the request is approval 3 now"),
        "{message}"
    );
    fs::write(world.dir().join("next"), "> ").unwrap();
    let denied = world.run(["approvals", "answer", "3", "deny", "--reason", "not now"]).exits(0);
    assert!(denied.stderr.contains("the agent does not see the reason"), "{denied:?}");
    assert_eq!((keys(&world).len(), text(&approvals()[2]["status"])), (3, "denied".to_owned()));

    // A call that its dialog does not show whole is not offered.
    asks_for(&world, "Write", &json!({ "file_path": "/a", "content": "x" }));
    assert_eq!(world.json(["status"])["needs_you"][0]["commands"].as_array().unwrap().len(), 1);
    shows(&world, "claude-permission-80.txt");
    let refused = world.run(["approvals", "answer", "4", "allow", "--json"]).refuses(5, "not_answerable").error();
    assert!(text(&refused["message"]).contains("does not show the whole call"), "{refused}");
    // The next turn shows that it is settled.
    let turn = json!({ "session_id": "c", "cwd": world.root(), "hook_event_name": "UserPromptSubmit", "prompt": "x" });
    let mut hook = world.fairway(["hook", "claude", "UserPromptSubmit"]);
    let mut running = hook.env("FAIRWAY_SESSION_ID", "q6").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    running.stdin.take().unwrap().write_all(turn.to_string().as_bytes()).unwrap();
    assert!(running.wait().unwrap().success());
    assert_eq!(text(&approvals()[3]["status"]), "lapsed");
}

/// An idle agent has no event by which it would read the notice: it is typed, as a prompt is.
#[test]
fn end_of_a_job_wakes_an_idle_agent() {
    let world = Sessions::new();
    launch(&world, "q7");
    world.run(["session", "heartbeat", "q7", "--activity", "idle"]).exits(0);
    world.run(["exec", "spawn", "--notify", "q7", "--", "true"]).exits(0);
    let is_notice = |line: &String| line.contains("from exec (text of a program");
    eventually("the notice is typed", || typed(&world).iter().any(is_notice).then_some(()));
}

/// A dialog that a person has answered in the window, or whose agent shows none, takes no answer from here: no surface offers one.
#[test]
fn answer_in_a_recorded_dialog_is_offered_only_while_the_dialog_is_shown() {
    let world = with_screen();
    let transcript = world.dir().join("screen.log");
    world.write_rows(&format!("UPDATE agent_sessions SET transcript = '{}'", transcript.display()));
    let attach = ["fairway session attach q6"];
    let whole = ["fairway approvals answer 1 allow", "fairway approvals answer 1 deny", attach[0]];
    asks_for(&world, "Bash", &json!({ "command": "touch made-by-tool" }));
    for (screen, offered) in
        [("claude-idle-80.txt", &attach[..]), ("claude-permission-80.txt", &whole), ("claude-choices-80.txt", &attach)]
    {
        shows(&world, screen);
        let shown = fs::read_to_string(world.dir().join("screen")).unwrap();
        fs::write(&transcript, format!("\x1b[2J\x1b[H{}", shown.trim_end().replace('\n', "\r\n"))).unwrap();
        let board = world.json(["status"]);
        let commands = board["needs_you"][0]["commands"].as_array().unwrap();
        assert_eq!(commands.iter().map(|one| text(&one["command"])).collect::<Vec<_>>(), offered, "{screen}");
    }
}

#[test]
fn question_with_choices_is_answered_by_number_or_words_in_the_recorded_dialog() {
    let world = with_screen();
    let option = |label: &str| json!({ "label": label, "description": "x" });
    let ask = |choices: [&str; 2]| {
        let question =
            json!({ "question": "Which currency for refunds?", "header": "Currency", "options": choices.map(option) });
        asks_for(&world, "AskUserQuestion", &json!({ "questions": [question] }));
    };
    ask(["Euro", "Dollar"]);
    let need = questions(&world).pop().unwrap();
    assert_eq!(
        (text(&need["id"]).as_str(), &need["line"]),
        ("question:q6:1", &json!("Which currency for refunds? (Euro / Dollar)"))
    );
    assert_eq!(need["commands"][0]["command"], "fairway answer question:q6:1 TEXT");
    assert_eq!(need["commands"][1]["command"], "fairway session attach q6");
    assert_eq!(world.json(["approvals", "list", "--all"]), json!([]));
    // It is on the screen no more, or another one is.
    world.run(["answer", "question:q6:1", "Euro", "--json"]).refuses(5, "not_answerable");
    shows(&world, "claude-permission-80.txt");
    world.run(["answer", "question:q6:1", "Euro", "--json"]).refuses(5, "not_answerable");
    shows(&world, "claude-choices-80.txt");
    // Neither what the program adds to the choices nor a text of one's own.
    for words in ["Yen", "3", "0", "Type something."] {
        let refused = world.run(["answer", "question:q6:1", words, "--json"]).refuses(5, "not_answerable").error();
        assert!(text(&refused["message"]).contains("is none of its choices: 1 Euro, 2 Dollar"), "{refused}");
    }
    assert_eq!((keys(&world), typed(&world)), (Vec::new(), Vec::new()));
    let answered = world.run(["answer", "question:q6:1", "dollar"]).exits(0).stdout;
    assert_eq!((answered.as_str(), keys(&world)), ("answered question:q6:1: dollar\n", vec!["2".to_owned()]));
    assert_eq!((ids(&world).len(), world.session("q6")["activity"].as_str()), (0, "busy"));
    // A question with other choices is another one.
    ask(["Euro", "Pound"]);
    shows(&world, "claude-choices-100.txt");
    let refused = world.run(["answer", "question:q6:2", "1", "--json"]).refuses(5, "not_answerable").error();
    assert!(text(&refused["message"]).contains("its screen shows another dialog"), "{refused}");
    assert_eq!(keys(&world).len(), 1);
}

#[test]
fn answer_that_the_backend_cannot_type_is_refused_and_leaves_the_question() {
    let world = Sessions::new();
    let script = BACKEND.replace("nudge)", "never)");
    let backend = format!("exec:{}", world.script("mute", &script).display());
    world.launch(&["--role", "r", "--backend", &backend, "--name", "q4", "--", "true"]);
    ask(&world, "q4", "which?");
    let refused = world.run(["answer", "question:q4:1", "this", "--json"]).refuses(5, "not_answerable").error();
    assert!(text(&refused["hint"]).contains("fairway session attach q4"), "{refused}");
    assert_eq!(ids(&world), ["question:q4:1"]);
}

#[test]
fn of_two_answers_at_once_one_goes_in() {
    let world = Sessions::new();
    let script = BACKEND.replace("nudge)", "nudge) sleep 0.3;");
    let backend = format!("exec:{}", world.script("slow", &script).display());
    world.launch(&["--role", "r", "--backend", &backend, "--name", "q5", "--", "true"]);
    ask(&world, "q5", "which?");
    let codes: Vec<Option<i32>> = thread::scope(|scope| {
        let answers: Vec<_> = ["one", "two", "three"]
            .map(|text| scope.spawn(|| world.run(["answer", "question:q5:1", text]).code))
            .into_iter()
            .collect();
        answers.into_iter().map(|answer| answer.join().unwrap()).collect()
    });
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [Some(0), Some(3), Some(3)], "{codes:?}");
    eventually("one answer", || (typed(&world).len() == 1).then_some(()));
}
