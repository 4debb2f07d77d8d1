//! The board's document, its frame and its page, side by side at random moments of a model run; and the board that is composed
//! from what has changed, beside the whole one.

use std::collections::BTreeMap;

use fairway::api::page_parts;
use fairway::cli::frame_lines;
use fairway_actions::board::{self, BoardCache};
use fairway_core::os::terminal::Size;
use fairway_core::wire;
use proptest::strategy::{Strategy as _, ValueTree as _};
use serde_json::Value;

use super::driver::{Driver as _, InProcess};
use super::{operation, runner, seed};

/// So many moments are compared.
const MOMENTS: usize = 1_000;
/// A frame that has room for everything.
const LARGE: Size = Size { rows: 100, cols: 400 };

/// A row of a list: its shape and its words.
type Row = (String, Vec<String>);

/// The words of a text, without those that only join.
fn words(text: &str) -> Vec<String> {
    text.split([' ', ';', ',', '·']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The headings of a frame with their numbers, and its rows.
fn list(frame: &[String]) -> (BTreeMap<String, usize>, Vec<Row>) {
    let (mut headings, mut rows) = (BTreeMap::new(), Vec::<Row>::new());
    for line in frame.iter().skip(1).take(frame.len() - 2).filter(|line| !line.is_empty()) {
        let heading = line.strip_suffix(')').and_then(|line| line.rsplit_once(" ("));
        match heading.filter(|(title, _)| *title == title.to_uppercase()) {
            Some((title, count)) => drop(headings.insert(title.to_owned(), count.parse().unwrap())),
            None if headings.is_empty() => {}
            None => {
                let shape: String = line.chars().skip(1).take(1).collect();
                match rows.last_mut().filter(|_| shape == " ") {
                    Some((_, row)) => row.extend(words(line)),
                    None => rows.push((shape, words(&line.chars().skip(3).collect::<String>()))),
                }
            }
        }
    }
    (headings, rows)
}

/// The numbers in the first line of a frame.
fn numbers(frame: &[String]) -> Vec<String> {
    let numbers = frame[0].split_once("  ").map_or("", |(_, numbers)| numbers.trim());
    numbers.split(" · ").map(str::to_owned).collect()
}

/// The texts of the elements that begin and end like this.
fn texts(html: &str, begin: &str, end: &str) -> Vec<String> {
    let plain = |text: &str| {
        let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
        text.replace("&amp;", "&")
    };
    html.split(begin).skip(1).filter_map(|rest| rest.split(end).next()).map(plain).collect()
}

/// The headings of a page with their numbers, its rows, and its numbers.
fn page(board: &wire::BoardView) -> (BTreeMap<String, usize>, Vec<Row>, Vec<String>) {
    let (mut headings, mut rows, mut numbers) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (title, count, items) in page_parts(board, &[]) {
        match title {
            "Open" => {}
            "Tasks" => {
                let found = texts(&items.concat(), "<span class=\"count\">", "</span>").into_iter();
                let found = found.map(|text| text.replace("<b>", "").replace("</b>", ""));
                numbers.extend(found.filter(|text| !text.ends_with(" sessions")));
            }
            _ => {
                if !items.is_empty() {
                    headings.insert(title.to_uppercase(), count);
                }
                rows.extend(items.iter().map(|html| {
                    let shape = texts(html, "aria-hidden=\"true\">", "</span>").concat();
                    let spans = html.split("<span class=\"").skip(2).filter_map(|span| span.split_once("\">"));
                    let spans = spans.map(|(_, rest)| texts(&format!("\u{1}{rest}"), "\u{1}", "<").concat());
                    (shape, spans.flat_map(|text| words(&text)).collect())
                }));
            }
        }
    }
    (headings, rows, numbers)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

/// What the rows must name, by the document: each item, then each session, claim and job that no item is about, then each free
/// lane.
fn expected(board: &Value) -> Vec<Vec<String>> {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let needs = list(&board["needs_you"]);
    let is_above = |session: &Value, tasks: &[Value]| {
        needs.iter().any(|need| {
            (!session.is_null() && need["session_id"] == *session)
                || tasks.iter().any(|held| !held["task_id"].is_null() && need["task_id"] == held["task_id"])
        })
    };
    let mut rows: Vec<Vec<String>> = needs
        .iter()
        .map(|need| {
            let about = ["session_id", "lane", "task_id"].iter().find(|key| !need[**key].is_null());
            let about = about.map(|key| text(&need[*key]));
            [words(&text(&need["line"])), words(&text(&need["kind"]).replace('_', " ")), about.into_iter().collect()]
                .concat()
        })
        .collect();
    let session = |one: &Value| {
        let tasks = list(&one["holds"]);
        let names = tasks.iter().map(|held| text(&held["task_id"])).chain([text(&one["id"])]);
        (!is_above(&one["id"], &tasks)).then(|| names.collect::<Vec<_>>())
    };
    let claim = |held: &Value| {
        (!is_above(&Value::Null, std::slice::from_ref(held)))
            .then(|| [vec![text(&held["task_id"])], words(&text(&held["claimant"]))].concat())
    };
    for lane in list(&board["lanes"]) {
        let sessions = list(&lane["sessions"]);
        rows.extend(sessions.iter().filter_map(session));
        let is_shown = |held: &Value| {
            sessions.iter().any(|one| list(&one["holds"]).iter().any(|other| other["task_id"] == held["task_id"]))
        };
        rows.extend(list(&lane["tasks"]).iter().filter(|held| !is_shown(held)).filter_map(claim));
    }
    rows.extend(list(&board["sessions"]).iter().filter_map(session));
    rows.extend(list(&board["claims"]).iter().filter(|held| held["lane"].is_null()).filter_map(claim));
    let is_free = |lane: &&Value| list(&lane["sessions"]).is_empty() && list(&lane["tasks"]).is_empty();
    rows.extend(list(&board["lanes"]).iter().filter(is_free).map(|lane| vec![text(&lane["name"])]));
    rows
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
            let frame = frame_lines(board, LARGE, app.env.now());
            let (headings, rows) = list(&frame);
            let place = || format!("{}\n{}", place(), frame.join("\n"));
            assert_eq!((&page.0, &page.2), (&headings, &numbers(&frame)), "{}", place());
            let expected = expected(&document);
            assert_eq!((rows.len(), page.1.len()), (expected.len(), expected.len()), "{}", place());
            for ((row, of_page), names) in rows.iter().zip(&page.1).zip(&expected) {
                assert_eq!(row.0, of_page.0, "{row:?} {of_page:?}: {}", place());
                // Ages are the reader's business on a page.
                let of_frame: Vec<_> = row.1.iter().collect();
                assert!(of_page.1.iter().all(|word| of_frame.contains(&word)), "{row:?} {of_page:?}: {}", place());
                assert!(names.iter().all(|name| of_frame.contains(&name)), "{names:?} {row:?}: {}", place());
            }
            most_needs = most_needs.max(document["needs_you"].as_array().unwrap().len());
            moments += 1;
        }
    }
    assert!(most_needs > 1, "the moments are poorer than they look");
}
