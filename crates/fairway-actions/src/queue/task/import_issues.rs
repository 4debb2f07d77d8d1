//! Imports the issues of a tracker as tasks: each issue once, by its address, and its changes later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use serde_json::Value;

use super::add;
use super::import::shortened;
use super::validate::{self, MAX_LABEL_BYTES};
use crate::core::lookup;
use crate::{Answer, App};
use fairway_core::domain::excerpt::excerpt;
use fairway_core::domain::issue::{self, CHANGED, FieldImport, IssueUrl};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{DEFAULT_PRIORITY, Task, TaskFields, TaskState};
use fairway_core::domain::text_limits::{MAX_BODY_BYTES, MAX_LINE_BYTES};
use fairway_core::domain::{Event, EventKind, Refusal, Role, TaskId, plural};
use fairway_core::env::Timestamp;
use fairway_core::os::digest::sha256_hex;
use fairway_core::store::event_facts::{self, IssueLink};
use fairway_core::store::events::{self, LoggedEvent};
use fairway_core::store::{ReadTx, removed_tasks, tasks};
use fairway_core::wire::import::{
    IssueError, IssueImportReport, IssueRecord, IssueResultView, ParseError, parse_issues,
};

const DIGEST_CHARS: usize = 16;

/// How issues become tasks.
#[derive(Debug, Clone, Default)]
pub struct IssueImportOptions {
    /// The role for a label; of several the first counts.
    pub roles: Vec<(String, Role)>,
    /// The priority for a label; of several the most urgent counts.
    pub priorities: Vec<(String, u8)>,
    /// Whether closed issues without a task are imported too.
    pub closed: bool,
    /// The beginning of new tasks' ids; the issue's number follows.
    pub prefix: &'static str,
}

/// The beginning of the ids of a forge's tasks.
pub fn prefix(forge: &str) -> &'static str {
    match forge {
        "github" => "gh",
        "gitlab" => "gl",
        _ => "issue",
    }
}

struct Issue {
    url: IssueUrl,
    number: u64,
    /// The state of a new task: todo, or done or cancelled for a closed issue.
    state: TaskState,
    fields: TaskFields,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// The parts of the issue that were changed or left out, for a note.
    altered: Vec<&'static str>,
}

/// Digests of the fields that follow an issue. They tell whether the issue or the task has changed since the last
/// import.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Digests {
    title: String,
    body: String,
    labels: String,
}

impl Digests {
    fn of(fields: &TaskFields) -> Self {
        let digest = |text: &str| sha256_hex(text.as_bytes()).get(..DIGEST_CHARS).unwrap_or_default().to_owned();
        let labels: Vec<&str> = fields.labels.iter().map(String::as_str).filter(|one| *one != CHANGED).collect();
        Self { title: digest(&fields.title), body: digest(&fields.body), labels: digest(&labels.join("\n")) }
    }
}

impl Digests {
    fn put_into(&self, event: Event) -> Event {
        event
            .with("issue_title", self.title.as_str())
            .with("issue_body", self.body.as_str())
            .with("issue_labels", self.labels.as_str())
    }
}

