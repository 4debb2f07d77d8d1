//! The commit that a base would get: its merge, and the submodules that it points to.

use std::path::Path;

use anyhow::Result;

use super::base::Base;
use crate::App;
use crate::queue::gates;
use crate::queue::landing_unit::Unit;
use fairway_core::domain::id::Label;
use fairway_core::domain::landing::{LandStyle, LandTrailer};
use fairway_core::domain::review::Verdict;
use fairway_core::domain::session::SHELL_PROVIDER;
use fairway_core::domain::usage::UsageBy;
use fairway_core::domain::{Refusal, SessionId, TaskId, pull_request};
use fairway_core::env::Timestamp;
use fairway_core::os::git::{CandidateMaker, Committer, Git, GitError, Integration, MergeRepository, SubmoduleRefs};
use fairway_core::store::{ReadTx, reviews, sessions, usage};

const MAX_TITLE_CHARS: usize = 200;
const MAX_DESCRIPTION_BYTES: usize = 2_000;

/// Opens a throw-away repository for merges, which reads no configuration of the project.
pub(super) fn open_merges(app: &App, git: &Git<'_>) -> Result<MergeRepository, GitError> {
    MergeRepository::open(git, &app.project.state.join("land"))
}

/// Refuses with `no_identity` when git has no configured author.
pub(super) fn check_identity(git: &Git<'_>) -> Result<()> {
    match git.committer()? {
        Committer::Known => Ok(()),
        Committer::Unknown(why) => Err(Refusal::NoIdentity { why }.into()),
    }
}

/// Merges, squashes or rebases a unit onto the commit `base`, as `land.style` says. Returns the commit that the base branch
/// would get, or the conflict. Fails with `merge_commits` for a rebase of a lane with merges; `no_common_commit`.
pub(super) fn make(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    make_in_style(app, maker, unit, base).map_err(|error| {
        let is_apart = error.is::<GitError>() && matches!(maker.project.merge_base(base, &unit.commit), Ok(None));
        if is_apart { Refusal::NoCommonCommit { of: unit.label(), base: unit.base.clone() }.into() } else { error }
    })
}

fn make_in_style(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    Ok(match app.settings.land.style {
        LandStyle::Merge => maker.merge(base, &unit.commit, &message(app, unit)?)?,
        LandStyle::Squash => maker.squash(base, &unit.commit, &described(unit), &trailers(app, unit)?)?,
        LandStyle::Rebase => {
            if maker.project.has_merges(base, &unit.commit)? {
                return Err(Refusal::CannotRebase { of: unit.label(), next: unit.bring_in_by_hand(app) }.into());
            }
            maker.rebase(base, &unit.commit, &trailers(app, unit)?)?
        }
    })
}

/// The message of a merge: the tasks with their titles, and the trailers.
fn message(app: &App, unit: &Unit) -> Result<String> {
    let parts = [subject(unit), trailers(app, unit)?.join("\n")];
    Ok(parts.iter().filter(|part| !part.is_empty()).map(|part| format!("{part}\n")).collect())
}

/// The tasks with their titles.
fn subject(unit: &Unit) -> String {
    let title = |title: &str| title.chars().take(MAX_TITLE_CHARS).collect::<String>();
    let mut lines = unit.members.iter().map(|one| format!("{}: {}", one.task.id, title(&one.task.fields.title)));
    let subject = lines.next().unwrap_or_else(|| format!("Land {}", unit.label()));
    let others: Vec<String> = lines.collect();
    let body = if others.is_empty() { String::new() } else { format!("\n{}\n", others.join("\n")) };
    format!("{subject}\n{body}")
}

/// The subject of one commit for several, and what it is for, unless that is a long text for an agent.
fn described(unit: &Unit) -> String {
    let bodies = unit.members.iter().map(|one| one.task.fields.body.trim());
    let bodies = bodies.filter(|body| !body.is_empty() && body.len() <= MAX_DESCRIPTION_BYTES);
    [subject(unit).trim()].into_iter().chain(bodies).collect::<Vec<_>>().join("\n\n")
}

