//! Reworks of recorded features: a reviewer who has seen the work is shown each line that is new, and no other.
//!
//! `FAIRWAY_REWORKS` is the number of reworks; the guide on reviews has the figures for 300.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::cooper_bench::features::{Base, Feature, Import, Pair, base_of, pairs};
use crate::common::test_project::CommandOutput;
use crate::common::{TestProject, fixtures};

/// The number of reworks when none is asked for.
const USUAL: usize = 16;

/// What is done to the work after it was seen.
const KINDS: [&str; 8] =
    ["rebase", "merge", "fixup", "rebase and fixup", "squash", "rename", "merge and fixup", "drop and fixup"];

/// Numbers that look random, and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// A rework that is to be made: a pair of features, of which the second one is the base's.
struct Planned {
    kind: &'static str,
    base: usize,
    moved_base: usize,
    seen: usize,
    tags: usize,
}

/// A lane in which reworks are made, and what is said of them.
struct Bench {
    world: TestProject,
    numbers: Numbers,
    conflicts: usize,
}

impl Bench {
    fn dir(&self) -> std::path::PathBuf {
        super::tree(&self.world, "ui")
    }

    fn git(&self, args: &[&str]) -> String {
        self.world.git(&self.dir(), args)
    }

    /// Whether git did it; a conflict is no failure of the test.
    fn try_git(&self, args: &[&str]) -> bool {
        let user = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.editor=true"];
        let mut command = self.world.command("git");
        command.current_dir(self.dir()).args(user).args(args).output().unwrap().status.success()
    }

    /// Resolves the conflicts of an unfinished merge or rebase. The lane's lines come first; with a tag, a new line is between.
    fn resolve(&mut self, is_rebase: bool, tag: Option<&str>) -> bool {
        self.conflicts += 1;
        let mut tag = tag.map(str::to_owned);
        let unmerged = self.git(&["diff", "--name-only", "--diff-filter=U"]);
        for path in unmerged.lines() {
            let file = self.dir().join(path);
            let Ok(text) = fs::read_to_string(&file) else {
                self.git(&["rm", "--quiet", "--force", "--", path]);
                continue;
            };
            let (mut resolved, mut sides, mut at) = (String::new(), [String::new(), String::new()], None);
            for line in text.split_inclusive('\n') {
                match (at, line.get(..7)) {
                    (None, Some("<<<<<<<")) => at = Some(0),
                    (Some(0), Some("=======")) if line.trim_end().len() == 7 => at = Some(1),
                    (Some(1), Some(">>>>>>>")) => {
                        let [ours, theirs] = std::mem::take(&mut sides);
                        let (lane, base) = if is_rebase { (theirs, ours) } else { (ours, theirs) };
                        let new = tag.take().map(|tag| format!("{tag}\n")).unwrap_or_default();
                        match self.numbers.below(4) {
                            0 => resolved.push_str(&(lane + &new)),
                            1 => resolved.push_str(&(new + &base)),
                            _ => resolved.push_str(&(lane + &new + &base)),
                        }
                        at = None;
                    }
                    (Some(side), _) => sides[side].push_str(line),
                    (None, _) => resolved.push_str(line),
                }
            }
            fs::write(file, resolved).unwrap();
            self.git(&["add", "--", path]);
        }
        tag.is_none()
    }

    /// Brings the moved base into the work. Returns whether the tag of a conflict's resolution was used.
    fn integrate(&mut self, how: &str, base: &str, tag: &str) -> bool {
        if how == "rebase" {
            // One commit has one conflict.
            self.git(&["reset", "--quiet", "--soft", "base-before"]);
            self.git(&["commit", "--quiet", "--allow-empty", "--message=work"]);
            if self.try_git(&["rebase", "--quiet", base]) {
                return false;
            }
            let is_used = self.resolve(true, Some(tag));
            if !self.try_git(&["rebase", "--continue"]) {
                self.git(&["rebase", "--skip"]);
            }
            is_used
        } else {
            if self.try_git(&["merge", "--quiet", "--no-ff", "--no-edit", base]) {
                return false;
            }
            let is_used = self.resolve(false, Some(tag));
            self.git(&["commit", "--quiet", "--allow-empty", "--no-edit"]);
            is_used
        }
    }

    /// The files of the work with at least so many lines, except those that git cannot read as text.
    fn files(&self, lines: usize) -> Vec<String> {
        let listed = self.git(&["ls-files"]);
        let is_long =
            |path: &&str| fs::read_to_string(self.dir().join(path)).is_ok_and(|text| text.lines().count() >= lines);
        listed.lines().filter(is_long).map(str::to_owned).collect()
    }

