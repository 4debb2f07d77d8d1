//! Answers to questions: typed at once into the question that they name, into no other, and settled with that.

use std::{
    collections::BTreeMap,
    env, fs,
    path::Path,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use fairway::{
    actions::{
        App,
        queue::checkpoint::record::{self, NewCheckpoint},
        sessions::{
            answer,
            prompt::{self, NewPrompt},
            report::{
                end::{self, EndRequest},
                heartbeat::{self, Heartbeat},
            },
        },
    },
    domain::{
        SessionId, TaskId, checkpoint::CheckpointState, id::Label, message::Priority, question::QuestionId,
        session::Activity,
    },
    env::Env,
};
use serde_json::{Value, json};

use super::{Sessions, eventually, text};
use crate::common::{
    app,
    fixtures::{ask_by_checkpoint, discard_store},
    soak,
};

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

/// So many interleavings are tried, each in a session of its own; the first of them in a run that is no soak run.
const INTERLEAVINGS: u64 = 1_000;
const FEW_INTERLEAVINGS: u64 = 200;
/// The steps of each.
const STEPS: usize = 10;

/// A random sequence from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// What is known of a session without asking it.
struct Model {
    id: SessionId,
    task: TaskId,
    is_alive: bool,
    activity: Activity,
    /// How many questions it has asked by its activity.
    count: i64,
    /// The text of the open one.
    asked: Option<String>,
    /// The checkpoint that asks.
    checkpoint: Option<i64>,
    /// Every question that a person has seen.
    seen: Vec<QuestionId>,
}

impl Model {
    fn open(&self) -> Option<QuestionId> {
        if !self.is_alive {
            return None;
        }
        match (self.activity, self.checkpoint) {
            (Activity::RequiresAction, _) => Some(QuestionId::activity(self.id.clone(), self.count)),
            (_, Some(id)) => Some(QuestionId::checkpoint(self.id.clone(), id)),
            _ => None,
        }
    }

    fn beats(&mut self, app: &App, activity: Activity, question: Option<String>) {
        let beat = Heartbeat { activity: Some(activity), waiting_for: question.clone(), ..Heartbeat::default() };
        let done = heartbeat::heartbeat(app, &self.id, &beat);
        assert_eq!(done.is_ok(), self.is_alive, "{done:?}");
        if !self.is_alive {
            return;
        }
        let is_asked_anew = self.activity != Activity::RequiresAction || self.asked != question;
        if activity == Activity::RequiresAction && is_asked_anew {
            self.count += 1;
        }
        (self.activity, self.asked) = (activity, question);
        self.seen.extend(self.open());
    }
}

/// Does one random step. What is typed in it reaches nobody but whom it was written for.
fn step(app: &App, own: &App, model: &mut Model, random: &mut Random, number: usize, dir: &Path, known: &mut usize) {
    let open = model.open();
    let mut answer_of_now = None;
    match random.below(12) {
        0..=2 => model.beats(app, Activity::RequiresAction, Some(format!("question {}", random.below(3)))),
        3 => model.beats(app, Activity::Idle, None),
        4 => model.beats(app, Activity::Busy, None),
        5 | 6 => {
            let content = format!("prompt {number}");
            let source = Label::parse("nudge").unwrap();
            let to = model.id.clone();
            let prompt =
                NewPrompt { to, content, priority: Priority::Normal, source, metadata: None, dedup: None, ttl: None };
            let sent = prompt::send(app, &prompt);
            assert_eq!(sent.is_ok(), model.is_alive);
            if let Ok(sent) = sent {
                let _ = prompt::deliver_sent(app, &model.id, sent);
            }
        }
        7 if model.is_alive => {
            let asks = NewCheckpoint {
                state: CheckpointState::AwaitingInput,
                summary: format!("checkpoint {number}"),
                owner: None,
                artifact: None,
                due: None,
            };
            let recorded = record::record(own, &model.task, asks).unwrap();
            model.checkpoint = recorded.document["id"].as_i64();
            model.seen.extend(model.open());
        }
        8 if random.below(3) == 0 => {
            end::end(app, &model.id, &EndRequest::default()).unwrap();
            model.is_alive = false;
        }
        _ if !model.seen.is_empty() => {
            // A person answers what was read a while ago, or just now.
            let at = model.seen.len() - 1 - usize::try_from(random.below(3)).unwrap().min(model.seen.len() - 1);
            let item = model.seen[at].clone();
            let text = format!("answer {number} to {item}");
            let done = answer::answer(app, &item, &text);
            let takes = model.activity == Activity::RequiresAction
                || matches!(model.activity, Activity::Idle | Activity::Unknown);
            let expected = open.as_ref() == Some(&item) && takes;
            assert_eq!(done.is_ok(), expected, "{item}, open {open:?}: {done:?}");
            if expected {
                answer_of_now = Some(text);
                if model.activity == Activity::RequiresAction {
                    (model.activity, model.asked) = (Activity::Busy, None);
                } else {
                    model.checkpoint = None;
                }
            }
        }
        _ => {}
    }
    let all = typed_in(dir);
    let new = &all[*known..];
    *known = all.len();
    match answer_of_now {
        Some(answer) => assert_eq!(new, [answer]),
        None => {
            assert!(new.iter().all(|text| text.starts_with("prompt ")), "{new:?}");
            // A question on the screen is answered by no prompt. One by checkpoint ended its turn: the line is free.
            assert!(new.is_empty() || model.activity == Activity::Idle, "{new:?} while it is {}", model.activity);
        }
    }
}

/// No text reaches another question than the one that it was written for, in any order of questions, answers, prompts and deaths.
#[test]
fn no_text_reaches_another_question_than_the_one_that_it_was_written_for() {
    let world = Sessions::new();
    launch(&world, "q");
    let base = env::var("FAIRWAY_ANSWER_SEED").ok().and_then(|seed| seed.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let base: u64 = base.unwrap_or_else(|| u64::try_from(clock() % 1_000_000_000).unwrap());
    let columns: Vec<String> = world.session("q").keys().cloned().collect();
    let copied: Vec<&str> =
        columns.iter().map(String::as_str).filter(|name| !["id", "run_id"].contains(name)).collect();
    let copied = copied.join(", ");
    world.write_rows(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {INTERLEAVINGS} - 1)
         INSERT INTO agent_sessions (id, run_id, {copied}) SELECT 'q-' || i, 'run-' || i, {copied} FROM n, agent_sessions WHERE id = 'q';
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, claimant, claim_session, epoch, claimed_at)
         SELECT 'T-' || substr(id, 3), 'x', 'in_progress', 2, 1, 1, id, id, 1, 1 FROM agent_sessions WHERE id LIKE 'q-%';
         INSERT INTO claims (task_id, epoch, claimant, session_id, claimed_at) SELECT id, 1, claimant, claimant, 1 FROM tasks"
    ));
    let home = world.dir().join("home").display().to_string();
    let vars = BTreeMap::from([("HOME".to_owned(), home)]);
    let env = Env::from_process().with_vars(&vars);
    let app = app::app(&world.root(), env.clone(), app::person("me@here"));
    let mut known = 0;
    for at in 0..if soak::is_on() { INTERLEAVINGS } else { FEW_INTERLEAVINGS } {
        let seed = base.wrapping_add(at);
        let id = format!("q-{at}");
        let mut model = Model {
            id: SessionId::parse(&id).unwrap(),
            task: TaskId::parse(&format!("T-{at}")).unwrap(),
            is_alive: true,
            activity: Activity::Unknown,
            count: 0,
            asked: None,
            checkpoint: None,
            seen: Vec::new(),
        };
        let own = app::app(&world.root(), env.clone(), app::session(&id));
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut random = Random(seed);
            for number in 0..STEPS {
                step(&app, &own, &mut model, &mut random, number, world.dir(), &mut known);
            }
        }));
        assert!(run.is_ok(), "interleaving {at}, of seed {seed}: run it again with FAIRWAY_ANSWER_SEED={seed}");
    }
    // The copied rows are those of no command.
    discard_store(&world);
}
