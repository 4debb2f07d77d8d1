//! The commit of a task: what is reviewed, judged and landed is what was checked out when the task was submitted, whatever its
//! branch is called.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::land::{NO_GATES, commit, head, lane_dir, main_commit, project, status};
use crate::common::TestProject;

/// A lane whose task is claimed. Returns its worktree.
fn lane(world: &TestProject, name: &str) -> PathBuf {
    world.run(["lane", "add", name, "--create-worktree"]).exits(0);
    world.run(["task", "add", "T-1", "Work", "--lane", name]).exits(0);
    world.run(["claim", "T-1"]).exits(0);
    lane_dir(world, name)
}

fn submit(world: &TestProject) -> String {
    let run = world.run(["task", "submit", "T-1"]).exits(0);
    run.stdout + &run.stderr
}

/// The codes of the blockers, and the commands that clear them.
fn blockers(world: &TestProject) -> Vec<(String, String)> {
    let report = world.run(["merge-ready", "T-1", "--json"]).json();
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    report["blockers"].as_array().unwrap().iter().map(|one| (text(one, "code"), text(one, "fix"))).collect()
}

fn file_of_main(world: &TestProject, name: &str) -> String {
    let shown = world.command("git").args(["show", &format!("main:{name}")]).current_dir(world.root()).output();
    String::from_utf8(shown.unwrap().stdout).unwrap()
}

fn branches(world: &TestProject) -> String {
    world.git(&world.root(), &["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads"])
}

#[test]
fn work_lands_from_whatever_is_checked_out_in_every_style() {
    type Way = (&'static str, &'static [&'static str], &'static str);
    let ways: [Way; 6] = [
        ("on its branch", &[], ""),
        ("on a branch of its own", &["switch --quiet --create feature/x"], "works on feature/x"),
        ("detached", &["checkout --quiet --detach"], "works on no branch"),
        ("renamed", &["branch --move lane/c renamed"], "works on renamed"),
        (
            "its branch deleted",
            &["switch --quiet --create feature/x", "branch --quiet -D lane/c"],
            "works on feature/x",
        ),
        ("without any branch", &["checkout --quiet --detach", "branch --quiet -D lane/c"], "works without its branch"),
    ];
    for style in ["merge", "squash", "rebase"] {
        for (about, steps, clause) in ways {
            let about = format!("{style}, {about}");
            let world = project(&format!("{NO_GATES}[land]\nstyle = \"{style}\"\n"));
            let dir = lane(&world, "c");
            for step in steps {
                world.git(&dir, &step.split(' ').collect::<Vec<_>>());
            }
            let tip = commit(&world, "c", &[("c.txt", "c\n")]);
            let said = submit(&world);
            assert!(said.contains(&tip[..12]) && said.contains(clause), "{about}: {said}");
            assert_eq!(said.contains("what is checked out is what lands"), !clause.is_empty(), "{about}: {said}");
            let report = world.json(["merge-ready", "T-1"]);
            assert_eq!((&report["ready"], &report["judged"]["commit"]), (&json!(true), &json!(tip)), "{about}");
            let card = world.json(["review", "next", "--task", "T-1"]);
            assert_eq!(card["card"]["changes"]["commit"], json!(tip), "{about}");
            let landed = world.json(["land", "T-1"])["landings"][0].clone();
            assert_eq!((&landed["state"], &landed["commit"]), (&json!("landed"), &json!(tip)), "{about}: {landed:#}");
            assert_eq!(
                (file_of_main(&world, "c.txt"), status(&world, "T-1")),
                ("c\n".into(), "done".into()),
                "{about}"
            );
            assert!(!dir.exists(), "{about}: {landed:#}");
            assert_eq!(branches(&world), "main\n", "{about}");
        }
    }
}

#[test]
fn commits_after_the_submission_stay_until_they_are_submitted() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    let first = commit(&world, "c", &[("c.txt", "seen\n")]);
    submit(&world);
    let verdict = ["review", "record", "T-1", "--verdict", "approve", "--json"];
    assert_eq!(world.run(verdict).exits(0).json()["commit"], json!(first));
    commit(&world, "c", &[("c.txt", "unseen\n")]);
    let last = commit(&world, "c", &[("c.txt", "unseen too\n")]);
    let report = world.json(["merge-ready", "T-1"]);
    assert_eq!((&report["ready"], &report["judged"]["commit"]), (&json!(true), &json!(first)));

    let run = world.run(["land", "T-1"]).exits(0);
    let note = format!("2 commits since the submission at {} stay in the lane c", &first[..12]);
    assert!(run.stderr.contains(&note), "{run:?}");
    assert_eq!((file_of_main(&world, "c.txt"), status(&world, "T-1")), ("seen\n".into(), "done".into()));
    assert_eq!(
        (head(&world, &dir), world.json(["lane", "show", "c"])["lane"]["status"].clone()),
        (last, json!("open"))
    );
}