    /// Writes new lines into a file, before others or in place of them.
    fn fix_up(&mut self, path: &str, tags: &[String]) {
        let file = self.dir().join(path);
        let mut lines: Vec<String> = fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
        for tag in tags {
            let place = self.numbers.below(lines.len());
            if self.numbers.below(3) == 0 && !lines[place].starts_with("new line ") {
                lines[place].clone_from(tag);
            } else {
                lines.insert(place, tag.clone());
            }
        }
        fs::write(file, lines.join("\n") + "\n").unwrap();
    }

    /// Makes a rework; the lines that are new in it.
    fn rework(&mut self, number: usize, planned: &Planned) -> Vec<String> {
        let tag = |place: usize| format!("new line {number}.{place}");
        let base = format!("c{}", planned.moved_base);
        let mut new = Vec::new();
        let how = match planned.kind {
            "rebase" | "rebase and fixup" => Some("rebase"),
            "merge" | "merge and fixup" => Some("merge"),
            "squash" | "rename" if number.is_multiple_of(2) => Some("merge"),
            _ => None,
        };
        if let Some(how) = how {
            self.git(&["update-ref", "refs/heads/trunk", &base]);
            if self.integrate(how, &base, &tag(0)) {
                new.push(tag(0));
            }
        }
        let mut path = None;
        match planned.kind {
            "rename" => {
                let files = self.files(4 * planned.tags + 8);
                if let Some(found) = files.get(self.numbers.below(files.len())) {
                    self.git(&["mv", found, &format!("{found}.moved")]);
                    path = Some(format!("{found}.moved"));
                }
            }
            "drop and fixup" => {
                // The work's part of one of its files goes.
                let changed = self.git(&["diff", "--name-only", "--diff-filter=M", "base-before", "HEAD"]);
                let changed: Vec<&str> = changed.lines().collect();
                if let Some(found) = changed.get(self.numbers.below(changed.len())) {
                    let read = || fs::read_to_string(self.dir().join(found)).unwrap();
                    let seen = read();
                    self.git(&["checkout", "--quiet", "base-before", "--", found]);
                    new.extend(more_lines(&read(), &seen));
                }
            }
            _ => {}
        }
        if !matches!(planned.kind, "rebase" | "merge") {
            let files = self.files(1);
            let path = path.or_else(|| files.get(self.numbers.below(files.len())).cloned());
            if let Some(path) = path {
                let tags: Vec<String> = (1..=planned.tags).map(tag).collect();
                self.fix_up(&path, &tags);
                new.extend(tags);
            }
        }
        self.git(&["add", "--all"]);
        if planned.kind == "squash" && how.is_none() {
            self.git(&["reset", "--quiet", "--soft", "base-before"]);
        }
        let amend: &[&str] = if planned.kind == "fixup" { &["--amend"] } else { &[] };
        self.git(&[&["commit", "--quiet", "--allow-empty", "--message=rework"], amend].concat());
        // A replaced line may have been a new one.
        let there = self.git(&["grep", "--no-line-number", "-h", "--text", "-e", "", "HEAD"]);
        let there: std::collections::BTreeSet<&str> = there.lines().collect();
        new.retain(|line| there.contains(line.as_str()));
        new
    }

    fn card(&self) -> Value {
        let shown = self.world.fairway(["review", "next", "--task", "T-1", "--json"]).output().unwrap();
        CommandOutput::from(shown).exits(0).json()["card"].clone()
    }
}

/// The lines that a text has more often than another one: what was gone when it was seen, and came back.
fn more_lines(text: &str, seen: &str) -> Vec<String> {
    let mut left: Vec<&str> = seen.lines().collect();
    let is_more = |line: &&str| match left.iter().position(|one| one == line) {
        Some(place) => {
            left.swap_remove(place);
            false
        }
        None => true,
    };
    text.lines().filter(is_more).map(str::to_owned).collect()
}

/// The lines of a patch behind this sign, each as often as it has them.
fn lines(patch: &str, sign: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let head = format!("{sign}{sign}{sign} ");
    for line in patch.lines().filter(|line| line.starts_with(sign) && !line.starts_with(&head)) {
        *found.entry(line[1..].to_owned()).or_default() += 1;
    }
    found
}

