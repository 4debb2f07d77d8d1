//! What the address of the page with all tasks asks for, and what its forms offer to choose from.

use anyhow::Result;

use super::form::{Form, address};
use fairway_actions::App;
use fairway_actions::queue::task::list::Filter;
use fairway_actions::sessions::start::installed_providers;
use fairway_core::domain::lane::LaneStatus;
use fairway_core::domain::task::TaskStatus;
use fairway_core::domain::{LaneName, Role};
use fairway_core::wire::LaneView;

/// What the address of the page asks for.
#[derive(Debug, Clone)]
pub(super) struct TasksQuery {
    pub(super) form: Form,
}

impl TasksQuery {
    pub(super) const fn new(form: Form) -> Self {
        Self { form }
    }

    /// Whether each column is grouped by lane. Otherwise it is grouped by priority.
    pub(super) fn is_by_lane(&self) -> bool {
        self.form.get("group") == "lane"
    }

    /// Whether closed tasks are listed too.
    pub(super) fn has_closed(&self) -> bool {
        self.form.get("closed") == "yes"
    }

    /// The address of this list with one task open. An empty `task` opens none.
    pub(super) fn address(&self, task: &str) -> String {
        let get = |name: &'static str| (name, self.form.get(name));
        let names = ["q", "role", "lane", "label", "group", "closed"].map(get);
        address("tasks", &[&names[..], &[("task", task)]].concat())
    }

    /// The filter that the form describes. Empty fields filter nothing.
    pub(super) fn filter(&self) -> Result<Filter> {
        let statuses = if self.has_closed() { TaskStatus::ALL.to_vec() } else { Vec::new() };
        Ok(Filter {
            statuses,
            role: self.form.written("role").map(Role::parse).transpose()?,
            lane: self.form.written("lane").map(LaneName::parse).transpose()?,
            label: self.form.written("label").map(str::to_owned),
            text: self.form.written("q").map(str::to_owned),
            held: false,
            limit: None,
        })
    }
}

/// What the forms offer to choose from.
#[derive(Debug)]
pub(super) struct Choices {
    pub(super) lanes: Vec<String>,
    pub(super) roles: Vec<String>,
    pub(super) providers: Vec<String>,
}

impl Choices {
    pub(super) fn read(app: &App, lanes: &[LaneView]) -> Self {
        let mut roles: Vec<String> = app.settings.roles.keys().map(ToString::to_string).collect();
        roles.extend(lanes.iter().filter_map(|lane| lane.role.clone()));
        roles.sort();
        roles.dedup();
        let open = lanes.iter().filter(|lane| lane.status != LaneStatus::Closed);
        Self { lanes: open.map(|lane| lane.name.clone()).collect(), roles, providers: installed_providers(app) }
    }
}
