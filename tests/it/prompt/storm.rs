//! A thousand prompts, several who send, several who bring them at once, and some of those are killed: none is lost, and
//! none is doubled but what a killed one had shown and not yet said so.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use fairway_actions::sessions::prompt;
use fairway_core::domain::message::{Channel, Priority};
use fairway_core::env::{Env, Timestamp};
use nix::sys::signal::{Signal, raise};
use rusqlite::Connection;

use super::{LIMIT, a_prompt, app_at, session_of};
use crate::common::reexec::{StartBarrier, errors, part, part_dir, reexec, wait_at_start_line};
use crate::common::{TestProject, fixtures};

const SENDERS: usize = 4;
const PROMPTS: usize = 1_000;
const HOOKS: usize = 6;

/// Sends its share.
fn send(root: &Path, number: usize, now: Timestamp) {
    let app = app_at(root, "sender", now);
    wait_at_start_line();
    for each in 0..PROMPTS / SENDERS {
        let priority = Priority::ALL[each % 3];
        prompt::send(&app, &a_prompt("s1", &format!("<{number}-{each}>"), priority)).unwrap();
    }
}

/// When a hook is killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Death {
    Never,
    /// After it was given something and before it has shown anything of that.
    BeforeShowing,
    /// After it has shown it and before it has said so.
    AfterShowing,
}

/// Hooks of one session, one after the other, as different as a turn has them: each shows what it is given, in a file of its
/// own. The third text is the last for one that is killed.
fn deliver(root: &Path, shown: &Path, number: usize, death: Death, now: Timestamp) {
    let app = app_at(root, "s1", now);
    let session = session_of(&app);
    let mut out = OpenOptions::new().create(true).append(true).open(shown.join(format!("shown-{number}"))).unwrap();
    wait_at_start_line();
    let waiter = app.waiter("test").unwrap();
    let mut texts = 0;
    loop {
        let way = [Channel::TurnEnd, Channel::TurnStart, Channel::Wake, Channel::Tool][(texts + number) % 4];
        texts += 1;
        let Some(carried) = prompt::take_deliverable(&app, &session, way, LIMIT / 10).unwrap() else {
            if way != Channel::Tool {
                if all_delivered(root, now) {
                    break;
                }
                waiter.wait(Some(std::time::Duration::from_secs(1))).unwrap();
            }
            continue;
        };
        if texts >= 3 && death == Death::BeforeShowing {
            raise(Signal::SIGKILL).unwrap();
        }
        out.write_all(carried.text.as_bytes()).unwrap();
        out.sync_data().unwrap();
        if texts >= 3 && death == Death::AfterShowing {
            raise(Signal::SIGKILL).unwrap();
        }
        prompt::confirm_delivered(&app, &session, &carried).unwrap();
    }
}

/// Whether all were sent, and somebody has or holds each of them.
fn all_delivered(root: &Path, now: Timestamp) -> bool {
    let conn = Connection::open(root.join(".fairway/fairway.db")).unwrap();
    let query = "SELECT count(*) FROM messages WHERE settled_at IS NOT NULL OR offered_until > ?1";
    conn.query_row(query, [now.millis()], |row| row.get::<_, i64>(0)).unwrap() == i64::try_from(PROMPTS).unwrap()
}

/// The control: what waits is looked up, shown, and then marked.
fn deliver_then_mark(root: &Path, shown: &Path, number: usize) {
    let conn = Connection::open(root.join(".fairway/fairway.db")).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    let mut out = OpenOptions::new().create(true).append(true).open(shown.join(format!("shown-{number}"))).unwrap();
    wait_at_start_line();
    loop {
        let next = "SELECT id, content FROM messages WHERE status = 'queued' ORDER BY id LIMIT 1";
        let found = conn.query_row(next, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)));
        let Ok((id, content)) = found else { break };
        out.write_all(content.as_bytes()).unwrap();
        let mark = "UPDATE messages SET status = 'acknowledged', settled_at = 1 WHERE id = ?1";
        conn.execute(mark, [id]).unwrap();
    }
}

fn run_part(part: &str) {
    let (root, words) = (part_dir().join("../project"), part.split(' ').collect::<Vec<_>>());
    let (number, now) = (words[1].parse().unwrap(), Env::from_process().now());
    match words[0] {
        "send" => send(&root, number, now),
        "deliver" => deliver(&root, &part_dir(), number, Death::Never, now),
        "before" => deliver(&root, &part_dir(), number, Death::BeforeShowing, now),
        "after" => deliver(&root, &part_dir(), number, Death::AfterShowing, now),
        _ => deliver_then_mark(&root, &part_dir(), number),
    }
}

