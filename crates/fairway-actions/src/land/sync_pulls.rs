//! What comes back from a forge: a merge finishes the work, and what is said about open work is recorded.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::base::{self, Base};
use super::forge::{forge_of, refusal};
use super::pull_reviews::PullReviews;
use super::upstream::{self, UpstreamUse, Upstreams};
use super::{finish, lane_conflicts, lock, report};
use crate::core::{inside_session, other_host, trust};
use crate::queue::landing_unit::{Member, Unit, project_git};
use crate::queue::lane::stack;
use crate::sessions::prompt;
use crate::{Answer, App};
use fairway_core::adapters::forge::Forge;
use fairway_core::config::Permission;
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::pull_request::{
    ForgeCheck, ForgeCheckState, ForgeComment, ForgeWhy, LanePullRequest, PullRequest, PullRequestState, PullState,
};
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{Event, EventKind};
use fairway_core::env::{Timestamp, vars};
use fairway_core::os::git::Git;
use fairway_core::os::lock::FileLock;
use fairway_core::os::{executable, files};
use fairway_core::store::{ReadTx, landings, lanes, pull_requests, tasks};
use fairway_core::wire::{LandingView, PullRequestView, PullSyncView, PullSyncsView, work_name};

/// How often boards and `work` have the forge asked, at most.
const SYNC_INTERVAL: Duration = Duration::from_secs(60);
/// How many lines are kept for people, and how much of each, in characters.
const MAX_LINES: usize = 10;
const MAX_LINE_CHARS: usize = 400;

/// Asks the forge about every open pull request of this host, and records what it says.
///
/// # Errors
/// `inside_session`, `untrusted`; `forge_failed` when the forge does not answer, after what was learned before is recorded.
pub fn sync(app: &App, say: &dyn Fn(&str)) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    inside_session::refuse_unless_permitted(app, "fairway pr sync", Permission::Land)?;
    let open = app.read(|tx| open_here(app, tx))?;
    let mut synced = PullSyncsView::default();
    let mut lines = Vec::new();
    let mut notes = Vec::new();
    if !open.is_empty() {
        trust::require(app)?;
        let lock = lock::acquire(app, say)?;
        let sync = Sync { app, git: project_git(app)?, lock: &lock, say };
        let (mut asked, failed) = sync.ask_all(open)?;
        notes = sync.bring_bases(&asked)?;
        while let Some(one) = asked.pop_front() {
            let view = sync.record(one, &mut asked)?;
            lines.push(line(&view));
            notes.extend(view.notes.iter().chain(view.landing.iter().flat_map(|landing| &landing.notes)).cloned());
            synced.pull_requests.push(view);
        }
        for note in prompt::deliver_mailed(app) {
            say(&note);
        }
        if let Some(failed) = failed {
            return Err(failed);
        }
    }
    let text = if lines.is_empty() { "no pull request is open".to_owned() } else { lines.join("\n") };
    let answer = Answer { notes, ..Answer::new(&synced, "", text)? };
    app.mutate(|_| Ok(answer))
}

/// The open pull requests that this host asks about.
fn open_here(app: &App, tx: &ReadTx<'_>) -> Result<Vec<LanePullRequest>> {
    let mut open = pull_requests::open(tx)?;
    open.retain(|pull| pull.number.is_some() && !other_host::has_repository(app, pull.host_id.as_deref()));
    Ok(open)
}

