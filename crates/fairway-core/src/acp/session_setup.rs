//! The agent's answers to the first requests: who it is, what it can, and in which mode its session is.

use serde_json::Value;

/// The longest name or version of an agent, in characters.
const MAX_NAME_CHARS: usize = 100;

/// The agent, by its answer to `initialize`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInfo {
    pub name: Option<String>,
    pub version: Option<String>,
    /// Whether it loads a conversation and repeats it.
    pub can_load: bool,
    /// Whether it resumes a conversation silently.
    pub can_resume: bool,
    /// Whether it takes prompts into its running turn.
    pub can_steer: bool,
    /// The protocol's version that it speaks.
    pub protocol: u64,
}

impl AgentInfo {
    /// Reads the agent's answer to `initialize`. A capability that the answer does not mention counts as absent.
    pub fn from_json(result: &Value) -> Self {
        let info = |key: &str| {
            let text = result.pointer("/agentInfo")?.get(key)?.as_str()?;
            let text: String = text.chars().filter(|character| !character.is_control()).take(MAX_NAME_CHARS).collect();
            (!text.is_empty()).then_some(text)
        };
        let offers = |pointer: &str| {
            result.pointer(pointer).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false)))
        };
        Self {
            name: info("title").or_else(|| info("name")),
            version: info("version"),
            can_load: offers("/agentCapabilities/loadSession"),
            can_resume: offers("/agentCapabilities/sessionCapabilities/resume"),
            can_steer: result.pointer("/_meta/steering/supported") == Some(&Value::Bool(true)),
            protocol: result.get("protocolVersion").and_then(Value::as_u64).unwrap_or_default(),
        }
    }

    /// The name and version as one text, which identifies the agent in a [`Proof`].
    pub fn label(&self) -> String {
        let name = self.name.as_deref().unwrap_or("unknown agent");
        self.version.as_ref().map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
    }
}

/// How it is proven that the agent asks before it runs a tool in the mode of its profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// This session is the canary that is to prove it, so it needs no proof.
    Canary,
    /// A canary has proven it for the agent with this label; `None` when there was no canary.
    Of(Option<String>),
}

impl Proof {
    /// Why this proof does not cover the agent; `None` when it does.
    fn gap(&self, agent: &AgentInfo) -> Option<String> {
        const WAY_ON: &str = "to prove it: fairway doctor agents";
        match self {
            Self::Canary => None,
            Self::Of(Some(label)) if *label == agent.label() => None,
            Self::Of(Some(label)) => {
                Some(format!("that it asks is proven for {label}, not for {}; {WAY_ON}", agent.label()))
            }
            Self::Of(None) => Some(format!("it is not proven that it asks; {WAY_ON}")),
        }
    }
}

/// Whether the session is in the mode in which the agent asks before it runs a tool, and whether that is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardMode {
    /// The mode that the agent reports; `None` when it reports none.
    pub mode: Option<String>,
    /// Whether that is the mode of the profile.
    pub is_asking: bool,
    /// Why it counts as not guarded: it is in another mode, or nothing proves that it asks in this one.
    pub why: Option<String>,
}

impl GuardMode {
    /// Compares the mode that the agent's profile names (`wanted`) with the mode that the agent reports. Unless both exist and
    /// are equal, the result has a reason why the session is not guarded.
    pub fn compare(wanted: Option<&str>, reported: Option<&str>) -> Self {
        let why = match (wanted, reported) {
            (None, _) => Some("its profile names no mode in which it asks".to_owned()),
            (Some(wanted), None) => Some(format!("the agent does not report its mode; '{wanted}' was asked for")),
            (Some(wanted), Some(mode)) if wanted != mode => Some(format!("its mode is '{mode}', not '{wanted}'")),
            (Some(_), Some(_)) => None,
        };
        Self { mode: reported.map(str::to_owned), is_asking: why.is_none(), why }
    }

    /// Adds a reason why the session is not guarded when there is none yet and `proof` does not cover this agent.
    #[must_use]
    pub fn with_proof(self, proof: &Proof, agent: &AgentInfo) -> Self {
        let why = self.why.or_else(|| proof.gap(agent));
        Self { why, ..self }
    }
}

/// The agent's current mode from an answer or an update: from the fields for modes, else from the configuration option of the
/// category `mode`. `None` when the document has neither.
pub fn current_mode(document: &Value) -> Option<&str> {
    let of_modes = document.pointer("/modes/currentModeId").or_else(|| document.get("currentModeId"));
    of_modes.and_then(Value::as_str).or_else(|| mode_option(document)?.get("currentValue")?.as_str())
}