#[test]
fn second_submission_makes_older_verdicts_old() {
    let world = project("\n[gates.done]\nrequire = []\n[gates.merge]\nrequire = [\"reviews\", \"checks\"]\n");
    world.add_session("rosa");
    lane(&world, "c");
    world.run(["task", "edit", "T-1", "--review-domain", "code", "--check", "unit=true"]).exits(0);
    let approve = || {
        world.run(["--session", "rosa", "review", "record", "T-1", "--verdict", "approve"]).exits(0);
    };
    let check = || {
        world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(0);
    };
    commit(&world, "c", &[("c.txt", "one\n")]);
    check();
    submit(&world);
    approve();
    assert_eq!(blockers(&world), []);
    // Another commit, with evidence of its own, changes nothing about what was submitted.
    let second = commit(&world, "c", &[("c.txt", "two\n")]);
    assert_eq!(blockers(&world), []);
    check();
    let submit_it = "fairway task submit T-1".to_owned();
    assert_eq!(blockers(&world), [("check_outdated".to_owned(), submit_it.clone())]);
    let refused = world.run(["land", "T-1", "--json"]).refuses(5, "gate_blocked").error();
    assert_eq!(refused["hint"], json!(submit_it));
    // What the blocker says leads on.
    assert_eq!(submit(&world), format!("submitted T-1 again, at {}\n", &second[..12]));
    let again = ("review_lapsed".to_owned(), "fairway review request T-1 --domain code".to_owned());
    assert_eq!(blockers(&world), [again]);
    world.run(["land", "T-1", "--json"]).refuses(5, "gate_blocked");
    approve();
    assert_eq!(blockers(&world), []);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!(file_of_main(&world, "c.txt"), "two\n");
}

#[test]
fn evidence_of_the_same_files_counts_and_evidence_at_the_base_does_not() {
    let world = project("\n[gates.done]\nrequire = [\"evidence\"]\n[gates.merge]\nrequire = [\"checks\"]\n");
    let dir = lane(&world, "c");
    let run = ["evidence", "run", "T-1", "--", "true"];
    world.run(run).exits(0);
    commit(&world, "c", &[("c.txt", "one\n")]);
    assert_eq!(blockers(&world).first().unwrap().0, "evidence_outdated");
    world.run(["done", "T-1", "--json"]).refuses(5, "gate_blocked");
    world.run(run).exits(0);
    assert_eq!(blockers(&world), []);
    world.run(["task", "edit", "T-1", "--check", "unit=true"]).exits(0);
    world.run(["evidence", "run", "T-1", "--check", "unit"]).exits(0);
    world.git(&dir, &["commit", "--quiet", "--amend", "--message=said better"]);
    assert_eq!(blockers(&world), []);
    commit(&world, "c", &[("c.txt", "two\n")]);
    assert_eq!(blockers(&world)[0], ("check_outdated".into(), "fairway evidence run T-1 --check unit".into()));
}

