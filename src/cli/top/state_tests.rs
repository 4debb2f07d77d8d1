//! The state machine on boards made by hand.

use serde_json::json;

use super::action::Aspect;
use super::draw::Look;
use super::frame::lines;
use super::input::{Effect, Input};
use super::key::Key;
use super::mode::Mode;
use super::pane::Pane;
use super::state::State;
use fairway_core::domain::TaskId;
use fairway_core::domain::approval::ApprovalStatus;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::need::NeedKind;
use fairway_core::domain::status::JobStatus;
use fairway_core::domain::task::{TaskStatus, TaskSummary};
use fairway_core::env::Timestamp;
use fairway_core::os::terminal::Size;
use fairway_core::wire::{
    ApprovalView, BoardCountsView, BoardJobView, BoardJobsView, BoardLaneView, BoardView, CommandView, CostView,
    HeldTaskView, LandAtWorkView, NeedView,
};

const SIZE: Size = Size { rows: 24, cols: 80 };
const NOW: &str = "2026-01-01T00:10:00Z";

fn need(kind: NeedKind, key: &str, session: &str, command: &str) -> NeedView {
    NeedView {
        id: format!("{kind}:{key}"),
        kind,
        session_id: Some(session.to_owned()),
        task_id: Some("T-1".to_owned()),
        lane: Some("cart".to_owned()),
        since: Some("2026-01-01T00:00:00Z".to_owned()),
        line: format!("line of {key}"),
        evidence: "as it was told".to_owned(),
        commands: vec![CommandView { purpose: "settle it".to_owned(), command: command.to_owned() }],
    }
}

fn approval(id: i64) -> NeedView {
    let mut need = need(NeedKind::Approval, &id.to_string(), "ada", &format!("fairway approvals answer {id} allow"));
    let command = format!("fairway approvals answer {id} deny");
    need.commands.push(CommandView { purpose: "deny it".to_owned(), command });
    need
}

fn board(needs_you: Vec<NeedView>) -> BoardView {
    let lane = |name: &str| BoardLaneView {
        waiting_checks: Vec::new(),
        name: name.to_owned(),
        status: LaneStatus::Open,
        role: None,
        branch: None,
        base: None,
        stands_on: None,
        worktree: None,
        host: None,
        wip_limit: None,
        provider: None,
        tasks: Vec::new(),
        sessions: Vec::new(),
        work: None,
        setup: None,
        pull_request: None,
        diffstat: None,
        overlap: Vec::new(),
        cost: CostView::default(),
    };
    let job = BoardJobView {
        run_id: "0193b0c0-7e6a-7a5b-8c3d-aabb8c1e03d4".to_owned(),
        session_id: None,
        command: "cargo test".to_owned(),
        status: JobStatus::Running,
        since: NOW.to_owned(),
        exit_code: None,
        last_line: None,
    };
    BoardView {
        version: 1,
        at: NOW.to_owned(),
        seq: 1,
        project: "shop".to_owned(),
        needs_you,
        counts: BoardCountsView {
            ready: 2,
            held: 1,
            in_progress: 1,
            blocked: 0,
            review: 0,
            open: 3,
            done: 4,
            sessions: 1,
            dead_sessions: 0,
        },
        lanes: ["cart", "docs", "shop"].map(lane).into(),
        sessions: Vec::new(),
        claims: Vec::new(),
        landing: LandAtWorkView::default(),
        jobs: BoardJobsView { active: vec![job], active_count: 1, failed: Vec::new() },
        cost: CostView::default(),
        inbox: None,
    }
}

fn state(needs: Vec<NeedView>) -> State {
    State::new(board(needs), Vec::new(), SIZE)
}

fn press(state: &mut State, keys: &str) -> Vec<Effect> {
    keys.chars()
        .flat_map(|key| {
            let key = match key {
                '\n' => Key::Enter,
                '\t' => Key::Tab,
                '\u{1b}' => Key::Escape,
                key => Key::Char(key),
            };
            state.take(Input::Key(key))
        })
        .collect()
}

fn composed(board: BoardView) -> Input {
    Input::Board { board: Box::new(board), ready: Vec::new() }
}

