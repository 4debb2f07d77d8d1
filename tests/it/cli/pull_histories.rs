//! What is told of pull requests: the histories of `pull_histories.toml`, on a forge whose answers are files. Each step of a history
//! is synchronized twice, and has the whole text of the message that a person would have written, or none.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use fairway_actions::App;
use fairway_actions::queue::lane::{LanePatch, add};
use fairway_actions::queue::task::{self, claim, transition};
use fairway_core::domain::pull_request::{LanePullRequest, PullState};
use fairway_core::domain::task::TaskFields;
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::store::{WriteTx, pull_requests, tasks};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::land::{NO_GATES, main_commit, project, status};
use super::pull_requests::{branch, remote};
use crate::common::TestProject;
use crate::runtime::app;

/// Answers with the file of the pull request.
const SCRIPT: &str = r#"#!/bin/sh
case $1 in
  state) grep -q '"why"' "$FAIRWAY_FORGE_REMOTE/$2.json" && { cat "$FAIRWAY_FORGE_REMOTE/$2.json"; exit 1; }
    cat "$FAIRWAY_FORGE_REMOTE/$2.json" ;;
  log) printf '{"log":"first\\n| obey %s"}' "$2" ;;
  say | open) printf '%s\n' "$*" >>"$FAIRWAY_FORGE_REMOTE/said"; cat >/dev/null; printf '{"done":true}' ;;
  *) exit 2 ;;
esac
"#;

#[derive(Deserialize)]
struct Histories {
    history: Vec<History>,
}

#[derive(Deserialize)]
struct History {
    name: String,
    step: Vec<Step>,
}

/// What is on the forge from now on, and what follows from it here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// What people and authors do before it.
    #[serde(default)]
    act: String,
    /// `ID NAME STATE`, and `optional`.
    checks: Option<Vec<String>>,
    /// `ID AUTHOR VERDICT COMMIT TEXT`.
    reviews: Option<Vec<String>>,
    /// `ID LINE COMMIT || COMMENT AUTHOR TEXT || …`; an id that ends in `!` is resolved, a line that begins with `-` is of the old side.
    threads: Option<Vec<String>>,
    /// `ID AUTHOR TEXT`; an id with `@` was edited.
    comments: Option<Vec<String>>,
    /// Other members of the answer.
    #[serde(default)]
    more: Map<String, Value>,
    /// The message about it; empty for none.
    #[serde(default)]
    told: String,
    /// The words of the boards.
    line: Option<String>,
    /// The status of the task; by default the one before.
    task: Option<String>,
}

/// The pull request of a history.
struct Pull {
    number: usize,
    task: TaskId,
    commits: Vec<String>,
    state: Map<String, Value>,
    status: String,
    told: usize,
}

fn words(text: &str, count: usize) -> Vec<&str> {
    text.splitn(count, ' ').collect()
}

fn comment(text: &str) -> Value {
    let parts = words(text.trim(), 3);
    let (id, edited) = parts[0].split_once('@').map_or((parts[0], None), |(id, at)| (id, Some(at)));
    json!({ "id": id, "author": parts[1].trim_matches('-'), "body": parts.get(2), "edited": edited })
}

impl Pull {
    fn lane(&self) -> LaneName {
        LaneName::parse(&format!("h{}", self.number)).unwrap()
    }

    fn commit(&self, word: &str) -> Value {
        let index = self.commits.len() - if word == "OLD" { 2 } else { 1 };
        json!(self.commits[index])
    }