#[test]
fn task_without_a_commit_does_not_land_and_can_be_finished() {
    let world = project(&format!("{NO_GATES}[land]\nchecks = [\"false\"]\n"));
    world.run(["trust"]).exits(0);
    let dir = lane(&world, "c");
    let before = main_commit(&world);
    let refused = |name: &str| {
        assert_eq!(blockers(&world)[0].0, "nothing_to_land", "{name}");
        world.run(["land", name, "--dry-run", "--json"]).refuses(5, "nothing_to_land");
        let error = world.run(["land", name, "--json"]).refuses(5, "nothing_to_land").error();
        assert_eq!(main_commit(&world), before, "{name}");
        (error["message"].as_str().unwrap().to_owned(), error["hint"].as_str().unwrap().to_owned())
    };
    let finish = "if it needs no commit, finish it: fairway done T-1";
    let message = format!("nothing to land in T-1: main has {} already", &before[..12]);
    assert_eq!(refused("T-1"), (message, finish.to_owned()));
    assert_eq!(submit(&world), "submitted T-1: in_progress → review, without a commit\n");
    let message = "nothing to land in T-1: it was submitted without a commit".to_owned();
    assert_eq!(refused("c"), (message.clone(), finish.to_owned()));
    let all = world.run(["land", "--all"]).exits(0);
    assert!(all.stderr.contains("task T-1 is left out: nothing to land in T-1"), "{all:?}");
    // The commit that the base has is none either.
    world.run(["task", "submit", "T-1", "--commit", &before]).exits(0);
    assert_eq!(refused("T-1").0, message);
    // A commit by now was not submitted.
    commit(&world, "c", &[("c.txt", "late\n")]);
    let by_now = "submit what is checked out by now: fairway task submit T-1";
    assert_eq!(refused("T-1"), (message, by_now.to_owned()));
    assert_eq!(status(&world, "T-1"), "review");
    world.git(&dir, &["reset", "--quiet", "--hard", "main"]);
    let done = world.run(["done", "T-1"]).exits(0).stdout;
    assert_eq!(done, "done T-1: review → done, without a commit\n");
    world.run(["land", "T-1", "--json"]).refuses(5, "nothing_to_land");
}

#[test]
fn work_that_is_done_instead_of_submitted_is_found_by_the_next_landing() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    world.git(&dir, &["switch", "--quiet", "--create", "feature/x"]);
    let tip = commit(&world, "c", &[("c.txt", "c\n")]);
    let done = world.run(["done", "T-1"]).exits(0);
    assert_eq!(done.stdout, format!("done T-1: in_progress → done, at {}\n", &tip[..12]));
    assert!(done.stderr.contains("works on feature/x"), "{done:?}");
    world.run(["land", "--all"]).exits(0);
    assert_eq!(file_of_main(&world, "c.txt"), "c\n");
}

#[test]
fn task_in_progress_does_not_land_with_another_one_of_its_lane() {
    let world = project(NO_GATES);
    lane(&world, "c");
    commit(&world, "c", &[("c.txt", "c\n")]);
    submit(&world);
    world.run(["task", "add", "T-2", "More", "--lane", "c"]).exits(0);
    world.run(["claim", "T-2"]).exits(0);
    world.run(["land", "c"]).exits(0);
    assert_eq!((status(&world, "T-1"), status(&world, "T-2")), ("done".into(), "in_progress".into()));
    world.run(["land", "T-2", "--json"]).refuses(5, "nothing_to_land");
    commit(&world, "c", &[("more.txt", "more\n")]);
    world.run(["land", "c"]).exits(0);
    assert_eq!((status(&world, "T-2"), file_of_main(&world, "more.txt")), ("done".into(), "more\n".into()));
}

