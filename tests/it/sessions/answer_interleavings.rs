//! No text reaches another question than the one that it was written for, in any order of questions, answers, prompts, streams and
//! deaths; one after the other, and several at once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs, thread};

use fairway_actions::App;
use fairway_actions::queue::checkpoint::{self, NewCheckpoint};
use fairway_actions::sessions::answer;
use fairway_actions::sessions::prompt::listener::{self, Listener, ListenerKind};
use fairway_actions::sessions::prompt::{self, NewPrompt};
use fairway_actions::sessions::report::end::{self, EndRequest};
use fairway_actions::sessions::report::heartbeat::{self, Heartbeat};
use fairway_core::domain::checkpoint::CheckpointState;
use fairway_core::domain::id::Label;
use fairway_core::domain::message::Priority;
use fairway_core::domain::question::QuestionId;
use fairway_core::domain::session::Activity;
use fairway_core::domain::{Actor, SessionId, TaskId};
use fairway_core::env::Env;

use super::Sessions;
use crate::common::fixtures::discard_store;
use crate::common::{app, soak};

/// How many interleavings are tried, each in a session of its own: in a soak run, and in any other one. `FAIRWAY_ANSWER_INTERLEAVINGS`
/// is another number.
const INTERLEAVINGS: u64 = 1_000;
const FEW_INTERLEAVINGS: u64 = 60;
/// The steps of each, before several things happen at once.
const STEPS: usize = 10;
/// Of so many sessions one has hooks, which bring messages in the middle of a turn.
const HOOKS_OF: u64 = 4;

/// A backend that keeps what it is told to type, and takes its time after some texts: the agent may have reacted by then.
const BACKEND: &str = "#!/bin/sh
case $1 in
is-running) echo true ;;
start | stop | interrupt) ;;
nudge)
    text=$(cat)
    text=$(printf '%s' \"$text\" | tr '\\n' ' ')
    printf '%s\\n' \"$text\" >>\"${0%/*}/typed\"
    case $text in *[02468]) sleep 0.02 ;; esac
    ;;
*) exit 2 ;;
esac
";

/// A random sequence from a seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// The project of all interleavings.
struct Scene {
    root: PathBuf,
    typed: PathBuf,
    vars: BTreeMap<String, String>,
}

impl Scene {
    fn of(world: &Sessions) -> Self {
        let home = world.dir().join("home").display().to_string();
        let vars = BTreeMap::from([("HOME".to_owned(), home)]);
        Self { root: world.root(), typed: world.dir().join("typed"), vars }
    }

    fn app(&self, actor: Actor) -> App {
        app::app(&self.root, Env::from_process().with_vars(&self.vars), actor)
    }

    /// What a person does, in a thread of its own.
    fn person(&self) -> App {
        self.app(app::person("me@here"))
    }

    /// Everything that was typed from a text on.
    fn typed_since(&self, known: usize) -> Vec<String> {
        let all = fs::read_to_string(&self.typed).unwrap_or_default();
        all.lines().skip(known).map(str::to_owned).collect()
    }
}

/// What is known of a session without asking it.
struct Model {
    id: SessionId,
    task: TaskId,
    has_hooks: bool,
    is_alive: bool,
    activity: Activity,
    /// How many questions it has asked by its activity.
    count: i64,
    /// The text of the open one.
    asked: Option<String>,
    /// The checkpoint that asks, and its text.
    checkpoint: Option<(i64, String)>,
    /// Every question that a person has seen.
    seen: Vec<QuestionId>,
    /// The stream of its runtime, while one is connected.
    stream: Option<Listener>,
}

impl Model {
    fn open(&self) -> Option<QuestionId> {
        if !self.is_alive {
            return None;
        }
        match (self.activity, &self.checkpoint) {
            (Activity::RequiresAction, _) => Some(QuestionId::activity(self.id.clone(), self.count)),
            (_, Some((id, _))) => Some(QuestionId::checkpoint(self.id.clone(), *id)),
            _ => None,
        }
    }

    fn is_asked_by_activity(&self) -> bool {
        self.is_alive && self.activity == Activity::RequiresAction
    }

