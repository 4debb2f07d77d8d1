//! The environment of a launched session: the variables from the configuration and the request, and Fairway's own.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use super::choice::Choice;
use super::request::LaunchRequest;
use crate::App;
use crate::core::{errors, open_store};
use crate::sessions::adapter_endpoint;
use fairway_core::adapters::{self, is_session_var};
use fairway_core::api_client::server_files;
use fairway_core::config::project::{STATE_DIR, STORE_FILE};
use fairway_core::domain::Refusal;
use fairway_core::domain::session::Session;
use fairway_core::domain::text_limits::path_text;
use fairway_core::env::vars;
use fairway_core::os::executable as files;

/// The prefix of Fairway's own resource attributes.
const ATTRIBUTE_PREFIX: &str = "fairway.";

/// Refuses variable names that are invalid or reserved for Fairway, and values with a NUL byte.
pub(super) fn check(env: &BTreeMap<String, String>) -> Result<(), Refusal> {
    env.iter().try_for_each(|(name, value)| check_variable(name, value))
}

fn check_variable(name: &str, value: &str) -> Result<(), Refusal> {
    let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
    if !vars::is_variable_name(name) {
        return Err(Refusal::Usage { why: format!("'{shown}' is not a valid variable name") });
    }
    if is_session_var(name) {
        return Err(Refusal::Usage { why: format!("{name} is reserved; fairway sets it") });
    }
    if value.contains('\0') {
        return Err(Refusal::Usage { why: format!("the value of {name} contains a NUL byte") });
    }
    Ok(())
}

/// Collects the variables that the agent's profile, the provider, the role and the request set. Of two with one name, the later
/// in this order counts.
///
/// # Errors
/// `usage` for a name that is invalid or reserved.
pub(super) fn requested(request: &LaunchRequest, choice: &Choice) -> Result<BTreeMap<String, String>, Refusal> {
    let mut requested = BTreeMap::new();
    let agent = choice.structured.iter().flat_map(|structured| &structured.env);
    let configured = choice.entry.program.env.iter().chain(&choice.role.env);
    for (name, value) in agent.chain(configured).chain(&request.env) {
        check_variable(name, value)?;
        requested.insert(name.clone(), value.clone());
    }
    Ok(requested)
}

/// The session's environment: the requested variables, overridden by those that Fairway sets. An empty value unsets a variable
/// that must not be inherited.
pub(super) fn of_session(
    app: &App,
    session: &Session,
    requested: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let mut all: BTreeMap<String, String> =
        adapters::session_vars().map(|name| (name.to_owned(), String::new())).collect();
    let present = requested.get(vars::OTEL_RESOURCE_ATTRIBUTES).map(String::as_str);
    let attributes = resource_attributes(session, present.or(app.env.var(vars::OTEL_RESOURCE_ATTRIBUTES)));
    all.extend(requested.clone());
    all.insert(vars::OTEL_RESOURCE_ATTRIBUTES.to_owned(), attributes);
    let root = path_text("the project's root", &app.project.root)?;
    let default = app.project.root.join(STATE_DIR).join(STORE_FILE);
    let moved = (app.project.store != default).then(|| path_text("the store", &app.project.store)).transpose()?;
    // The socket of the project's server, also when no server runs.
    let runtime = app.project.runtime_dir();
    let api = server_files::for_runtime_dir(&runtime, &app.env);
    let in_runtime = |name: &str| runtime.join(name).to_str().map(str::to_owned);
    let ours = [
        (vars::FAIRWAY_BIN, Some(path_text("this program", &files::current_executable().map_err(errors::internal)?)?)),
        (vars::FAIRWAY_ROOT, Some(root)),
        (vars::FAIRWAY_DB, moved),
        (vars::FAIRWAY_SESSION_ID, Some(session.id.to_string())),
        (vars::FAIRWAY_RUN_ID, Some(session.run_id.to_string())),
        (vars::FAIRWAY_SOCKET, api.and_then(|path| path.to_str().map(str::to_owned))),
        (vars::FAIRWAY_PORT_FILE, in_runtime(server_files::PORT_FILE)),
        (vars::FAIRWAY_TOKEN_FILE, in_runtime(server_files::TOKEN_FILE)),
    ];
    let described = adapter_endpoint::description(session);
    all.extend(ours.into_iter().chain(described).map(|(name, value)| (name.to_owned(), value.unwrap_or_default())));
    if app.settings.store.is_on_server() {
        all.insert(vars::FAIRWAY_STORE_URL.to_owned(), open_store::url_to_pass_on(&app.env, &app.layers));
    }
    Ok(all)
}

/// The value of `OTEL_RESOURCE_ATTRIBUTES`: the attributes that are set already, and the session's.
fn resource_attributes(session: &Session, present: Option<&str>) -> String {
    // Those of a session around this one are not its own.
    let others =
        present.unwrap_or_default().split(',').filter(|part| !part.is_empty() && !part.starts_with(ATTRIBUTE_PREFIX));
    let own = [
        ("task", session.task.as_ref().map(ToString::to_string)),
        ("lane", session.lane.as_ref().map(ToString::to_string)),
        ("session", Some(session.id.to_string())),
    ];
    let own = own
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{ATTRIBUTE_PREFIX}{name}={}", escape_attribute(&value?))));
    others.map(str::to_owned).chain(own).collect::<Vec<_>>().join(",")
}

/// Escapes commas, spaces and the like with `%`, as the OpenTelemetry specification requires.
fn escape_attribute(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}