    fn set(&mut self, step: &Step) {
        let check = |text: &String| {
            let parts = words(text, 4);
            let (id, is_demanded) = (Some(parts[0]).filter(|id| *id != "-"), parts.len() == 3);
            let url = id.map(|id| format!("https://ci.example/{id}"));
            json!({ "id": id, "name": parts[1], "state": parts[2].replace("skipped", "passed"), "required": is_demanded, "url": url })
        };
        let review = |text: &String| {
            let parts = words(text, 5);
            json!({ "id": parts[0], "author": parts[1], "verdict": parts[2], "commit": self.commit(parts[3]),
                "body": parts.get(4).unwrap_or(&"") })
        };
        let thread = |text: &String| {
            let (head, said) = text.split_once("||").unwrap();
            let parts = words(head.trim(), 3);
            let (id, line) = (parts[0].trim_end_matches('!'), parts[1].trim_start_matches('-'));
            let side = if line == parts[1] { "new" } else { "old" };
            json!({ "id": format!("{}-{id}", self.number), "file": format!("f{}.txt", self.number),
                "line": line.parse::<u64>().ok(), "side": side, "commit": self.commit(parts[2]),
                "resolved": id != parts[0], "comments": said.split("||").map(comment).collect::<Vec<_>>() })
        };
        let checks = step.checks.as_ref().map(|all| json!(all.iter().map(check).collect::<Vec<_>>()));
        let reviews = step.reviews.as_ref().map(|all| json!(all.iter().map(review).collect::<Vec<_>>()));
        let threads = step.threads.as_ref().map(|all| json!(all.iter().map(thread).collect::<Vec<_>>()));
        let comments = step.comments.as_ref().map(|all| json!(all.iter().map(|one| comment(one)).collect::<Vec<_>>()));
        let head = self.commit("HEAD");
        for (name, value) in [("checks", checks), ("reviews", reviews), ("threads", threads), ("comments", comments)] {
            if let Some(value) = value {
                self.state.insert(name.to_owned(), value);
            }
        }
        if !self.state.contains_key("head") || step.act.contains("rework") {
            self.state.insert("head".to_owned(), head);
        }
        self.state.extend(step.more.clone());
    }
}

struct World {
    project: TestProject,
    app: App,
}

impl World {
    fn new(histories: &[History]) -> (Self, Vec<Pull>) {
        let forge =
            "\n[land]\nthrough = \"pr\"\n[forge]\nscript = \".fairway/forge.sh\"\ntrusted = [\"checker[bot]\"]\n";
        let project = project(&format!("{NO_GATES}{forge}"));
        let script = project.root().join(".fairway/forge.sh");
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let to = remote(&project).display().to_string();
        project.git(project.dir(), &["init", "--quiet", "--bare", "--initial-branch=main", &to]);
        project.git(&project.root(), &["remote", "add", "origin", &to]);
        project.git(&project.root(), &["push", "--quiet", "--set-upstream", "origin", "main"]);
        project.run(["trust"]).exits(0);
        let world = Self { app: app(&project), project };
        let all: Vec<(usize, &str, &str)> = (1..=histories.len()).map(|number| (number, "main", "2")).collect();
        world.commit(&all);
        world.project.git(&world.project.root(), &["push", "--quiet", "origin", "refs/heads/lane/*"]);
        let pulls = (1..=histories.len()).map(|number| world.propose(number)).collect();
        (world, pulls)
    }

    /// Commits on lanes: a file of five lines, the second with a text, on top of a branch.
    fn commit(&self, all: &[(usize, &str, &str)]) {
        let mut stream = String::new();
        for (number, from, text) in all {
            let content = format!("1\n{text}\n3\n4\n5\n");
            let _ = write!(
                stream,
                "commit refs/heads/lane/h{number}\ncommitter A <a@example.com> 1 +0000\ndata 4\nwork\nfrom refs/heads/{from}^0\n\
                 M 100644 inline f{number}.txt\ndata {}\n{content}\n",
                content.len()
            );
        }
        let mut git = self.project.command("git");
        let git = git.args(["-C"]).arg(self.project.root()).args(["fast-import", "--quiet", "--force"]);
        let mut git = git.stdin(Stdio::piped()).spawn().unwrap();
        git.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(git.wait().unwrap().success());
    }

    fn tip(&self, number: usize) -> String {
        self.project.git(&self.project.root(), &["rev-parse", &format!("lane/h{number}")]).trim().to_owned()
    }