    /// How an answer to the open question goes in.
    fn way(&self) -> Way {
        let is_busy = self.activity == Activity::Busy;
        match (self.is_asked_by_activity(), self.stream.is_some()) {
            (_, true) => Way::Message,
            (true, false) => Way::Typed,
            (false, false) if matches!(self.activity, Activity::Idle | Activity::Unknown) => Way::Typed,
            (false, false) if is_busy && self.has_hooks => Way::Message,
            (false, false) => Way::Refused,
        }
    }

    fn beats(&mut self, app: &App, activity: Activity, question: Option<String>) {
        let done = beat(app, &self.id, activity, question.clone());
        assert_eq!(done, self.is_alive);
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

    fn settle(&mut self) {
        if self.activity == Activity::RequiresAction {
            (self.activity, self.asked) = (Activity::Busy, None);
        } else {
            self.checkpoint = None;
        }
    }

    /// A question that a person has read a while ago, or just now.
    fn read(&self, random: &mut Random) -> QuestionId {
        let back = usize::try_from(random.below(3)).unwrap();
        self.seen[self.seen.len() - 1 - back.min(self.seen.len() - 1)].clone()
    }
}

/// How an answer goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Typed,
    Message,
    Refused,
}

fn beat(app: &App, id: &SessionId, activity: Activity, waiting_for: Option<String>) -> bool {
    let beat = Heartbeat { activity: Some(activity), waiting_for, ..Heartbeat::default() };
    heartbeat::heartbeat(app, id, &beat).is_ok()
}

fn send_prompt(app: &App, id: &SessionId, content: String) -> bool {
    let source = Label::parse("nudge").unwrap();
    let to = id.clone();
    let new = NewPrompt { to, content, priority: Priority::Normal, source, metadata: None, dedup: None, ttl: None };
    let sent = prompt::send(app, &new);
    let is_sent = sent.is_ok();
    if let Ok(sent) = sent {
        let _ = prompt::deliver_sent(app, id, sent);
    }
    is_sent
}

/// Does one random step. What is typed in it reaches only whom it was written for.
fn step(world: &Sessions, scene: &Scene, apps: (&App, &App), model: &mut Model, random: &mut Random, number: usize) {
    let (app, own) = apps;
    let open = model.open();
    let known = scene.typed_since(0).len();
    let mut answer_of_now = None;
    match random.below(14) {
        0..=2 => model.beats(app, Activity::RequiresAction, Some(format!("question {}", random.below(3)))),
        3 => model.beats(app, Activity::Idle, None),
        4 => model.beats(app, Activity::Busy, None),
        5 | 6 => assert_eq!(send_prompt(app, &model.id, format!("prompt {number}")), model.is_alive),
        7 if model.is_alive => {
            let summary = format!("checkpoint {number}");
            let asks = NewCheckpoint {
                state: CheckpointState::AwaitingInput,
                summary: summary.clone(),
                owner: None,
                artifact: None,
                due: None,
            };
            let recorded = checkpoint::record(own, &model.task, asks).unwrap();
            model.checkpoint = recorded.document["id"].as_i64().map(|id| (id, summary));
            model.seen.extend(model.open());
        }
        8 if random.below(3) == 0 => {
            end::end(app, &model.id, &EndRequest::default()).unwrap();
            model.is_alive = false;
        }
        9 if model.stream.take().is_none() => {
            model.stream = Some(listener::listen(app, &model.id, ListenerKind::Stream).unwrap());
        }
        10..=13 if !model.seen.is_empty() => {
            let item = model.read(random);
            let text = format!("answer {number} to {item}");
            let done = answer::answer(app, &item, &text);
            let way = if open.as_ref() == Some(&item) { model.way() } else { Way::Refused };
            assert_eq!(done.is_ok(), way != Way::Refused, "{item}, open {open:?}, {way:?}: {done:?}");
            if way == Way::Message {
                let asked = model.asked.as_ref().or(model.checkpoint.as_ref().map(|(_, text)| text)).unwrap();
                assert_eq!(newest_message(world, &model.id), format!("to your question: {asked}\n{text}"));
            }
            if way != Way::Refused {
                model.settle();
                answer_of_now = Some(text).filter(|_| way == Way::Typed);
            }
        }
        _ => {}
    }
    let new = scene.typed_since(known);
    match answer_of_now {
        Some(answer) => assert_eq!(new, [answer]),
        None => {
            assert!(new.iter().all(|text| text.starts_with("prompt ") || names_its_question(text)), "{new:?}");
            // A question on the screen is answered by no prompt. One by checkpoint ended its turn: the line is free.
            let is_screen = model.activity == Activity::RequiresAction;
            let is_late = |text: &String| names_its_question(text) && !is_screen;
            let is_free = model.activity == Activity::Idle;
            assert!(new.iter().all(|text| is_free || is_late(text)), "{new:?} while it is {}", model.activity);
        }
    }
}