/// The trailers that the configuration chooses, each line once.
pub(super) fn trailers(app: &App, unit: &Unit) -> Result<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for trailer in &app.settings.land.trailers {
        let values = match trailer {
            LandTrailer::Task => unit.task_ids(),
            LandTrailer::Lane => unit.lane_name().iter().map(ToString::to_string).collect(),
            LandTrailer::AssistedBy => app.read(|tx| agents(tx, unit))?,
            LandTrailer::ReviewedBy => app.read(|tx| approvers(tx, unit))?,
        };
        for line in values.iter().map(|value| format!("{trailer}: {value}")) {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    Ok(lines)
}

/// Who worked on tasks since they were last reopened.
#[derive(Debug, Default)]
pub(super) struct WorkAgents {
    /// The sessions of agents.
    pub sessions: Vec<String>,
    /// The models that they told of.
    pub models: Vec<String>,
    pub has_person: bool,
}

pub(super) fn work_agents(tx: &ReadTx<'_>, tasks: &[&TaskId]) -> Result<WorkAgents> {
    let mut found = WorkAgents::default();
    for_each_claimant(tx, tasks, |claimant, agent| match agent {
        // A person's name has an `@`; the shell of a session is neither person nor agent.
        None => found.has_person |= claimant.contains('@'),
        Some((_, models)) => {
            found.sessions.push(claimant.to_owned());
            found.models.extend(models.iter().cloned());
        }
    })?;
    for list in [&mut found.sessions, &mut found.models] {
        list.sort();
        list.dedup();
    }
    Ok(found)
}

/// Passes each claimant of tasks since they were last reopened, with the provider and the models of an agent.
fn for_each_claimant(
    tx: &ReadTx<'_>,
    tasks: &[&TaskId],
    mut see: impl FnMut(&str, Option<(&Label, &[String])>),
) -> Result<()> {
    for task in tasks {
        for claimant in gates::claimants(tx, task)? {
            let id = SessionId::parse(&claimant).ok();
            let session = id.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
            let provider = session.and_then(|session| session.provider);
            let provider = provider.filter(|provider| provider.as_str() != SHELL_PROVIDER);
            let Some((id, provider)) = id.zip(provider) else {
                see(&claimant, None);
                continue;
            };
            let totals = usage::turn_totals(tx, UsageBy::Model, Timestamp::from_millis(0), Some(&id))?;
            let models: Vec<String> = totals.into_iter().filter_map(|total| total.key).collect();
            see(&claimant, Some((&provider, &models)));
        }
    }
    Ok(())
}

/// The agents that worked on a unit, as `AGENT:MODEL` for each model that it told of.
fn agents(tx: &ReadTx<'_>, unit: &Unit) -> Result<Vec<String>> {
    let tasks: Vec<&TaskId> = unit.members.iter().map(|one| &one.task.id).collect();
    let mut found = Vec::new();
    for_each_claimant(tx, &tasks, |_, agent| {
        let Some((provider, models)) = agent else { return };
        found.extend(models.iter().map(|model| format!("{provider}:{model}")));
        if models.is_empty() {
            found.push(provider.to_string());
        }
    })?;
    Ok(found)
}

/// The people whose last verdict approves the commit of a task.
fn approvers(tx: &ReadTx<'_>, unit: &Unit) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for member in &unit.members {
        let all = reviews::of_task(tx, &member.task.id)?;
        for (at, one) in all.iter().enumerate() {
            let person = pull_request::login(&one.actor).or_else(|| one.actor.contains('@').then_some(&*one.actor));
            let is_last = !all.iter().skip(at + 1).any(|later| later.actor == one.actor && later.verdict.is_some());
            let approves = one.verdict == Some(Verdict::Approve) && one.commit.as_ref() == Some(&member.commit);
            found.extend(person.filter(|_| is_last && approves).map(str::to_owned));
        }
    }
    Ok(found)
}

/// Refuses a candidate that points to a commit of a submodule which others cannot get: neither the base's checkout nor a remote
/// of the lane's submodule has it. `git` must have the candidate. Fails with `submodule_commit_missing`.
pub(super) fn check_submodules(app: &App, git: &Git<'_>, unit: &Unit, base: &Base, candidate: &str) -> Result<()> {
    let checkout = base.checkout.as_deref().unwrap_or(&app.project.root);
    let lane_dir = unit.dir(app);
    for pointer in git.new_submodule_pointers(&base.commit, candidate)? {
        let has = |dir: &Path, refs| Git::new(app.env.vars(), dir).submodule_has(&pointer, refs);
        let is_pushed = || lane_dir.as_deref().map_or(Ok(false), |dir| has(dir, SubmoduleRefs::Remotes));
        if has(checkout, SubmoduleRefs::All)? || is_pushed()? {
            continue;
        }
        let in_lane = lane_dir.as_deref().zip(unit.lane_name());
        let (of, base, path, commit) = (unit.label(), base.name.clone(), pointer.path.clone(), pointer.commit.clone());
        let place = |dir: &Path| shell_words::quote(&dir.join(&path).to_string_lossy()).into_owned();
        let command = match in_lane {
            Some((dir, lane)) => format!("git -C {} push origin {commit}:refs/heads/{lane}", place(dir)),
            None => format!("git -C {} fetch", place(checkout)),
        };
        let is_in_lane = in_lane.is_some();
        return Err(Refusal::SubmoduleCommitMissing { of, base, path, commit, command, is_in_lane }.into());
    }
    Ok(())
}