/// Presses a key that answers a permission request, and returns what the loop then shows.
fn shows_request(state: &mut State, key: char, found: Option<ApprovalView>) {
    let effects = press(state, &key.to_string());
    let [Effect::LoadApproval { id, offer }] = &effects[..] else { panic!("{effects:?}") };
    state.take(Input::Approval { id: *id, offer: offer.clone(), found: found.map(Box::new) });
}

/// The command that an effect runs.
fn typed(effects: &[Effect]) -> String {
    match effects {
        [Effect::View(action) | Effect::Run(action)] => action.typed(),
        other => panic!("{other:?}"),
    }
}

fn selected(state: &State) -> &str {
    state.row().map_or("-", |row| &row.key)
}

fn request(id: i64, command: &str) -> ApprovalView {
    ApprovalView {
        id,
        session_id: "ada".to_owned(),
        run_id: "run".to_owned(),
        provider: "acme".to_owned(),
        tool: "Bash".to_owned(),
        input: json!({ "command": command }),
        answerable: true,
        status: ApprovalStatus::Pending,
        reason: None,
        asked_at: NOW.to_owned(),
        answered_at: None,
        answered_by: None,
    }
}

fn shown(state: &State) -> String {
    lines(state, Look { now: Timestamp::parse(NOW).unwrap(), has_colour: false }).join("\n")
}

#[test]
fn cursor_moves_by_rows_and_parts() {
    let mut state = state(vec![approval(1), need(NeedKind::Question, "bob", "bob", "fairway prompt bob TEXT")]);
    for (keys, id) in [
        ("", "approval:1"),
        ("k", "approval:1"),
        ("j", "question:bob"),
        ("\t", "job:0193b0c0-7e6a-7a5b-8c3d-aabb8c1e03d4"),
        ("j", "lane:cart"),
        ("\t", "approval:1"),
        ("G", "lane:shop"),
        ("j", "lane:shop"),
        ("g", "approval:1"),
    ] {
        assert_eq!(press(&mut state, keys), []);
        assert_eq!(selected(&state), id, "{keys:?}");
    }
    state.take(Input::Key(Key::BackTab));
    assert_eq!(selected(&state), "lane:cart");
}

#[test]
fn cursor_stays_on_its_object_when_others_come_and_go() {
    let mut state = state(vec![approval(2)]);
    press(&mut state, "Gk");
    assert_eq!(selected(&state), "lane:docs");
    state.take(composed(board(vec![approval(1), approval(2), approval(3)])));
    assert_eq!(selected(&state), "lane:docs");
    press(&mut state, "gj");
    state.take(composed(board(vec![approval(1), approval(3)])));
    assert_eq!(selected(&state), "approval:3");
    state.take(composed(board(Vec::new())));
    assert_eq!(selected(&state), "lane:cart");
}

#[test]
fn filter_leaves_what_contains_the_text() {
    let mut state = state(vec![approval(1), need(NeedKind::Question, "bob", "bob", "fairway prompt bob TEXT")]);
    press(&mut state, "/BOB");
    assert_eq!(state.rows.len(), 1);
    assert_eq!(selected(&state), "question:bob");
    press(&mut state, "\n");
    assert!(matches!(state.mode, Mode::Board));
    assert!(shown(&state).contains("filter: BOB"));
    press(&mut state, "\u{1b}");
    assert_eq!(state.rows.len(), 6);
    press(&mut state, "/nowhere");
    assert_eq!(state.rows.len(), 0);
    assert!(shown(&state).contains("nothing matches"));
    // With nothing selected the keys of rows do nothing.
    press(&mut state, "\n");
    assert_eq!(press(&mut state, "spradc"), []);
}

/// `T-3` is looked for as a whole, in all that a row is about.
#[test]
fn filter_finds_an_item_by_its_task_and_no_longer_number() {
    let about = |task: &str, session: &str| NeedView {
        task_id: Some(task.to_owned()),
        ..need(NeedKind::Unfinished, session, session, &format!("fairway prompt {session} TEXT"))
    };
    let mut state = state(vec![about("T-3", "mail-1"), about("T-37", "bill-1")]);
    press(&mut state, "/t-3\n");
    assert_eq!((state.rows.len(), selected(&state)), (1, "unfinished:mail-1"));
}

