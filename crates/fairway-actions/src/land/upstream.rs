//! The upstream of a base during a landing: it is fetched before work is stacked on the base, and work is pushed to it before
//! the base moves.

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::Result;

use super::base::{self, Base, Behind};
use super::finish;
use super::lane_conflicts::Move;
use crate::App;
use crate::queue::landing_unit::Unit;
use crate::queue::lane::checkout;
use fairway_core::domain::landing::LandingState;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{LaneName, Refusal, plural};
use fairway_core::os::git::{Fetched, Git, Upstream};
use fairway_core::os::lock::FileLock;
use fairway_core::store::lanes;

/// How a landing uses the upstreams of its bases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UpstreamUse {
    /// Does nothing with them. A base that is behind is refused.
    #[default]
    Ignore,
    /// Fetches them, and brings the bases up to date.
    Fetch,
    /// Like `Fetch`, and pushes the work that lands.
    Push,
}

/// Decides whether to push: the arguments are the remote and its branch. An error refuses the push.
pub type MayPush<'a> = &'a dyn Fn(&str, &str) -> Result<()>;

/// The result of a push.
pub(super) enum Pushed {
    Done,
    /// The remote got another commit first.
    Raced {
        upstream: String,
    },
    /// The remote does not have the commit.
    No(anyhow::Error),
    /// The remote did not say whether it has the commit.
    Unknown(anyhow::Error),
}

pub(super) struct Upstreams<'a> {
    pub(super) app: &'a App,
    pub(super) git: Git<'a>,
    pub(super) lock: &'a FileLock,
    pub(super) say: &'a dyn Fn(&str),
    pub(super) may_push: MayPush<'a>,
    pub(super) what: UpstreamUse,
    /// The upstreams that were fetched since work was last checked, by base.
    pub(super) fresh: RefCell<BTreeMap<String, Upstream>>,
    /// Moves of bases to their upstreams for which no lane was checked yet.
    pub(super) moves: RefCell<Vec<Move>>,
}

