//! Structured sessions: how an agent is started that speaks the Agent Client Protocol, and what becomes of one without a guard.

use std::collections::BTreeMap;

use super::{
    section::{layered_section, section},
    values::impl_word,
};
use crate::domain::string_enum::string_enum;

layered_section! {
    /// An agent that speaks the Agent Client Protocol: a section `[providers.NAME.acp]`. A key that is `None` is unknown.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct AcpProfile {
        /// The program that speaks the Agent Client Protocol, and its arguments; built in for the agents that fairway provider list
        /// names.
        #[sample(["gemini", "--acp"])]
        pub command: Option<Vec<String>>,
        /// Its environment, below that of the provider.
        #[sample({ EXAMPLE = "1" })]
        pub env: Option<BTreeMap<String, String>>,
        /// The mode in which it asks before it runs a tool: set at the start and read back.
        #[sample("default")]
        pub mode: Option<String>,
        /// Whether a conversation was seen to go on in its terminal and back; false refuses that.
        #[sample(true)]
        pub switches: Option<bool>,
        /// The version that was seen to ask in this mode.
        #[sample("0.61.0")]
        pub proven_with: Option<String>,
    }
}

string_enum! {
    /// How a provider's sessions run when a launch names no backend.
    SessionMode { Terminal => "terminal", Structured => "structured" }
}

string_enum! {
    /// What becomes of a structured session whose agent is not in the mode in which it asks.
    Unguarded { Show => "show", Refuse => "refuse" }
}

impl_word!(SessionMode, Unguarded);

section! {
    /// The settings of agents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct AgentSettings {
        /// A structured session whose agent is not in the mode in which it asks: show (it runs, and is shown as not guarded) or
        /// refuse.
        pub unguarded: Unguarded = "show",
    }
}