#[test]
fn answer_runs_after_the_request_was_shown_whole_and_the_key_was_pressed_again() {
    let mut state = state(vec![approval(7)]);
    shows_request(&mut state, 'a', Some(request(7, "git push")));
    assert!(shown(&state).contains("ALLOW IT?") || shown(&state).contains("SETTLE IT?"), "{}", shown(&state));
    assert!(shown(&state).contains("command: git push"), "{}", shown(&state));
    // The other key answers nothing.
    assert_eq!(press(&mut state, "d"), []);
    assert!(matches!(state.mode, Mode::Board));
    let long = "line\n".repeat(50);
    shows_request(&mut state, 'a', Some(request(7, &long)));
    assert_eq!(press(&mut state, "a"), []);
    assert!(shown(&state).contains("read to the end first"));
    state.take(Input::Key(Key::Paste("a".to_owned())));
    assert_eq!(typed(&press(&mut state, "Ga")), "fairway approvals answer 7 allow");
    assert!(shown(&state).contains("running: fairway approvals answer 7 allow"));
    // One command at a time.
    shows_request(&mut state, 'a', Some(request(7, "x")));
    assert_eq!(press(&mut state, "a"), []);
    state.take(Input::Ended { is_ok: false, said: "error: no   hint: fairway x".to_owned() });
    assert!(shown(&state).contains("hint: fairway x"));
    // What was stored of a call in part can only be denied.
    let cut = ApprovalView { input: json!("…"), ..request(7, "") };
    shows_request(&mut state, 'a', Some(cut.clone()));
    assert!(shown(&state).contains("longer than what is stored"), "{}", shown(&state));
    shows_request(&mut state, 'd', Some(cut));
    assert_eq!(typed(&press(&mut state, "d")), "fairway approvals answer 7 deny");
}

fn question(number: u32, line: &str) -> NeedView {
    let id = format!("question:bob:{number}");
    let need = need(NeedKind::Question, &format!("bob:{number}"), "bob", &format!("fairway answer {id} TEXT"));
    NeedView { line: line.to_owned(), ..need }
}