/// The reader of each surface learns where the work is, and is judged by the same commit.
#[test]
fn every_surface_names_the_branch_that_is_checked_out() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    assert_eq!(world.json(["lane", "show", "c"])["lane"]["git"]["work"], Value::Null);
    world.git(&dir, &["switch", "--quiet", "--create", "feature/x"]);
    let tip = commit(&world, "c", &[("c.txt", "c\n")]);
    let work = "works on feature/x";
    let shown = world.json(["lane", "show", "c"])["lane"]["git"].clone();
    let listed = world.json(["lane", "list", "--git"])[0]["git"].clone();
    assert_eq!(shown, listed);
    assert_eq!((&shown["work"], &shown["branch"], &shown["commit"]), (&json!(work), &json!("feature/x"), &json!(tip)));
    assert!(world.run(["lane", "show", "c"]).exits(0).stdout.contains(&format!("work        {work}\n")));
    let diff = world.json(["lane", "diff", "c"]);
    assert_eq!((&diff["branch"], &diff["commit"]), (&json!("feature/x"), &json!(tip)));
    let explained = world.run(["explain", "T-1"]).exits(0).stdout;
    assert!(explained.contains(&format!("its lane {work}")), "{explained}");
    let handed = world.json(["handoff", "create", "T-1", "--to", "qa", "--summary", "s"]);
    let accepted = world.json(["handoff", "accept", &handed["id"].to_string()]);
    assert_eq!((&accepted["work"]["branch"], &accepted["work"]["commits"]), (&json!("feature/x"), &json!(1)));
    world.run(["review", "comment", "T-1", "c.txt:1", "why c?"]).exits(0);
    assert_eq!(world.json(["review", "comments", "T-1"])[0]["commit"], json!(tip));
    assert_eq!(
        world.json(["review", "record", "T-1", "--verdict", "approve", "--reviewer", "Bo"])["commit"],
        json!(tip)
    );
    world.run(["overlap"]).exits(0);
    assert_eq!(world.json(["status"])["lanes"][0]["work"], json!(work));
    world.run(["release", "T-1"]).exits(0);
    let refused = world.run(["lane", "close", "c", "--rm-worktree", "--json"]).refuses(5, "unsaved_work").error();
    assert!(refused["message"].as_str().unwrap().contains("its branch feature/x has commits"), "{refused}");
}

/// The lane goes with its worktree; a branch that the agent has left there would be forgotten.
#[test]
fn own_branch_with_other_commits_stays_after_a_landing_and_is_named() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    for (branch, file) in [("try/merged", ""), ("try/other", "other.txt")] {
        world.git(&dir, &["switch", "--quiet", "--create", branch]);
        if !file.is_empty() {
            commit(&world, "c", &[(file, "other\n")]);
        }
        world.git(&dir, &["switch", "--quiet", "lane/c"]);
    }
    commit(&world, "c", &[("c.txt", "c\n")]);
    submit(&world);
    let landing = world.json(["land", "T-1"])["landings"][0].clone();
    assert_eq!(landing["removed_worktree"], json!(dir), "{landing}");
    let notes = landing["notes"].as_array().unwrap();
    assert_eq!(
        notes.last(),
        Some(&json!("the branch try/other stays: it has commits that have not landed")),
        "{landing}"
    );
    assert_eq!(branches(&world), "main\ntry/merged\ntry/other\n");
}

#[test]
fn submission_in_the_middle_of_a_rebase_is_refused() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    commit(&world, "c", &[("shared.txt", "of the lane\n")]);
    fs::write(world.root().join("shared.txt"), "of main\n").unwrap();
    world.git(&world.root(), &["commit", "--quiet", "--all", "--message=main"]);
    world.command("git").args(["rebase", "--quiet", "main"]).current_dir(&dir).output().unwrap();
    for command in [["task", "submit"].as_slice(), &["done"]] {
        let words = command.iter().chain(&["T-1", "--json"]);
        world.run(words).refuses(5, "operation_unfinished");
    }
    assert_eq!(blockers(&world)[0].0, "operation_unfinished");
    world.run(["land", "c", "--json"]).refuses(5, "operation_unfinished");
    assert_eq!(status(&world, "T-1"), "in_progress");
}

