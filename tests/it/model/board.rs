//! The board's document, its frame and its page, side by side at random moments of a model run; and the board that is composed
//! from what has changed, beside the whole one.

use std::collections::BTreeMap;

use fairway::{
    actions::board::{self, BoardCache},
    api::page_parts,
    cli::frame_lines,
    os::terminal::Size,
    wire,
};
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

/// The shapes of the rows of a frame, and the numbers in its first line.
fn marks(frame: &[String]) -> (Vec<char>, Vec<String>) {
    let rows = frame.iter().skip(1).take_while(|line| !line.starts_with('─'));
    let shapes = rows.filter_map(|line| {
        let mut start = line.chars();
        matches!(start.next(), Some(' ' | '›')).then(|| start.next()).flatten().filter(|shape| *shape != ' ')
    });
    let numbers = frame[0].split_once("  ").map_or("", |(_, numbers)| numbers.trim());
    (shapes.collect(), numbers.split(" · ").map(str::to_owned).collect())
}

/// The parts of a page, as a browser shows them.
struct Page {
    parts: BTreeMap<String, (usize, Vec<Vec<String>>)>,
    shapes: Vec<char>,
    numbers: Vec<String>,
}

/// The texts of the elements that begin and end like this.
fn texts(html: &str, begin: &str, end: &str) -> Vec<String> {
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
        text.replace("&amp;", "&")
    };
    html.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).map(plain).collect()
}

fn page(board: &wire::BoardView) -> Page {
    let all = page_parts(board, &[]);
    let html: String = all.iter().filter(|(title, ..)| *title != "Tasks").map(|(_, _, items)| items.concat()).collect();
    let ids = |html: &str| texts(html, "<span class=\"id\">", "</span>");
    let or_dash = |texts: Vec<String>| if texts.is_empty() { "-".to_owned() } else { texts.join(",") };
    let row = |title: &str, html: &str| -> Vec<Vec<String>> {
        match title {
            "Needs you" => {
                let kind = texts(html, "<strong class=\"kind\">", "</strong>").concat();
                let line = texts(html, "<p class=\"line\">", "</p>").concat();
                vec![vec![kind, ids(html)[0].clone(), line]]
            }
            "Lanes" => {
                let name = texts(html, " data-lane=\"", "\"").concat();
                let ids = ids(html);
                match ids.first() {
                    Some(id) => vec![vec![name, or_dash(ids[1..].to_vec()), id.clone()]],
                    None => vec![vec![name, "-".to_owned(), "-".to_owned()]],
                }
            }
            "Sessions without a lane" => {
                let ids = ids(html);
                let provider = or_dash(texts(html, "<span class=\"provider\">", "</span>"));
                vec![vec![ids[0].clone(), or_dash(ids[1..].to_vec()), provider]]
            }
            _ => vec![ids(html)],
        }
    };
    let parts = all.iter().filter(|(title, _, items)| *title != "Tasks" && !items.is_empty());
    let parts = parts.map(|(title, count, items)| {
        (title.to_uppercase(), (*count, items.iter().flat_map(|item| row(title, item)).collect()))
    });
    let numbers = all.iter().find(|(title, ..)| *title == "Tasks").map(|(_, _, items)| items.concat()).unwrap();
    let numbers = texts(&numbers, "<span class=\"count\">", "</span>");
    let numbers = numbers.iter().map(|text| text.replace("<b>", "").replace("</b>", ""));
    Page {
        parts: parts.collect(),
        shapes: texts(&html, "aria-hidden=\"true\">", "</span>").concat().chars().collect(),
        numbers: numbers.filter(|text| !text.ends_with(" sessions")).collect(),
    }
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

/// Of claims without a session only the claimant and the task are compared.
fn shortened(mut parts: BTreeMap<String, (usize, Vec<Vec<String>>)>) -> BTreeMap<String, (usize, Vec<Vec<String>>)> {
    if let Some((_, rows)) = parts.get_mut("CLAIMS WITHOUT A SESSION") {
        for row in rows {
            row.truncate(2);
        }
    }
    parts
}

#[test]
fn document_frame_and_page_show_the_same_at_random_moments_and_so_does_the_kept_board() {
    let (seed, mut driver) = (seed(), InProcess::new());
    let mut runner = runner(1, seed);
    let (mut moments, mut most_needs) = (0, 0);
    while moments < MOMENTS {
        let ops = operation::sequence().new_tree(&mut runner).unwrap().current();
        driver.reset();
        let mut cache = BoardCache::new();
        cache.compose(driver.app(), &["acme"]).unwrap();
        let mut clock = operation::BEGINNING;
        for op in &ops {
            clock += op.seconds() * 1_000;
            let epoch = driver.token(op);
            driver.act(op, clock, epoch);
            let app = driver.app();
            let board = board::compose(app, &["acme"]).unwrap();
            let place = || format!("FAIRWAY_MODEL_SEED={seed}: {ops:#?} at {op:?}");
            assert_eq!(cache.compose(app, &["acme"]).unwrap(), board, "{}", place());
            let (document, page) = (serde_json::to_value(&board).unwrap(), page(&board));
            let frame = frame_lines(board, LARGE, app.env.now(), &app.actor.name);
            let expected = expected(&document);
            assert_eq!(shortened(parts(&frame)), expected, "{}\n{}", place(), frame.join("\n"));
            assert_eq!(shortened(page.parts), expected, "{}", place());
            assert_eq!((page.shapes, page.numbers), marks(&frame), "{}\n{}", place(), frame.join("\n"));
            most_needs = most_needs.max(document["needs_you"].as_array().unwrap().len());
            moments += 1;
        }
    }
    assert!(most_needs > 1, "the moments are poorer than they look");
}