/// Starts a sync in a process of its own when the last one of this project was begun a minute ago: a board must not wait for the
/// network. Only for lanes that are not closed, and not while a landing is at work. Returns when the next one is due; `None` while
/// there is nothing to ask about.
pub fn start_sync(app: &App) -> Result<Option<Timestamp>> {
    let has_open_lane = app.read(|tx| {
        let is_open = |pull: &LanePullRequest| {
            Ok::<_, anyhow::Error>(lanes::find(tx, &pull.lane)?.is_some_and(|lane| lane.status != LaneStatus::Closed))
        };
        let open = open_here(app, tx)?;
        Ok::<_, anyhow::Error>(open.iter().map(is_open).collect::<Result<Vec<_>>>()?.contains(&true))
    })?;
    if !has_open_lane || app.actor.session.is_some() {
        return Ok(None);
    }
    let (now, mark) = (app.env.now(), app.project.runtime_dir().join("pulls-asked"));
    let begun = fs::read_to_string(&mark).ok().and_then(|text| text.trim().parse().ok()).map(Timestamp::from_millis);
    if let Some(due) = begun.map(|at| at.plus(SYNC_INTERVAL)).filter(|due| *due > now) {
        return Ok(Some(due));
    }
    if !lock::is_at_work(app) {
        files::private_dir(&app.project.runtime_dir())?;
        files::write_atomic_nosync(&mark, now.millis().to_string().as_bytes(), 0o600)?;
        let mut env = app.env.vars().clone();
        env.insert(vars::FAIRWAY_ROOT.into(), app.project.root.clone().into());
        executable::spawn_self(&["pr", "sync", "--quiet"].map(OsString::from), &env, None)?;
    }
    Ok(Some(now.plus(SYNC_INTERVAL)))
}

fn line(view: &PullSyncView) -> String {
    let PullRequestView { number, state, summary, .. } = &view.pull_request;
    let what = work_name(Some(&view.lane), &view.tasks);
    let summary = if summary.is_empty() { String::new() } else { format!(", {summary}") };
    let told = if view.told { "; its author is told" } else { "" };
    let landed = view.landing.as_ref().map(|landing| format!("\n{}", report::lines(landing))).unwrap_or_default();
    format!("#{number} {what}: {state}{summary}{told}{landed}")
}

/// A pull request, and what the forge says of it; `None` when its lane is gone.
struct Asked {
    pull: LanePullRequest,
    answer: Option<(Forge, PullRequestState)>,
}

struct Sync<'a> {
    app: &'a App,
    git: Git<'a>,
    lock: &'a FileLock,
    say: &'a dyn Fn(&str),
}

