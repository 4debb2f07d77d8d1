//! Landing through a pull request: the lane's branch is pushed, and its pull request is opened or brought up to date. The task
//! stays in review. What the forge did before a cut is looked for first, so that a repeated call does nothing twice.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::finish;
use super::forge::{forge_of, refusal};
use super::locked_land::{Candidate, LockedLand};
use super::upstream::{self, Pushed};
use crate::queue::landing_unit::Unit;
use fairway_core::adapters::forge::Forge;
use fairway_core::domain::pull_request::{LanePullRequest, PullRequest, PullState};
use fairway_core::domain::{Event, EventKind, Refusal, secrets};
use fairway_core::env::Timestamp;
use fairway_core::os::git::{Fetched, Upstream};
use fairway_core::os::host;
use fairway_core::store::{evidence, landings, pull_requests};
use fairway_core::wire::PullRequestView;

/// The longest title of a pull request, in characters.
const MAX_TITLE_CHARS: usize = 200;

impl LockedLand<'_> {
    /// The open pull request that has the unit's commit, if the unit need not be proposed again.
    pub(super) fn proposed(&self, unit: &Unit) -> Result<Option<LanePullRequest>> {
        let Some(lane) = unit.lane_name().filter(|_| self.proposes && !unit.is_named) else { return Ok(None) };
        let known = self.app.read(|tx| Ok(pull_requests::open_of(tx, lane)?))?;
        let is_it = |known: &LanePullRequest| known.commit == unit.commit && known.number.is_some();
        Ok(known.filter(|known| is_it(known) && known.state == PullState::Open))
    }

    /// Pushes the branch of a unit that passed its checks, and opens or updates its pull request. The landing's record makes way
    /// for that of the pull request.
    ///
    /// # Errors
    /// `no_branch`, `branch_moved`, `push_failed`, `guard_denied`, `forge_failed`, and those of the gates.
    pub(super) fn propose(&self, candidate: &mut Candidate) -> Result<()> {
        let Candidate { unit, judged, landing, view, .. } = candidate;
        let none = || Refusal::NoBranchToPropose { of: unit.label() };
        let lane = unit.lane.as_ref().ok_or_else(none)?;
        let branch = lane.branch.clone().filter(|branch| *branch != unit.base).ok_or_else(none)?;
        let of_base = upstream::of_base(self.app, &self.git, &unit.base)?;
        let to = of_base.of_branch(&branch).ok_or_else(none)?;
        let forge = forge_of(self.app, &self.git, &to.remote)?;
        let known = self.app.read(|tx| Ok(pull_requests::open_of(tx, &lane.name)?))?;
        let lease = self.lease(unit, &to, known.as_ref())?;
        let (mut pull, is_draft) = self.app.transaction(|tx| {
            judged.check_again(self.app, tx, unit)?;
            let is_draft = judged.awaits_review(self.app, tx, unit)?;
            let mut pull = known.unwrap_or_else(|| LanePullRequest {
                id: 0,
                lane: lane.name.clone(),
                branch: branch.clone(),
                base: String::new(),
                commit: String::new(),
                pushed: String::new(),
                tasks: Vec::new(),
                number: None,
                url: None,
                state: PullState::Open,
                summary: String::new(),
                for_people: String::new(),
                host_id: host::identity_to_record().id,
                opened_at: tx.now(),
                synced_at: None,
                ended_at: None,
            });
            pull.will_push(&unit.commit);
            pull.base.clone_from(&of_base.branch);
            pull.tasks = unit.members.iter().map(|one| (one.task.id.clone(), one.task.epoch)).collect();
            pull.id = pull_requests::save(tx, &pull)?;
            Ok::<_, anyhow::Error>((pull, is_draft))
        })?;
        self.push(unit, &to, lease.as_deref())?;
        let opened = self.open(unit, &forge, (&to.branch, &of_base.branch), is_draft)?;
        (pull.number, pull.url, pull.state) = (Some(opened.number), Some(opened.url.clone()), PullState::Open);
        pull.summary.clear();
        self.app.transaction(|tx| {
            pull_requests::save(tx, &pull)?;
            landings::remove(tx, landing.id)?;
            let tasks: Vec<String> = unit.task_ids();
            let event = Event::new(EventKind::LandingProposed)
                .lane(Some(&lane.name))
                .with("number", opened.number)
                .with("url", opened.url.as_str())
                .with("branch", to.branch.as_str())
                .with("commit", unit.commit.as_str())
                .with("base", pull.base.as_str())
                .with("tasks", tasks);
            tx.record(&event)?;
            Ok::<_, anyhow::Error>(())
        })?;
        finish::drop_ref(self.app, landing);
        landing.ended_at = Some(Timestamp::from_millis(0));
        (view.id, view.state, view.candidate) = (None, "proposed", None);
        view.pushed = Some(to.name());
        view.pull_request = PullRequestView::of(&pull, self.app.env.now());
        Ok(())
    }

    fn push(&self, unit: &Unit, to: &Upstream, lease: Option<&str>) -> Result<()> {
        let not_pushed = |why: String| Refusal::BranchNotPushed { of: unit.word(), branch: to.name(), why }.into();
        match self.upstreams.push_to_branch(&unit.base, to, &unit.commit, lease)? {
            Pushed::Done => Ok(()),
            Pushed::Raced { .. } => Err(not_pushed("another push came first".to_owned())),
            Pushed::No(error) | Pushed::Unknown(error) => Err(match error.downcast_ref() {
                Some(Refusal::PushFailed { why, .. } | Refusal::PushUnknown { why, .. }) => not_pushed(why.clone()),
                _ => error,
            }),
        }
    }

    /// Opens the pull request of a branch, or updates the one that is open.
    /// A new one is a draft while a review is missing; the last one makes it ready.
    fn open(&self, unit: &Unit, forge: &Forge, (branch, base): (&str, &str), is_draft: bool) -> Result<PullRequest> {
        let found: Option<PullRequest> = forge.ask(&["find", branch], &Value::Null).map_err(refusal)?;
        let (title, body) = self.text(unit)?;
        let opened = if let Some(open) = found.filter(|found| found.state == PullState::Open) {
            (self.say)(&format!("updating #{}", open.number));
            let (number, changed) = (open.number.to_string(), json!({ "title": title, "body": body, "base": base }));
            if open.draft && !is_draft {
                forge.ask::<Value>(&["say", &number, "ready"], &Value::Null).map_err(refusal)?;
            }
            forge.ask(&["open", &number], &changed)
        } else {
            (self.say)(&format!("opening a pull request for {branch}"));
            let new = json!({ "title": title, "body": body, "head": branch, "base": base, "draft": is_draft });
            forge.ask(&["open"], &new)
        };
        Ok(opened.map_err(refusal)?)
    }

    /// The commit that the branch may lose, if it has one that the unit's commit does not contain. Fails with `branch_moved` when
    /// others have pushed there.
    fn lease(&self, unit: &Unit, to: &Upstream, known: Option<&LanePullRequest>) -> Result<Option<String>> {
        let failed = |why| Refusal::BranchNotPushed { of: unit.word(), branch: to.name(), why };
        let tip = match self.git.fetch_upstream(to, self.app.settings.land.timeout)? {
            Fetched::Done => self.git.commit(&to.tracking),
            Fetched::NoBranch => {
                // What was fetched before is there no more.
                if self.git.commit(&to.tracking).is_some() {
                    self.git.move_ref(&to.tracking, None, None)?;
                }
                None
            }
            Fetched::Failed(why) => return Err(failed(why).into()),
        };
        let Some(tip) = tip.filter(|tip| self.git.is_ancestor(tip, &unit.commit) != Some(true)) else {
            return Ok(None);
        };
        if known.is_some_and(|known| known.has_pushed(&tip)) {
            return Ok(Some(tip));
        }
        let (branch, commit) = (to.name(), unit.commit.clone());
        let dir = unit.dir(self.app).unwrap_or_else(|| self.app.project.root.clone()).display().to_string();
        Err(Refusal::BranchMoved { branch, tip, commit, dir }.into())
    }

    /// Title and body: what was asked, and what shows that it is done.
    fn text(&self, unit: &Unit) -> Result<(String, String)> {
        let mut members = unit.members.iter().map(|member| &member.task);
        let first = members.next();
        let title = first.map_or_else(|| format!("Land {}", unit.label()), |task| task.fields.title.clone());
        let title: String = secrets::mask(&title).chars().take(MAX_TITLE_CHARS).collect();
        let mut body = first.map(|task| task.fields.body.trim().to_owned()).filter(|body| !body.is_empty());
        let body = body.get_or_insert_default();
        let mut rows = Vec::new();
        for member in &unit.members {
            let task = &member.task;
            for one in self.app.read(|tx| Ok(evidence::of_task(tx, &task.id)?))? {
                let what = one.command.or(one.summary).unwrap_or_default();
                let what = what.replace('|', "\\|").replace(char::is_control, " ");
                rows.push(format!("| {} | {} | {what} | {} |", task.id, one.kind, one.result));
            }
        }
        if !rows.is_empty() {
            body.push_str("\n\n| task | evidence | command | result |\n|---|---|---|---|\n");
            body.push_str(&rows.join("\n"));
        }
        for member in &unit.members {
            let title = member.task.fields.title.replace(char::is_control, " ");
            let _ = write!(body, "\n\n{}: {title}", member.task.id);
        }
        let lines = super::candidate::trailers(self.app, unit)?.join("\n");
        Ok((title, secrets::mask(&format!("{}\n\n{lines}\n", body.trim()))))
    }
}