/// An answer by message whose stream ended before it was read: it comes later, and says to which question.
fn names_its_question(text: &str) -> bool {
    text.starts_with("to your question: ")
}

fn newest_message(world: &Sessions, id: &SessionId) -> String {
    let query = format!("SELECT content FROM messages WHERE to_session = '{id}' ORDER BY id DESC LIMIT 1");
    world.rows(&query).pop().unwrap().remove("content").unwrap()
}

/// Several people answer and prompt at once, and the agent may die. It asks the next question as soon as it has an answer, before the
/// command that typed it has settled the first one.
fn rush(world: &Sessions, scene: &Scene, model: &Model, random: &mut Random) {
    let Some(open) = model.open() else { return };
    let known = scene.typed_since(0).len();
    let asks_again = model.is_asked_by_activity() && model.stream.is_none() && random.below(2) == 0;
    let next = QuestionId::activity(model.id.clone(), model.count + 1);
    let dies = random.below(8) == 0;
    let choices = [open.clone(), open.clone(), next.clone(), model.read(random)];
    let mut items: Vec<QuestionId> = vec![open.clone()];
    items.extend((0..=random.below(2)).map(|_| choices[usize::try_from(random.below(4)).unwrap()].clone()));
    let texts: Vec<(QuestionId, String)> =
        items.into_iter().enumerate().map(|(at, item)| (item.clone(), format!("answer {at} to {item}"))).collect();
    let is_over = AtomicBool::new(false);
    let went_in: Vec<(QuestionId, String)> = thread::scope(|scope| {
        let agent = scope.spawn(|| {
            let app = scene.person();
            while asks_again && !is_over.load(Ordering::Relaxed) {
                if !scene.typed_since(known).is_empty() {
                    beat(&app, &model.id, Activity::RequiresAction, Some("question again".to_owned()));
                    return;
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        let prompter = scope.spawn(|| send_prompt(&scene.person(), &model.id, "prompt at once".to_owned()));
        let death = scope.spawn(|| dies.then(|| end::end(&scene.person(), &model.id, &EndRequest::default()).unwrap()));
        let answers: Vec<_> = texts
            .iter()
            .map(|(item, text)| scope.spawn(move || answer::answer(&scene.person(), item, text).is_ok()))
            .collect();
        let answered: Vec<_> = answers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let (prompted, died) = (prompter.join(), death.join());
        // The agent waits for nothing more, also where one of them failed.
        is_over.store(true, Ordering::Relaxed);
        agent.join().unwrap();
        prompted.unwrap();
        died.unwrap();
        let of_text = answered.into_iter().map(Result::unwrap).zip(&texts);
        of_text.filter(|(is_in, _)| *is_in).map(|(_, text)| text.clone()).collect()
    });
    let new = scene.typed_since(known);
    let mut now = Some(open.clone());
    for text in &new {
        if text.starts_with("prompt ") || names_its_question(text) {
            let is_screen = now.is_some() && model.is_asked_by_activity();
            assert!(!is_screen, "{text} was typed into {now:?}: {new:?}");
            continue;
        }
        let item = now.take().unwrap_or_else(|| panic!("{text} was typed into no question: {new:?}"));
        assert!(text.ends_with(&format!(" to {item}")), "{text} was typed into {item}: {new:?}");
        now = Some(next.clone()).filter(|next| asks_again && *next != item);
    }
    // Whoever was told so has answered, and only they; one for each question.
    let answers = new.iter().filter(|text| text.starts_with("answer ")).count();
    let way = model.way();
    let of = |item: &QuestionId| went_in.iter().filter(|(of, _)| of == item).count();
    assert!(of(&open) <= 1 && of(&next) <= 1, "{went_in:?}");
    match way {
        // The session may have ended before what was typed into it was recorded.
        Way::Typed if dies => assert!(went_in.len() <= answers, "{went_in:?}: {new:?}"),
        Way::Typed => assert_eq!(went_in.len(), answers, "{went_in:?}: {new:?}"),
        Way::Message => assert_eq!(answers, 0, "{new:?}"),
        Way::Refused => assert_eq!((went_in.len(), answers), (0, 0), "{went_in:?}: {new:?}"),
    }
    if way != Way::Refused && !dies {
        assert_eq!(of(&open), 1, "{open}, {way:?}: {went_in:?}");
    }
    if let (Way::Message, [(_, text)]) = (way, went_in.as_slice()) {
        let all = world.rows(&format!("SELECT content FROM messages WHERE to_session = '{}'", model.id));
        let asked = model.asked.as_ref().or(model.checkpoint.as_ref().map(|(_, text)| text)).unwrap();
        let expected = format!("to your question: {asked}\n{text}");
        assert!(all.iter().any(|row| row["content"] == expected), "{expected}: {all:?}");
    }
}

/// One interleaving.
fn run(world: &Sessions, scene: &Scene, at: u64, seed: u64) {
    let id = format!("q-{at}");
    let mut model = Model {
        id: SessionId::parse(&id).unwrap(),
        task: TaskId::parse(&format!("T-{at}")).unwrap(),
        has_hooks: at.is_multiple_of(HOOKS_OF),
        is_alive: true,
        activity: Activity::Unknown,
        count: 0,
        asked: None,
        checkpoint: None,
        seen: Vec::new(),
        stream: None,
    };
    let (app, own) = (scene.person(), scene.app(app::session(&id)));
    let mut random = Random(seed);
    for number in 0..STEPS {
        step(world, scene, (&app, &own), &mut model, &mut random, number);
    }
    rush(world, scene, &model, &mut random);
}

#[test]
fn no_text_reaches_another_question_than_the_one_that_it_was_written_for() {
    let number = |name: &str| env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let interleavings = number("FAIRWAY_ANSWER_INTERLEAVINGS");
    let interleavings = interleavings.unwrap_or(if soak::is_on() { INTERLEAVINGS } else { FEW_INTERLEAVINGS });
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let base = number("FAIRWAY_ANSWER_SEED").unwrap_or_else(|| u64::try_from(clock() % 1_000_000_000).unwrap());
    let world = Sessions::new();
    let backend = format!("exec:{}", world.script("backend", BACKEND).display());
    world.launch(&["--role", "r", "--backend", &backend, "--name", "q", "--", "true"]);
    make_sessions(&world, interleavings);
    let scene = Scene::of(&world);
    for at in 0..interleavings {
        let seed = base.wrapping_add(at);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&world, &scene, at, seed)));
        assert!(done.is_ok(), "interleaving {at}, of seed {seed}: run it again with FAIRWAY_ANSWER_SEED={seed}");
    }
    // The copied rows are those of no command.
    discard_store(&world);
}

/// Rows of sessions that are the launched one but for their name, each with a claimed task.
fn make_sessions(world: &Sessions, count: u64) {
    let columns: Vec<String> = world.session("q").keys().cloned().collect();
    let copied: Vec<&str> =
        columns.iter().map(String::as_str).filter(|name| !["id", "run_id"].contains(name)).collect();
    let copied = copied.join(", ");
    world.write_rows(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count} - 1)
         INSERT INTO agent_sessions (id, run_id, {copied}) SELECT 'q-' || i, 'run-' || i, {copied} FROM n, agent_sessions WHERE id = 'q';
         INSERT INTO tasks (id, title, status, priority, created_at, updated_at, claimant, claim_session, epoch, claimed_at)
         SELECT 'T-' || substr(id, 3), 'x', 'in_progress', 2, 1, 1, id, id, 1, 1 FROM agent_sessions WHERE id LIKE 'q-%';
         INSERT INTO claims (task_id, epoch, claimant, session_id, claimed_at) SELECT id, 1, claimant, claimant, 1 FROM tasks;
         INSERT INTO session_reports (session_id, hooked_at) SELECT id, 1 FROM agent_sessions WHERE id LIKE 'q-%'
         AND CAST(substr(id, 3) AS INTEGER) % {HOOKS_OF} = 0"
    ));
}
