//! Mutated lines against real shells, for as long as `FAIRWAY_GUARD_FUZZ` says in seconds: whatever makes them call git with a
//! forced push must have been denied, and none takes more than a part of the steps of a judgement. In a soak run it takes five
//! minutes.

use std::collections::BTreeSet;
use std::env;
use std::time::{Duration, Instant};

use fairway_core::guard::MAX_STEPS;

use super::differential::{Cage, may_run, variants};
use super::{cases, judged, no_force_push};

const BYPASSES: &str = include_str!("../../data/guard/bypasses.txt");
const HARMLESS: &str = include_str!("../../data/guard/harmless.txt");

/// The pieces that are put between two characters, or in the place of one.
const PIECES: &[&str] = &[
    " ", "\n", "\t", ";", "&", "|", "<", ">", "&&", "||", "$", "\"", "'", "`", "\\", "\\\n", "(", ")", "{", "}", "[",
    "]", "#", "=", "-", "+", "*", "?", "~", "!", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "<<<", "$(", "${", "$'", "$\"",
    "}", "<&-", ">&-", "2>&1", "<(", ">(", "[[ ", " ]]", "((", "))", "x=", "$x", "f() ", "-f", "+", "--force", "push",
    "git", " git push -f ", "eval ", "exec ", "env ", "sh -c ", "xargs ", "time ", "! ", "if ", "then ", "; fi", "do ",
    "; done", "case x in x) ", ";; esac", ",", "{a,b}", "{git,push}", "$IFS", "$@", "$*", "\\x2d", "%", "^", "/", "./",
    "\r", "é",
];

/// Numbers of a seed: the same seed gives the same lines.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn mutated(&mut self, line: &str, other: &str) -> String {
        let mut chars: Vec<char> = line.chars().collect();
        for _ in 0..=self.below(2) {
            let at = self.below(chars.len() + 1);
            let piece: Vec<char> = PIECES[self.below(PIECES.len())].chars().collect();
            match self.below(6) {
                0 | 1 => drop(chars.splice(at..at, piece)),
                2 if at < chars.len() => drop(chars.splice(at..=at, piece)),
                3 if at < chars.len() => drop(chars.remove(at)),
                4 => {
                    let to = (at + self.below(8)).min(chars.len());
                    let part: Vec<char> = chars[at..to].to_vec();
                    drop(chars.splice(at..at, part));
                }
                _ => {
                    let other: Vec<char> = other.chars().collect();
                    let from = self.below(other.len() + 1);
                    chars.truncate(at);
                    chars.extend(&other[from..]);
                }
            }
        }
        chars.into_iter().collect()
    }
}

#[test]
#[ignore = "minutes long: part of `just soak`"]
fn mutated_lines_that_real_shells_run_as_forced_pushes_were_denied() {
    let seconds = env::var("FAIRWAY_GUARD_FUZZ").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(300);
    let seed = env::var("FAIRWAY_GUARD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_u64);
    let end = Instant::now() + Duration::from_secs(seconds);
    let rules = no_force_push();
    // Lines that force a push are changed, and parts of all lines are put into them.
    let mut lines: Vec<String> = cases(BYPASSES);
    lines.extend(variants());
    let others: Vec<String> = lines.iter().cloned().chain(cases(HARMLESS)).collect();
    let found: Vec<(usize, usize, usize, BTreeSet<String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = [("bash", 1), ("dash", 2)]
            .into_iter()
            .map(|(shell, worker)| {
                let (lines, others, rules) = (&lines, &others, &rules);
                scope.spawn(move || {
                    let (cage, mut numbers) = (Cage::new(), Numbers(seed.wrapping_mul(worker) | 1));
                    let (mut all, mut ran, mut forced, mut wrong) = (0, 0, 0, BTreeSet::new());
                    while Instant::now() < end {
                        let line = &lines[numbers.below(lines.len())];
                        let other = &others[numbers.below(others.len())];
                        let line = cage.moved(&numbers.mutated(line, other));
                        all += 1;
                        // A denied line needs no shell, but for the count now and then.
                        let judged = judged(rules, &line);
                        let allowed = judged.allowed;
                        // The parser tries each of many parentheses in two ways.
                        if judged.steps > MAX_STEPS / 4 && line.matches('(').count() < 8 {
                            wrong.insert(format!("{} steps: {line:?}", judged.steps));
                        }
                        if !may_run(&line) || !allowed && numbers.below(10) > 0 {
                            continue;
                        }
                        ran += 1;
                        if cage.forces(shell, &line) {
                            forced += 1;
                            if allowed && cage.forces(shell, &line) {
                                wrong.insert(format!("{shell}: {line:?}"));
                            }
                        }
                    }
                    (all, ran, forced, wrong)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let all: usize = found.iter().map(|(all, ..)| all).sum();
    let ran: usize = found.iter().map(|(_, ran, ..)| ran).sum();
    let forced: usize = found.iter().map(|(_, _, forced, _)| forced).sum();
    let wrong: Vec<&String> = found.iter().flat_map(|(.., wrong)| wrong).collect();
    println!(
        "{all} changed lines were judged and {ran} ran, {forced} forced a push, {} were allowed or took too many steps",
        wrong.len()
    );
    assert!(forced > 0, "the canary saw no forced push in {ran} lines");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
