//! How this host's bases differ from those of other hosts: landings that are missing here, and bases that have diverged from
//! their upstream.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::App;
use crate::core::other_host;
use crate::queue::landed_here;
use fairway_core::config::project::worktree_top;
use fairway_core::domain::landing::Landing;
use fairway_core::domain::{TaskId, commit_id, plural};
use fairway_core::env::Timestamp;
use fairway_core::os::git::Git;
use fairway_core::os::host;
use fairway_core::store::{ReadTx, landings};

/// How many landings of other hosts are compared.
const MAX_LANDINGS: i64 = 50;

/// How the bases of this host differ from those of other hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedBase {
    pub missing: Vec<MissingLanding>,
    pub diverged: Vec<Diverged>,
}

/// A landing of another host whose commit this host lacks.
#[derive(Debug, Clone)]
pub(crate) struct MissingLanding {
    pub tasks: Vec<TaskId>,
    pub at: Option<Timestamp>,
    pub base: String,
    /// A sentence with the tasks, the host and the commit.
    pub line: String,
    /// The purpose and the command that bring the commit here, with a colon between.
    pub fix: String,
    /// The tasks that could be claimed if the commit were here.
    pub waiting: Vec<TaskId>,
}

/// A base and its upstream that each have commits which the other lacks.
#[derive(Debug, Clone)]
pub(crate) struct Diverged {
    pub base: String,
    pub upstream: String,
    /// A sentence with both names and counts.
    pub line: String,
}

impl Diverged {
    pub(crate) fn command(&self) -> String {
        format!("git merge --no-edit {}", shell_words::quote(&self.upstream))
    }
}

/// Answers of git, kept for a read that is repeated.
#[derive(Debug, Default)]
pub(crate) struct BaseAnswers {
    starts: BTreeMap<String, Option<String>>,
    here: BTreeMap<(String, String), bool>,
    diverged: BTreeMap<String, Option<Diverged>>,
}

impl BaseAnswers {
    fn is_here(&mut self, git: &Git<'_>, base: &str, commit: &str) -> Result<bool> {
        let key = (base.to_owned(), commit.to_owned());
        if let Some(known) = self.here.get(&key) {
            return Ok(*known);
        }
        if !self.starts.contains_key(base) {
            self.starts.insert(base.to_owned(), git.start_of(base)?);
        }
        let start = self.starts.get(base).and_then(Option::as_deref);
        let is_here = start.is_some_and(|start| git.is_ancestor(commit, start) == Some(true));
        self.here.insert(key, is_here);
        Ok(is_here)
    }

    fn diverged(&mut self, git: &Git<'_>, base: &str) -> Result<Option<Diverged>> {
        if let Some(known) = self.diverged.get(base) {
            return Ok(known.clone());
        }
        let found = diverged(git, base)?;
        self.diverged.insert(base.to_owned(), found.clone());
        Ok(found)
    }
}

/// Compares this host's bases with the landings of other hosts. Git is asked only when there are such landings. The result is
/// empty for a store in a file, and without a repository.
pub(crate) fn find(app: &App, tx: &ReadTx<'_>, answers: &mut BaseAnswers) -> Result<SharedBase> {
    let own = host::identity().id.unwrap_or_default();
    if !app.settings.store.is_on_server() || worktree_top(&app.project.root).is_none() {
        return Ok(SharedBase::default());
    }
    let others = landings::newest_elsewhere(tx, &own, MAX_LANDINGS)?;
    if others.is_empty() {
        return Ok(SharedBase::default());
    }
    let git = Git::new(app.env.vars(), &app.project.root);
    let bases: BTreeSet<&str> =
        others.iter().map(|one| one.base.as_str()).chain([app.settings.project.base_branch.as_str()]).collect();
    let diverged: Vec<_> = bases.into_iter().map(|base| answers.diverged(&git, base)).collect::<Result<_>>()?;
    let diverged = diverged.into_iter().flatten().collect();
    Ok(SharedBase { missing: missing(tx, &git, &others, answers)?, diverged })
}

fn missing(
    tx: &ReadTx<'_>,
    git: &Git<'_>,
    others: &[Landing],
    answers: &mut BaseAnswers,
) -> Result<Vec<MissingLanding>> {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut found: Vec<(MissingLanding, &Landing)> = Vec::new();
    for landing in others.iter().filter(|one| !one.tasks.is_empty()) {
        let base = landing.base.as_str();
        let Some(commit) = landing.candidate.as_deref().filter(|_| !done.contains(base)) else { continue };
        if answers.is_here(git, base, commit)? {
            // Earlier landings were pushed together with it.
            if landing.push_to.is_some() {
                done.insert(base);
            }
            continue;
        }
        let host = other_host::find(tx, landing.host.as_deref().unwrap_or_default(), landing.host_id.as_deref())?;
        let tasks: Vec<TaskId> = landing.tasks.iter().map(|(id, _)| id.clone()).collect();
        let names = tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ");
        let line = format!(
            "{names} {} landed on {} as {}, not here",
            if tasks.len() == 1 { "is" } else { "are" },
            host.name,
            commit_id::short(commit)
        );
        let fix = landed_here::fix(base, landing.push_to.as_deref());
        let (at, base) = (landing.ended_at, base.to_owned());
        found.push((MissingLanding { tasks, at, base, line, fix, waiting: Vec::new() }, landing));
    }
    let waiting = landings::ready_dependents(tx, &found.iter().flat_map(|(one, _)| &one.tasks).collect::<Vec<_>>())?;
    Ok(found
        .into_iter()
        .map(|(one, _)| {
            let of_this = waiting.iter().filter(|(_, on)| one.tasks.contains(on));
            MissingLanding { waiting: of_this.map(|(task, _)| task.clone()).collect(), ..one }
        })
        .collect())
}

fn diverged(git: &Git<'_>, base: &str) -> Result<Option<Diverged>> {
    let Some(upstream) = git.upstream_ref(base)? else { return Ok(None) };
    let (Some(ours), Some(theirs)) = (git.commit(&format!("refs/heads/{base}")), git.commit(&upstream)) else {
        return Ok(None);
    };
    let (ahead, behind) = git.count_apart(&ours, &theirs)?;
    let upstream = upstream.trim_start_matches("refs/remotes/").to_owned();
    let line = format!(
        "{base} and {upstream} have gone apart: {} here that it lacks, {} there that {base} lacks",
        plural::count(ahead, "commit"),
        plural::count(behind, "commit")
    );
    Ok((ahead > 0 && behind > 0).then(|| Diverged { base: base.to_owned(), upstream, line }))
}
