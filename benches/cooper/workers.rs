//! The arms with scripted workers in real lanes, for every task of the data.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::features::{Feature, Import, base_of, pairs};
use super::lanes::{Arm, Outcome, work};
use super::radar::{Radar, ratio};
use super::trees;

/// The steps of each worker.
const STEPS: usize = 10;

#[derive(Default)]
struct Row {
    total: Outcome,
    /// Workers that were stopped for the sake of one whose finished feature merges with theirs.
    false_alarms: usize,
    /// The steps that stopped workers did not make in vain.
    saved: usize,
}

/// Prints the table.
pub fn report(data: &Path) {
    let known = trees::features(data, &pairs(data));
    let mut tasks: BTreeMap<&str, Vec<&Feature>> = BTreeMap::new();
    for ((task, _), feature) in &known {
        tasks.entry(task).or_default().push(feature);
    }
    let mut rows = [Arm::Alone, Arm::FileNames, Arm::Hook].map(|arm| (arm, Row::default()));
    for wanted in tasks.values() {
        let mut kept: Vec<&Feature> = Vec::new();
        for feature in wanted {
            kept.push(feature);
            if base_of(&kept).is_none() {
                kept.pop();
            }
        }
        let Some(base) = base_of(&kept).filter(|_| !kept.is_empty()) else { continue };
        let mut import = Import::default();
        let root = import.commit(&kept[0].after(&base, 0), None);
        let marks: Vec<usize> =
            kept.iter().map(|feature| import.commit(&feature.after(&base, feature.size()), Some(root))).collect();
        let radar = Radar::import(import);
        let clash = |one: usize, other: usize| radar.judge(&[(root, marks[one], marks[other])])[0].conflict;
        for (arm, row) in &mut rows {
            let done = work(env!("CARGO_BIN_EXE_fairway"), &kept, &base, *arm, STEPS);
            row.false_alarms += done.stopped.iter().filter(|(one, other, _)| !clash(*one, *other)).count();
            row.saved += done.stopped.iter().map(|(_, _, step)| STEPS - step).sum::<usize>();
            row.total.landed.extend(done.landed);
            row.total.sent_back.extend(done.sent_back);
            row.total.stopped.extend(done.stopped);
            row.total.reworked += done.reworked;
            row.total.calls.extend(done.calls);
        }
    }
    println!("| workers in real lanes, {STEPS} steps each | alone | stopped by file name | stopped by the hook |");
    println!("|---|---|---|---|");
    let line = |what: &str, cell: &dyn Fn(&Row) -> String| {
        let cells: Vec<String> = rows.iter().map(|(_, row)| cell(row)).collect();
        println!("| {what} | {} |", cells.join(" | "));
    };
    line("landed without rework", &|row| row.total.landed.len().to_string());
    line("sent back by `land`", &|row| row.total.sent_back.len().to_string());
    line("stopped on the way", &|row| row.total.stopped.len().to_string());
    line("of these, the two finished features merge", &|row| row.false_alarms.to_string());
    line("lines to do again", &|row| row.total.reworked.to_string());
    line("steps not made in vain, mean of the stopped", &|row| match row.total.stopped.len() {
        0 => "–".to_owned(),
        count => format!("{:.1}", ratio(row.saved, count)),
    });
    line("time per tool call: median, worst", &|row| {
        let mut calls = row.total.calls.clone();
        calls.sort_unstable();
        let ms = |span: Option<&Duration>| span.map_or(0.0, |span| span.as_secs_f64() * 1000.0);
        format!("{:.0} ms, {:.0} ms", ms(calls.get(calls.len() / 2)), ms(calls.last()))
    });
    println!();
}
