//! Each hint is a command that a person pastes. In a full project the refusals are made, and each hint is followed literally in a copy:
//! it must run, lose nothing, and not lead back to itself.

mod cases;
mod followed_world;
mod hints_in_source;

use std::collections::BTreeSet;

use cases::Case;
use followed_world::FollowedWorld;

/// A hint: what it is for, and the command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hint {
    purpose: String,
    command: String,
}

/// The hints in what a refused command printed.
fn hints(stderr: &str) -> Vec<Hint> {
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("hint: "));
    let parts = lines.filter_map(|line| line.split_once(": "));
    parts.map(|(purpose, command)| Hint { purpose: purpose.to_owned(), command: command.to_owned() }).collect()
}

/// Puts values in the places of the words in capitals that a person would fill in.
fn filled(command: &str, case: &Case) -> String {
    let usual = |word: &str| match word {
        "TEXT" | "TITLE" => Some("why"),
        "COMMAND" => Some("true"),
        "ROLE" => Some("worker"),
        "EMAIL" => Some("a@b"),
        "NAME" => Some("other"),
        _ => None,
    };
    let fill = |word| case.fill.get(word).map(String::as_str).or_else(|| usual(word)).unwrap_or(word);
    command.split(' ').map(fill).collect::<Vec<_>>().join(" ")
}

/// A hint for looking changes nothing, and the refusal stays.
fn is_look(purpose: &str) -> bool {
    ["see", "list", "look", "read", "show", "compare", "choose", "did you mean", "test"]
        .iter()
        .any(|word| purpose.starts_with(word))
}

#[test]
fn each_hint_runs_loses_nothing_and_leads_on() {
    let (advice, world) = (cases::read(), FollowedWorld::new());
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for case in &advice.cases {
        let refuse = || {
            world.restore();
            let made = case.before.iter().map(|line| world.sh(line)).find(|made| made.code != Some(0));
            assert!(made.is_none(), "{}: {made:?}", case.refused);
            world.sh(&case.refused)
        };
        let mut refused = Some(refuse());
        let found = refused.as_ref().map(|refused| hints(&refused.stderr)).unwrap_or_default();
        if found.is_empty() {
            wrong.push(format!("{}: no hint: {refused:?}", case.refused));
        }
        for hint in found {
            seen.insert(hint.purpose.clone());
            // Each hint has a copy of its own.
            drop(refused.take().unwrap_or_else(refuse));
            let before = world.work();
            let command = filled(&hint.command, case);
            let followed = world.sh(&command);
            let about = format!("{}\n  {}: {command}", case.refused, hint.purpose);
            // A refusal of the followed command may lead on by another hint.
            if followed.code != Some(0) && !case.may_fail && !followed.stderr.contains("hint: ") {
                wrong.push(format!("{about}\n  does not run: {followed:?}"));
            }
            if hints(&followed.stderr).contains(&hint) {
                wrong.push(format!("{about}\n  leads back to itself"));
            }
            let lost = before.lost_in(&world.work());
            if !lost.is_empty() {
                wrong.push(format!("{about}\n  loses {lost:?}"));
            }
            if case.mended && !is_look(&hint.purpose) {
                let then = world.sh(&case.refused);
                if then.code != Some(0) {
                    wrong.push(format!("{about}\n  does not help: {then:?}"));
                }
            }
        }
    }
    let all = hints_in_source::purposes();
    let known: BTreeSet<&String> = advice.not_followed.values().flatten().collect();
    for purpose in all.iter().filter(|purpose| !is_look(purpose) && !known.contains(purpose)) {
        if !seen.iter().any(|seen| hints_in_source::is_of(seen, purpose)) {
            wrong.push(format!("no case makes this hint appear: {purpose}"));
        }
    }
    for known in known {
        if !all.contains(known) {
            wrong.push(format!("no source has this hint: {known}"));
        }
    }
    println!("{} cases, {} purposes followed", advice.cases.len(), seen.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What the board says to do next, of each item of the world.
#[test]
fn each_next_step_of_the_board_runs_and_loses_nothing() {
    let (advice, world) = (cases::read(), FollowedWorld::new());
    for line in &advice.board {
        let made = world.sh(line);
        assert!(made.code == Some(0), "{line}: {made:?}");
    }
    world.keep();
    let board = world.sh("fairway status --json").exits(0).json();
    let (mut wrong, mut kinds) = (Vec::new(), BTreeSet::new());
    for item in board["needs_you"].as_array().unwrap() {
        kinds.insert(item["kind"].as_str().unwrap());
        for next in item["commands"].as_array().unwrap() {
            let command = filled(next["command"].as_str().unwrap(), &Case::default());
            world.restore();
            let before = world.work();
            let followed = world.sh(&command);
            if followed.code != Some(0) {
                wrong.push(format!("{} {command}: {followed:?}", item["id"]));
            }
            let lost = before.lost_in(&world.work());
            if !lost.is_empty() {
                wrong.push(format!("{} {command} loses {lost:?}", item["id"]));
            }
        }
    }
    println!("{kinds:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(kinds.len() >= 5, "{kinds:?}");
}
