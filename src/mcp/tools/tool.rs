//! A tool, and one call of it.

use anyhow::Result;
use rmcp::model::{self, CallToolResult, ToolAnnotations};
use serde_json::{Map, Value};

use crate::{
    actions::App,
    domain::{Refusal, SessionId},
    mcp::{
        calls::Calls,
        child::Children,
        reply::{self, Reply},
    },
};

/// A tool.
pub(in crate::mcp) struct Tool {
    pub(in crate::mcp) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Map<String, Value>,
    pub(super) effect: Effect,
    /// Answers a call.
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
            schema: $crate::mcp::tools::arguments::schema::<Arguments>,
            effect: $crate::mcp::tools::tool::Effect::$effect,
            call: |asked| call(asked, $crate::mcp::tools::arguments::read(&asked.arguments)?),
        };

        $(#[$meta])*
        #[derive(Debug, serde::Deserialize, rmcp::schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(crate = "rmcp::schemars")]
        struct Arguments { $($(#[$field_meta])* $field: $type),* }
    };
}

pub(super) use tool;

/// The effect of a tool on the world, from which a client's hints are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes nothing.
    Reads,
    /// It keeps what it saw; again is the same.
    Looks,
    /// It adds records.
    Adds,
    /// It ends a claim.
    Ends,
    /// It runs programs.
    Runs,
}

/// One call.
pub(in crate::mcp) struct ToolCall<'a> {
    pub(in crate::mcp) app: &'a App,
    pub(in crate::mcp) calls: &'a dyn Calls,
    pub(in crate::mcp) children: &'a Children,
    pub(in crate::mcp) arguments: Value,
}

/// The answer, or the error document of a command that ran as a child.
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
    /// The acting session, which a tool that changes something must have.
    pub(super) fn session(&self, tool: &'static str) -> Result<&SessionId, Refusal> {
        self.app.actor.session.as_ref().ok_or(Refusal::NoSession { tool })
    }
}

/// A tool as the protocol describes it.
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
