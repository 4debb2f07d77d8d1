//! The commands about tasks that the page can do: add, edit, block, cancel, reopen, and start an agent.

use anyhow::Result;

use super::form::Form;
use fairway_actions::queue::task::{ForceReason, add, edit, transition, undo};
use fairway_actions::sessions::launch::provider_hooks::ProviderHooks;
use fairway_actions::sessions::start::{self, StartRequest};
use fairway_actions::{Answer, App};
use fairway_core::domain::id::Label;
use fairway_core::domain::task::{DEFAULT_PRIORITY, LOWEST_PRIORITY, TaskFields};
use fairway_core::domain::{LaneName, Refusal, Role, TaskId};

/// The fields in a form, each with its flag. `was_…` has the text that the form showed at first.
const FIELDS: &[(&str, &str)] = &[
    ("title", "--title"),
    ("body", "--body"),
    ("role", "--role"),
    ("lane", "--lane"),
    ("priority", "--priority"),
    ("labels", "--label"),
    ("depends_on", "--depends-on"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskCommand {
    /// Adds a task with the fields of the form.
    Add,
    /// Changes the fields that the person changed in the form.
    Edit(TaskId),
    Priority(TaskId, u8),
    Lane(TaskId, LaneName),
    /// `true` for `--force`.
    Block(TaskId, bool),
    /// `true` for `--force`.
    Cancel(TaskId, bool),
    Reopen(TaskId),
    /// Takes back the change of this event.
    Undo(TaskId, i64),
    /// Starts an agent of the provider that the form names, on the task, or on a new one with the form's title.
    Start(Option<TaskId>),
}

impl TaskCommand {
    /// Parses the words after `fairway`. Returns `None` for a command that neither adds, changes nor starts a task.
    pub(super) fn parse(words: &[&str]) -> Option<Self> {
        let task = |text: &str| TaskId::parse(text).ok();
        Some(match *words {
            ["task", "add", "TITLE"] => Self::Add,
            ["task", "edit", id] => Self::Edit(task(id)?),
            ["task", "edit", id, "--priority", priority] => Self::Priority(task(id)?, self::priority(priority).ok()?),
            ["task", "edit", id, "--lane", lane] => Self::Lane(task(id)?, LaneName::parse(lane).ok()?),
            ["task", "block", id, "--reason", "TEXT"] => Self::Block(task(id)?, false),
            ["task", "block", id, "--force", "--reason", "TEXT"] => Self::Block(task(id)?, true),
            ["task", "cancel", id, "--reason", "TEXT"] => Self::Cancel(task(id)?, false),
            ["task", "cancel", id, "--force", "--reason", "TEXT"] => Self::Cancel(task(id)?, true),
            ["task", "reopen", id, "--reason", "TEXT"] => Self::Reopen(task(id)?),
            ["task", "undo", id, "--event", seq] => Self::Undo(task(id)?, seq.parse().ok()?),
            ["start", "TITLE"] => Self::Start(None),
            ["start", id] => Self::Start(Some(task(id)?)),
            _ => return None,
        })
    }

    /// The label of the text field that the person must fill in. Returns `None` when the command needs no text.
    pub(super) const fn text_label(&self) -> Option<&'static str> {
        match self {
            Self::Block(..) | Self::Cancel(..) | Self::Reopen(_) => Some("Reason"),
            _ => None,
        }
    }

    /// The task whose change can be taken back.
    pub(super) const fn undoable(&self) -> Option<&TaskId> {
        match self {
            Self::Edit(task) | Self::Priority(task, _) | Self::Block(task, _) | Self::Cancel(task, _) => Some(task),
            _ => None,
        }
    }

    /// The arguments that the form adds after the command's words.
    pub(super) fn arguments(&self, form: &Form) -> Vec<String> {
        match self {
            Self::Add | Self::Edit(_) => {
                let is_title = |name: &str| name == "title" && *self == Self::Add;
                changed(form).into_iter().filter(|(name, ..)| !is_title(name)).flat_map(flags).collect()
            }
            Self::Start(_) => {
                form.written("provider").into_iter().flat_map(|name| ["--provider".into(), name.into()]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Runs the command with the values of the form.
    ///
    /// # Errors
    /// Those of the command on the command line; `usage` when a text is missing.
    pub(super) fn run(&self, app: &App, form: &Form, hooks: &'static dyn ProviderHooks) -> Result<Answer> {
        let reason = || form.needed("text", "Reason");
        let forced = |force: bool, reason: &str| force.then(|| ForceReason { reason: reason.to_owned() });
        match self {
            Self::Add => {
                let mut fields =
                    TaskFields { priority: DEFAULT_PRIORITY, ..TaskFields::with_title(form.needed("title", "Title")?) };
                put_over(&mut fields, form)?;
                add::add(app, None, fields)
            }
            Self::Edit(id) => edit::edit(app, id, |fields| put_over(fields, form)),
            Self::Priority(id, priority) => edit::edit(app, id, |fields| {
                fields.priority = *priority;
                Ok(())
            }),
            Self::Lane(id, lane) => edit::edit(app, id, |fields| {
                fields.lane = Some(lane.clone());
                Ok(())
            }),
            Self::Block(id, force) => {
                let reason = reason()?;
                transition::block(app, id, &reason, forced(*force, &reason).as_ref())
            }
            Self::Cancel(id, force) => {
                let reason = reason()?;
                transition::cancel(app, id, &reason, forced(*force, &reason).as_ref())
            }
            Self::Reopen(id) => transition::reopen(app, id, &reason()?),
            Self::Undo(id, seq) => undo::undo(app, id, Some(*seq)),
            Self::Start(id) => {
                let provider = form.written("provider").map(Label::parse).transpose()?;
                let request = StartRequest { provider, ..StartRequest::new(hooks) };
                let mut notes = Vec::new();
                let subject = id.as_ref().map_or_else(|| title_to_start(form), |id| Ok(id.to_string()))?;
                let answer = start::start(app, &subject, &request, &mut notes)?;
                Ok(answer.with_notes(notes))
            }
        }
    }
}

/// The title of a task that is to be added and started; one word would be the id of a task.
fn title_to_start(form: &Form) -> Result<String, Refusal> {
    let title = form.needed("title", "Title")?;
    if title.contains(char::is_whitespace) {
        Ok(title)
    } else {
        Err(Refusal::invalid("title", "must be several words"))
    }
}

/// Name, flag and text of the fields that the person changed.
fn changed(form: &Form) -> Vec<(&'static str, &'static str, String)> {
    let text = |name: &str| form.get(name).trim().to_owned();
    let fields = FIELDS.iter().map(|(name, flag)| (*name, *flag, text(name)));
    fields.filter(|(name, _, text)| *text != form.get(&format!("was_{name}")).trim()).collect()
}

fn flags((name, flag, text): (&'static str, &'static str, String)) -> Vec<String> {
    let values = if matches!(name, "labels" | "depends_on") && !text.is_empty() { list(&text) } else { vec![text] };
    values.into_iter().flat_map(|value| [flag.to_owned(), value]).collect()
}

/// The words between commas and spaces.
fn list(text: &str) -> Vec<String> {
    text.split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn priority(text: &str) -> Result<u8, Refusal> {
    let number = text.parse().ok().filter(|number| *number <= LOWEST_PRIORITY);
    number.ok_or_else(|| Refusal::invalid("priority", "must be a number from 0 (first) to 4 (last)"))
}

/// Writes the changed fields over those of a task.
fn put_over(fields: &mut TaskFields, form: &Form) -> Result<()> {
    for (name, _, text) in changed(form) {
        let written = Some(text.as_str()).filter(|text| !text.is_empty());
        match name {
            "title" => fields.title.clone_from(&text),
            "body" => fields.body.clone_from(&text),
            "role" => fields.role = written.map(Role::parse).transpose()?,
            "lane" => fields.lane = written.map(LaneName::parse).transpose()?,
            "priority" => fields.priority = priority(&text)?,
            "labels" => fields.labels = list(&text),
            _ => {
                fields.depends_on = list(&text).iter().map(|id| TaskId::parse(id)).collect::<Result<_, _>>()?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(query: &str) -> Form {
        Form::of_query(&format!("/?{query}").parse().unwrap())
    }

    #[test]
    fn only_what_a_person_changed_is_an_argument() {
        let edit = TaskCommand::Edit(TaskId::parse("T-1").unwrap());
        let shown = "was_title=Fix+it&was_lane=cart&was_labels=a+b&was_priority=2";
        let same = form(&format!("title=Fix+it&lane=cart&labels=a+b&priority=2&{shown}"));
        assert_eq!(edit.arguments(&same), Vec::<String>::new());
        let other = form(&format!("title=Fix+it&lane=&labels=b,+c&priority=0&{shown}"));
        assert_eq!(
            edit.arguments(&other),
            ["--lane", "", "--priority", "0", "--label", "b", "--label", "c"].map(str::to_owned)
        );
        let mut fields = TaskFields::with_title("Fix it".into());
        fields.lane = LaneName::parse("cart").ok();
        put_over(&mut fields, &other).unwrap();
        assert_eq!((fields.lane, fields.priority, fields.labels), (None, 0, vec!["b".into(), "c".into()]));
        assert!(put_over(&mut TaskFields::with_title("x".into()), &form("priority=5")).is_err());
    }

    #[test]
    fn command_about_tasks_is_understood_and_no_other() {
        let task = || TaskId::parse("T-1").unwrap();
        for (text, command) in [
            ("task add TITLE", TaskCommand::Add),
            ("task edit T-1", TaskCommand::Edit(task())),
            ("task edit T-1 --priority 0", TaskCommand::Priority(task(), 0)),
            ("task edit T-1 --lane cart", TaskCommand::Lane(task(), LaneName::parse("cart").unwrap())),
            ("task block T-1 --force --reason TEXT", TaskCommand::Block(task(), true)),
            ("task cancel T-1 --reason TEXT", TaskCommand::Cancel(task(), false)),
            ("task reopen T-1 --reason TEXT", TaskCommand::Reopen(task())),
            ("task undo T-1 --event 7", TaskCommand::Undo(task(), 7)),
            ("start T-1", TaskCommand::Start(Some(task()))),
            ("start TITLE", TaskCommand::Start(None)),
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(TaskCommand::parse(&words), Some(command), "{text}");
        }
        for text in
            ["task rm T-1", "task edit T-1 --priority 5", "task edit T-1 --lane ../x", "start T-1 -- sh", "task add x"]
        {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(TaskCommand::parse(&words), None, "{text}");
        }
    }
}
