//! The commands that together do the same as a start.

use crate::sessions::launch::program::CommandSpec;
use fairway_core::domain::id::Label;
use fairway_core::wire::StartPlanView;

use super::draft::Draft;
use super::{StartRequest, first_prompt};

/// Lists the commands that together do what the start does, as a person would type them.
pub(super) fn view(draft: &Draft, request: &StartRequest) -> StartPlanView {
    let session = &draft.plan.session;
    let (task, lane) = (&draft.task.id, &draft.place.lane.name);
    let mut commands = Vec::new();
    if draft.is_new_task {
        let fields = &draft.task.fields;
        let body = Some(fields.body.as_str()).filter(|body| !body.is_empty());
        let add = ["task", "add", &fields.title];
        commands
            .push(words(&add.into_iter().chain(body.iter().flat_map(|body| ["--body", *body])).collect::<Vec<_>>()));
    }
    if draft.place.is_new {
        commands.push(words(&["lane", "add", lane.as_str(), "--create-worktree"]));
    }
    commands.push(launch(draft, request));
    if request.claims {
        commands.push(words(&["claim", task.as_str(), "--session", session.id.as_str()]));
    }
    StartPlanView {
        dry_run: true,
        task_id: task.to_string(),
        session_id: session.id.to_string(),
        lane: lane.to_string(),
        commands,
        notes: draft.plan.notes.clone(),
    }
}

fn launch(draft: &Draft, request: &StartRequest) -> String {
    let session = &draft.plan.session;
    let mut launch: Vec<String> = ["session", "launch"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            launch.extend([name.to_owned(), value.to_owned()]);
        }
    };
    flag("--id", Some(session.id.as_str()));
    flag("--role", Some(session.role.as_str()));
    flag("--lane", Some(draft.place.lane.name.as_str()));
    flag("--task", Some(draft.task.id.as_str()));
    // A program of one's own names its provider by itself.
    let provider = session.provider.as_ref().filter(|_| request.command.is_none() || request.provider.is_some());
    flag("--provider", provider.map(Label::as_str));
    flag("--backend", session.backend.as_deref());
    for (name, value) in &request.env {
        flag("--env", Some(&format!("{name}={value}")));
    }
    if request.no_profile {
        launch.push("--no-profile".to_owned());
    }
    let mut flag = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            launch.extend([name.to_owned(), value.to_owned()]);
        }
    };
    let prompt = first_prompt::with_text(draft.own_prompt.clone(), request.prompt.as_deref());
    flag("--prompt", prompt.as_deref());
    match &request.command {
        Some(CommandSpec::Shell(text)) => launch.extend(["--command".to_owned(), text.clone()]),
        Some(CommandSpec::Argv(argv)) => {
            launch.push("--".to_owned());
            launch.extend(argv.iter().cloned());
        }
        None => {}
    }
    let launch: Vec<&str> = launch.iter().map(String::as_str).collect();
    words(&launch)
}

/// A command, quoted for a shell.
fn words(words: &[&str]) -> String {
    format!("fairway {}", shell_words::join(words))
}