/// Whether the agent offers a mode, in its answer to the request that opened the session.
pub fn offers_mode(document: &Value, mode: &str) -> bool {
    let is_it = |choice: &Value, key: &str| choice.get(key).and_then(Value::as_str) == Some(mode);
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let choices = list(mode_option(document).and_then(|option| option.get("options")));
    list(document.pointer("/modes/availableModes")).iter().any(|choice| is_it(choice, "id"))
        || choices
            .iter()
            .any(|choice| is_it(choice, "value") || list(choice.get("options")).iter().any(|one| is_it(one, "value")))
}

/// The id of the configuration option that sets the agent's mode; `None` when the document has no such option.
pub fn mode_option_id(document: &Value) -> Option<&str> {
    mode_option(document)?.get("id")?.as_str()
}

fn mode_option(document: &Value) -> Option<&Value> {
    let options = document.get("configOptions")?.as_array()?;
    options.iter().find(|option| option.get("category").and_then(Value::as_str) == Some("mode"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn agent_is_what_it_says_and_missing_parts_are_unknown() {
        let said = json!({ "protocolVersion": 1, "agentInfo": { "name": "x", "title": "X\u{1b}[0m", "version": "2" },
            "agentCapabilities": { "loadSession": true, "sessionCapabilities": { "resume": {} } }, "new": [],
            "_meta": { "steering": { "supported": true } } });
        let agent = AgentInfo::from_json(&said);
        assert_eq!((agent.name.as_deref(), agent.version.as_deref()), (Some("X[0m"), Some("2")));
        assert_eq!((agent.can_load, agent.can_resume, agent.can_steer, agent.protocol), (true, true, true, 1));
        assert_eq!(
            AgentInfo::from_json(
                &json!({ "agentCapabilities": { "loadSession": false }, "_meta": { "steering": {} } })
            ),
            AgentInfo::default()
        );
    }

    #[test]
    fn mode_is_read_from_each_place_where_agents_put_it() {
        let modes = json!({ "modes": { "currentModeId": "ask", "availableModes": [] } });
        let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "auto" });
        let option = json!({ "configOptions": [{ "id": "m", "category": "model", "currentValue": "x" },
            { "id": "perm", "category": "mode", "currentValue": "plan" }] });
        assert_eq!((current_mode(&modes), current_mode(&update)), (Some("ask"), Some("auto")));
        assert_eq!((current_mode(&option), mode_option_id(&option)), (Some("plan"), Some("perm")));
        assert_eq!((current_mode(&json!({ "configOptions": 7 })), mode_option_id(&modes)), (None, None));
    }

    #[test]
    fn mode_is_offered_by_each_kind_of_list() {
        for document in [
            json!({ "modes": { "currentModeId": "auto", "availableModes": [{ "id": "auto" }, { "id": "ask" }] } }),
            json!({ "configOptions": [{ "category": "mode", "options": [{ "value": "ask", "name": "Ask" }] }] }),
            json!({ "configOptions": [{ "category": "mode", "options": [{ "group": "g", "options": [{ "value": "ask" }] }] }] }),
        ] {
            assert!(offers_mode(&document, "ask") && !offers_mode(&document, "no-such-mode"), "{document}");
        }
        assert!(!offers_mode(&json!({ "modes": { "currentModeId": "auto" } }), "ask"));
    }

    #[test]
    fn only_the_wanted_mode_read_back_is_guarded() {
        for (wanted, reported, is_asking) in [
            (Some("ask"), Some("ask"), true),
            (Some("ask"), Some("auto"), false),
            (Some("ask"), None, false),
            (None, Some("ask"), false),
        ] {
            let guard = GuardMode::compare(wanted, reported);
            assert_eq!((guard.is_asking, guard.why.is_none()), (is_asking, is_asking), "{wanted:?} {reported:?}");
        }
    }

    #[test]
    fn asking_mode_is_guarded_only_with_a_proof_of_this_agent() {
        let agent = AgentInfo { name: Some("X".into()), version: Some("2".into()), ..AgentInfo::default() };
        let of = |label: &str| Proof::Of(Some(label.to_owned()));
        for (proof, is_guarded) in
            [(Proof::Canary, true), (of("X 2"), true), (of("X 1"), false), (Proof::Of(None), false)]
        {
            let guard = GuardMode::compare(Some("ask"), Some("ask")).with_proof(&proof, &agent);
            assert_eq!((guard.is_asking, guard.why.is_none()), (true, is_guarded), "{proof:?}");
            let other = GuardMode::compare(Some("ask"), Some("auto")).with_proof(&proof, &agent);
            assert_eq!(other.why.as_deref(), Some("its mode is 'auto', not 'ask'"));
        }
    }
}