/// The change that one issue makes in the store.
enum Change {
    Create(Box<Task>, Digests),
    Update(Box<Task>, Vec<&'static str>, Digests),
    /// The issue has another title or body, which waits for a person: the whole event, without the address.
    Await(Box<Task>, Event),
}

struct Plan {
    changes: Vec<(IssueUrl, Change)>,
    report: IssueImportReport,
    notes: Vec<String>,
}

/// Imports issues. An odd one is left out with a note, unless none can be read. A task follows its issue's title, body and labels until these are changed in Fairway.
/// `dry_run` writes nothing and returns the report that the import would return.
///
/// # Errors
/// `invalid_line` naming the line: of a damaged file, or of the first issue when none can be read.
pub fn import(app: &App, text: &str, options: &IssueImportOptions, dry_run: bool) -> Result<Answer> {
    let broken = |ParseError { line, why }| Refusal::Line { line, why };
    let (mut records, mut odd) = (Vec::new(), Vec::new());
    for read in parse_issues(text).map_err(broken)? {
        match read {
            Ok(record) => records.push(record),
            Err(IssueError::Invalid(error)) => odd.push(broken(error)),
            Err(IssueError::MissingKeys { line, number, keys }) => {
                odd.push(Refusal::IssueKeysMissing { line, number, keys });
            }
        }
    }
    let mut issues: Vec<Issue> = Vec::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for record in &records {
        let refused = |why: String| Refusal::Line { line: record.line, why: format!("issue {}{why}", record.number) };
        match convert(record, options, app.env.now()) {
            Err(refusal) => odd.push(refused(format!(": {refusal}"))),
            Ok(issue) => match lines.get(&issue.url.key()) {
                Some(earlier) => odd.push(refused(format!(" is on line {earlier} already"))),
                None => {
                    lines.insert(issue.url.key(), record.line);
                    issues.push(issue);
                }
            },
        }
    }
    let told: Vec<String> = odd.iter().map(Refusal::to_string).collect();
    if let (Some(first), true) = (odd.into_iter().next(), issues.is_empty()) {
        return Err(first.into());
    }
    let empty = IssueImportReport { skipped: told.len(), odd: told, ..Default::default() };
    if dry_run {
        return app.read(|tx| answer(&plan(app, tx, &issues, IssueImportReport { dry_run, ..empty }, options)?));
    }
    let done = app.mutate(|tx| {
        let plan = plan(app, tx, &issues, empty.clone(), options)?;
        for (url, change) in &plan.changes {
            let (event, digests) = match change {
                Change::Await(task, event) => {
                    tasks::set_fields(tx, &task.id, &task.fields)?;
                    tx.record(&event.clone().with("url", url.as_str()))?;
                    continue;
                }
                Change::Create(task, digests) => {
                    tasks::insert(tx, task)?;
                    let event = Event::new(EventKind::TaskImported)
                        .task(&task.id)
                        .with("title", task.fields.title.as_str())
                        .with("priority", i64::from(task.fields.priority))
                        .with("status", task.state.status().as_str());
                    (event, digests)
                }
                Change::Update(task, fields, digests) => {
                    tasks::set_fields(tx, &task.id, &task.fields)?;
                    let event = Event::new(EventKind::TaskEdited)
                        .task(&task.id)
                        .lane(task.fields.lane.as_ref())
                        .with("fields", fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>())
                        .with("title", fields.contains(&"title").then(|| task.fields.title.clone()));
                    (event, digests)
                }
            };
            tx.record(&digests.put_into(event.with("url", url.as_str())))?;
        }
        answer(&plan)
    })?;
    app.snapshot_after_import();
    Ok(done)
}

fn convert(record: &IssueRecord, options: &IssueImportOptions, now: Timestamp) -> Result<Issue, Refusal> {
    let url = IssueUrl::parse(&record.url, record.number)?;
    let mut altered = Vec::new();
    let (title, has_controls) = issue::without_controls(&record.title, true);
    let (body, body_has_controls) = issue::without_controls(&record.body, false);
    if has_controls || body_has_controls {
        altered.push("control characters are replaced");
    }
    let is_cut = title.len() > MAX_LINE_BYTES;
    let title = title.get(..title.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or_default().trim().to_owned();
    let with_link = issue::body_with_backlink(&body, &url, MAX_BODY_BYTES);
    if is_cut || !with_link.starts_with(body.trim_end()) {
        altered.push("its text is too long and is cut");
    }
    let mut fields = TaskFields { body: with_link, ..TaskFields::with_title(title) };
    for label in &record.labels {
        let (label, _) = issue::without_controls(label, true);
        if label.trim().is_empty() || label.len() > MAX_LABEL_BYTES || label == CHANGED {
            altered.push("a label is left out: it is empty, too long, or one of Fairway's own");
        } else {
            fields.labels.push(label);
        }
    }
    let has = |name: &str| record.labels.iter().any(|label| label.to_lowercase() == name.to_lowercase());
    fields.role = options.roles.iter().find(|(label, _)| has(label)).map(|(_, role)| role.clone());
    let priorities = options.priorities.iter().filter(|(label, _)| has(label));
    fields.priority = priorities.map(|(_, priority)| *priority).min().unwrap_or(DEFAULT_PRIORITY);
    let fields = validate::normalize(fields)?;
    let created_at = parse_time("createdAt", record.created_at.as_deref())?.unwrap_or(now);
    let updated_at = parse_time("updatedAt", record.updated_at.as_deref())?.unwrap_or(created_at);
    let closed_at = parse_time("closedAt", record.closed_at.as_deref())?.unwrap_or(updated_at);
    let reason = record.state_reason.as_deref().unwrap_or_default().to_ascii_lowercase();
    let state = match record.state.to_ascii_lowercase().as_str() {
        "open" => TaskState::Todo,
        "closed" if matches!(reason.as_str(), "not_planned" | "duplicate") => TaskState::Cancelled(closed_at),
        "closed" => TaskState::Done(closed_at),
        _ => {
            let why = format!("'{}' is neither OPEN nor CLOSED", excerpt(&record.state));
            return Err(Refusal::Invalid { what: "state", why });
        }
    };
    Ok(Issue { url, number: record.number, state, fields, created_at, updated_at, altered })
}

fn parse_time(what: &'static str, text: Option<&str>) -> Result<Option<Timestamp>, Refusal> {
    // gh writes the year 1 for a missing time.
    let Some(text) = text.filter(|text| !text.is_empty() && !text.starts_with("0001-")) else { return Ok(None) };
    Timestamp::parse(text).map(Some).ok_or_else(|| {
        let shown = excerpt(text);
        Refusal::Invalid { what, why: format!("'{shown}' is not a time such as 2026-01-31T12:00:00Z") }
    })
}

/// The tasks of issues, by the key of the issue's address: from the event log, else from the link at the end of a
/// task's body.
fn known_links(tx: &ReadTx<'_>, issues: &[Issue]) -> Result<BTreeMap<String, IssueLink>> {
    let mut links = event_facts::issue_links(tx)?;
    let wanted: BTreeSet<String> = issues.iter().map(|issue| issue.url.key()).collect();
    if wanted.iter().all(|key| links.contains_key(key)) {
        return Ok(links);
    }
    tasks::for_each(tx, tasks::ListScope::ById, |task| {
        if let Some(key) = issue::backlink_key(&task.fields.body).filter(|key| wanted.contains(key)) {
            links.entry(key).or_insert(IssueLink { task: task.id, title: None, body: None, labels: None });
        }
        Ok(true)
    })?;
    Ok(links)
}

fn plan(
    app: &App,
    tx: &ReadTx<'_>,
    issues: &[Issue],
    report: IssueImportReport,
    options: &IssueImportOptions,
) -> Result<Plan> {
    let links = known_links(tx, issues)?;
    let mut plan = Plan { changes: Vec::new(), report, notes: Vec::new() };
    let mut given: BTreeSet<TaskId> = BTreeSet::new();
    let (mut closed, mut kept, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for issue in issues {
        let mut result = IssueResultView {
            number: issue.number,
            url: issue.url.as_str().to_owned(),
            task_id: None,
            result: "skipped",
            reason: None,
            fields: Vec::new(),
            kept: Vec::new(),
            awaiting: Vec::new(),
            only_issue_closed: false,
        };
        match links.get(&issue.url.key()) {
            Some(link) => match tasks::find(tx, &link.task)? {
                Some(task) => {
                    result.task_id = Some(task.id.to_string());
                    result.result = "unchanged";
                    result.only_issue_closed = issue.state.status().is_closed() && !task.state.status().is_closed();
                    if result.only_issue_closed {
                        closed.push(format!(
                            "{} is {}, and its issue is closed: fairway task cancel {} --reason TEXT",
                            task.id,
                            task.state.status(),
                            task.id
                        ));
                    }
                    if !task.state.status().is_closed()
                        && let Some(change) = merge(tx, issue, link, &task, &mut result)?
                    {
                        lookup::check_authority(tx, &task, &app.actor, TaskWrite::AddRecord)?;
                        plan.changes.push((issue.url.clone(), change));
                    }
                    if !result.awaiting.is_empty() {
                        let (fields, id) = (result.awaiting.join(", "), &task.id);
                        changed.push(format!("{id} has another {fields} in its issue: fairway task show {id}"));
                    }
                    if !result.kept.is_empty() {
                        let fields = result.kept.join(", ");
                        kept.push(format!("{} keeps its own {fields}: changed here and in the issue", task.id));
                    }
                }
                None => result.reason = Some("removed"),
            },
            None if issue.state.status().is_closed() && !options.closed => result.reason = Some("closed"),
            None => {
                let id = unused_id(tx, options.prefix, issue.number, &given)?;
                given.insert(id.clone());
                result.task_id = Some(id.to_string());
                result.result = "created";
                plan.notes.extend(issue.altered.iter().map(|what| format!("{id}: {what}")));
                let task = new_task(id, issue);
                plan.report.open += usize::from(!task.state.status().is_closed());
                plan.changes.push((issue.url.clone(), Change::Create(Box::new(task), Digests::of(&issue.fields))));
            }
        }
        let report = &mut plan.report;
        match result.result {
            "created" => report.imported += 1,
            "updated" => report.updated += 1,
            "unchanged" => report.unchanged += 1,
            _ => report.skipped += 1,
        }
        report.differing += usize::from(!result.kept.is_empty());
        report.awaiting += usize::from(!result.awaiting.is_empty());
        report.issues.push(result);
    }
    let notes = [std::mem::take(&mut plan.notes), changed, kept, closed];
    plan.notes = notes.into_iter().flat_map(shortened).collect();
    Ok(plan)
}

/// Brings the issue's labels into its task, and lets its title and body wait for a person. Fields that were changed here stay.
fn merge(
    tx: &ReadTx<'_>,
    issue: &Issue,
    link: &IssueLink,
    task: &Task,
    result: &mut IssueResultView,
) -> Result<Option<Change>> {
    let (theirs, ours) = (Digests::of(&issue.fields), Digests::of(&task.fields));
    let (mut fields, mut stored) = (task.fields.clone(), theirs.clone());
    let all = [
        ("title", &link.title, &theirs.title, &ours.title, &mut stored.title),
        ("body", &link.body, &theirs.body, &ours.body, &mut stored.body),
        ("labels", &link.labels, &theirs.labels, &ours.labels, &mut stored.labels),
    ];
    for (name, imported, theirs, ours, stored) in all {
        match issue::import_field(imported.as_deref(), theirs, ours) {
            FieldImport::Unchanged => continue,
            FieldImport::Keep => result.kept.push(name),
            FieldImport::Update if name == "labels" => {
                result.fields.push(name);
                continue;
            }
            FieldImport::Update => result.awaiting.push(name),
        }
        // The field still differs from the imported one.
        *stored = imported.clone().unwrap_or_default();
    }
    if !result.fields.is_empty() {
        fields.labels.clone_from(&issue.fields.labels);
    }
    let was_changed = task.fields.labels.iter().any(|label| label == CHANGED);
    fields.labels.retain(|label| label != CHANGED);
    if result.awaiting.is_empty() {
        // The issue is again as it was imported.
        if was_changed && result.fields.is_empty() {
            result.fields.push("labels");
        }
        if result.fields.is_empty() {
            return Ok(None);
        }
        result.result = "updated";
        let task = Box::new(Task { fields, ..task.clone() });
        return Ok(Some(Change::Update(task, result.fields.clone(), stored)));
    }
    let is_known = was_changed
        && events::newest_of(tx, &task.id, |kind| kind == EventKind::TaskIssueChanged)?
            .is_some_and(|event| event.data["issue_title"] == theirs.title && event.data["issue_body"] == theirs.body);
    if is_known && result.fields.is_empty() {
        return Ok(None);
    }
    if !result.fields.is_empty() {
        result.result = "updated";
    }
    fields.labels.push(CHANGED.to_owned());
    let waits = |name: &str, text: &str| result.awaiting.contains(&name).then(|| text.to_owned());
    let names: Vec<String> = result.awaiting.iter().map(|name| (*name).to_owned()).collect();
    let event = Event::new(EventKind::TaskIssueChanged)
        .task(&task.id)
        .lane(task.fields.lane.as_ref())
        .with("fields", names)
        .with("title", waits("title", &issue.fields.title))
        .with("body", waits("body", &issue.fields.body));
    Ok(Some(Change::Await(Box::new(Task { fields, ..task.clone() }), theirs.put_into(event))))
}

/// What a task said before a person looked at the new text of its issue.
#[derive(Debug)]
pub struct Replaced {
    pub title: String,
    pub body: String,
}

/// Gives a task the new text of its issue, because a person looks at it now. Returns the old one; `None` when none waits.
pub fn take_over(app: &App, id: &TaskId) -> Result<Option<Replaced>> {
    app.transaction(|tx| {
        let task = lookup::task(tx, id)?;
        let newest = events::newest_of(tx, id, |kind| kind == EventKind::TaskIssueChanged)?;
        let Some(LoggedEvent { data, .. }) = newest.filter(|_| task.fields.labels.iter().any(|one| one == CHANGED))
        else {
            return Ok(None);
        };
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let mut fields = task.fields.clone();
        fields.labels.retain(|label| label != CHANGED);
        text("title").unwrap_or(&task.fields.title).clone_into(&mut fields.title);
        text("body").unwrap_or(&task.fields.body).clone_into(&mut fields.body);
        tasks::set_fields(tx, id, &fields)?;
        let names = data["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let mut event = Event::new(EventKind::TaskEdited)
            .task(id)
            .lane(fields.lane.as_ref())
            .with("fields", names)
            .with("title", text("title"));
        for key in ["url", "issue_title", "issue_body", "issue_labels"] {
            event = event.with(key, text(key));
        }
        tx.record(&event)?;
        Ok(Some(Replaced { title: task.fields.title, body: task.fields.body }))
    })
}

/// `gh-12`; where another task has or had it, `gh-12-2` and so on.
fn unused_id(tx: &ReadTx<'_>, prefix: &str, number: u64, given: &BTreeSet<TaskId>) -> Result<TaskId> {
    let mut suffix = 1_u64;
    loop {
        let id = match suffix {
            1 => format!("{prefix}-{number}"),
            suffix => format!("{prefix}-{number}-{suffix}"),
        };
        let id = TaskId::parse(&id)?;
        if !given.contains(&id) && !tasks::exists(tx, &id)? && removed_tasks::find(tx, &id)?.is_none() {
            return Ok(id);
        }
        suffix += 1;
    }
}

fn new_task(id: TaskId, issue: &Issue) -> Task {
    let task = add::new_task(id, issue.fields.clone(), issue.created_at);
    Task { state: issue.state.clone(), updated_at: issue.updated_at, ..task }
}

fn answer(plan: &Plan) -> Result<Answer> {
    let report = &plan.report;
    let tasks = |number: usize| plural::count(number, "task");
    let mut line = format!("{} {}", if report.dry_run { "would import" } else { "imported" }, tasks(report.imported));
    if report.imported > 0 {
        let _ = write!(line, " ({} open)", report.open);
    }
    if report.updated > 0 {
        let _ = write!(line, "; {} {}", tasks(report.updated), if report.dry_run { "to update" } else { "updated" });
    }
    if report.awaiting > 0 {
        let _ = write!(line, "; {} with a new text, for a person to look at", tasks(report.awaiting));
    }
    if report.unchanged > 0 {
        let _ = write!(line, "; {} unchanged", tasks(report.unchanged));
    }
    if !report.odd.is_empty() {
        let _ = write!(line, "; {} skipped", report.odd.len());
    }
    let skipped = |reason: &str| report.issues.iter().filter(|issue| issue.reason == Some(reason)).count();
    for (reason, why) in [("closed", "closed"), ("removed", "removed here")] {
        let count = skipped(reason);
        if count > 0 {
            let _ = write!(line, "; {count} skipped ({why})");
        }
    }
    let mut answer = Answer::new(report, "", line)?;
    let changed = report.issues.iter().filter(|issue| matches!(issue.result, "created" | "updated"));
    answer.ids = changed.filter_map(|issue| issue.task_id.clone()).collect();
    answer.notes = shortened(report.odd.iter().map(|why| format!("skipped: {why}")).collect());
    answer.notes.extend(plan.notes.iter().cloned());
    Ok(answer)
}
