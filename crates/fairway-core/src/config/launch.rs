//! How sessions of a role or provider are launched, and the backends that are configured.

use std::collections::BTreeMap;

use super::ProviderProfile;
use super::section::{Form, section};
use super::values::{impl_word, reader};
use crate::domain::LaneName;
use crate::domain::id::Label;
use crate::domain::rules::initial_prompt::PromptDelivery;
use crate::domain::sandbox::SandboxClass;
use crate::domain::string_enum::string_enum;
section! {
    /// The launch of a role: a section `[roles.NAME]`.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct RoleSettings {
        /// The provider of a launch in this role.
        #[sample("claude")]
        pub provider: Option<Label>,
        /// The backend of a launch in this role.
        #[sample("shell")]
        pub backend: Option<String>,
        /// The lane of a launch in this role.
        #[sample("platform")]
        pub lane: Option<LaneName>,
        /// The sandbox of a launch in this role: off, namespace or command.
        #[sample("namespace")]
        pub sandbox: Option<SandboxClass>,
        /// Shell command that starts the program, in place of the provider's.
        #[sample("claude --model opus")]
        pub command: Option<String>,
        /// Variables that are added to those of the provider and override them; an empty value unsets.
        #[sample({ EXAMPLE = "1" })]
        pub env: BTreeMap<String, String>,
        /// What a session of this role may do for a person: start (further sessions), answer (their permission requests), land.
        #[sample(["start"])]
        pub may: Vec<Permission>,
    }
    beside {
        pub setup: SetupSettings,
    }
}

string_enum! {
    /// What only people do, unless a role has the permission.
    Permission {
        /// To start further sessions, and begin those that ended again.
        Start => "start",
        /// To answer permission requests of other sessions.
        Answer => "answer",
        Land => "land",
    }
}

impl_word!(Permission);

section! {
    /// The launch of a provider: a section `[providers.NAME]`.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ProviderSettings {
        /// How its sessions run when a launch names no backend: terminal, or structured (the Agent Client Protocol).
        #[sample("structured")]
        pub mode: Option<SessionMode>,
    }
    beside {
        pub program: ProgramSettings,
        pub profile: ProviderProfile,
    }
}

string_enum! {
    /// How a provider's sessions run when a launch names no backend.
    SessionMode { Terminal => "terminal", Structured => "structured" }
}

impl_word!(SessionMode);

section! {
    /// A program, its environment, and how to tell that it takes input.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct ProgramSettings {
        /// Shell command that starts the program; by default the provider's name.
        #[sample("claude --model opus")]
        pub command: Option<String>,
        /// The program's environment; an empty value unsets.
        #[sample({ EXAMPLE = "1" })]
        pub env: BTreeMap<String, String>,
        /// Exact names of its processes: the session is up once one of them runs in it.
        #[sample(["claude", "node"])]
        pub process_names: Option<Vec<String>> as Option<Vec<ProcessName>>,
        /// How the program takes its first prompt: nudge (typed once it is ready), argument (the last argument) or stdin (a pipe); by
        /// default by hook or inbox where prompt_args is known, else nudge.
        #[sample("nudge")]
        pub prompt: Option<PromptDelivery>,
        /// The program takes input once a line of its screen begins with this; waited for at most 30 s.
        #[sample("❯")]
        pub ready_prompt_prefix: Option<String> as Option<LineStart>,
        /// The delay in milliseconds before it takes input, when nothing else shows that it is ready.
        #[sample(500)]
        pub ready_delay_ms: Option<u64> as Option<ReadyDelay>,
    }
}

section! {
    /// The commands that run before and after the start of the program.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct SetupSettings {
        /// Shell commands before the session starts; a failure warns.
        #[sample(["git fetch"])]
        pub pre_start: Vec<String>,
        /// Shell commands once it is ready; a failure warns.
        #[sample(["echo ready"])]
        pub session_setup: Vec<String>,
        /// Shell commands after that, which may be run again while the session lives.
        #[sample(["echo live"])]
        pub session_live: Vec<String>,
    }
}

impl SetupSettings {
    /// Every configured shell command that runs before or after the program starts.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        [&self.pre_start, &self.session_setup, &self.session_live].into_iter().flatten().map(String::as_str)
    }
}

/// The longest delay, in milliseconds: a program that takes longer shows in another way that it is ready.
const MAX_READY_DELAY_MS: u64 = 120_000;

reader! {
    ProcessName(String) -> String;
    |name: &String| {
        let is_wrong = name.is_empty() || name.contains(['/', '\n', '\0']);
        if is_wrong { Err("must be names of programs, without a path") } else { Ok(name.clone()) }
    }
}
reader! {
    LineStart(String) -> String;
    |prefix: &String| {
        let is_wrong = prefix.is_empty() || prefix.contains(char::is_control);
        if is_wrong { Err("must be the beginning of one line") } else { Ok(prefix.clone()) }
    }
}
reader! {
    ReadyDelay(i64) -> u64, Form::Number { least: Some(0), most: Some(MAX_READY_DELAY_MS) };
    |delay: &i64| {
        let found = u64::try_from(*delay).ok().filter(|delay| *delay <= MAX_READY_DELAY_MS);
        found.ok_or_else(|| format!("must be 0 to {MAX_READY_DELAY_MS}"))
    }
}

section! {
    /// A configured backend.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Backend {
        /// A backend script that implements the exec session protocol.
        #[sample("/usr/local/bin/my-backend")]
        pub script: Option<String>,
        /// Where its multiplexer listens: "default" for your own server, or a path; a private one when it is not set.
        #[sample("default")]
        pub socket: Option<String> as Option<Socket>,
        /// Who runs session_setup and its like: script, or caller for scripts of the older protocol.
        #[sample("script")]
        pub setup: Option<Setup>,
    }
}

string_enum! {
    /// The runner of `session_setup`, `session_setup_script` and `session_live`, in which the revisions of the protocol differ: the
    /// script, as in the newer revision, or the caller, for scripts of the older one.
    #[derive(Default)]
    Setup { #[default] Script => "script", Caller => "caller" }
}

impl_word!(Setup);

reader! {
    Socket(String) -> String;
    |socket: &String| {
        let is_wrong = socket.is_empty() || socket.contains(char::is_control);
        if is_wrong { Err("must be \"default\" or a path") } else { Ok(socket.clone()) }
    }
}
