//! The agents of lanes whose work has landed: an idle one ends with its lane.

use anyhow::Result;

use crate::core::session_overview::SessionScope;
use crate::queue::lane::prune;
use crate::queue::lane::removal::{Hold, LaneAgents, is_of_lane};
use crate::sessions::control::stop;
use crate::sessions::start::task_lane;
use crate::sessions::{attendance, list};
use crate::{Answer, App};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::message::{HUMAN_SOURCES, Recipient};
use fairway_core::domain::rules::landed_agent::{self, AgentFacts};
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::{SessionId, TaskId};
use fairway_core::store::{claims, messages};

/// Ends the agents of lanes on behalf of `by`.
pub(super) struct LandedAgents<'a> {
    app: &'a App,
    by: String,
    /// The landed tasks; only agents in a lane of one of them alone end. `None` for every lane.
    tasks: Option<Vec<&'a TaskId>>,
}

impl<'a> LandedAgents<'a> {
    /// For a landing: the lane that a start made for a landed task, unless the settings keep agents.
    pub(super) fn of_landing(app: &'a App, id: i64, tasks: Vec<&'a TaskId>) -> Self {
        let tasks = if app.settings.land.keep_agents { Vec::new() } else { tasks };
        Self { app, by: format!("landing {id}"), tasks: Some(tasks) }
    }

    fn why_it_stays(&self, lane: &Lane, one: &SessionOverview) -> Result<Option<String>> {
        let id = &one.session.id;
        let facts = self.app.read(|tx| {
            let open = messages::open_for(tx, &Recipient::Session(id.clone()))?;
            let unread = open.iter().filter(|message| HUMAN_SOURCES.contains(&message.source.as_str())).count();
            Ok::<_, anyhow::Error>(AgentFacts { has_worked: claims::has_worked(tx, id, &lane.name)?, unread })
        })?;
        let why = landed_agent::why_it_stays(one, facts);
        let is_attended = || attendance::is_attached(self.app, id) || attendance::has_terminal(self.app, &one.session);
        Ok(why.or_else(|| is_attended().then(|| "is attached to a person's terminal".to_owned())))
    }
}

impl LaneAgents for LandedAgents<'_> {
    fn find(&self, lane: &Lane) -> Result<Result<Vec<SessionId>, Hold>> {
        let is_own = |task: &&TaskId| task_lane::own_name(task).is_ok_and(|name| name == lane.name);
        if self.tasks.as_ref().is_some_and(|tasks| !tasks.iter().any(is_own)) {
            return Ok(Ok(Vec::new()));
        }
        let mut ending = Vec::new();
        for one in list::overviews(self.app, SessionScope::Live)?.iter().filter(|one| is_of_lane(&one.session, lane)) {
            let id = &one.session.id;
            if let Some(why) = self.why_it_stays(lane, one)? {
                let command = format!("fairway session stop {id}");
                return Ok(Err(Hold { code: "live_session", why: format!("its agent {id} {why}"), command }));
            }
            ending.push(id.clone());
        }
        Ok(Ok(ending))
    }

    fn end(&self, session: &SessionId) -> Result<()> {
        // The request id is that of the whole command.
        let app = self.app.with_actor(self.app.actor.clone(), None);
        stop::stop_by(&app, session, &self.by)?;
        Ok(())
    }
}

/// Removes the worktrees of closed lanes. With `landed` also ends the lanes whose work has landed, and their idle agents.
pub fn prune_lanes(app: &App, dry_run: bool, landed: bool) -> Result<Answer> {
    let agents = LandedAgents { app, by: app.actor.name.clone(), tasks: None };
    prune::prune(app, dry_run, landed.then_some(&agents))
}