impl Upstreams<'_> {
    /// Returns the base if it may move. When upstreams are fetched, the base is first moved to its upstream's newest commit.
    ///
    /// # Errors
    /// The errors of [`base::check`]; `no_upstream`, `fetch_failed`.
    pub(super) fn bring(&self, name: &str) -> Result<Base> {
        if self.what == UpstreamUse::Ignore {
            return base::check(self.app, name);
        }
        base::commit(self.app, name)?;
        let upstream = self.fetched(name)?;
        if self.git.upstream(name)?.is_none() {
            // The branch of another lane, whose pull request lands first: this one's is made on what is there.
            let commit = self.git.commit(&upstream.tracking).unwrap_or_default();
            return Ok(Base { name: name.to_owned(), commit, checkout: None });
        }
        match base::behind(self.app, name)? {
            None => base::movable(self.app, name),
            Some(behind) if behind.ahead > 0 => Err(behind.refusal(self.app, name)?.into()),
            Some(behind) => self.follow(name, &upstream, &behind),
        }
    }

    /// Checks like [`base::check`]; returns `None` when the upstream has new commits.
    pub(super) fn check(&self, name: &str) -> Result<Option<Base>> {
        if self.what != UpstreamUse::Ignore && base::behind(self.app, name)?.is_some() {
            return Ok(None);
        }
        base::check(self.app, name).map(Some)
    }

    /// Forgets which upstreams were fetched, so that each is fetched again when it is next needed.
    pub(super) fn forget(&self) {
        self.fresh.borrow_mut().clear();
    }

    /// The upstream to which landings in a base are pushed; `None` when they are not.
    pub(super) fn push_to(&self, name: &str) -> Result<Option<String>> {
        if self.what != UpstreamUse::Push {
            return Ok(None);
        }
        Ok(Some(of_base(self.app, &self.git, name)?.name()))
    }

    fn fetched(&self, name: &str) -> Result<Upstream> {
        if let Some(known) = self.fresh.borrow().get(name) {
            return Ok(known.clone());
        }
        let upstream = of_base(self.app, &self.git, name)?;
        (self.say)(&format!("fetching {}", upstream.name()));
        match self.git.fetch_upstream(&upstream, self.app.settings.land.timeout)? {
            Fetched::Done => self.git.bring_content(&format!("refs/heads/{name}"), &upstream.tracking)?,
            Fetched::NoBranch => {
                let why = format!("{} has no branch {}", upstream.remote, upstream.branch);
                let lanes = self.app.read(|tx| Ok(lanes::all(tx)?))?;
                let of_lane = lanes.into_iter().find(|lane| lane.branch.as_deref() == Some(name));
                return Err(no_upstream(self.app, name, why, of_lane.map(|lane| lane.name)).into());
            }
            Fetched::Failed(why) => {
                return Err(Refusal::FetchFailed { base: name.to_owned(), upstream: upstream.name(), why }.into());
            }
        }
        self.fresh.borrow_mut().insert(name.to_owned(), upstream.clone());
        Ok(upstream)
    }

    /// Moves a base without commits of its own to its upstream.
    fn follow(&self, name: &str, upstream: &Upstream, behind: &Behind) -> Result<Base> {
        let base = base::movable(self.app, name)?;
        let to = &behind.theirs;
        base.refuse_files_in_the_way(&self.git, to)?;
        let commits = plural::count(behind.missing, "commit");
        (self.say)(&format!("bringing {name} to {}: {commits}", upstream.name()));
        let unit = Unit::of_base(name, to);
        let mut landing = finish::begin(self.app, &unit, &base, LandingState::Moving, Some(to.clone()), None)?;
        if let Err(error) = base.move_to(self.app, self.lock, to)
            // A git that was killed may have left half a checkout, or have done its work.
            && !base::is_moved(self.app, name, &base.commit, to)?
        {
            finish::failed(self.app, &mut landing, &error.to_string())?;
            return Err(error);
        }
        finish::landed(self.app, &mut landing)?;
        finish::close(self.app, &mut landing)?;
        self.moves.borrow_mut().push(Move::of_upstream(upstream.name(), &landing));
        Ok(Base { commit: to.clone(), ..base })
    }

    /// Pushes a commit to the upstream of a base. After a failed push, asks the remote whether it has the commit nevertheless.
    pub(super) fn push(&self, name: &str, to: &str) -> Pushed {
        self.try_push(name, to).unwrap_or_else(Pushed::No)
    }

    fn try_push(&self, name: &str, to: &str) -> Result<Pushed> {
        self.push_to_branch(name, &of_base(self.app, &self.git, name)?, to, None)
    }

    /// Pushes a commit to a branch of a remote. `lease` is the commit that the branch may lose.
    pub(super) fn push_to_branch(
        &self,
        name: &str,
        upstream: &Upstream,
        to: &str,
        lease: Option<&str>,
    ) -> Result<Pushed> {
        let before = self.git.commit(&upstream.tracking);
        if lease.is_none() && has(&self.git, upstream, to) {
            return Ok(Pushed::Done);
        }
        (self.may_push)(&upstream.remote, &upstream.branch)?;
        let limit = self.app.settings.land.timeout;
        (self.say)(&format!("pushing {} to {}", to.get(..12).unwrap_or(to), upstream.name()));
        // A push that outlives this process keeps the lock.
        let pushed = self.lock.shared_with_children(|| self.git.push_upstream(upstream, to, lease, limit))?;
        let Some(why) = pushed? else { return Ok(Pushed::Done) };
        self.forget();
        let asked = self.git.fetch_upstream(upstream, limit);
        let (base, upstream_name) = (name.to_owned(), upstream.name());
        let unknown = |error: &str| {
            let why = format!("{why}; it does not answer: {error}");
            Refusal::PushUnknown { base: base.clone(), upstream: upstream_name.clone(), why }.into()
        };
        Ok(match asked {
            Err(error) => Pushed::Unknown(unknown(&error.to_string())),
            Ok(Fetched::Failed(error)) => Pushed::Unknown(unknown(&error)),
            Ok(Fetched::Done) if has(&self.git, upstream, to) => Pushed::Done,
            Ok(Fetched::Done) if self.git.commit(&upstream.tracking) != before => {
                Pushed::Raced { upstream: upstream_name }
            }
            Ok(Fetched::Done | Fetched::NoBranch) => {
                Pushed::No(Refusal::PushFailed { base, upstream: upstream_name, why }.into())
            }
        })
    }
}

