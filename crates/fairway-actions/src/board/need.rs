//! An item that needs a person.

use fairway_core::domain::need::NeedKind;
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::session_facts::{NextCommand, SessionOverview};
use fairway_core::domain::{LaneName, TaskId};
use fairway_core::env::Timestamp;
use fairway_core::wire::{CommandView, NeedView};

/// An item for a person, before it is sorted into the list.
#[derive(Debug)]
pub(super) struct Need {
    kind: NeedKind,
    since: Option<Timestamp>,
    view: NeedView,
}

impl Need {
    /// `key` names the object that the item is about; the item's id is `kind:key`.
    pub(super) fn new(kind: NeedKind, key: &str, since: Option<Timestamp>, line: String, evidence: String) -> Self {
        let view = NeedView {
            id: format!("{kind}:{key}"),
            kind,
            session_id: None,
            task_id: None,
            lane: None,
            since: since.map(|at| at.to_string()),
            line,
            evidence,
            commands: Vec::new(),
        };
        Self { kind, since, view }
    }

    /// Adds the session and its lane to the item.
    pub(super) fn session(mut self, one: &SessionOverview) -> Self {
        self.view.session_id = Some(one.session.id.to_string());
        self.lane(one.session.lane.as_ref())
    }

    pub(super) fn task(mut self, task: &TaskId) -> Self {
        self.view.task_id = Some(task.to_string());
        self
    }

    pub(super) fn lane(mut self, lane: Option<&LaneName>) -> Self {
        if let Some(lane) = lane {
            self.view.lane = Some(lane.to_string());
        }
        self
    }

    /// Adds a command unless it is there already.
    pub(super) fn command(mut self, next: &NextCommand) -> Self {
        let next = CommandView::from(next);
        if !self.view.commands.contains(&next) {
            self.view.commands.push(next);
        }
        self
    }

    /// Like [`Need::command`], for a command that is given as its purpose and its text.
    pub(super) fn then(self, purpose: &str, command: String) -> Self {
        self.command(&NextCommand::new(purpose, command))
    }

    /// Rewrites the commands for a session of another host so that they can be typed here. `host_of` returns the host of a
    /// session, and `None` when that is this host.
    pub(super) fn typed_here(mut self, host_of: impl Fn(&str) -> Option<OtherHost>) -> Self {
        if let Some(host) = self.view.session_id.as_deref().and_then(host_of) {
            for next in &mut self.view.commands {
                next.command = host.from_here(&next.command);
            }
        }
        self
    }
}

/// The items as documents, sorted by kind, age and id.
pub(super) fn sorted(mut needs: Vec<Need>) -> Vec<NeedView> {
    needs.sort_by(|a, b| {
        let key = |need: &Need| (need.kind.rank(), need.since.map_or(i64::MAX, Timestamp::millis));
        key(a).cmp(&key(b)).then_with(|| a.view.id.cmp(&b.view.id))
    });
    needs.into_iter().map(|need| need.view).collect()
}