impl Sync<'_> {
    /// Asks the forge about each pull request, before anything changes here. The second value is why one has no
    /// answer.
    fn ask_all(&self, open: Vec<LanePullRequest>) -> Result<(VecDeque<Asked>, Option<anyhow::Error>)> {
        let (mut asked, mut failed) = (VecDeque::new(), None);
        for pull in open {
            let answer = match self.unit(&pull)? {
                Some(unit) => self.ask(&pull, &unit).map(Some),
                None => Ok(None),
            };
            match answer {
                Ok(answer) => asked.push_back(Asked { pull, answer }),
                Err(error) => {
                    let stops_all = upstream::stops_all(&error);
                    failed.get_or_insert(error);
                    if stops_all {
                        break;
                    }
                }
            }
        }
        Ok((asked, failed))
    }

    fn ask(&self, pull: &LanePullRequest, unit: &Unit) -> Result<(Forge, PullRequestState)> {
        let forge = forge_of(self.app, &self.git, &upstream::of_base(self.app, &self.git, &unit.base)?.remote)?;
        let state = forge.ask(&["state", &pull.number.unwrap_or_default().to_string()], &Value::Null);
        Ok((forge, state.map_err(refusal)?))
    }

    /// Brings the bases of pull requests to their upstreams, and tells the lanes that conflict with them since, but for those whose
    /// work is what came. Returns notes about bases that stay.
    fn bring_bases(&self, asked: &VecDeque<Asked>) -> Result<Vec<String>> {
        let (mut bases, mut merged) = (Vec::new(), Vec::new());
        for Asked { pull, answer } in asked {
            if answer.as_ref().is_some_and(|(_, state)| state.pull.state == PullState::Merged) {
                merged.push(pull.lane.clone());
            }
            if let Some(unit) = self.unit(pull)?
                && !bases.contains(&unit.base)
            {
                bases.push(unit.base);
            }
        }
        let (fresh, moves) = (RefCell::default(), RefCell::default());
        let refuse = |_: &str, _: &str| Ok(());
        let what = UpstreamUse::Fetch;
        let (app, git, lock, say) = (self.app, self.git, self.lock, self.say);
        let upstreams = Upstreams { app, git, lock, say, may_push: &refuse, what, fresh, moves };
        let mut notes = Vec::new();
        for base in bases {
            if let Err(error) = upstreams.bring(&base) {
                notes.push(format!("{base} stays where it is: {error}"));
            }
        }
        lane_conflicts::tell_all(app, &upstreams.moves.borrow(), &merged)?;
        Ok(notes)
    }

    /// The unit of a pull request; `None` when its lane is gone.
    fn unit(&self, pull: &LanePullRequest) -> Result<Option<Unit>> {
        self.app.read(|tx| {
            let Some(lane) = lanes::find(tx, &pull.lane)? else { return Ok(None) };
            let mut members = Vec::new();
            for (id, epoch) in &pull.tasks {
                if let Some(task) = tasks::find(tx, id)?.filter(|task| task.epoch == *epoch) {
                    members.push(Member { task, commit: pull.commit.clone(), outdated: None });
                }
            }
            let base = lane.base.clone().unwrap_or_else(|| self.app.settings.project.base_branch.clone());
            let (task, commit) = (members.first().map(|one| one.task.id.clone()), pull.commit.clone());
            Ok(Some(Unit { lane: Some(lane), task, commit, base, members, is_named: false }))
        })
    }

    /// Records an answer. `rest` are those that are not recorded yet.
    fn record(&self, asked: Asked, rest: &mut VecDeque<Asked>) -> Result<PullSyncView> {
        // A pull request below it may have changed it since.
        let known = self.app.read(|tx| Ok(pull_requests::open_of(tx, &asked.pull.lane)?))?;
        let mut pull = known.unwrap_or(asked.pull);
        let mut view = PullSyncView {
            lane: pull.lane.to_string(),
            tasks: pull.tasks.iter().map(|(task, _)| task.to_string()).collect(),
            pull_request: PullRequestView::default(),
            told: false,
            landing: None,
            notes: Vec::new(),
        };
        let Some((unit, (forge, mut state))) = self.unit(&pull)?.zip(asked.answer) else {
            pull.state = PullState::Closed;
            "its lane is gone".clone_into(&mut pull.summary);
            self.save(&mut pull, true)?;
            view.pull_request = PullRequestView::of(&pull, self.app.env.now()).unwrap_or_default();
            return Ok(view);
        };
        let base = upstream::of_base(self.app, &self.git, &unit.base)?;
        // What a person has set there stays.
        if state.pull.state == PullState::Open && state.pull.base == pull.base && pull.base != base.branch {
            state.pull = self.retarget(&forge, &mut pull, &base.branch)?;
        }
        let before = (pull.state, pull.summary.clone(), pull.for_people.clone());
        let trusted = &self.app.settings.forge.trusted;
        pull.state = state.pull.state;
        pull.summary = summary(&state, &pull, trusted);
        pull.for_people = for_people(&state, trusted);
        let is_changed = before != (pull.state, pull.summary.clone(), pull.for_people.clone());
        match state.pull.state {
            PullState::Merged => {
                self.retarget_children(&forge, &unit, &base.branch, rest)?;
                view.landing = Some(self.merged(&unit, &state, &pull)?);
                self.save(&mut pull, true)?;
            }
            PullState::Closed => self.save(&mut pull, is_changed)?,
            PullState::Open => {
                let (app, git) = (self.app, &self.git);
                let reviews = PullReviews { app, git, forge: &forge, unit: &unit, pull: &pull, state: &state };
                view.notes = reviews.record()?;
                view.told = reviews.send_back()?;
                if app.settings.land.merge && !view.told {
                    view.notes.extend(self.merge(&reviews)?);
                }
                self.save(&mut pull, is_changed)?;
            }
        }
        view.pull_request = PullRequestView::of(&pull, self.app.env.now()).unwrap_or_default();
        Ok(view)
    }

    /// Asks the forge to merge a pull request in which nothing is in the way, once for each state that it has. What comes of it is
    /// in the next answer. Returns a note.
    fn merge(&self, reviews: &PullReviews<'_>) -> Result<Option<String>> {
        let PullReviews { pull, state, unit, forge, .. } = reviews;
        let is_in_review = unit.members.iter().all(|one| one.task.state.status() == TaskStatus::Review);
        // The branch of another lane is no base to merge into.
        if !is_in_review || !state.may_merge(pull) || self.git.upstream(&unit.base)?.is_none() {
            return Ok(None);
        }
        let (fact, number) = (format!("merge {} {}", pull.commit, pull.summary), pull.number.unwrap_or_default());
        if self.app.read(|tx| Ok(pull_requests::is_told(tx, pull.id, &fact)?))? {
            return Ok(None);
        }
        let asked = json!({ "sha": pull.commit, "merge_method": self.app.settings.land.style.as_str() });
        let note = match forge.ask::<Value>(&["say", &number.to_string(), "merge"], &asked) {
            Ok(_) => format!("#{number} was asked to merge"),
            Err(failure) if failure.stops_all() && failure.why != ForgeWhy::Rights => {
                return Err(refusal(failure).into());
            }
            Err(failure) => format!("#{number} was not merged: {failure}"),
        };
        self.app.transaction(|tx| Ok(pull_requests::tell(tx, pull.id, &fact)?))?;
        Ok(Some(note))
    }

    /// Gives a pull request another base.
    fn retarget(&self, forge: &Forge, pull: &mut LanePullRequest, base: &str) -> Result<PullRequest> {
        let number = pull.number.unwrap_or_default().to_string();
        let changed = forge.ask(&["open", &number], &json!({ "base": base })).map_err(refusal)?;
        base.clone_into(&mut pull.base);
        self.app.transaction(|tx| Ok(pull_requests::save(tx, pull).map(drop)?))?;
        Ok(changed)
    }

    /// Gives the base of merged work to the pull requests that stand on its branch: the forge closes them when the branch goes.
    fn retarget_children(&self, forge: &Forge, unit: &Unit, base: &str, rest: &mut VecDeque<Asked>) -> Result<()> {
        let Some(lane) = &unit.lane else { return Ok(()) };
        for child in self.app.read(|tx| stack::children(tx, lane))? {
            let Some(mut pull) = self.app.read(|tx| Ok(pull_requests::open_of(tx, &child.name)?))? else { continue };
            if pull.number.is_none() || pull.state != PullState::Open || pull.base == base {
                continue;
            }
            match self.retarget(forge, &mut pull, base) {
                // A closed one takes no base, and its own answer says that it is closed.
                Err(error) if upstream::stops_all(&error) => return Err(error),
                Err(_) => continue,
                Ok(_) => {}
            }
            let of_child = rest.iter_mut().filter(|one| one.pull.lane == child.name);
            for (_, state) in of_child.filter_map(|one| one.answer.as_mut()) {
                base.clone_into(&mut state.pull.base);
            }
        }
        Ok(())
    }

    /// Records what the forge has said. Boards see a change by its event.
    fn save(&self, pull: &mut LanePullRequest, is_changed: bool) -> Result<()> {
        self.app.transaction(|tx| {
            pull.synced_at = Some(tx.now());
            // A closed one may be opened again.
            let may_go_on = |lane: Lane| pull.state != PullState::Merged && lane.status != LaneStatus::Closed;
            let goes_on = pull.state == PullState::Open || lanes::find(tx, &pull.lane)?.is_some_and(may_go_on);
            pull.ended_at = (!goes_on).then(|| tx.now());
            pull_requests::save(tx, pull)?;
            if is_changed {
                let event = Event::new(EventKind::PullRequestChanged)
                    .lane(Some(&pull.lane))
                    .with("number", pull.number.unwrap_or_default())
                    .with("state", pull.state.as_str())
                    .with("summary", pull.summary.as_str());
                tx.record(&event)?;
            }
            Ok(())
        })
    }

    /// Finishes the tasks of merged work, and ends its lane, as a landing does.
    fn merged(&self, unit: &Unit, state: &PullRequestState, pull: &LanePullRequest) -> Result<LandingView> {
        let mut view = LandingView { state: "landed", ..report::begin(self.app, unit) };
        view.pull_request = PullRequestView::of(pull, self.app.env.now());
        let merged = state.merged_commit.clone().unwrap_or_else(|| state.pull.head.clone());
        if state.pull.head != unit.commit {
            let (there, here) = (&state.pull.head, &unit.commit);
            view.notes.push(format!("it was merged at {there}, and its lane was proposed at {here}"));
        }
        // A sync that was cut may have finished the tasks already.
        let style = self.app.settings.land.style;
        let known = self.app.read(|tx| Ok(landings::newest_of(tx, &unit.commit, &unit.base, style)?))?;
        let is_it = |one: &Landing| one.state == LandingState::Landed && one.candidate.as_ref() == Some(&merged);
        let mut landing = match known.filter(is_it) {
            Some(known) => known,
            None => {
                let (commit, name) = (base::commit(self.app, &unit.base)?, unit.base.clone());
                let base = Base { name, commit, checkout: None };
                let mut landing =
                    finish::begin(self.app, unit, &base, LandingState::Moving, Some(merged.clone()), None)?;
                view.notes.extend(finish::landed(self.app, &mut landing)?);
                landing
            }
        };
        (view.id, view.candidate) = (Some(landing.id), Some(merged));
        finish::end_lane(self.app, unit, &mut view);
        finish::close(self.app, &mut landing)?;
        Ok(view)
    }
}

