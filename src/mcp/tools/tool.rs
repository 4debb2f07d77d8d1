//! A tool, one call of it, and the schema of its arguments.

use anyhow::Result;
use rmcp::model::{self, CallToolResult, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use rmcp::schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::mcp::calls::{Calls, Children};
use crate::mcp::reply::{self, Reply};
use fairway_actions::App;
use fairway_actions::agents::guard::{self, EntryPoint};
use fairway_actions::core::lookup;
use fairway_actions::queue::task::claimed_task;
use fairway_core::domain::{Refusal, SessionId, TaskId};

/// The name by which guard rules know a shell.
const SHELL_TOOL: &str = "Bash";

pub(in crate::mcp) struct Tool {
    pub(in crate::mcp) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Map<String, Value>,
    pub(super) effect: Effect,
    pub(in crate::mcp) call: fn(&ToolCall<'_>) -> Result<Outcome>,
}

/// Declares a tool: `TOOL`, and the struct `Arguments` that the function `call` beside it gets.
macro_rules! tool {
    (
        name: $name:literal,
        title: $title:literal,
        description: $description:literal,
        effect: $effect:ident,
        $(#[$meta:meta])*
        arguments: { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }
    ) => {
        pub(super) const TOOL: $crate::mcp::tools::Tool = $crate::mcp::tools::Tool {
            name: $name,
            title: $title,
            description: $description,
            schema: $crate::mcp::tools::tool::arguments_schema::<Arguments>,
            effect: $crate::mcp::tools::tool::Effect::$effect,
            call: |asked| call(asked, $crate::mcp::tools::tool::parse_arguments(&asked.arguments)?),
        };

        $(#[$meta])*
        #[derive(Debug, serde::Deserialize, rmcp::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(crate = "rmcp::schemars")]
        struct Arguments { $($(#[$field_meta])* $field: $type),* }
    };
}

pub(super) use tool;

/// What a tool changes, from which a client's hints are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes nothing.
    Reads,
    /// Stores what it has observed; a repeated call stores the same.
    Looks,
    /// Adds records.
    Adds,
    /// Ends a claim.
    Ends,
    /// Runs programs.
    Runs,
}

/// One call of a tool.
pub(in crate::mcp) struct ToolCall<'a> {
    pub(in crate::mcp) app: &'a App,
    pub(in crate::mcp) calls: &'a dyn Calls,
    pub(in crate::mcp) children: &'a Children,
    pub(in crate::mcp) arguments: Value,
}

/// The answer of a call, or the error document of a command that ran as a child.
pub(in crate::mcp) enum Outcome {
    Reply(Reply),
    Error(Value),
}

impl Outcome {
    pub(in crate::mcp) fn into_result(self, tool: &str) -> CallToolResult {
        match self {
            Self::Reply(reply) => reply.into_result(),
            Self::Error(error) => reply::error_result(error, tool),
        }
    }
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl ToolCall<'_> {
    /// The session for which the tool acts. Every tool that changes something requires one.
    ///
    /// # Errors
    /// `no_session` when the caller is not in a session.
    pub(super) fn session(&self, tool: &'static str) -> Result<&SessionId, Refusal> {
        self.app.actor.session.as_ref().ok_or(Refusal::NoSession { tool })
    }

    /// Returns the task `named`; when that is `None`, the only task that the caller has claimed.
    ///
    /// # Errors
    /// `nothing_claimed`, `ambiguous`, or `invalid_value` for an invalid id.
    pub(super) fn task(&self, named: Option<&str>) -> Result<TaskId> {
        claimed_task::named_or_only(self.app, named.map(TaskId::parse).transpose()?, |id| {
            format!("the argument task: {id}")
        })
    }

    /// Refuses to run a command that the guard would deny if the agent ran it with its own shell tool. `command` is shell text or
    /// a list of words. In a project without guard rules, refuses nothing.
    ///
    /// # Errors
    /// `guard_denied`.
    pub(super) fn check_guard(&self, session: &SessionId, tool: &str, command: Value, cwd: Option<&str>) -> Result<()> {
        let app = self.app;
        let session = app.read(|tx| lookup::session(tx, session))?;
        let call = guard::ToolCall {
            cwd: Some(cwd.map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd))),
            context: Map::from_iter([("mcp_tool".to_owned(), json!(tool))]),
            ..guard::ToolCall::new(SHELL_TOOL, json!({ "command": command }))
        };
        match guard::authorize_if_configured(app, &session, &call, EntryPoint::Cli) {
            Some(decision) if !decision.allowed => {
                Err(Refusal::GuardDenied { reason: decision.reason, rule: decision.rule }.into())
            }
            _ => Ok(()),
        }
    }
}

/// Describes a tool as MCP lists it, with hints such as whether the tool only reads.
pub(super) fn describe(tool: &Tool) -> model::Tool {
    let mut described = model::Tool::new(tool.name, tool.description, (tool.schema)());
    described.title = Some(tool.title.to_owned());
    described.annotations = Some(
        ToolAnnotations::with_title(tool.title)
            .read_only(tool.effect == Effect::Reads)
            .destructive(matches!(tool.effect, Effect::Ends | Effect::Runs))
            .idempotent(matches!(tool.effect, Effect::Reads | Effect::Looks))
            .open_world(tool.effect == Effect::Runs),
    );
    described
}

/// The JSON schema of a tool's arguments, without the parts that a model does not need.
pub(super) fn arguments_schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    shrink(&mut schema);
    match schema {
        Value::Object(mut fields) => {
            fields.shift_remove("description");
            fields
        }
        _ => Map::new(),
    }
}

/// Removes the names of types, the formats, and `null` as the value of an argument that is left out.
fn shrink(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for name in ["title", "format", "default", "minimum"] {
        if !fields.get(name).is_some_and(Value::is_object) {
            fields.shift_remove(name);
        }
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|one| !one.is_null());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(shrink);
    }
    // A `null` among the values of a map is a value.
    if let Some(items) = fields.get_mut("items") {
        shrink(items);
    }
}

/// Decodes the arguments of a tool call.
///
/// # Errors
/// `usage`, naming the argument that is unknown or has a wrong type.
pub(super) fn parse_arguments<T: DeserializeOwned>(arguments: &Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { "the arguments".to_owned() } else { format!("the argument {path}") };
        let inner = plain(error.into_inner().to_string());
        let why: String = inner.chars().take(300).collect();
        Refusal::Usage { why: format!("{place}: {why}") }
    })
}

/// Replaces serde's names of types in an error by those of JSON.
fn plain(mut why: String) -> String {
    for (rust, json) in [("u64", "a whole number from 0"), ("a sequence", "a list"), ("a map", "an object")] {
        if let Some(head) = why.strip_suffix(&format!(", expected {rust}")) {
            why = format!("{head}, expected {json}");
        }
    }
    why
}