/// Whether the upstream of a base has a commit. The remote is asked unless the last fetch already shows that it has. Fails
/// with `push_unknown` when the remote does not answer.
pub(super) fn has_taken(app: &App, git: &Git<'_>, base: &str, commit: &str) -> Result<bool> {
    let Some(upstream) = git.upstream(base)? else { return Ok(false) };
    if has(git, &upstream, commit) {
        return Ok(true);
    }
    match git.fetch_upstream(&upstream, app.settings.land.timeout)? {
        Fetched::Done => Ok(has(git, &upstream, commit)),
        Fetched::NoBranch => Ok(false),
        Fetched::Failed(why) => {
            Err(Refusal::PushUnknown { base: base.to_owned(), upstream: upstream.name(), why }.into())
        }
    }
}

/// Whether an upstream, as last fetched or pushed, has a commit.
fn has(git: &Git<'_>, upstream: &Upstream, commit: &str) -> bool {
    git.is_ancestor(commit, &upstream.tracking) == Some(true)
}

/// The upstream of a base. A lane's branch is pushed to the remote of that lane's own base.
pub(super) fn of_base(app: &App, git: &Git<'_>, name: &str) -> Result<Upstream> {
    let (mut below, mut all) = (name.to_owned(), None);
    loop {
        if let Some(upstream) = git.upstream(&below)? {
            let own = Some(upstream.clone()).filter(|_| below == name);
            if let Some(upstream) = own.or_else(|| upstream.of_branch(name)) {
                return Ok(upstream);
            }
        }
        let known: &mut Vec<Lane> = match &mut all {
            Some(known) => known,
            None => all.insert(app.read(|tx| Ok(lanes::all(tx)?))?),
        };
        let Some(at) = known.iter().position(|lane| lane.branch.as_ref() == Some(&below)) else { break };
        // Each is asked once: a person may have set their bases in a circle.
        checkout::base(app, &known.swap_remove(at)).clone_into(&mut below);
    }
    let why = match git.upstream_ref(&below)? {
        Some(other) => format!("{other} is no branch of a remote"),
        None => "none is set".to_owned(),
    };
    Err(no_upstream(app, &below, why, None).into())
}

fn no_upstream(app: &App, base: &str, why: String, lane: Option<LaneName>) -> Refusal {
    let (base, dir) = (base.to_owned(), app.project.root.display().to_string());
    Refusal::NoUpstream { base, why, dir, is_shared: app.settings.shares_base(), lane }
}

/// Whether an error is about the remote, so that it would stop every other landing too.
pub(super) fn stops_all(error: &anyhow::Error) -> bool {
    let of_remote = |refusal: &Refusal| {
        matches!(
            refusal,
            Refusal::NoUpstream { lane: None, .. }
                | Refusal::FetchFailed { .. }
                | Refusal::PushFailed { .. }
                | Refusal::PushUnknown { .. }
                | Refusal::GuardDenied { .. }
                | Refusal::BranchNotPushed { .. }
        ) || matches!(refusal, Refusal::ForgeFailed { failure } if failure.stops_all())
    };
    error.downcast_ref::<Refusal>().is_some_and(of_remote)
}