/// What a person has to know about an open pull request, in a few words.
fn summary(state: &PullRequestState, pull: &LanePullRequest, trusted: &[String]) -> String {
    if state.pull.state != PullState::Open {
        return String::new();
    }
    let mut parts = Vec::new();
    let waiting = state.not_begun();
    let is_pending = state.checks.iter().flatten().any(ForgeCheck::is_pending);
    match &state.checks {
        None => parts.push("checks unknown".to_owned()),
        Some(_) if state.failed().next().is_some() => parts.push("✗ checks".to_owned()),
        Some(_) if is_pending => parts.push("checks run".to_owned()),
        Some(_) if !waiting.is_empty() => parts.push(format!("not begun: {}", waiting.join(" "))),
        Some(all) if all.iter().any(|one| one.required && one.state == ForgeCheckState::Cancelled) => {
            parts.push("checks cancelled".to_owned());
        }
        Some(all) if all.is_empty() => {}
        Some(_) => parts.push("✓ checks".to_owned()),
    }
    if state.mergeable == Some(false) {
        parts.push("✗ conflict".to_owned());
    }
    let verdicts = state.verdicts(trusted);
    if verdicts.iter().any(|one| one.verdict == "changes_requested") {
        parts.push("✗ changes".to_owned());
    } else if verdicts.iter().any(|one| one.verdict == "approved" && one.commit.as_ref() == Some(&state.pull.head)) {
        parts.push("✓ approved".to_owned());
    }
    if state.pull.head != pull.commit {
        parts.push("others pushed".to_owned());
    }
    if state.pull.base != pull.base {
        parts.push(format!("into {}", state.pull.base));
    }
    if state.pull.draft {
        parts.push("draft".to_owned());
    }
    let open = state.threads.iter().filter(|thread| !thread.resolved).count();
    match open + state.comments.iter().filter(|one| one.is_foreign()).count() {
        0 => {}
        1 => parts.push("1 comment".to_owned()),
        count => parts.push(format!("{count} comments")),
    }
    parts.join(", ").replace(char::is_control, " ")
}

/// The newest words that reach no agent, for people: a line for each.
fn for_people(state: &PullRequestState, trusted: &[String]) -> String {
    let all = state.for_people(trusted);
    let line = |one: &&ForgeComment| -> String {
        format!("{}: {}", one.author, one.body.trim())
            .replace(char::is_control, " ")
            .chars()
            .take(MAX_LINE_CHARS)
            .collect()
    };
    let newest = all.iter().skip(all.len().saturating_sub(MAX_LINES));
    newest.map(line).collect::<Vec<_>>().join("\n")
}