/// How often each prompt was shown.
fn shown(place: &Path) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for entry in fs::read_dir(place).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("shown-") {
            for text in fs::read_to_string(entry.path()).unwrap().split('<').skip(1) {
                *times.entry(text.split('>').next().unwrap().to_owned()).or_default() += 1;
            }
        }
    }
    times
}

fn count(world: &TestProject, condition: &str) -> usize {
    let conn = Connection::open(world.store()).unwrap();
    let query = format!("SELECT count(*) FROM messages WHERE {condition}");
    conn.query_row(&query, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap()
}

fn world() -> TestProject {
    let world = TestProject::new();
    fixtures::add_session(&world, "s1", "frontend", None);
    fixtures::add_session(&world, "sender", "lead", None);
    world
}

#[test]
fn thousand_prompts_are_delivered_once_each() {
    const NAME: &str = "prompt::storm::thousand_prompts_are_delivered_once_each";
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let place = world.dir().join("storm");
    let roles = |number: usize| match number {
        0..SENDERS => format!("send {number}"),
        4 => format!("before {number}"),
        5 => format!("after {number}"),
        _ => format!("deliver {number}"),
    };
    // One moment for all: an offer of this round lapses in the next.
    let command = |number: usize| {
        let mut command = reexec(&world, NAME, &roles(number), &place);
        command.env("FAIRWAY_TEST_TIME", world.now().to_string());
        command
    };
    let (ended, _) = StartBarrier::spawn(&place, SENDERS + HOOKS, command).release();
    let killed = ended.iter().filter(|status| !status.success()).count();
    assert_eq!(killed, 2, "{}", errors(&place));
    let left = count(&world, "settled_at IS NULL");
    let (held, queued) = (count(&world, "status = 'offered'"), count(&world, "status = 'queued'"));
    assert!(held > 0 && queued == 0 && left == held, "{held} held by the killed, {queued} queued");

    let doubled: Vec<String> = {
        let conn = Connection::open(world.store()).unwrap();
        let mut rows = conn.prepare("SELECT content FROM messages WHERE status = 'offered'").unwrap();
        let held: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let before = shown(&place);
        assert!(before.values().all(|times| *times == 1), "doubled: {before:?}");
        held.into_iter()
            .map(|text| text.trim_matches(['<', '>']).to_owned())
            .filter(|text| before.contains_key(text))
            .collect()
    };
    assert!(!doubled.is_empty() && doubled.len() < held, "{} of {held}", doubled.len());

    // A minute later the next hook brings what the killed ones held.
    world.advance_clock(60);
    let (ended, _) = StartBarrier::spawn(&place, 1, |_| reexec(&world, NAME, "deliver 99", &place)).release();
    assert!(ended[0].success(), "{}", errors(&place));
    let all = shown(&place);
    let lost = PROMPTS - all.len();
    let twice: Vec<&String> = all.iter().filter(|(_, times)| **times > 1).map(|(text, _)| text).collect();
    assert_eq!((lost, twice.len()), (0, doubled.len()), "lost, and doubled beside {doubled:?}: {twice:?}");
    assert!(twice.iter().all(|text| doubled.contains(text)));
    assert_eq!(count(&world, "status = 'acknowledged'"), PROMPTS);
    println!("{PROMPTS} prompts, {held} held by 2 killed hooks, {} of them shown twice, 0 lost", doubled.len());
}

#[test]
fn control_that_marks_after_showing_repeats_prompts() {
    const NAME: &str = "prompt::storm::control_that_marks_after_showing_repeats_prompts";
    if let Some(part) = part() {
        return run_part(&part);
    }
    let world = world();
    let app = app_at(&world.root(), "sender", world.now());
    for each in 0..200 {
        prompt::send(&app, &a_prompt("s1", &format!("<{each}>"), Priority::Normal)).unwrap();
    }
    let place = world.dir().join("storm");
    StartBarrier::spawn(&place, HOOKS, |number| reexec(&world, NAME, &format!("control {number}"), &place)).release();
    let twice = shown(&place).values().filter(|times| **times > 1).count();
    // The control's store is not checked further.
    fs::remove_file(world.store()).unwrap();
    assert!(twice > 0, "the control is as good as what it is a control of");
}