/// The plans, and the stream of their commits.
fn planned(count: usize) -> (Vec<Planned>, String) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cooper");
    let all: Vec<Pair> = pairs(&data);
    let (mut import, mut found, mut numbers) = (Import::default(), Vec::new(), Numbers(29));
    // A step that has no common factor with the number of pairs takes them from all tasks.
    let step = (1..=all.len()).map(|more| all.len() / 3 + more).find(|step| gcd(*step, all.len()) == 1).unwrap();
    let mut place = 0;
    while found.len() < count {
        let pair = &all[place % all.len()];
        place += step;
        let read = |number: usize| Feature::read(&data.join(&pair.task).join(format!("{number}.patch")));
        let (work, others) = (read(pair.a), read(pair.b));
        let Some(base): Option<Base> = base_of(&[&work, &others]) else { continue };
        let root = import.commit(&work.after(&base, 0), None);
        let moved_base = import.commit(&others.after(&base, others.size()), Some(root));
        let (mut seen, parts) = (root, 1 + numbers.below(3));
        for part in 1..=parts {
            seen = import.commit(&work.after(&base, work.size() * part / parts), Some(seen));
        }
        let kind = KINDS[found.len() % KINDS.len()];
        found.push(Planned { kind, base: root, moved_base, seen, tags: 1 + numbers.below(4) });
    }
    (found, import.into_text())
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[test]
fn reworks_show_every_new_line_and_no_other() {
    let count = std::env::var("FAIRWAY_REWORKS").ok().map_or(USUAL, |text| text.parse().unwrap());
    let (plans, stream) = planned(count);
    let world = TestProject::with_git();
    fixtures::add_session(&world, "author", "dev", None);
    let mut import = world.command("git");
    import.current_dir(world.root()).args(["fast-import", "--quiet", "--done"]);
    let mut child = import.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    world.git(&world.root(), &["branch", "trunk", "main"]);
    world.run(["lane", "add", "ui", "--base", "trunk", "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-1", "work", "--lane", "ui"]).exits(0);
    world.run(["--session", "author", "claim", "T-1"]).exits(0);
    let mut bench = Bench { world, numbers: Numbers(1), conflicts: 0 };
    let mut kinds: BTreeMap<&str, [usize; 5]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        bench.git(&["update-ref", "refs/heads/trunk", &format!("c{}", plan.base)]);
        bench.git(&["update-ref", "refs/tags/base-before", &format!("c{}", plan.base)]);
        bench.git(&["reset", "--quiet", "--hard", &format!("c{}", plan.seen)]);
        let seen = bench.card();
        assert_eq!(seen["problem"], Value::Null, "{seen}");
        let new = bench.rework(number, plan);
        let card = bench.card();
        let changes = &card["changes"];
        assert_eq!(changes["since"], seen["changes"]["commit"], "rework {number}, {}: {changes}", plan.kind);
        let patch = changes["patch"].as_str().unwrap();
        let mut shown = lines(patch, "+");
        let mut found = 0;
        for line in &new {
            if let Some(count) = shown.get_mut(line).filter(|count| **count > 0) {
                (found, *count) = (found + 1, *count - 1);
            }
        }
        // A line that is taken away elsewhere was moved: it is shown where it is now.
        let mut moved = 0;
        for (line, taken) in lines(patch, "-") {
            if let Some(count) = shown.get_mut(&line) {
                let both = taken.min(*count);
                (moved, *count) = (moved + both, *count - both);
            }
        }
        shown.retain(|_, count| *count > 0);
        let others: usize = shown.values().sum();
        let sums = kinds.entry(plan.kind).or_default();
        for (sum, more) in sums.iter_mut().zip([1, new.len(), found, moved, others]) {
            *sum += more;
        }
        if found < new.len() || others > 0 {
            wrong.push(json!({ "rework": number, "kind": plan.kind, "new": new, "others": shown, "changes": changes }));
        }
    }
    println!("| rework | reworks | new lines | shown | moved | others |\n|---|---|---|---|---|---|");
    for (kind, [reworks, new, found, moved, others]) in &kinds {
        println!("| {kind} | {reworks} | {new} | {found} | {moved} | {others} |");
        assert!(*moved == 0 || *kind == "drop and fixup", "{kind} moves no line");
    }
    println!("{} conflicts were resolved by hand", bench.conflicts);
    assert!(wrong.is_empty(), "{} of {count}: {:#}", wrong.len(), wrong[0]);
    assert!(bench.conflicts > 0 && kinds.len() == KINDS.len(), "{kinds:?}");
}