#[test]
fn amended_or_reset_work_lands_as_it_was_submitted() {
    for (about, steps, note) in [
        ("amended", &["commit --quiet --amend --all --message=other"][..], "1 commit since the submission at "),
        ("reset", &["reset --quiet --hard main"], ""),
    ] {
        let world = project(NO_GATES);
        let dir = lane(&world, "c");
        commit(&world, "c", &[("c.txt", "submitted\n")]);
        submit(&world);
        fs::write(dir.join("c.txt"), "other\n").unwrap();
        for step in steps {
            world.git(&dir, &step.split(' ').collect::<Vec<_>>());
        }
        assert_eq!(blockers(&world), [], "{about}");
        let run = world.run(["land", "T-1"]).exits(0);
        assert!(run.stderr.contains(note), "{about}: {run:?}");
        assert_eq!(file_of_main(&world, "c.txt"), "submitted\n", "{about}");
    }
}

#[test]
fn work_is_handed_in_only_from_a_lane_that_has_it() {
    let world = project(NO_GATES);
    world.run(["session", "upsert", "--id", "ag", "--role", "dev"]).exits(0);
    let from = lane(&world, "from");
    world.run(["claim", "T-1", "--session", "ag", "--steal", "--reason", "mine"]).exits(0);
    let theirs = commit(&world, "from", &[("from.txt", "from\n")]);
    world.run(["lane", "add", "to", "--create-worktree"]).exits(0);
    world.run(["session", "upsert", "--id", "st", "--role", "qa", "--lane", "to"]).exits(0);
    let to = lane_dir(&world, "to");
    world.run(["--session", "ag", "handoff", "create", "T-1", "--to", "qa", "--summary", "test it"]).exits(0);
    world.run(["--session", "st", "handoff", "accept", "1"]).exits(0);
    assert_eq!(world.json(["merge-ready", "T-1"])["judged"]["commit"], json!(theirs));
    commit(&world, "to", &[("to.txt", "to\n")]);
    for command in [["task", "submit"].as_slice(), &["done"]] {
        let words = ["--session", "st"].iter().chain(command).chain(&["T-1", "--json"]);
        let error = world.run(words).refuses(5, "work_not_here").error();
        let message = format!("the lane to lacks the work of T-1, which is at {}", &theirs[..12]);
        assert_eq!(error["message"], json!(message));
        let bring = format!("bring it in: git -C {} merge {}", to.display(), &theirs[..12]);
        assert_eq!(error["hint"].as_str().unwrap().lines().next().unwrap(), bring);
    }
    assert_eq!(status(&world, "T-1"), "in_progress");
    world.git(&to, &["merge", "--quiet", "--no-edit", &theirs[..12]]);
    world.run(["--session", "st", "task", "submit", "T-1"]).exits(0);
    let shown = world.json(["task", "show", "T-1"]);
    assert_eq!((&shown["commit"], &shown["lane"]), (&json!(head(&world, &to)), &json!("to")));
    world.run(["land", "T-1"]).exits(0);
    for name in ["from", "to"] {
        assert_eq!(file_of_main(&world, &format!("{name}.txt")), format!("{name}\n"));
    }
    assert!(from.exists());
}

/// A task whose earlier submission the lane no longer has is not handed in without it.
#[test]
fn submission_that_is_gone_from_the_lane_is_not_replaced_by_nothing() {
    let world = project(NO_GATES);
    let dir = lane(&world, "c");
    let tip = commit(&world, "c", &[("c.txt", "c\n")]);
    submit(&world);
    world.run(["task", "resume", "T-1"]).exits(0);
    world.git(&dir, &["reset", "--quiet", "--hard", "main"]);
    for command in [["task", "submit"].as_slice(), &["done"]] {
        let words = command.iter().chain(&["T-1", "--json"]);
        let error = world.run(words).refuses(5, "work_not_here").error();
        assert_eq!(error["details"]["commit"], json!(tip));
    }
    world.git(&dir, &["merge", "--quiet", &tip[..12]]);
    submit(&world);
    world.run(["land", "T-1"]).exits(0);
    assert_eq!(file_of_main(&world, "c.txt"), "c\n");
}
