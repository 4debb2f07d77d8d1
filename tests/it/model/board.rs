//! The board's document and its frame, side by side at random moments of a model run.

use std::collections::BTreeMap;

use fairway::{actions::project::board, cli::frame_lines, os::terminal::Size};
use proptest::strategy::{Strategy as _, ValueTree as _};
use serde_json::Value;

use super::{
    driver::{Driver as _, InProcess},
    operation, runner, seed,
};

/// So many moments are compared.
const MOMENTS: usize = 1_000;
/// A frame that has room for everything.
const LARGE: Size = Size { rows: 60, cols: 200 };

/// The first cells of the rows, and the number in the heading, of each part of a frame.
fn parts(frame: &[String]) -> BTreeMap<String, (usize, Vec<Vec<String>>)> {
    let mut parts: BTreeMap<String, (usize, Vec<Vec<String>>)> = BTreeMap::new();
    let mut part = None;
    for line in frame.iter().skip(1) {
        if line.starts_with('─') {
            break;
        }
        match line.strip_suffix(')').and_then(|line| line.rsplit_once(" (")) {
            Some((title, count)) if title == title.to_uppercase() => {
                parts.insert(title.to_owned(), (count.parse().unwrap(), Vec::new()));
                part = Some(title.to_owned());
            }
            _ if line.is_empty() || line.starts_with("nothing needs you") => {}
            _ => {
                let cells = line.chars().skip(3).collect::<String>();
                let cells = cells.split("  ").map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty());
                parts.get_mut(part.as_ref().expect("a heading")).unwrap().1.push(cells.take(3).collect());
            }
        }
    }
    parts
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

/// The expected columns of the document.
fn expected(board: &Value) -> BTreeMap<String, (usize, Vec<Vec<String>>)> {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let tasks = |one: &Value| {
        let ids: Vec<String> = list(&one["holds"]).iter().map(|held| text(&held["task_id"])).collect();
        if ids.is_empty() { "-".to_owned() } else { ids.join(",") }
    };
    let mut parts = BTreeMap::new();
    let mut add = |title: &str, count: usize, rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            parts.insert(title.to_owned(), (count, rows));
        }
    };
    let needs = list(&board["needs_you"]);
    let need_row = |need: &Value| {
        let about = ["session_id", "task_id", "lane"].iter().find(|key| !need[**key].is_null()).unwrap();
        vec![text(&need["kind"]), text(&need[*about]), text(&need["line"])]
    };
    add("NEEDS YOU", needs.len(), needs.iter().map(need_row).collect());
    let lanes = list(&board["lanes"]);
    let mut rows = Vec::new();
    for lane in &lanes {
        let name = text(&lane["name"]);
        let sessions = list(&lane["sessions"]);
        rows.extend(sessions.iter().map(|one| vec![name.clone(), tasks(one), text(&one["id"])]));
        let is_shown = |held: &Value| {
            sessions.iter().any(|one| list(&one["holds"]).iter().any(|other| other["task_id"] == held["task_id"]))
        };
        let claims: Vec<Value> = list(&lane["tasks"]).into_iter().filter(|held| !is_shown(held)).collect();
        rows.extend(claims.iter().map(|held| vec![name.clone(), text(&held["task_id"]), text(&held["claimant"])]));
        if sessions.is_empty() && claims.is_empty() {
            rows.push(vec![name, "-".to_owned(), "-".to_owned()]);
        }
    }
    add("LANES", lanes.len(), rows);
    let sessions = list(&board["sessions"]);
    let row = |one: &Value| vec![text(&one["id"]), tasks(one), text(&one["provider"])];
    add("SESSIONS WITHOUT A LANE", sessions.len(), sessions.iter().map(row).collect());
    let claims: Vec<Value> = list(&board["claims"]).into_iter().filter(|held| held["lane"].is_null()).collect();
    let row = |held: &Value| vec![text(&held["claimant"]), text(&held["task_id"])];
    add("CLAIMS WITHOUT A SESSION", claims.len(), claims.iter().map(row).collect());
    parts
}

#[test]
fn frame_and_document_show_the_same_items_at_random_moments() {
    let (seed, mut driver) = (seed(), InProcess::new());
    let mut runner = runner(1, seed);
    let (mut moments, mut most_needs) = (0, 0);
    while moments < MOMENTS {
        let ops = operation::sequence().new_tree(&mut runner).unwrap().current();
        driver.reset();
        let mut clock = operation::BEGINNING;
        for op in &ops {
            clock += op.seconds() * 1_000;
            let epoch = driver.token(op);
            driver.act(op, clock, epoch);
            let app = driver.app();
            let board = board::compose(app, &["acme"]).unwrap();
            let document = serde_json::to_value(&board).unwrap();
            let frame = frame_lines(board, LARGE, app.env.now(), &app.actor.name);
            let mut seen = parts(&frame);
            if let Some((_, rows)) = seen.get_mut("CLAIMS WITHOUT A SESSION") {
                for row in rows {
                    row.truncate(2);
                }
            }
            assert_eq!(seen, expected(&document), "FAIRWAY_MODEL_SEED={seed}: {ops:#?}\n{}", frame.join("\n"));
            most_needs = most_needs.max(document["needs_you"].as_array().unwrap().len());
            moments += 1;
        }
    }
    assert!(most_needs > 1, "the moments are poorer than they look");
}
