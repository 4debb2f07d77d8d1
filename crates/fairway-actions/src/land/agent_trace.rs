//! Landed work as records of the format Agent Trace 0.1: which lines of a commit agents wrote, and with which model.

use anyhow::Result;
use serde_json::{Value, json};

use super::candidate::{WorkAgents, open_merges, work_agents};
use crate::App;
use crate::queue::landing_unit::project_git;
use fairway_core::domain::TaskId;
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::os::digest::sha256_hex;
use fairway_core::os::git::{Git, MergeRepository};
use fairway_core::store::landings;

/// By the schema of the format, a version has two numbers.
const VERSION: &str = "0.1";
const MAX_MODEL_CHARS: usize = 250;

/// A record for each landing of tasks whose commit is in this repository, oldest first.
pub fn traces(app: &App) -> Result<Vec<Value>> {
    let git = project_git(app)?;
    let merges = open_merges(app, &git)?;
    let mut all = app.read(|tx| Ok(landings::newest(tx, i64::MAX)?))?;
    all.retain(|one| one.state == LandingState::Landed && !one.tasks.is_empty());
    let known = all.iter().rev().filter_map(|one| Some((one, git.commit(one.candidate.as_deref()?)?)));
    known.map(|(landing, commit)| record(app, (&git, &merges), landing, &commit)).collect()
}

fn record(app: &App, (git, merges): (&Git<'_>, &MergeRepository), landing: &Landing, commit: &str) -> Result<Value> {
    // A base that was merged on a forge may have been brought there before it was recorded here.
    let is_before = landing.base_before != commit && git.is_ancestor(&landing.base_before, commit) == Some(true);
    let before = Some(landing.base_before.clone()).filter(|_| is_before).or_else(|| git.commit(&format!("{commit}^1")));
    let tasks: Vec<&TaskId> = landing.tasks.iter().map(|(task, _)| task).collect();
    let WorkAgents { sessions, models, has_person } = app.read(|tx| work_agents(tx, &tasks))?;
    let kind = match (sessions.is_empty(), has_person) {
        (false, true) => "mixed",
        (false, false) => "ai",
        (true, true) => "human",
        (true, false) => "unknown",
    };
    let mut contributor = json!({ "type": kind });
    // The lines of several models are not told apart.
    if let [model] = models.as_slice() {
        contributor["model_id"] = model.chars().take(MAX_MODEL_CHARS).collect::<String>().into();
    }
    let mut files = Vec::new();
    // From the new to the old side, since ranges are of the recorded commit.
    for path in before.map(|before| merges.changed_paths(commit, &before)).transpose()?.unwrap_or_default() {
        let written = path.hunks.iter().flatten().filter(|one| one.end > one.start);
        let ranges: Vec<Value> =
            written.map(|one| json!({ "start_line": one.start, "end_line": one.end - 1 })).collect();
        if !ranges.is_empty() {
            let conversations = json!([{ "contributor": contributor, "ranges": ranges }]);
            files.push(json!({ "path": path.path, "conversations": conversations }));
        }
    }
    let tasks: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    Ok(json!({
        "version": VERSION,
        "id": uuid_of(&format!("{} {commit}", landing.id)),
        "timestamp": landing.ended_at.unwrap_or(landing.started_at).to_string(),
        "vcs": { "type": "git", "revision": commit },
        "tool": { "name": "fairway", "version": env!("CARGO_PKG_VERSION") },
        "files": files,
        "metadata": { "fairway": { "tasks": tasks, "sessions": sessions } },
    }))
}

/// The same id for the same text, in the form of a UUID of version 8.
fn uuid_of(text: &str) -> String {
    let digest = sha256_hex(text.as_bytes());
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    format!("{}-{}-8{}-a{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
}