#[test]
fn answer_names_its_question_which_stands_whole_above_the_field() {
    let long = format!("may I drop the table {} now?", "orders ".repeat(20));
    let mut state = state(vec![question(1, &long)]);
    assert!(shown(&state).contains("p settle it"), "{}", shown(&state));
    press(&mut state, "pyes");
    let screen = shown(&state).replace(['\n', ' '], "");
    assert!(screen.contains(&long.replace(' ', "")), "{}", shown(&state));
    let effects = press(&mut state, "\n");
    let [Effect::Run(action)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(
        (action.argv.as_slice(), action.stdin.as_deref()),
        (&["answer".into(), "question:bob:1".into(), "-".into()][..], Some("yes"))
    );
}

#[test]
fn text_whose_question_has_changed_is_kept_and_not_sent() {
    for (now, why) in [(vec![question(2, "may I?")], "another question is asked"), (Vec::new(), "it is settled")] {
        let mut state = state(vec![question(1, "which?")]);
        press(&mut state, "/which\npyes");
        state.take(composed(board(now)));
        assert_eq!(press(&mut state, "x\n"), []);
        let screen = shown(&state);
        assert!(screen.contains(why) && screen.contains("> yes") && screen.contains("which?"), "{screen}");
        press(&mut state, "\u{1b}");
        assert!(matches!(state.mode, Mode::Board));
    }
}

#[test]
fn question_in_the_window_of_the_agent_takes_no_text() {
    let mut state = state(vec![need(NeedKind::Question, "bob:1", "bob", "fairway session attach bob")]);
    assert!(shown(&state).contains("Enter settle it"), "{}", shown(&state));
    assert_eq!(press(&mut state, "p"), []);
    assert!(matches!(state.mode, Mode::Board));
    assert!(shown(&state).contains("this key does nothing here"), "{}", shown(&state));
    // The next key leaves the message, not the program.
    assert_eq!(press(&mut state, "q"), []);
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

#[test]
fn request_that_is_settled_elsewhere_is_asked_no_more() {
    let mut state = state(vec![approval(7), approval(8)]);
    shows_request(&mut state, 'a', Some(request(7, "git push")));
    state.take(composed(board(vec![approval(8)])));
    assert!(matches!(state.mode, Mode::Board));
    // The key meant the other request: on the board it asks anew.
    shows_request(&mut state, 'a', None);
    assert!(shown(&state).contains("approval 8 is no longer open"));
}

#[test]
fn what_cannot_be_undone_asks_and_only_y_runs_it() {
    let mut state = state(vec![approval(1)]);
    for answer in ["n", "\u{1b}", "\n", "Y"] {
        press(&mut state, "s");
        assert!(shown(&state).contains("All processes of the session are ended"), "{}", shown(&state));
        assert_eq!(press(&mut state, answer), []);
        assert!(matches!(state.mode, Mode::Board), "{answer:?}");
    }
    press(&mut state, "s");
    state.take(Input::Key(Key::Paste("y".to_owned())));
    assert_eq!(typed(&press(&mut state, "y")), "fairway session stop ada");
}

#[test]
fn texts_go_to_their_command_as_data() {
    let mut state = state(vec![approval(1)]);
    press(&mut state, "p");
    state.take(Input::Key(Key::Paste("a\nb; rm -rf /".to_owned())));
    let effects = press(&mut state, "q\n");
    let [Effect::Run(action)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(action.argv, ["prompt", "ada", "-"]);
    assert_eq!(action.stdin.as_deref(), Some("a\nb; rm -rf /q"));
    state.take(Input::Ended { is_ok: true, said: "queued".to_owned() });
}

/// What `task undo` takes back asks nothing first, and `u` takes it back once.
#[test]
fn change_that_was_just_made_is_taken_back_by_a_key() {
    let mut state = working(Vec::new(), TaskStatus::InProgress);
    assert_eq!(press(&mut state, "u"), []);
    press(&mut state, "?P");
    assert_eq!(typed(&press(&mut state, "0\n")), "fairway task edit T-1 --priority 0");
    state.take(Input::Ended { is_ok: true, said: "edited T-1".to_owned() });
    assert!(shown(&state).contains("edited T-1   u takes it back"), "{}", shown(&state));
    assert_eq!(typed(&press(&mut state, "u")), "fairway task undo T-1");
    state.take(Input::Ended { is_ok: true, said: "undone".to_owned() });
    assert_eq!(press(&mut state, "u"), []);
}

/// Each gap of a command is asked for in turn; an empty text does nothing.
#[test]
fn gaps_of_a_command_are_asked_for_one_after_the_other() {
    let mut state = state(Vec::new());
    press(&mut state, "n");
    assert!(shown(&state).contains("new task: title"), "{}", shown(&state));
    assert_eq!(press(&mut state, "\n"), []);
    assert!(shown(&state).contains("nothing was typed"));
    assert_eq!(typed(&press(&mut state, "nGift cards\n")), "fairway task add 'Gift cards'");
    state.take(Input::Ended { is_ok: true, said: "added".to_owned() });
    assert_eq!(press(&mut state, "OT-9\n"), []);
    assert!(shown(&state).contains("reopen a closed task: reason"), "{}", shown(&state));
    assert_eq!(typed(&press(&mut state, "too early\n")), "fairway task reopen T-9 --reason 'too early'");
}

#[test]
fn viewer_follows_the_end_until_one_scrolls_up() {
    let mut state = state(Vec::new());
    let effects = press(&mut state, "\n");
    assert!(matches!(&effects[..], [Effect::View(action)] if action.argv[..2] == ["exec", "log"]), "{effects:?}");
    let numbered = |from: usize, to: usize| (from..to).map(|number| format!("line {number}.")).collect();
    state.take(Input::Lines { lines: numbered(0, 100), whole: false });
    assert!(shown(&state).contains("line 99."));
    press(&mut state, "k");
    state.take(Input::Lines { lines: numbered(100, 200), whole: false });
    assert!(shown(&state).contains("line 98.") && !shown(&state).contains("line 199."));
    press(&mut state, "G");
    state.take(Input::Lines { lines: numbered(200, 300), whole: false });
    assert!(shown(&state).contains("line 299."));
    // However much comes, the end is kept.
    state.take(Input::Lines { lines: numbered(0, 50_000), whole: false });
    assert!(shown(&state).contains("line 49999."));
    assert_eq!(press(&mut state, "q"), [Effect::CloseView]);
    assert_eq!(press(&mut state, "q"), [Effect::Quit]);
}

fn task(status: TaskStatus) -> HeldTaskView {
    HeldTaskView {
        task_id: "T-1".to_owned(),
        title: "Fix the total".to_owned(),
        status,
        lane: Some("cart".to_owned()),
        claimant: "ada".to_owned(),
        session_id: Some("ada".to_owned()),
        epoch: 1,
        claimed_at: NOW.to_owned(),
        lease_until: None,
        blocked_reason: None,
    }
}

/// A board whose first lane has the task.
fn working(needs: Vec<NeedView>, status: TaskStatus) -> State {
    let mut board = board(needs);
    if let Some(lane) = board.lanes.first_mut() {
        lane.worktree = Some("/w/cart".to_owned());
        lane.tasks = vec![task(status)];
    }
    State::new(board, Vec::new(), SIZE)
}

fn offered(state: &State) -> String {
    state.offers().iter().map(|offer| if offer.key == '\n' { '⏎' } else { offer.key }).collect()
}

#[test]
fn row_offers_only_what_its_state_allows() {
    // Allow, deny; attach, prompt, stop; block, release, finish, cancel; title, priority, hand over; editor, explain.
    assert_eq!(offered(&working(vec![approval(1)], TaskStatus::InProgress)), "ad⏎psbrfxtPhoe");
    assert_eq!(offered(&working(vec![approval(1)], TaskStatus::Blocked)), "ad⏎psbrxtPoe");
    let review = need(NeedKind::Review, "T-1", "ada", "fairway review next --task T-1");
    assert_eq!(offered(&working(vec![review.clone()], TaskStatus::Review)), "v⏎psacLDfxtPoe");
    // Yes and no have the same keys, whatever they are about.
    let mut handoff = need(NeedKind::Handoff, "3", "ada", "fairway handoff accept 3");
    let command = "fairway handoff decline 3 --reason TEXT".to_owned();
    handoff.commands.push(CommandView { purpose: "decline it".to_owned(), command });
    let mut handed = working(vec![handoff], TaskStatus::InProgress);
    assert!(offered(&handed).starts_with("ad"), "{}", offered(&handed));
    assert_eq!(typed(&press(&mut handed, "a")), "fairway handoff accept 3");
    let mut ready = State::new(board(vec![review]), vec![summary()], SIZE);
    press(&mut ready, "\t\t");
    assert_eq!((selected(&ready), offered(&ready).as_str()), ("ready:T-5", "SxtPe⏎"));
    // In the list of keys each of them works, also those that the board has not.
    assert_eq!(press(&mut ready, "S"), []);
    assert!(shown(&ready).contains("this key does nothing here"));
    press(&mut ready, "?");
    assert!(shown(&ready).contains("S       start an agent on it"), "{}", shown(&ready));
    assert_eq!(typed(&press(&mut ready, "S")), "fairway start T-5");
    assert!(shown(&ready).contains("T-5 Gift cards") && shown(&ready).contains("READY (2)"), "{}", shown(&ready));
}

fn summary() -> TaskSummary {
    TaskSummary {
        id: TaskId::parse("T-5").unwrap(),
        title: "Gift cards".to_owned(),
        status: TaskStatus::Todo,
        role: None,
        lane: None,
        priority: 1,
    }
}

#[test]
fn card_is_read_before_its_commit_is_approved() {
    let mut state =
        working(vec![need(NeedKind::Review, "T-1", "ada", "fairway review next --task T-1")], TaskStatus::Review);
    assert_eq!(press(&mut state, "o"), [Effect::Edit("cart".to_owned())]);
    assert_eq!(
        typed(&press(&mut state, "ctoo long\n")),
        "fairway review record T-1 --verdict changes --notes 'too long'"
    );
    state.take(Input::Ended { is_ok: true, said: "recorded".to_owned() });
    assert_eq!(press(&mut state, "a"), [Effect::LoadCard("T-1".to_owned())]);
    let command =
        |purpose: &str, command: &str| CommandView { purpose: purpose.to_owned(), command: command.to_owned() };
    let commands = vec![
        command("approve", "fairway review record T-1 --verdict approve --commit 0123abc"),
        command("comment on a line", "fairway review comment T-1 FILE:LINE TEXT --commit 0123abc"),
        command("land it", "fairway land T-1"),
    ];
    let card = |commands: &[CommandView]| Input::Card {
        task: "T-1".to_owned(),
        lines: vec!["T-1: Fix the total".to_owned(), "+eleven".to_owned()],
        commands: commands.to_vec(),
    };
    state.take(card(&commands));
    assert!(shown(&state).contains("+eleven") && shown(&state).contains("a approve"), "{}", shown(&state));
    assert_eq!(typed(&press(&mut state, "a")), "fairway review record T-1 --verdict approve --commit 0123abc");
    state.take(Input::Ended { is_ok: true, said: "recorded".to_owned() });
    state.take(card(&commands));
    let comment = typed(&press(&mut state, "msrc/a.rs:3\nwhy?\n"));
    assert_eq!(comment, "fairway review comment T-1 src/a.rs:3 'why?' --commit 0123abc");
    state.take(Input::Ended { is_ok: true, said: "recorded".to_owned() });
    state.take(card(&commands));
    assert_eq!(press(&mut state, "L"), []);
    assert!(shown(&state).contains("goes into its base if its gates are met"), "{}", shown(&state));
    assert_eq!(typed(&press(&mut state, "y")), "fairway land T-1");
}

#[test]
fn next_task_is_named_before_it_is_started() {
    let mut state = state(Vec::new());
    assert_eq!(press(&mut state, "N"), [Effect::FindNext]);
    state.take(Input::Next(Some(("T-5".to_owned(), "Gift cards".to_owned()))));
    assert!(shown(&state).contains("Start an agent on T-5: Gift cards?"));
    let effects = press(&mut state, "y");
    assert_eq!(typed(&effects), "fairway start T-5");
    state.take(Input::Next(None));
    state.take(Input::Ended { is_ok: true, said: "started".to_owned() });
    assert!(shown(&state).contains("started"));
}

#[test]
fn board_that_is_not_current_says_since_when() {
    let mut state = state(vec![need(NeedKind::Question, "bob", "bob", "fairway prompt bob TEXT")]);
    let as_of = Timestamp::parse(NOW).unwrap();
    state.take(Input::Lost { as_of, why: "the store is gone".into() });
    let text = shown(&state);
    let header = text.lines().next().unwrap();
    assert!(header.contains(&format!(" as of {} ", as_of.local_time())), "{header}");
    assert!(text.contains("the store is gone"), "{text}");
    let board = state.board.clone();
    state.take(composed(board));
    assert!(!shown(&state).contains("as of"));
}

#[test]
fn wide_screen_shows_the_selected_row_beside_the_list() {
    let mut state = state(vec![approval(1), need(NeedKind::Question, "bob", "bob", "fairway prompt bob TEXT")]);
    state.pane = Some(Pane::new());
    // Without room the keys open the whole text.
    let [Effect::Peek { session, .. }] = &press(&mut state, "1")[..] else { panic!("no screen") };
    assert_eq!(session, "ada");
    assert!(matches!(&press(&mut state, "3")[..], [Effect::CloseView, Effect::View(_)]));
    press(&mut state, "q");
    assert_eq!(state.pane_request(), None);

    state.take(Input::Resize(Size { rows: 24, cols: 140 }));
    let request = state.pane_request().unwrap().unwrap();
    assert_eq!(request.action.typed(), "fairway session peek ada --lines 200");
    state.take(Input::Pane { request, lines: vec!["the agent's line".to_owned()] });
    let frame = shown(&state);
    let line = frame.lines().find(|line| line.contains("the agent's line")).unwrap();
    assert_eq!(line.find('│').map(|at| line[..at].chars().count()), Some(58), "{frame}");
    assert!(frame.contains("[1 screen]  2 messages   3 changes   4 evidence"), "{frame}");
    assert!(frame.contains("FREE LANES (3)"), "{frame}");

    // The text of one row does not stand beside another.
    press(&mut state, "j");
    assert!(!shown(&state).contains("the agent's line"));
    assert_eq!(press(&mut state, "4"), []);
    assert_eq!(state.pane_request().unwrap().unwrap().aspect, Aspect::Evidence);
    press(&mut state, "G");
    assert_eq!(state.pane_request(), Some(Err("no task is here")));
    assert!(shown(&state).contains("no task is here"));
    press(&mut state, "0");
    assert_eq!(state.pane_request(), None);
    assert!(!shown(&state).contains('│'));
    press(&mut state, "g3");
    assert!(shown(&state).contains("[3 changes]"));
    // What is over the board has the whole screen.
    press(&mut state, "?");
    assert_eq!(state.pane_request(), None);
}