    /// The task of a lane in review, with its pull request.
    fn propose(&self, number: usize) -> Pull {
        let (app, commit) = (&self.app, self.tip(number));
        let lane = LaneName::parse(&format!("h{number}")).unwrap();
        let text = |text: String| Some(Some(text));
        let fields =
            LanePatch { branch: text(format!("lane/h{number}")), base: text("main".into()), ..LanePatch::default() };
        add::add(app, &lane, &fields).unwrap();
        let task = TaskId::parse(&format!("T-{number}")).unwrap();
        let epoch = self.submitted(&task, &lane, &commit);
        app.transaction(|tx| {
            let pull = LanePullRequest {
                id: 0,
                lane: lane.clone(),
                branch: format!("lane/h{number}"),
                base: "main".into(),
                commit: commit.clone(),
                pushed: commit.clone(),
                tasks: vec![(task.clone(), epoch)],
                number: Some(i64::try_from(number).unwrap()),
                url: Some(format!("https://forge.example/{number}")),
                state: PullState::Open,
                summary: String::new(),
                for_people: String::new(),
                host_id: None,
                opened_at: tx.now(),
                synced_at: None,
                ended_at: None,
            };
            Ok::<_, anyhow::Error>(pull_requests::save(tx, &pull)?)
        })
        .unwrap();
        let people = json!({ "ann": true, "bob": true, "eve": false, "zed": null });
        let state = json!({ "number": number, "url": format!("https://forge.example/{number}"), "state": "open", "draft": false,
            "base": "main", "mergeable": true, "merged_commit": null, "checks": [], "people": people });
        let Value::Object(state) = state else { unreachable!() };
        Pull { number, task, commits: vec![commit], state, status: "review".into(), told: 0 }
    }

    /// A claimed task of the lane that is submitted, and its epoch.
    fn submitted(&self, task: &TaskId, lane: &LaneName, commit: &str) -> i64 {
        let app = &self.app;
        let fields = TaskFields { lane: Some(lane.clone()), ..TaskFields::with_title(format!("Work on {lane}")) };
        task::add::add(app, Some(task), fields).unwrap();
        claim::claim(app, &claim::ClaimRequest { id: Some(task.clone()), ..claim::ClaimRequest::default() }, &[])
            .unwrap();
        transition::submit(app, task, Some(commit), None).unwrap();
        app.read(|tx| Ok::<_, anyhow::Error>(tasks::find(tx, task)?.unwrap().epoch)).unwrap()
    }

    fn add_second(&self, pull: &Pull) {
        let (second, lane) = (TaskId::parse(&format!("T-{}", pull.number + 100)).unwrap(), pull.lane());
        let epoch = self.submitted(&second, &lane, &pull.commits[0]);
        let change = |tx: &WriteTx<'_>| {
            let mut known = pull_requests::open_of(tx, &lane)?.unwrap();
            known.tasks.push((second, epoch));
            Ok::<_, anyhow::Error>(pull_requests::save(tx, &known)?)
        };
        self.app.transaction(change).unwrap();
    }

    /// What people do on the forge, or the author here.
    fn act(&self, pull: &mut Pull, act: &str) {
        let (number, bare) = (pull.number, remote(&self.project));
        let on_remote = |words: &[&str]| self.project.git(&bare, words).trim().to_owned();
        match act {
            "" => {}
            "blind" => drop(pull.state.insert("checks".into(), Value::Null)),
            "heal" => drop(pull.state.remove("why")),
            "second" => self.add_second(pull),
            "merge" | "squash" | "rebase" => {
                let (old, head) = (branch(&self.project, "main"), branch(&self.project, &format!("lane/h{number}")));
                let tree = on_remote(&["merge-tree", "--write-tree", &old, &head]);
                let name = [
                    "-c", "user.name=F", "-c", "user.email=f@example.com", "commit-tree", &tree, "-p", &old, "-m", act,
                ];
                let both = [&name[..], &["-p", &head]].concat();
                let merged = on_remote(if act == "merge" { &both } else { &name });
                on_remote(&["update-ref", "refs/heads/main", &merged, &old]);
                pull.state.insert("merged_commit".into(), json!(merged));
                pull.state.insert("state".into(), json!("merged"));
            }
            "rework" | "force" | "resubmit" => {
                if act != "resubmit" {
                    let from = if act == "force" { "main".to_owned() } else { format!("lane/h{number}") };
                    self.commit(&[(number, &from, act)]);
                    pull.commits.push(self.tip(number));
                    self.project.git(
                        &self.project.root(),
                        &["push", "--quiet", "--force", "origin", &format!("lane/h{number}")],
                    );
                    pull.state.insert("head".into(), pull.commit("HEAD"));
                }
                let commit = self.tip(number);
                transition::submit(&self.app, &pull.task, Some(&commit), None).unwrap();
                let lane = pull.lane();
                self.app
                    .transaction(|tx| {
                        let mut known = pull_requests::open_of(tx, &lane)?.unwrap();
                        known.will_push(&commit);
                        Ok::<_, anyhow::Error>(pull_requests::save(tx, &known)?)
                    })
                    .unwrap();
                pull.status = "review".into();
            }
            other => panic!("{other}"),
        }
    }
}

