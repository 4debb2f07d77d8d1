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

/// The list of a page, as a browser shows it.
struct Page {
    /// Kind, line and subjects of what needs a person, with its shape.
    needs: Vec<(String, Vec<String>)>,
    /// The names in the rows below, with their shapes.
    others: Vec<(String, Vec<String>)>,
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
    let rows = |titles: &[&str]| -> Vec<String> {
        all.iter().filter(|(title, ..)| titles.contains(title)).flat_map(|(.., items)| items.clone()).collect()
    };
    let shape = |html: &str| texts(html, "aria-hidden=\"true\">", "</span>").concat();
    let span = |html: &str, class: &str| texts(html, &format!("<span class=\"{class}\">"), "</span>");
    let needs = rows(&["Needs you"]).into_iter().map(|html| {
        let about = [span(&html, "id"), span(&html, "task")].concat();
        (shape(&html), [vec![span(&html, "kind").concat(), span(&html, "title").concat()], about].concat())
    });
    let others = rows(&["At work", "Free lanes"]).into_iter().map(|html| {
        let lane = texts(&html, " data-lane=\"", "\"").concat();
        let names = [vec![lane], span(&html, "id"), span(&html, "title")].concat();
        (shape(&html), names)
    });
    let numbers = texts(&rows(&["Tasks"]).concat(), "<span class=\"count\">", "</span>");
    let numbers = numbers.iter().map(|text| text.replace("<b>", "").replace("</b>", ""));
    Page {
        needs: needs.collect(),
        others: others.collect(),
        numbers: numbers.filter(|text| !text.ends_with(" sessions")).collect(),
    }
}

impl Page {
    /// Compares it with the rows of the frame: each is here once, what an item above is about only there.
    fn shows(&self, parts: &BTreeMap<String, (usize, Vec<Vec<String>>)>, shapes: &[char], place: &str) {
        let rows = |title: &str| parts.get(title).map(|(_, rows)| rows.clone()).unwrap_or_default();
        let words = |names: &[String]| -> Vec<String> {
            names.iter().flat_map(|name| name.split([' ', ';'])).map(str::to_owned).collect()
        };
        let needs = rows("NEEDS YOU");
        assert_eq!(self.needs.len(), needs.len(), "{place}");
        for ((shape, names), (expected, row)) in self.needs.iter().zip(shapes.iter().zip(&needs)) {
            assert_eq!(*shape, expected.to_string(), "{names:?}: {place}");
            assert_eq!((names[0].replace(' ', "_"), &names[1]), (row[0].clone(), &row[2]), "{place}");
            assert!(words(&names[2..]).contains(&row[1]), "{names:?} {row:?}: {place}");
        }
        // Lane, tasks, and who: the session, the claimant, or nobody.
        let lanes = rows("LANES");
        let loose = rows("SESSIONS WITHOUT A LANE").into_iter().map(|row| [row[1].clone(), row[0].clone()]);
        let claims = rows("CLAIMS WITHOUT A SESSION").into_iter().map(|row| [row[1].clone(), row[0].clone()]);
        let all = lanes.into_iter().map(|row| vec![row[1].clone(), row[2].clone(), row[0].clone()]);
        let all = all.chain(loose.chain(claims).map(|row| row.to_vec())).zip(&shapes[needs.len()..]);
        let above: Vec<String> = self.needs.iter().flat_map(|(_, names)| words(&names[2..])).collect();
        let is_above =
            |row: &[String]| above.contains(&row[1]) || row[0].split(',').any(|task| above.contains(&task.to_owned()));
        let (free, mut expected): (Vec<_>, Vec<_>) =
            all.filter(|(row, _)| row[1] == "-" || !is_above(row)).partition(|(row, _)| row[1] == "-");
        expected.extend(free);
        assert_eq!(self.others.len(), expected.len(), "{:?} {expected:?}: {place}", self.others);
        for ((shape, names), (row, expected)) in self.others.iter().zip(&expected) {
            assert_eq!(*shape, expected.to_string(), "{names:?}: {place}");
            let names = words(names);
            for name in row.iter().flat_map(|cell| cell.split(',')).filter(|name| *name != "-") {
                assert!(names.contains(&name.to_owned()), "{name} in {names:?}: {place}");
            }
        }
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
            let (shapes, numbers) = marks(&frame);
            assert_eq!(page.numbers, numbers, "{}\n{}", place(), frame.join("\n"));
            page.shows(&expected, &shapes, &place());
            most_needs = most_needs.max(document["needs_you"].as_array().unwrap().len());
            moments += 1;
        }
    }
    assert!(most_needs > 1, "the moments are poorer than they look");
}