/// Each history is told exactly, nothing twice, and a task is done exactly at its merge.
#[test]
fn histories_are_told_as_a_person_would() {
    let text =
        fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/pull_histories.toml")).unwrap();
    let Histories { history: histories } = toml::from_str(&text).unwrap();
    assert!(histories.len() >= 60, "{}", histories.len());
    let (world, mut pulls) = World::new(&histories);
    let mut wrong = String::new();
    let steps = histories.iter().map(|one| one.step.len()).max().unwrap();
    for at in 0..steps {
        for (history, pull) in histories.iter().zip(&mut pulls) {
            let Some(step) = history.step.get(at) else { continue };
            world.act(pull, &step.act);
            pull.set(step);
            fs::write(remote(&world.project).join(format!("{}.json", pull.number)), json!(pull.state).to_string())
                .unwrap();
        }
        for _ in 0..2 {
            world.project.run(["pr", "sync"]);
        }
        for (history, pull) in histories.iter().zip(&mut pulls) {
            let Some(step) = history.step.get(at) else { continue };
            let number = pull.number;
            let of = format!("FROM messages WHERE to_lane = 'h{number}' ORDER BY id LIMIT 99 OFFSET {}", pull.told);
            let told = world
                .project
                .value(&format!("SELECT coalesce(group_concat(content, char(10)), '') FROM (SELECT content {of})"));
            let count: usize = world.project.value(&format!("SELECT count(*) FROM (SELECT 1 {of})")).parse().unwrap();
            pull.told += count;
            let line = world.project.value(&format!("SELECT coalesce((SELECT state || ' ' || summary FROM pull_requests WHERE lane = 'h{number}' ORDER BY id DESC LIMIT 1), '')"));
            let expected = step.told.trim().replace("${n}", &number.to_string());
            if let Some(status) = &step.task {
                pull.status.clone_from(status);
            }
            let seen = world.project.value(&format!("SELECT status FROM tasks WHERE id = 'T-{number}'"));
            let is_line = step.line.as_ref().is_none_or(|expected| *expected == line.trim_end());
            if told != expected || seen != pull.status || !is_line {
                let _ = writeln!(
                    wrong,
                    "== {} (step {at}): {seen}, {line}\n{told}\n-- expected: {}\n{expected}",
                    history.name, pull.status
                );
            }
            let landed =
                world.project.value(&format!("SELECT coalesce(landed_commit, '') FROM tasks WHERE id = 'T-{number}'"));
            let merged = pull.state.get("merged_commit").and_then(Value::as_str).unwrap_or_default();
            if landed != merged {
                let _ = writeln!(wrong, "== {}: done at '{landed}', merged at '{merged}'", history.name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(main_commit(&world.project), branch(&world.project, "main"));
    assert_eq!(status(&world.project, "T-1"), "review");
}
